// A cost model prices mappings of one layer on one machine. Everything that searches, environments
// and commands know of a model is here; cost/models.h lists the models.
#ifndef TESSERA_COST_COST_MODEL_H_
#define TESSERA_COST_COST_MODEL_H_

#include <memory>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cost/cost.h"
#include "tessera/mapping/mapping.h"

namespace tessera {

// Contract, checked for every registered model by cost/conformance_test.cc:
//   Threads      const functions may be called by many threads, each with a workspace of its own.
//   Determinism  a cost is a function of (layer, machine, options, mapping) alone; what a workspace
//                was used for before makes no difference.
//   Allocation   Evaluate allocates nothing once its workspace has been used.
//   Ownership    a model keeps no reference to what it was made from.
//   Errors       every mapping has a cost; those that break a rule have one that is not feasible.
class CostModel {
 public:
  // Scratch memory for one thread, made by the model that uses it.
  class Workspace {
   public:
    virtual ~Workspace() = default;
  };

  virtual ~CostModel() = default;

  virtual std::unique_ptr<Workspace> MakeWorkspace() const = 0;

  // What the mapping costs. A mapping of another model's kind is a programmer's error.
  virtual Cost Evaluate(const Mapping& mapping, Workspace& workspace) const = 0;

  // The broken rule as a sentence with its numbers, of kind kInfeasible, or kBadValue and the like
  // where the mapping does not suit the layer at all. Only for violations of this model's costs.
  virtual Error Describe(const Violation& violation) const = 0;

  // The same, with what only the mapping tells: which tiles and which loops it is about.
  virtual Error Explain(const Mapping& /*mapping*/, const Violation& violation) const {
    return Describe(violation);
  }
};

// One evaluation without ceremony: an infeasible mapping is an error.
Result<Cost> Evaluate(const CostModel& model, const Mapping& mapping);

// Evaluates batches on the threads of a pool. The model and the pool outlive it.
class BatchEvaluator {
 public:
  BatchEvaluator(const CostModel& model, ThreadPool& pool);

  // costs[i] is the cost of mappings[i], whatever the number of threads; the spans are equally
  // long.
  void EvaluateBatch(std::span<const Mapping> mappings, std::span<Cost> costs);

 private:
  const CostModel& model_;
  ThreadPool& pool_;
  std::vector<std::unique_ptr<CostModel::Workspace>> workspaces_;  // one per thread
};

}  // namespace tessera

#endif  // TESSERA_COST_COST_MODEL_H_
