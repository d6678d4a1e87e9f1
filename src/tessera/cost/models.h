// The cost models by name. A model is a folder of cost/ that defines a CostModelInfo, and one line
// in models.cc; commands, `tessera list models` and the conformance test find it there.
#ifndef TESSERA_COST_MODELS_H_
#define TESSERA_COST_MODELS_H_

#include <memory>
#include <span>
#include <string_view>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/cost/cost_model.h"
#include "tessera/cost/loopnest/semantics.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/workload/layer.h"

namespace tessera {

// A model reads its own part and ignores the others.
struct CostModelOptions {
  MaestroOptions maestro = {};
  LoopnestOptions loopnest = {};
};

struct CostModelInfo {
  std::string_view name;     // "maestro", as in --model
  std::string_view summary;  // one line for lists and --help
  // A model for valid inputs. The error says what the model cannot represent, or which part of the
  // accelerator it misses.
  Result<std::unique_ptr<CostModel>> (*make)(const Layer& layer, const Accelerator& accelerator,
                                             const CostModelOptions& options);
};

// All models, in the order of `tessera list models`.
std::span<const CostModelInfo* const> CostModels();

Result<const CostModelInfo*> FindCostModel(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_COST_MODELS_H_
