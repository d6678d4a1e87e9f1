// tessera cooptimize, as `resume` continues it.
#ifndef TESSERA_CLI_COOPTIMIZE_H_
#define TESSERA_CLI_COOPTIMIZE_H_

#include "tessera/cli/command.h"
#include "tessera/record/run_directory.h"
#include "tessera/report/json.h"
#include "tessera/result.h"

namespace tessera {

// What "command" of run.json says in the folder of a co-optimization.
inline constexpr std::string_view kCooptimizeRun = "cooptimize";

// Goes on with the run of a folder; `settings` is its run.json.
Result<void> ResumeCooptimize(const Json& settings, RunDirectory directory, Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_COOPTIMIZE_H_
