// Flags of searching commands.
#include "tessera/cli/map_arguments.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/cli/accelerator_argument.h"
#include "tessera/cli/choices.h"
#include "tessera/cost.h"
#include "tessera/search.h"

namespace tessera {

std::vector<std::string> MethodNames() { return SearchMethods().Names(); }

std::vector<Flag> ConstraintFlags(std::vector<std::string>& constraints, std::string& dataflow) {
  return {{.name = "--constraints",
           .target = &constraints,
           .help = "YAML file with what mappings must be like (docs/constraints.md)",
           .value = "FILE"},
          {.name = "--dataflow",
           .target = &dataflow,
           .help = "what stays where, and what is parallel, by name (docs/constraints.md)",
           .value = "NAME",
           .choices = DataflowNames}};
}

std::vector<Flag> ProblemFlags(ProblemArguments& arguments) {
  MapSettings& settings = arguments.settings;
  std::vector<Flag> flags = NetworkFlags(arguments.network);
  flags.push_back(BitsFlag(arguments.network.bits));
  flags.push_back(AcceleratorFlag(arguments.accelerator));
  const std::vector<Flag> more = {
      {.name = "--model",
       .target = &arguments.model,
       .help = "cost model, or exec:COMMAND (docs/external-evaluator.md); default: the first of "
               "these that suits the machine",
       .value = "MODEL",
       .choices = CostModelNames},
      {.name = "--objective",
       .target = &arguments.objective,
       .help = "what is to be small; several with commas: of equal mappings the next decides, and "
               "in the end cycles and energy",
       .value = "OBJECTIVE",
       .choices = AsChoices<kObjectiveNames>},
      {.name = "--sizes",
       .target = &arguments.sizes,
       .help = "tile sizes of dataflows; divisors: also powers of two",
       .value = "WHICH",
       .choices = AsChoices<kTileSizesNames>},
      {.name = "--decide-pes",
       .target = &settings.decide_pes,
       .help = "dataflows: the number of PEs is a decision, up to that of the machine"},
      {.name = "--bypass",
       .target = &arguments.bypass,
       .help = "loops: whether a level holds a tensor is a decision, which is the default"},
      {.name = "--no-bypass",
       .target = &arguments.no_bypass,
       .help = "loops: every level holds every tensor that the machine lets it hold"},
      {.name = "--limit",
       .target = &arguments.limits,
       .help = "what a layer may cost at most: cycles, energy_pj, edp, power_mw or area_um2",
       .value = "KEY=VALUE"},
      {.name = "--ert",
       .target = &arguments.ert,
       .help = "energies for the machine: an ERT of Accelergy, or an energy_table of Tessera",
       .value = "FILE"},
      {.name = "--art",
       .target = &arguments.art,
       .help = "areas for the machine: an ART of Accelergy",
       .value = "FILE"},
  };
  flags.insert(flags.end(), more.begin(), more.end());
  std::ranges::copy(ConstraintFlags(arguments.constraints, arguments.dataflow),
                    std::back_inserter(flags));
  const std::vector<Flag> model = arguments.model_settings.Flags();
  flags.insert(flags.end(), model.begin(), model.end());
  return flags;
}

Flag PointsFlag(MapSettings& settings) {
  return {.name = "--points",
          .target = &settings.points,
          .help = "points that a method is asked for at a time",
          .value = "N",
          .least = 1};
}

std::vector<Flag> BudgetFlags(MapSettings& settings) {
  return {{.name = "--samples",
           .target = &settings.budget.samples,
           .help = "evaluations per layer, infeasible ones included",
           .value = "N",
           .least = 1},
          {.name = "--time-limit",
           .target = &settings.budget.seconds,
           .help = "time for everything; results then depend on the machine; 0: no limit",
           .value = "S",
           .least = 0},
          PointsFlag(settings)};
}

namespace {

// --ert and --art.
Result<void> ApplyTables(const ProblemArguments& arguments, Accelerator& accelerator,
                         Context& context) {
  const auto apply = [&](const std::vector<std::string>& files, auto function) -> Result<void> {
    for (const std::string& file : files) {
      const Result<std::vector<std::string>> notes = function(file, accelerator);
      if (!notes) return notes.error();
      for (const std::string& note : *notes) context.remark(note);
    }
    return {};
  };
  if (Result<void> ok = apply(arguments.ert, ApplyEnergyFile); !ok) return ok;
  return apply(arguments.art, ApplyAreaFile);
}

}  // namespace

Result<MapInputs> LoadInputs(const ProblemArguments& arguments, Context& context) {
  MapSettings settings = arguments.settings;
  settings.seed = context.options.seed;
  settings.network = arguments.network.name;
  settings.accelerator = arguments.accelerator;
  settings.constraints = arguments.constraints;
  settings.dataflow = arguments.dataflow;
  Result<Network> network = Load(arguments.network);
  if (!network) return network.error();
  Result<Accelerator> accelerator = LoadAccelerator(settings.accelerator);
  if (!accelerator) return accelerator.error();
  if (Result<void> ok = ApplyTables(arguments, *accelerator, context); !ok) return ok.error();
  for (const std::string& note : accelerator->notes) context.remark(note);
  Result<CostModelChoice> model =
      arguments.model_settings.Choose(arguments.model, DefaultCostModel(*accelerator));
  if (!model) return model.error();
  settings.model = *std::move(model);
  const Result<std::vector<Objective>> objectives = ParseObjectives(arguments.objective);
  if (!objectives) return objectives.error();
  settings.objective = objectives->front();
  settings.then.assign(objectives->begin() + 1, objectives->end());
  for (const std::string& limit : arguments.limits) {
    if (Result<void> parsed = ParseLimit(limit, settings.limits); !parsed) return parsed.error();
  }
  if (arguments.bypass && arguments.no_bypass) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--bypass and --no-bypass contradict each other",
                 .hint = "leave out one of them"};
  }
  settings.bypass = !arguments.no_bypass;
  const auto sizes = FindName<TileSizes>("tile sizes", arguments.sizes, kTileSizesNames);
  if (!sizes) return sizes.error();
  settings.sizes = *sizes;
  return MapInputs{std::move(settings), *std::move(network), *std::move(accelerator)};
}

Result<MapJob> MakeLayerJob(const ProblemArguments& arguments, Context& context) {
  Result<MapInputs> inputs = LoadInputs(arguments, context);
  if (!inputs) return inputs.error();
  const Network& network = inputs->network;
  if (network.layers.size() != 1) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("network '{}' has {} different layers", network.name,
                                        network.layers.size()),
                 .hint = "choose one with --layer"};
  }
  return MakeMapJob(inputs->settings, std::move(inputs->network), std::move(inputs->accelerator));
}

}  // namespace tessera
