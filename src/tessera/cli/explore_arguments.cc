#include "tessera/cli/explore_arguments.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "tessera/cli/map_arguments.h"
#include "tessera/cooptimize.h"
#include "tessera/cost.h"
#include "tessera/part.h"

namespace tessera {
namespace {

bool IsFirst(const CostModelInfo& model) { return &model == CostModels().front(); }

}  // namespace

MachineMapArguments::MachineMapArguments() : model_settings(IsFirst) {}

std::vector<Flag> MachineMapFlags(MachineMapArguments& arguments, std::string_view limits_help) {
  std::vector<Flag> flags = {
      {.name = "--limit", .target = &arguments.limits, .help = limits_help, .value = "KEY=VALUE"},
      {.name = "--no-bypass",
       .target = &arguments.no_bypass,
       .help = "every level holds every tensor that the machine lets it hold"}};
  std::ranges::copy(ConstraintFlags(arguments.constraints, arguments.dataflow),
                    std::back_inserter(flags));
  const std::vector<Flag> model = arguments.model_settings.Flags();
  flags.insert(flags.end(), model.begin(), model.end());
  return flags;
}

Result<MapSettings> MachineMapSettings(
    const MachineMapArguments& arguments, Context& context,
    std::vector<std::pair<std::string, double>>* machine_limits) {
  MapSettings settings;
  settings.seed = context.options.seed;
  settings.constraints = arguments.constraints;
  settings.dataflow = arguments.dataflow;
  settings.bypass = !arguments.no_bypass;
  Result<CostModelChoice> model =
      arguments.model_settings.Choose(std::nullopt, *CostModels().front());
  if (!model) return model.error();
  settings.model = *std::move(model);
  for (const std::string& limit : arguments.limits) {
    const std::string name = limit.substr(0, limit.find('='));
    const std::vector<std::string_view> machine = MachineLimitNames();
    if (machine_limits == nullptr || std::ranges::find(machine, name) == machine.end()) {
      if (Result<void> parsed = ParseLimit(limit, settings.limits); !parsed) return parsed.error();
      continue;
    }
    const Result<std::vector<std::string>> values =
        ParseVariedValues(limit.substr(std::min(limit.size(), name.size() + 1)));
    const Result<double> most =
        values && values->size() == 1 ? ParseDouble(values->front()) : Result<double>(-1.0);
    if (!most || !(*most > 0)) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("limit '{}' is not a number above 0", limit),
                   .hint = "for example area_mm2=2"};
    }
    machine_limits->emplace_back(name, *most);
  }
  return settings;
}

}  // namespace tessera
