// Counting with imperfect factors: the different elements that an instance ever holds, and the
// words that are the first of their elements.
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

}  // namespace

int64_t ResidualCounter::DistinctWords(int level) {
  const TensorData& tensor = input_.data.tensors[v_];
  for (int d = 0; d < num_dims_; ++d) {
    if (base_[d] >= input_.bound(d)) return 0;
  }
  int64_t words = 1;
  for (int r = 0; r < input_.tensor(v_).num_ranks; ++r) {
    const RankShape& rank = tensor.ranks[r];
    words *= rank.num_terms == 1 ? DistinctIndices(rank.dims[0], level)
                                 : DistinctCoordinates(rank, level);
  }
  return words;
}

int64_t ResidualCounter::DistinctIndices(int d, int level) {
  std::vector<VisitKind>& kinds = own_.some_kinds;
  ListKinds(own_.walks[d], level, kAnyVisit, kinds);
  int64_t indices = 0;
  for (const VisitKind& kind : kinds) {
    const int64_t left = kind.left - base_[d];
    indices += kind.times * std::clamp<int64_t>(left, 0, nest_.extent[level][d]);
  }
  return indices;
}

int64_t ResidualCounter::DistinctCoordinates(const RankShape& rank, int level) {
  std::vector<int64_t>& sums = own_.elements;
  sums.assign(1, 0);
  for (int t = 0; t < rank.num_terms; ++t) {
    const int d = rank.dims[t];
    std::vector<int64_t>& indices = own_.indices;
    indices.assign(1, base_[d]);
    for (int j = nest_.first_temporal[level + 1]; j < nest_.num_temporal(); ++j) {
      const Loop& loop = nest_.temporal[j];
      if (loop.dim == d) AddMultiples(loop.count, loop.step, indices);
    }
    AddMultiples(nest_.extent[level][d], 1, indices);
    std::erase_if(indices, [&](int64_t index) { return index >= input_.bound(d); });
    std::vector<int64_t>& more = own_.more_elements;
    more.clear();
    for (const int64_t sum : sums) {
      for (const int64_t index : indices) more.push_back(sum + rank.coefficients[t] * index);
    }
    std::ranges::sort(more);
    more.erase(std::ranges::unique(more).begin(), more.end());
    std::swap(sums, more);
  }
  return std::ssize(sums);
}

int64_t ResidualCounter::FirstWords(int i) {
  const TensorData& tensor = input_.data.tensors[v_];
  level_ = i;
  for (int k = 0; k < tensor.num_components; ++k) {
    if (MayCoincide(k)) return WalkFirstWords(input_, v_, child_, i, parent_, base_, scratch_);
  }
  int64_t words = 1;
  for (int r = 0; r < input_.tensor(v_).num_ranks; ++r) {
    const RankShape& rank = tensor.ranks[r];
    if (rank.num_terms == 1) {
      words *= DistinctIndices(rank.dims[0], parent_);
      continue;
    }
    int64_t bounds[kMaxDims];
    input_.CopyBounds(bounds);
    words *=
        CountFirstCoordinates(nest_, rank, bounds, base_, child_, i, parent_, scratch_.first_words);
  }
  for (int d = 0; d < num_dims_; ++d) {
    if (Uses(v_, d)) continue;
    // All instances of level i under the parent see it, as far as they have work at first.
    ListPlacements(d, i + 1, parent_);
    words *= std::ranges::count_if(own_.placements[d], [&](const Placement& placement) {
      return base_[d] + placement.shift < input_.bound(d);
    });
  }
  return words;
}

}  // namespace tessera::loopnest
