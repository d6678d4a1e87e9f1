// tessera sweep: what a network costs as numbers of a machine change.
#include <optional>

#include <fmt/format.h>

#include "tessera/cli/accelerator_argument.h"
#include "tessera/cli/choices.h"
#include "tessera/cli/command.h"
#include "tessera/cli/explore_arguments.h"
#include "tessera/cli/network_argument.h"
#include "tessera/cli/run_output.h"
#include "tessera/cooptimize.h"
#include "tessera/part.h"
#include "tessera/runs.h"

namespace tessera {
namespace {

struct SweepArguments {
  NetworkArgument network;
  std::string accelerator;
  std::string objective{ToString(Objective::kEnergy)};
  std::vector<std::string> vary;
  MachineMapArguments map;
  double seconds = 0;
  std::optional<double> target_gap;
};

std::vector<Flag> Flags(SweepArguments& arguments) {
  std::vector<Flag> flags = NetworkFlags(arguments.network);
  flags.push_back(BitsFlag(arguments.network.bits));
  flags.push_back(AcceleratorFlag(arguments.accelerator));
  const std::vector<Flag> more = {
      {.name = "--vary",
       .target = &arguments.vary,
       .help = "a number of the machine (levels.GLB.entries) or of the network (network.seq) and "
               "its values: 16K..1M:x2, 1..9:+2 or 8,16,32",
       .value = "FIELD=VALUES",
       .required = true},
      {.name = "--objective",
       .target = &arguments.objective,
       .help = "what each layer is mapped for",
       .value = "OBJECTIVE",
       .choices =
           [] {
             return std::vector<std::string>{"latency", "energy", "edp"};
           },
       .closed = true},
      {.name = "--time-limit",
       .target = &arguments.seconds,
       .help = "time for everything; results then depend on the machine; 0: no limit",
       .value = "S",
       .least = 0},
      {.name = "--target-gap",
       .target = &arguments.target_gap,
       .help = "end with a layer this close to its bound: 0.05 is 5 %",
       .value = "G",
       .least = 0}};
  flags.insert(flags.end(), more.begin(), more.end());
  for (const Flag& flag :
       MachineMapFlags(arguments.map, "what a layer may cost at most: cycles, energy_pj, edp")) {
    flags.push_back(flag);
  }
  return flags;
}

Result<SweepSettings> SettingsOf(const SweepArguments& arguments, Context& context) {
  SweepSettings settings{.network = arguments.network.name,
                         .accelerator = arguments.accelerator,
                         .seconds = arguments.seconds};
  Result<MapSettings> map = MachineMapSettings(arguments.map, context, nullptr);
  if (!map) return map.error();
  settings.map = *std::move(map);
  const Result<Objective> objective = FindObjective(arguments.objective);
  if (!objective) return objective.error();
  settings.map.objective = *objective;
  settings.map.target_gap = arguments.target_gap;
  for (const std::string& text : arguments.vary) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("{} is not FIELD=VALUES", Quoted(text)),
                   .hint = "for example levels.GLB.entries=16K..1M:x2"};
    }
    Result<std::vector<std::string>> values =
        ParseVariedValues(std::string_view(text).substr(equals + 1));
    if (!values) return values.error();
    settings.vary.emplace_back(text.substr(0, equals), *std::move(values));
  }
  return settings;
}

Result<void> Run(const SweepArguments& arguments, Context& context) {
  const Result<SweepSettings> settings = SettingsOf(arguments, context);
  if (!settings) return settings.error();
  const Result<std::string> text = AcceleratorFileText(arguments.accelerator);
  if (!text) return text.error();
  const NetworkWith network = [&](const auto& parameters) {
    NetworkArgument with = arguments.network;
    for (const auto& [name, value] : parameters) with.bind.push_back(name + "=" + value);
    return Load(with);
  };
  Result<SweepJob> job = MakeSweepJob(*settings, network, *text, arguments.accelerator);
  if (!job) return job.error();
  if (context.options.out.empty()) {
    return ShowRun(kSweepRun, RunSweep(*std::move(job), nullptr, RunContextOf(context)), context);
  }
  Result<RunDirectory> directory = CreateSweepRun(context.options.out, *job, context.origin);
  if (!directory) return directory.error();
  const Result<std::unique_ptr<RunResult>> result = ContinueRun(*directory, context);
  return result ? Result<void>() : result.error();
}

}  // namespace

extern const Command kSweepCommand = {
    .name = "sweep",
    .summary = "what a network costs as numbers of a machine change",
    .examples =
        {{"tessera sweep resnet18 --layer 3 --accelerator simple3 --vary "
          "levels.GLB.entries=16K..1M:x2",
          "what doubling the buffer brings, and where that ends"},
         {"tessera sweep alexnet --accelerator simple3 --vary levels.GLB.entries=16K,64K --vary "
          "network.batch=1,4",
          "two numbers, one of them of the network"}},
    .bind = Bind<SweepArguments, Flags, Run>,
    .details =
        "Every combination of the values is a point, mapped to its proof. Energies per access "
        "stay\n"
        "as they are, unless the level names a component, from whose size they follow. With "
        "--out:\n"
        "points.csv, sweep.svg, and the accelerator.yaml of every point. With --target-gap layers\n"
        "are proved as far as that says.",
    .writes_out = true};

}  // namespace tessera
