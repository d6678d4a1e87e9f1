// Counting of transfers under semantics `exact`. Three ways, all giving the same numbers where they
// apply: closed formulas for perfect factors, sums over classes of iterations for imperfect ones,
// and an explicit walk for what neither covers.
#ifndef TESSERA_COST_LOOPNEST_EXACT_COUNT_H_
#define TESSERA_COST_LOOPNEST_EXACT_COUNT_H_

#include "tessera/cost/loopnest/exact.h"

namespace tessera::loopnest {

struct ExactInput {
  const ProblemData& data;
  const Machine& machine;
  const LoopMapping& mapping;
  const Nest& nest;

  const LoopTensor& tensor(int v) const { return data.problem.tensors[static_cast<size_t>(v)]; }
  bool Keeps(int level, int v) const { return mapping.levels[static_cast<size_t>(level)].Keeps(v); }
  int64_t bound(int dim) const { return data.problem.dimensions[static_cast<size_t>(dim)].bound; }
  void CopyBounds(int64_t* bounds) const {
    for (int d = 0; d < nest.num_dims; ++d) bounds[d] = bound(d);
  }
  std::span<const Loop> SpatialLoops(int level) const {
    return {nest.spatial + nest.first_spatial[level],
            static_cast<size_t>(nest.first_spatial[level + 1] - nest.first_spatial[level])};
  }

  // Calls use(tensor, child, parent) for every level that keeps a tensor, as the parent of the next
  // one further in that does (-1: the MACs).
  template <typename Use>
  void ForEachTransfer(const Use& use) const {
    for (int v = 0; v < data.problem.num_tensors; ++v) {
      int child = -1;
      for (int i = 0; i < nest.num_levels; ++i) {
        if (!Keeps(i, v)) continue;
        use(v, child, i);
        child = i;
      }
    }
  }
};

// Set scratch.classes of every level, and of result.levels[].network[] the words and hops. All of
// them are cleared before. The mapping has passed the checks.
void CountPerfect(const ExactInput& input, ExactScratch& scratch, ExactResult& result);
void CountResidual(const ExactInput& input, ExactScratch& scratch, ExactResult& result);

// Whether CountResidual would have to walk for too long; then `result` says so.
bool IsTooLong(const ExactInput& input, ExactResult& result);

// Adds words that reach `multicast` children each.
void AddIngress(ExactNetworkTensor& network, int64_t multicast, int64_t words);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_EXACT_COUNT_H_
