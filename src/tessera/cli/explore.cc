// tessera explore: which machine of a template to build.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

struct ExploreArguments {
  std::vector<std::string> networks;
  std::vector<std::string> bind;
  std::optional<std::string> bits;
  std::optional<std::string> layer;
  std::string machine;
  std::string objective{ToString(Objective::kEdp)};
  std::vector<std::string> pareto;
  std::vector<std::string> weights;
  MachineMapArguments map;
  std::optional<double> seconds;
  ExploreSettings settings;
  bool dry_run = false;
};

// Processor time of a run that has no limit of its own.
constexpr double kProcessorSeconds = 570;

std::vector<Flag> Flags(ExploreArguments& arguments) {
  ExploreSettings& settings = arguments.settings;
  std::vector<Flag> flags = {
      {.name = "NETWORK",
       .target = &arguments.networks,
       .help = "zoo names or network files, several with commas or spaces; they share the machine",
       .required = true,
       .choices = ZooNames},
      {.name = "--machine",
       .target = &arguments.machine,
       .help = "template: an accelerator file with choices (docs/explore.md)",
       .value = "TEMPLATE",
       .required = true},
      {.name = "--layer",
       .target = &arguments.layer,
       .help = "only this layer: its name, or its number from 1",
       .value = "L"},
      BindFlag(arguments.bind),
      BitsFlag(arguments.bits),
      {.name = "--objective",
       .target = &arguments.objective,
       .help = "what is to be small; area: of a machine that can do it",
       .value = "OBJECTIVE",
       .choices = AsChoices<kObjectiveNames>,
       .closed = true},
      {.name = "--pareto",
       .target = &arguments.pareto,
       .help = "the machines that none is better than in all of these: latency,energy,area; every "
               "layer is mapped for --objective",
       .value = "OBJECTIVES",
       .commas = true,
       .choices = AsChoices<kObjectiveNames>},
      {.name = "--weights",
       .target = &arguments.weights,
       .help = "how much each network counts; default: 1 each",
       .value = "W,...",
       .commas = true},
      {.name = "--method",
       .target = &settings.method,
       .help = "exhaustive proves; the others map what they propose, as far as bounds allow",
       .value = "METHOD",
       .choices = [] { return ExploreMethods().Names(); }},
      {.name = "--samples",
       .target = &settings.samples,
       .help = "machines that other methods may propose",
       .value = "N",
       .least = 1},
      {.name = "--time-limit",
       .target = &arguments.seconds,
       .help = "time for everything; 0: no limit; default: 570 s of the processor, or none with "
               "--target-gap",
       .value = "S",
       .least = 0},
      {.name = "--target-gap",
       .target = &settings.target_gap,
       .help = "done once no machine can be better by more than this part: 0.05 is 5 %",
       .value = "PART",
       .least = 0},
      {.name = "--dry-run",
       .target = &arguments.dry_run,
       .help = "count the machines, map nothing"}};
  for (const Flag& flag : MachineMapFlags(
           arguments.map,
           "of a machine: area_mm2, area_um2, power_w, sram_bytes, aspect; of a layer's mapping: "
           "cycles, energy_pj, edp")) {
    flags.push_back(flag);
  }
  return flags;
}

// "alexnet,gpt2:seq=1,past=64": what is a parameter belongs to the name before it.
std::vector<std::string> NamesIn(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    bool first = true;
    for (const std::string_view part : Split(word, ',')) {
      const size_t equals = part.find('='), colon = part.find(':');
      const bool parameter = !first && equals != std::string_view::npos && colon > equals;
      if (parameter) {
        names.back() += fmt::format(",{}", part);
      } else {
        names.emplace_back(part);
      }
      first = false;
    }
  }
  return names;
}

Result<std::vector<Network>> LoadNetworks(const ExploreArguments& arguments) {
  std::vector<Network> networks;
  for (const std::string& name : NamesIn(arguments.networks)) {
    Result<Network> network = Load(
        {.name = name, .bind = arguments.bind, .layer = arguments.layer, .bits = arguments.bits});
    if (!network) return network.error();
    networks.push_back(*std::move(network));
  }
  return networks;
}

