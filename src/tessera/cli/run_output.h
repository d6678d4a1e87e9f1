// Runs on the command line: starting one, going on with one and showing it are the same for every
// kind.
#ifndef TESSERA_CLI_RUN_OUTPUT_H_
#define TESSERA_CLI_RUN_OUTPUT_H_

#include <memory>
#include <string_view>

#include "tessera/cli/command.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/runs.h"

namespace tessera {

// What a run may use of the command that it is part of.
RunContext RunContextOf(const Context& context, Device device = {});

// Shows what a run without a folder came to.
Result<void> ShowRun(std::string_view kind, const Result<std::unique_ptr<RunResult>>& result,
                     Context& context);

// Goes on with the run of a folder to its end, writes its result and shows it. A new run goes on
// from nothing, so that from the start it depends on its folder alone, as it will later. Returns
// the result, for commands that have more to show.
Result<std::unique_ptr<RunResult>> ContinueRun(RunDirectory& directory, Context& context,
                                               Device device = {});

// The second half of it: writes what the run of a folder came to, and shows it.
Result<void> EndRun(RunDirectory& directory, const RunResult& result, Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_RUN_OUTPUT_H_
