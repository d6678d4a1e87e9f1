// A cost model whose settings are chosen, before it meets a layer: everything that spaces, mappers
// and proofs ask of a model without knowing which one it is. What a model does not have it leaves
// at the default.
#ifndef TESSERA_COST_CONFIGURED_MODEL_H_
#define TESSERA_COST_CONFIGURED_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cost/cost.h"
#include "tessera/cost/cost_model.h"
#include "tessera/cost/loopnest/semantics.h"
#include "tessera/mapping/mapping.h"
#include "tessera/workload/layer.h"

namespace tessera {

// What the space of a model's mappings has to have: what the model refuses anyway, or does not tell
// apart, is no decision. A space reads the part of its form.
struct SpaceRules {
  // Loops: whether the order of parallel loops matters on every machine, not only where words pay
  // for hops or neighbours hand them on. Default: false.
  bool always_order_parallel_loops = false;

  // Loops: whether a level also stores the elements that strides and dilations leave between those
  // that a tile touches. Default: true.
  bool store_holes = true;

  // Dataflows: whether tiles of R and S may be smaller than the kernel. Default: false.
  bool kernel_tiles = false;

  // Dataflows: whether R and S may be parallel at L1, an element of the kernel per PE. Default:
  // false.
  bool parallel_kernel = false;

  // Dataflows: whether tiles of a strided Y or X may have more than one output. Default: false.
  bool strided_tiles = false;
};

// What no mapping can be below; empty where the model knows no bound.
struct CostBounds {
  std::optional<double> cycles = {};
  std::optional<double> energy_pj = {};
};

// A model that is cheaper by the batch, or answers in another process, so that an evaluation may
// also fail. Any thread may use it.
class BatchModel {
 public:
  struct Request {
    Mapping mapping = {};
    int64_t num_pes = 1;
  };

  virtual ~BatchModel() = default;

  // The costs in the order of the requests. An error of kind kInfeasible is a verdict on a mapping;
  // any other is a failure of the evaluation.
  virtual std::vector<Result<Cost>> Evaluate(std::span<const Request> requests,
                                             ThreadPool& pool) const = 0;
};

class ConfiguredModel {
 public:
  virtual ~ConfiguredModel() = default;

  // A model for valid inputs. The error says what the model cannot represent, or which part of the
  // accelerator it misses.
  virtual Result<std::unique_ptr<CostModel>> Make(const Layer& layer,
                                                  const Accelerator& accelerator) const = 0;

  // The same for models that price by the batch; null for all others, whose Make is then used.
  virtual Result<std::unique_ptr<BatchModel>> MakeBatch(const Layer& /*layer*/,
                                                        const Accelerator& /*accelerator*/) const {
    return std::unique_ptr<BatchModel>();
  }

  // The accelerator has the part that the model's form needs.
  virtual SpaceRules RulesFor(const Layer& /*layer*/, const Accelerator& /*accelerator*/) const {
    return {};
  }

  // `any_keep`: for mappings that choose what each level holds. Errors as Make.
  virtual Result<CostBounds> BoundsFor(const Layer& /*layer*/, const Accelerator& /*accelerator*/,
                                       bool /*any_keep*/) const {
    return CostBounds{};
  }

  // The rules of cost/loopnest/ that every cost follows, for models that price loops by them.
  // Proofs (search/exact/) and the walk of every iteration (cost/loopnest/interpreter.h) hold for
  // these.
  virtual std::optional<loopnest::Semantics> semantics() const { return std::nullopt; }
};

}  // namespace tessera

#endif  // TESSERA_COST_CONFIGURED_MODEL_H_
