// tessera resume: goes on with a run that was interrupted, whatever its kind.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/cli/run_output.h"
#include "tessera/cli/training.h"
#include "tessera/map.h"
#include "tessera/report/json.h"
#include "tessera/run.h"
#include "tessera/runs.h"

namespace tessera {
namespace {

struct ResumeArguments {
  std::string run;
  bool allow_exec = false;
  std::optional<int64_t> samples;
  std::string device = "cpu";
};

// Only some kinds compute on a device.
Result<Device> DeviceFor(const RunKind& kind, const std::string& name) {
  const Device device = DeviceOf(name);
  if (device == Device::kCpu || kind.name == kMapRun || kind.name == kTrainRun) return device;
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("runs of {} are not on --device cuda", kind.name),
               .hint = "take --device cpu"};
}

std::vector<Flag> Flags(ResumeArguments& arguments) {
  Flag device = MakeDeviceFlag(arguments.device);
  device.help = "where runs of train and map go on: cpu or cuda";
  return {{.name = "RUN",
           .target = &arguments.run,
           .help = "folder that a command made with --out",
           .required = true},
          {.name = "--allow-exec",
           .target = &arguments.allow_exec,
           .help = "run the program that the run evaluates with (model exec:COMMAND)"},
          {.name = "--samples",
           .target = &arguments.samples,
           .help = "runs of map: a new number of samples per layer, more than it had",
           .value = "N",
           .least = 1},
          device};
}

// The same run with more samples. Proposals of a method do not depend on the budget, so that it
// ends as if it had been started with them.
Result<void> Extend(RunDirectory& directory, int64_t samples) {
  Json settings = FromText(directory.header().settings);
  if (directory.header().kind != kMapRun || !settings.is_object()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--samples extends runs of map, but {} is one of {}",
                                        directory.path(), directory.header().kind)};
  }
  const int64_t had = settings.value("samples", int64_t{0});
  if (samples < had) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--samples is {}, but the run has {}", samples, had)};
  }
  settings["samples"] = samples;
  return directory.ChangeSettings(ToLine(settings));
}

Result<void> Run(const ResumeArguments& arguments, Context& context) {
  Result<RunDirectory> directory = RunDirectory::Open(arguments.run);
  if (!directory) return directory.error();
  const Result<const RunKind*> kind = KindOf(*directory);
  if (!kind) return kind.error();
  if (Result<void> may = (*kind)->check_exec(*directory, arguments.allow_exec); !may) return may;
  const Result<Device> device = DeviceFor(**kind, arguments.device);
  if (!device) return device.error();
  if (arguments.samples) {
    if (Result<void> extended = Extend(*directory, *arguments.samples); !extended) return extended;
  }
  const Result<std::unique_ptr<RunResult>> result = ContinueRun(*directory, context, *device);
  return result ? Result<void>() : result.error();
}

}  // namespace

extern const Command kResumeCommand = {
    .name = "resume",
    .summary = "go on with an interrupted run",
    .examples = {{"tessera resume runs/bert", "to the same end as without interruption"},
                 {"tessera resume runs/bert --threads 1 --json", "on one thread, result as JSON"},
                 {"tessera resume runs/bert --samples 50000", "the same run, longer"}},
    .bind = Bind<ResumeArguments, Flags, Run>,
    .details =
        "Runs of map, compare, cooptimize and train. What the journals hold is not evaluated\n"
        "again. Seed, budget and inputs are those of the run, whatever the options say, but for\n"
        "--samples; nothing outside its folder is read.\n",
    .writes_out = true};

}  // namespace tessera
