// One evaluation, and batches of them on the threads of a pool.
#include "tessera/cost.h"

#include "tessera/result.h"

namespace tessera {
namespace {

// Long enough that handing out a chunk costs little, short enough that threads finish together.
constexpr int64_t kChunk = 32;

}  // namespace

Result<Cost> Evaluate(const CostModel& model, const Mapping& mapping) {
  const Cost cost = model.Evaluate(mapping, *model.MakeWorkspace());
  if (!cost.feasible()) return model.Explain(mapping, cost.violation);
  return cost;
}

BatchEvaluator::BatchEvaluator(const CostModel& model, ThreadPool& pool)
    : model_(model), pool_(pool) {
  for (int i = 0; i < pool.threads(); ++i) workspaces_.push_back(model.MakeWorkspace());
}

void BatchEvaluator::EvaluateBatch(std::span<const Mapping> mappings, std::span<Cost> costs) {
  TESSERA_CHECK(mappings.size() == costs.size());
  pool_.ParallelFor(static_cast<int64_t>(mappings.size()), kChunk,
                    [&](int64_t begin, int64_t end, int worker) {
                      CostModel::Workspace& workspace = *workspaces_[static_cast<size_t>(worker)];
                      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
                        costs[i] = model_.Evaluate(mappings[i], workspace);
                      }
                    });
}

}  // namespace tessera
