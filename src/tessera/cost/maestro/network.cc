#include "tessera/cost/maestro/network.h"

#include <map>

#include "tessera/cost/maestro/report.h"

namespace tessera::maestro {
namespace {

bool FoundWhileReading(Rule rule) {
  return rule == Rule::kKernelOffset || rule == Rule::kKernelSize;
}

// MAESTRO decides once per layer type whether N indexes its tensors, by the first such layer.
class BatchRule {
 public:
  bool Apply(const Declaration& declaration) {
    bool declares = false;
    for (const DimSize& entry : declaration.dims) declares |= entry.dim == Dim::kN;
    return by_type_.try_emplace(declaration.type, declares).first->second;
  }

 private:
  std::map<MaestroType, bool> by_type_;
};

}  // namespace

std::vector<LayerOutcome> EvaluateNetwork(const std::vector<MappedLayer>& layers,
                                          const PeArray& array, MaestroVersion version,
                                          Analyser& analyser) {
  std::vector<LayerOutcome> outcomes;
  outcomes.reserve(layers.size());  // `previous` points into it
  BatchRule batch_rule;
  const Analysis* previous = nullptr;
  for (const MappedLayer& layer : layers) {
    LayerOutcome& outcome = outcomes.emplace_back();
    Result<Workload> workload =
        MakeWorkload(layer.declaration, batch_rule.Apply(layer.declaration));
    if (!workload) {
      outcome.failure = {.error = workload.error(), .while_reading = true};
      continue;
    }
    outcome.workload = std::move(*workload);
    const Violation broken =
        analyser.Run(outcome.workload, array, version, layer.dataflow, outcome.analysis);
    if (broken.rule != 0) {
      const auto rule = static_cast<Rule>(broken.rule);
      outcome.failure = {StatusOf(rule), Describe(broken), FoundWhileReading(rule), broken};
      continue;
    }
    outcome.flags = FlagsOf(outcome.workload, array, outcome.analysis);
    outcome.csv_energy_nj = CsvEnergyNj(outcome.analysis, previous);
    previous = &outcome.analysis;
  }
  return outcomes;
}

std::optional<size_t> FirstFailure(const std::vector<LayerOutcome>& outcomes) {
  std::optional<size_t> first;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].failure) continue;
    if (outcomes[i].failure->while_reading) return i;
    if (!first) first = i;
  }
  return first;
}

}  // namespace tessera::maestro
