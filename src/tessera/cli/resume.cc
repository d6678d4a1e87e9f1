// tessera resume: goes on with a run that was interrupted.
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/cli/command.h"
#include "tessera/cli/cooptimize.h"
#include "tessera/cli/map_output.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/record/run_directory.h"

namespace tessera {
namespace {

struct ResumeArguments {
  std::string run;
};

std::vector<Flag> Flags(ResumeArguments& arguments) {
  return {{.name = "RUN",
           .target = &arguments.run,
           .help = "folder that map or cooptimize made with --out",
           .required = true}};
}

Result<void> Run(const ResumeArguments& arguments, Context& context) {
  Result<RunDirectory> directory = RunDirectory::Open(arguments.run);
  if (!directory) return directory.error();
  const Result<std::string> settings = ReadFile(directory->File("run.json"));
  if (!settings) return settings.error();
  // Whatever is not a co-optimization is read, and refused if need be, as a mapping run.
  const Json json = Json::parse(*settings, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.value("command", Json()) == kCooptimizeRun) {
    return ResumeCooptimize(json, *std::move(directory), context);
  }
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
