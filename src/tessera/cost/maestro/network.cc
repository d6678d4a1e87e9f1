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

EvaluatedNetwork EvaluateNetwork(const std::vector<MappedLayer>& layers, const PeArray& array,
                                 MaestroVersion version, Analyser& analyser) {
  EvaluatedNetwork result;
  BatchRule batch_rule;
  for (size_t i = 0; i < layers.size(); ++i) {
    const MappedLayer& layer = layers[i];
    const Result<Workload> workload =
        MakeWorkload(layer.declaration, batch_rule.Apply(layer.declaration));
    if (!workload) {
      if (!result.failure) result.failure = {i, Status::kReject, workload.error()};
      continue;
    }
    EvaluatedLayer evaluated{.workload = *workload};
    const Violation broken =
        analyser.Run(*workload, array, version, layer.dataflow, evaluated.analysis);
    if (broken.rule != 0) {
      const auto rule = static_cast<Rule>(broken.rule);
      if (!result.failure || FoundWhileReading(rule)) {
        result.failure = {i, StatusOf(rule), Describe(broken)};
      }
      if (FoundWhileReading(rule)) return result;
      continue;
    }
    evaluated.flags = FlagsOf(*workload, array, evaluated.analysis);
    const Analysis* previous = result.layers.empty() ? nullptr : &result.layers.back().analysis;
    evaluated.csv_energy_nj = CsvEnergyNj(evaluated.analysis, previous);
    result.layers.push_back(std::move(evaluated));
  }
  return result;
}

}  // namespace tessera::maestro
