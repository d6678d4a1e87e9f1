// Counting with imperfect factors: the different elements that an instance ever holds, and the
// words that are the first of their elements. The first partial sum of an element starts from
// nothing, so it is neither fetched nor sent down (docs/cost-loopnest.md, C7 and C8).
#include <algorithm>

#include "tessera/cost/loopnest/exact_walk.h"
#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {
namespace {

void AddMultiples(int64_t count, int64_t step, std::vector<int64_t>& values) {
  const size_t inner = values.size();
  for (int64_t n = 1; n < count; ++n) {
    for (size_t k = 0; k < inner; ++k) values.push_back(values[k] + n * step);
  }
}

// Indices of dimension d that the instance of `level` at `base` sees: the tiles of all visits, cut
// at the bound. Visits of equal indices in other dimensions do not count again.
int64_t DistinctIndices(const Transfer& transfer, int d, int level, int64_t base) {
  std::vector<VisitKind>& kinds = transfer.own().some_kinds;
  ListKinds(transfer.own().walks[d], level, kAnyVisit, kinds);
  int64_t indices = 0;
  for (const VisitKind& kind : kinds) {
    indices +=
        kind.times * std::clamp<int64_t>(kind.left - base, 0, transfer.nest().extent[level][d]);
  }
  return indices;
}

// own().indices of dimension d: all that the instance at `base` sees, one by one.
void ListIndices(const Transfer& transfer, int d, int level, int64_t base) {
  const Nest& nest = transfer.nest();
  std::vector<int64_t>& indices = transfer.own().indices;
  indices.assign(1, base);
  for (int j = nest.first_temporal[level + 1]; j < nest.num_temporal(); ++j) {
    const Loop& loop = nest.temporal[j];
    if (loop.dim == d) AddMultiples(loop.count, loop.step, indices);
  }
  AddMultiples(nest.extent[level][d], 1, indices);
  std::erase_if(indices, [&](int64_t index) { return index >= transfer.input.bound(d); });
}

// Coordinates of a window: sums of indices, of which equal ones count once.
int64_t DistinctCoordinates(const Transfer& transfer, const RankShape& rank, int level,
                            const int64_t* base) {
  ResidualScratch& own = transfer.own();
  std::vector<int64_t>&sums = own.elements, &more = own.more_elements;
  sums.assign(1, 0);
  for (int t = 0; t < rank.num_terms; ++t) {
    ListIndices(transfer, rank.dims[t], level, base[rank.dims[t]]);
    more.clear();
    for (const int64_t sum : sums) {
      for (const int64_t index : own.indices) more.push_back(sum + rank.coefficients[t] * index);
    }
    std::ranges::sort(more);
    more.erase(std::ranges::unique(more).begin(), more.end());
    std::swap(sums, more);
  }
  return std::ssize(sums);
}

// Instances of level i under the parent that see an element at first: all that have work then.
int64_t FirstInstances(const Transfer& transfer, int d, int i, const int64_t* base) {
  std::vector<Placement>& instances = transfer.own().above[d];
  ListPlacements(transfer.own().walks[d], i, i + 1, transfer.parent, instances);
  return std::ranges::count_if(instances, [&](const Placement& instance) {
    return base[d] + instance.shift < transfer.input.bound(d);
  });
}

}  // namespace

int64_t DistinctWords(const Transfer& transfer, int level, const int64_t* base) {
  for (int d = 0; d < transfer.num_dims(); ++d) {
    if (base[d] >= transfer.input.bound(d)) return 0;
  }
  int64_t words = 1;
  for (int r = 0; r < transfer.num_ranks(); ++r) {
    const RankShape& rank = transfer.tensor().ranks[r];
    words *= rank.num_terms == 1
                 ? DistinctIndices(transfer, rank.dims[0], level, base[rank.dims[0]])
                 : DistinctCoordinates(transfer, rank, level, base);
  }
  return words;
}

int64_t FirstWords(const Transfer& transfer, int i, const int64_t* base) {
  const TensorData& tensor = transfer.tensor();
  for (int k = 0; k < tensor.num_components; ++k) {
    if (!MayCoincide(transfer, i, k)) continue;
    return WalkFirstWords(transfer.input, transfer.v, transfer.child, i, transfer.parent, base,
                          transfer.scratch);
  }
  int64_t words = 1;
  int64_t bounds[kMaxDims];
  transfer.input.CopyBounds(bounds);
  for (int r = 0; r < transfer.num_ranks(); ++r) {
    const RankShape& rank = tensor.ranks[r];
    words *= rank.num_terms == 1
                 ? DistinctIndices(transfer, rank.dims[0], transfer.parent, base[rank.dims[0]])
                 : CountFirstCoordinates(transfer.nest(), rank, bounds, base, transfer.child, i,
                                         transfer.parent, transfer.scratch.first_words);
  }
  for (int d = 0; d < transfer.num_dims(); ++d) {
    if (!transfer.Uses(d)) words *= FirstInstances(transfer, d, i, base);
  }
  return words;
}

}  // namespace tessera::loopnest
