// Flags of searching commands.
#include "tessera/cli/map_arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/arch/format.h"
#include "tessera/cli/accelerator_argument.h"
#include "tessera/cli/choices.h"
#include "tessera/cli/external_arguments.h"
#include "tessera/cli/map_budget.h"
#include "tessera/cost/models.h"
#include "tessera/search/method.h"

namespace tessera {

std::vector<std::string> MethodNames() { return SearchMethods().Names(); }

std::vector<Flag> ProblemFlags(ProblemArguments& arguments) {
  MapSettings& settings = arguments.settings;
  std::vector<Flag> flags = NetworkFlags(arguments.network);
  flags.push_back(AcceleratorFlag(settings.accelerator));
  const std::vector<Flag> more = {
      {.name = "--model",
       .target = &arguments.model,
       .help = "cost model, or exec:COMMAND (docs/external-evaluator.md); default: loopnest, or "
               "maestro where the machine has no hierarchy",
       .value = "MODEL",
       .choices = [] { return NamesOf(CostModels()); }},
      {.name = "--objective",
       .target = &settings.objective,
       .help = "what is to be small",
       .value = "OBJECTIVE",
       .choices = AsChoices<kObjectiveNames>},
      {.name = "--sizes",
       .target = &settings.sizes,
       .help = "tile sizes of model maestro: divisors (and powers of two) or all",
       .value = "WHICH"},
      {.name = "--decide-pes",
       .target = &settings.decide_pes,
       .help = "model maestro: the number of PEs is a decision, up to that of the machine"},
      {.name = "--bypass",
       .target = &settings.bypass,
       .help = "model loopnest: whether a level holds a tensor is a decision"},
      {.name = "--constraints",
       .target = &settings.constraints,
       .help = "YAML file with what mappings must be like (docs/mapping.md)",
       .value = "FILE"},
      {.name = "--energy",
       .target = &settings.energy,
       .help =
           "energy of model maestro: maestro-csv (MAESTRO's column, as the literature) or layer "
           "(MACs, L1 and L2)",
       .value = "WHICH",
       .choices = AsChoices<kMaestroEnergyNames>},
      {.name = "--legality",
       .target = &settings.legality,
       .help = "model maestro: strict (doubtful numbers are infeasible) or compat",
       .value = "WHICH"},
      {.name = "--area",
       .target = &settings.area,
       .help = "area formula of model maestro: maestro, gamma or archgym",
       .value = "WHICH"},
      {.name = "--maestro-version",
       .target = &settings.version,
       .help = "version of MAESTRO to agree with: head or pinned",
       .value = "WHICH"},
      {.name = "--semantics",
       .target = &settings.semantics,
       .help = "rules of model loopnest: exact, timeloop3 or timeloop4",
       .value = "WHICH"}};
  flags.insert(flags.end(), more.begin(), more.end());
  const std::vector<Flag> external = ExternalFlags(
      settings.exec_timeout_seconds, settings.exec_memory_mib, settings.exec_batch_rows);
  flags.insert(flags.end(), external.begin(), external.end());
  return flags;
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
          {.name = "--batch",
           .target = &settings.batch,
           .help = "points that a method is asked for at a time",
           .value = "N",
           .least = 1}};
}

Result<MapJob> MakeJob(const ProblemArguments& arguments, Context& context,
                       const MapBudget* budget) {
  MapSettings settings = arguments.settings;
  settings.seed = context.options.seed;
  settings.network = arguments.network.name;
  Result<Network> network = Load(arguments.network);
  if (!network) return network.error();
  const Result<Accelerator> accelerator = LoadAccelerator(settings.accelerator);
  if (!accelerator) return accelerator.error();
  for (const std::string& note : accelerator->notes) context.remark(note);
  settings.model = arguments.model.value_or(accelerator->hierarchy ? "loopnest" : "maestro");
  if (settings.model.starts_with(kExternalPrefix)) {
    const std::string_view command =
        std::string_view(settings.model).substr(kExternalPrefix.size());
    if (Result<void> given = CheckExternalCommand(command); !given) return given.error();
  } else if (const Result<const CostModelInfo*> model = FindCostModel(settings.model); !model) {
    return model.error();
  }
  if (budget != nullptr) {
    if (Result<void> set = SetBudget(*budget, settings); !set) return set.error();
  }
  return MakeMapJob(settings, *std::move(network));
}

Result<MapJob> MakeLayerJob(const ProblemArguments& arguments, Context& context) {
  Result<MapJob> job = MakeJob(arguments, context);
  if (!job || job->network.layers.size() == 1) return job;
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("network '{}' has {} different layers", job->network.name,
                                      job->network.layers.size()),
               .hint = "choose one with --layer"};
}

}  // namespace tessera
