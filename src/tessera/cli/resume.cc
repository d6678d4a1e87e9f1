// tessera resume: goes on with a run that was interrupted, whatever its kind.
#include "tessera/cli/command.h"
#include "tessera/cli/run_output.h"
#include "tessera/run.h"
#include "tessera/runs.h"

namespace tessera {
namespace {

struct ResumeArguments {
  std::string run;
  bool allow_exec = false;
};

std::vector<Flag> Flags(ResumeArguments& arguments) {
  return {{.name = "RUN",
           .target = &arguments.run,
           .help = "folder that a command made with --out",
           .required = true},
          {.name = "--allow-exec",
           .target = &arguments.allow_exec,
           .help = "run the program that the run evaluates with (model exec:COMMAND)"}};
}

Result<void> Run(const ResumeArguments& arguments, Context& context) {
  Result<RunDirectory> directory = RunDirectory::Open(arguments.run);
  if (!directory) return directory.error();
  const Result<const RunKind*> kind = KindOf(*directory);
  if (!kind) return kind.error();
  if (Result<void> may = (*kind)->check_exec(*directory, arguments.allow_exec); !may) return may;
  const Result<std::unique_ptr<RunResult>> result = ContinueRun(*directory, context);
  return result ? Result<void>() : result.error();
}

}  // namespace

extern const Command kResumeCommand = {
    .name = "resume",
    .summary = "go on with an interrupted run",
    .examples = {{"tessera resume runs/bert", "to the same end as without interruption"},
                 {"tessera resume runs/bert --threads 1 --json", "on one thread, result as JSON"}},
    .bind = Bind<ResumeArguments, Flags, Run>,
    .details =
        "Runs of map, compare, cooptimize and train. What the journals hold is not evaluated\n"
        "again. Seed, budget and inputs are those of the run, whatever the options say; nothing\n"
        "outside its folder is read.\n",
    .writes_out = true};

}  // namespace tessera
