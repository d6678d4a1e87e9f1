// tessera resume: goes on with a mapping run that was interrupted.
#include "tessera/cli/command.h"
#include "tessera/cli/map_output.h"
#include "tessera/run/map_settings.h"
#include "tessera/run/run_directory.h"

namespace tessera {
namespace {

struct ResumeArguments {
  std::string run;
};

std::vector<Flag> Flags(ResumeArguments& arguments) {
  return {{.name = "RUN",
           .target = &arguments.run,
           .help = "folder that tessera map --out made",
           .required = true}};
}

Result<void> Run(const ResumeArguments& arguments, Context& context) {
  const Result<RunDirectory> directory = RunDirectory::Open(arguments.run);
  if (!directory) return directory.error();
  const Result<MapJob> job = LoadMapJob(*directory);
  if (!job) return job.error();
  return MapAndShow(*job, &*directory, context);
}

}  // namespace

extern const Command kResumeCommand = {
    .name = "resume",
    .summary = "go on with an interrupted run",
    .examples = {{"tessera resume runs/bert", "to the same end as without interruption"},
                 {"tessera resume runs/bert --threads 1 --json", "on one thread, result as JSON"}},
    .bind = Bind<ResumeArguments, Flags, Run>,
    .details =
        "What the journals hold is not evaluated again. Seed, budget and inputs are those of the\n"
        "run, whatever the options say.\n",
    .writes_out = true};

}  // namespace tessera
