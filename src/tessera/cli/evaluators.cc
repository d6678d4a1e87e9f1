// The list of evaluators.
#include <algorithm>
#include <array>

#include "tessera/cli/evaluate.h"
#include "tessera/part.h"

namespace tessera {

#define TESSERA_MODEL_EVALUATORS(PART)     \
  PART(ModelEvaluator, kMaestroEvaluator)  \
  PART(ModelEvaluator, kExternalEvaluator) \
  PART(ModelEvaluator, kLoopnestEvaluator)

TESSERA_MODEL_EVALUATORS(TESSERA_DECLARE_PART)

std::span<const ModelEvaluator* const> ModelEvaluators() {
  static constexpr std::array kEvaluators = {TESSERA_MODEL_EVALUATORS(TESSERA_PART_ADDRESS)};
  return kEvaluators;
}

const ModelEvaluator* FindEvaluator(const CostModelInfo& model) {
  const auto found = std::ranges::find_if(ModelEvaluators(), [&](const ModelEvaluator* evaluator) {
    return evaluator->model == model.name;
  });
  return found == ModelEvaluators().end() ? nullptr : *found;
}

}  // namespace tessera
