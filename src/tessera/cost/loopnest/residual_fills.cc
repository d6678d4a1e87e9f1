// Counting with imperfect factors: the words that each class of instances of a level receives.
#include <bit>

#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {

int64_t ResidualCounter::CountFills() {
  if (child_ < 0) return CountOperations();
  std::vector<InstanceClass>& classes = scratch_.classes[child_];
  own_.raw_words.assign(classes.size(), 0);
  ForEachMovingVisit([&](int visit) {
    StartVisit(visit);
    MakeFactors();
    for (size_t k = 0; k < classes.size(); ++k) own_.raw_words[k] += WordsOfClass(k);
  });
  int64_t words = 0;
  const bool read_write = input_.tensor(v_).read_write;
  for (size_t k = 0; k < classes.size(); ++k) {
    ForEachBase(child_, static_cast<int64_t>(k),
                [&](int d, const BaseClass& base) { base_[d] = base.base; });
    words += classes[k].instances * own_.raw_words[k];
    classes[k].tensors[v_].fills = own_.raw_words[k] - (read_write ? DistinctWords(child_) : 0);
  }
  return words;
}

int64_t ResidualCounter::CountOperations() {
  const std::vector<InstanceClass>& classes = scratch_.classes[parent_];
  own_.raw_words.assign(classes.size(), 1);
  StartVisit(kAnyVisit);
  for (size_t k = 0; k < classes.size(); ++k) {
    ForEachBase(parent_, static_cast<int64_t>(k),
                [&](int d, const BaseClass& base) { own_.raw_words[k] *= VisitsAt(d, base.base); });
  }
  return Macs(input_.data.problem);
}

void ResidualCounter::MakeFactors() {
  const TensorData& tensor = input_.data.tensors[v_];
  for (int c = 0; c < tensor.num_components; ++c) {
    auto& [tile, common] = own_.factors[c];
    tile.clear();
    common.clear();
    if (!IsSimple(c)) {
      MakeComponentFactors(c, tensor.component_dims[c], tile, common);
      continue;
    }
    const int d = std::countr_zero(tensor.component_dims[c]);
    for (const BaseClass& base : own_.bases[child_][d]) {
      tile.push_back(0);
      common.push_back(0);
      for (const VisitKind& kind : Kinds(d)) {
        AddSimpleTile(d, kind.left - base.base, kind.times, tile.back(), common.back());
      }
    }
  }
  for (int d = 0; d < num_dims_; ++d) {
    if (Uses(v_, d)) continue;
    std::vector<int64_t>& visits = own_.factors[kMaxRanks + d][0];
    visits.clear();
    for (const BaseClass& base : own_.bases[child_][d]) visits.push_back(VisitsAt(d, base.base));
  }
}

void ResidualCounter::MakeComponentFactors(int c, uint32_t dims_left, std::vector<int64_t>& tile,
                                           std::vector<int64_t>& common) {
  if (dims_left == 0) {
    int64_t sums[kFamilies] = {};
    AddComponent(c, -1, 0, sums);
    tile.push_back(sums[kTile]);
    common.push_back(sums[kCommon]);
    return;
  }
  const int d = 31 - std::countl_zero(dims_left);
  for (const BaseClass& base : own_.bases[child_][d]) {
    base_[d] = base.base;
    own_.placements[d].assign(1, {});
    ListShapes(d, 1);
    MakeComponentFactors(c, dims_left & ~(1u << d), tile, common);
  }
}

int64_t ResidualCounter::WordsOfClass(size_t k) const {
  size_t index[kMaxDims];
  for (int d = 0; d < num_dims_; ++d) {
    index[d] = k % own_.bases[child_][d].size();
    k /= own_.bases[child_][d].size();
  }
  const TensorData& tensor = input_.data.tensors[v_];
  int64_t others = 1, tile = 1, common = 1;
  for (int d = 0; d < num_dims_; ++d) {
    if (!Uses(v_, d)) others *= own_.factors[kMaxRanks + d][0][index[d]];
  }
  for (int c = 0; c < tensor.num_components; ++c) {
    size_t place = 0;
    for (uint32_t dims = tensor.component_dims[c]; dims != 0;) {
      const int d = 31 - std::countl_zero(dims);
      place = place * own_.bases[child_][d].size() + index[d];
      dims &= ~(1u << d);
    }
    tile *= own_.factors[c][0][place];
    common *= own_.factors[c][1][place];
  }
  return others * (tile - common);
}

}  // namespace tessera::loopnest