Result<ExploreSettings> SettingsOf(const ExploreArguments& arguments, Context& context) {
  ExploreSettings settings = arguments.settings;
  Result<MapSettings> map = MachineMapSettings(arguments.map, context, &settings.limits);
  if (!map) return map.error();
  settings.map = *std::move(map);
  settings.seed = context.options.seed;
  settings.machine = arguments.machine;
  const Result<Objective> objective = FindObjective(arguments.objective);
  if (!objective) return objective.error();
  settings.objective = *objective;
  for (const std::string& name : arguments.pareto) {
    const Result<Objective> found = FindObjective(name);
    if (!found) return found.error();
    settings.pareto.push_back(*found);
  }
  for (const std::string& text : arguments.weights) {
    const Result<double> weight = ParseDouble(text);
    if (!weight) return weight.error();
    settings.weights.push_back(*weight);
  }
  if (arguments.seconds) {
    settings.seconds = *arguments.seconds;
  } else if (settings.target_gap == 0) {
    const ThreadPool pool(static_cast<int>(context.options.threads));
    settings.seconds = kProcessorSeconds / pool.threads();
  }
  return settings;
}

Result<void> Run(const ExploreArguments& arguments, Context& context) {
  Result<std::vector<Network>> networks = LoadNetworks(arguments);
  if (!networks) return networks.error();
  const Result<ExploreSettings> settings = SettingsOf(arguments, context);
  if (!settings) return settings.error();
  const Result<std::string> text = ReadTextFile(arguments.machine);
  if (!text) return text.error();
  Result<ExploreJob> job =
      MakeExploreJob(*settings, *std::move(networks), *text, arguments.machine);
  if (!job) return job.error();
  // A second of counting; who asks for the number alone may want it exactly.
  constexpr int64_t kCounted = 10'000'000;
  const MachineCount count = CountMachines(*job, arguments.dry_run ? INT64_MAX : kCounted);
  if (context.stopped()) {
    return Error{.kind = ErrorKind::kBudget, .message = "interrupted while counting machines"};
  }
  const std::string machines = WithThousands(count.machines) + " machines";
  context.remark((count.counted ? "" : "at most ") + machines);
  if (arguments.dry_run) {
    context.output.Set("machines", Json(count.machines));
    return context.output.ShowText(machines + "\n");
  }
  if (context.options.out.empty()) {
    return ShowRun(kExploreRun, RunExplore(*std::move(job), nullptr, RunContextOf(context)),
                   context);
  }
  Result<RunDirectory> directory = CreateExploreRun(context.options.out, *job, context.origin);
  if (!directory) return directory.error();
  const Result<std::unique_ptr<RunResult>> result = ContinueRun(*directory, context);
  return result ? Result<void>() : result.error();
}

}  // namespace

extern const Command kExploreCommand = {
    .name = "explore",
    .summary = "the best machines of a template, with proof",
    .examples =
        {{"tessera explore resnet18 --machine edge.yaml --objective edp --limit area_mm2=2",
          "the machine with the least EDP of those that are small enough"},
         {"tessera explore mobilenet-v2,bert-base --machine edge.yaml --pareto latency,energy,area",
          "one machine for two networks: the front"},
         {"tessera explore resnet18 --machine edge.yaml --target-gap 0.05 --out runs/edge",
          "until no machine can be more than 5 % better; continue it with tessera resume"},
         {"tessera explore alexnet --machine edge.yaml --method dcoc --samples 100",
          "what an agent proposes, with a bound on what it missed"},
         {"tessera explore alexnet --machine edge.yaml --dry-run", "how many machines there are"}},
    .bind = Bind<ExploreArguments, Flags, Run>,
    .details =
        "Machines are compared by what 'tessera map --method exact' finds for them: each layer is\n"
        "mapped for the objective by itself, sums are over all layers of all networks, EDP is the\n"
        "product of the sums. Most machines are discarded because a bound shows that they cannot\n"
        "be better. With --out every reported machine has its accelerator.yaml, and machines.csv\n"
        "says what became of every machine.",
    .writes_out = true};

}  // namespace tessera
