// Exit codes of `tessera`: the only place where an error's kind becomes one.
#ifndef TESSERA_CLI_EXIT_CODE_H_
#define TESSERA_CLI_EXIT_CODE_H_

#include <array>
#include <string_view>

#include "tessera/result.h"

namespace tessera {

struct ExitCodeMeaning {
  int code;
  std::string_view meaning;
};

inline constexpr std::array<ExitCodeMeaning, 7> kExitCodes = {{
    {0, "done"},
    {2, "the command line is wrong"},
    {3, "an input is bad, or a file cannot be read or written"},
    {4, "infeasible: a constraint cannot be met"},
    {5, "the budget ended without a solution"},
    {70, "a defect of Tessera"},
    {130, "stopped by Ctrl-C; what there was by then is kept"},
}};

int ExitCode(ErrorKind kind);

}  // namespace tessera

#endif  // TESSERA_CLI_EXIT_CODE_H_
