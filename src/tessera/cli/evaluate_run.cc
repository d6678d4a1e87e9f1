// tessera evaluate RUN: the mappings of a run, on its own machine or on another one.
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"
#include "tessera/cli/evaluate.h"
#include "tessera/map.h"
#include "tessera/report/explain_report.h"

namespace tessera {
namespace {

Result<void> CheckFlags(const EvaluateArguments& arguments) {
  const bool others = arguments.model || !arguments.mapping.empty() || !arguments.batch.empty() ||
                      arguments.maestro.csv || arguments.semantics || !arguments.energy.empty() ||
                      !arguments.timeloop.empty() || !arguments.bind.empty();
  if (!others) return {};
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("{} is a run, which has its network, mappings and cost model",
                                      Quoted(arguments.network)),
               .hint = "with a run go --layer, --explain and --accelerator"};
}

Table CostTable(const RunExplanation& run) {
  Table table({"layer", "count", "cycles", "energy_pj", "edp", "utilization_pct", "limited_by"});
  double cycles = 0, energy = 0;
  for (const LayerExplanation& layer : run.layers) {
    if (!layer.mapping) continue;
    const Cost& cost = layer.parts.cost;
    table.Add(layer.name, layer.count, cost.cycles, cost.energy_pj, cost.edp(),
              100 * cost.utilization, layer.parts.limited_by);
    cycles += static_cast<double>(layer.count) * static_cast<double>(cost.cycles);
    energy += static_cast<double>(layer.count) * cost.energy_pj;
  }
  if (run.layers.size() > 1) {
    table.Add("total", Cell(), cycles, energy, cycles * energy, Cell(), Cell());
  }
  return table;
}

}  // namespace

bool IsRun(const std::string& path) {
  std::error_code code;
  return !path.empty() && std::filesystem::is_regular_file(path + "/run.json", code);
}

Result<void> EvaluateRun(const EvaluateArguments& arguments, Context& context) {
  if (Result<void> ok = CheckFlags(arguments); !ok) return ok;
  const Result<RunDirectory> directory = RunDirectory::ReadOnly(arguments.network);
  if (!directory) return directory.error();
  ExplainOptions options{.layer = arguments.layer.value_or("")};
  if (!arguments.hardware.empty()) {
    Result<Accelerator> accelerator = LoadAccelerator(arguments.hardware);
    if (!accelerator) return accelerator.error();
    options.accelerator = *std::move(accelerator);
  }
  const Result<RunExplanation> run = ExplainRun(*directory, options);
  if (!run) return run.error();
  context.output.SetAll(ToJson(*run));
  if (Result<void> shown = context.output.ShowText(ToText(CostTable(*run))); !shown) return shown;
  if (!arguments.explain) return {};
  for (const LayerExplanation& layer : run->layers) {
    if (Result<void> shown = context.output.ShowText("\n" + LayerText(layer)); !shown) return shown;
  }
  return {};
}

}  // namespace tessera
