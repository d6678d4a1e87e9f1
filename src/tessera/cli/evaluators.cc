// The list of evaluators.
#include <algorithm>
#include <array>

#include "tessera/cli/evaluate.h"

namespace tessera {

extern const ModelEvaluator kMaestroEvaluator;   // evaluate_maestro.cc
extern const ModelEvaluator kExternalEvaluator;  // evaluate_external.cc
extern const ModelEvaluator kLoopnestEvaluator;  // evaluate_loopnest.cc

std::span<const ModelEvaluator* const> ModelEvaluators() {
  static constexpr std::array kEvaluators = {&kMaestroEvaluator, &kExternalEvaluator,
                                             &kLoopnestEvaluator};
  return kEvaluators;
}

const ModelEvaluator* FindEvaluator(const CostModelInfo& model) {
  const auto found = std::ranges::find_if(ModelEvaluators(), [&](const ModelEvaluator* evaluator) {
    return evaluator->model == model.name;
  });
  return found == ModelEvaluators().end() ? nullptr : *found;
}

}  // namespace tessera
