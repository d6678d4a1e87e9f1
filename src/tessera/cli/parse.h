// The command line turned into a command with its arguments filled in. CLI11 splits the words;
// values and messages are ours.
#ifndef TESSERA_CLI_PARSE_H_
#define TESSERA_CLI_PARSE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/result.h"

namespace tessera {

struct ParsedLine {
  GlobalOptions options = {};
  bool help = false;
  bool version = false;
  const Command* command = nullptr;  // null: none named, as in `tessera --help`
  BoundCommand bound = {};           // of that command
};

// Errors are of kind kUsage. `words` is the line without the program's name.
Result<ParsedLine> ParseLine(std::span<const Command* const> commands,
                             const std::vector<std::string>& words);

// The options of every command, --help included, for parsing and for help texts.
std::vector<Flag> GlobalFlags(GlobalOptions& options, bool& help);

bool IsOption(const Flag& flag);
bool TakesValue(const Flag& flag);
bool IsList(const Flag& flag);
std::string_view LongName(const Flag& flag);  // "--layer" of "-l,--layer"

}  // namespace tessera

#endif  // TESSERA_CLI_PARSE_H_
