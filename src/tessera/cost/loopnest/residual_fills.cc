// Counting with imperfect factors: the words that each class of instances of a level receives. For
// one visit they are a product of factors, one per component of the tensor and one per other
// dimension, each of which depends on the class in its own dimensions only: so factors are found
// class by class of a dimension, and multiplied class by class of the level (docs/cost-loopnest.md,
// C4).
#include <bit>

#include "tessera/cost/loopnest/residual_counter.h"

namespace tessera::loopnest {
namespace {

// Where the factors of dimensions that the tensor does not have begin in own().factors; those of
// components come before.
constexpr int kFirstDimFactor = kMaxRanks;

// Visits at which an instance at `base` has something left in dimension d.
int64_t VisitsAt(const TileVisit& visit, int d, int64_t base) {
  int64_t visits = 0;
  for (const VisitKind& kind : visit.Kinds(d)) visits += kind.left > base ? kind.times : 0;
  return visits;
}

// Goes through the classes of the dimensions left, the lowest dimension's running fastest.
void AddComponentFactors(const Transfer& transfer, const TileVisit& visit, int c,
                         uint32_t dims_left, ComponentFactor& factor) {
  if (dims_left == 0) {
    const FamilySums sums = SumTiles(transfer, visit, c, {});
    factor.tile.push_back(sums[kTile]);
    factor.common.push_back(sums[kCommon]);
    return;
  }
  constexpr Placement kItself[1] = {};
  const int d = HighestDim(dims_left);
  ResidualScratch& own = transfer.own();
  for (const BaseClass& base : own.bases[transfer.child][d]) {
    ListShapes(visit, d, base.base, kItself, 1, own.shapes[d]);
    AddComponentFactors(transfer, visit, c, dims_left & ~(1u << d), factor);
  }
}

void AddSimpleFactor(const Transfer& transfer, const TileVisit& visit, int d,
                     ComponentFactor& factor) {
  for (const BaseClass& base : transfer.own().bases[transfer.child][d]) {
    int64_t tile = 0, common = 0;
    for (const VisitKind& kind : visit.Kinds(d)) {
      AddSimpleTile(visit, d, kind.left - base.base, kind.times, tile, common);
    }
    factor.tile.push_back(tile);
    factor.common.push_back(common);
  }
}

// own().factors of a visit: of the components, by the classes of their dimensions, and of the
// dimensions that the tensor does not have, how many visits there are.
void MakeFactors(const Transfer& transfer, const TileVisit& visit) {
  const TensorData& tensor = transfer.tensor();
  ResidualScratch& own = transfer.own();
  for (int c = 0; c < tensor.num_components; ++c) {
    ComponentFactor& factor = own.factors[c];
    factor.tile.clear();
    factor.common.clear();
    if (transfer.IsSimple(c)) {
      AddSimpleFactor(transfer, visit, std::countr_zero(tensor.component_dims[c]), factor);
    } else {
      AddComponentFactors(transfer, visit, c, tensor.component_dims[c], factor);
    }
  }
  for (int d = 0; d < transfer.num_dims(); ++d) {
    if (transfer.Uses(d)) continue;
    std::vector<int64_t>& visits = own.factors[kFirstDimFactor + d].tile;
    visits.clear();
    for (const BaseClass& base : own.bases[transfer.child][d]) {
      visits.push_back(VisitsAt(visit, d, base.base));
    }
  }
}

// Words that an instance of class k of the child receives at the visit of own().factors: tile minus
// what was there before, both products.
int64_t WordsOfClass(const Transfer& transfer, size_t k) {
  const ResidualScratch& own = transfer.own();
  const std::vector<BaseClass>* bases = own.bases[transfer.child];
  size_t index[kMaxDims];
  for (int d = 0; d < transfer.num_dims(); ++d) {
    index[d] = k % bases[d].size();
    k /= bases[d].size();
  }
  const TensorData& tensor = transfer.tensor();
  int64_t others = 1, tile = 1, common = 1;
  for (int d = 0; d < transfer.num_dims(); ++d) {
    if (!transfer.Uses(d)) others *= own.factors[kFirstDimFactor + d].tile[index[d]];
  }
  for (int c = 0; c < tensor.num_components; ++c) {
    size_t place = 0;
    for (uint32_t dims = tensor.component_dims[c]; dims != 0;) {
      const int d = HighestDim(dims);
      place = place * bases[d].size() + index[d];
      dims &= ~(1u << d);
    }
    tile *= own.factors[c].tile[place];
    common *= own.factors[c].common[place];
  }
  return others * (tile - common);
}

// MACs hold nothing, so each operation is a word.
int64_t CountOperations(const Transfer& transfer) {
  std::vector<int64_t>& words = transfer.own().raw_words;
  words.assign(transfer.scratch.classes[transfer.parent].size(), 1);
  const TileVisit visit = VisitOf(transfer, kAnyVisit);
  for (size_t k = 0; k < words.size(); ++k) {
    ForEachBase(transfer.own(), transfer.num_dims(), transfer.parent, static_cast<int64_t>(k),
                [&](int d, const BaseClass& base) { words[k] *= VisitsAt(visit, d, base.base); });
  }
  return Macs(transfer.input.data.problem);
}

}  // namespace

int64_t CountFills(const Transfer& transfer) {
  if (transfer.child < 0) return CountOperations(transfer);
  std::vector<InstanceClass>& classes = transfer.scratch.classes[transfer.child];
  std::vector<int64_t>& raw_words = transfer.own().raw_words;
  raw_words.assign(classes.size(), 0);
  ForEachMovingVisit(transfer, [&](const TileVisit& visit) {
    MakeFactors(transfer, visit);
    for (size_t k = 0; k < classes.size(); ++k) raw_words[k] += WordsOfClass(transfer, k);
  });
  int64_t words = 0;
  const bool read_write = transfer.input.tensor(transfer.v).read_write;
  for (size_t k = 0; k < classes.size(); ++k) {
    words += classes[k].instances * raw_words[k];
    int64_t& fills = classes[k].tensors[transfer.v].fills;
    fills = raw_words[k];
    if (!read_write) continue;
    // The first sum of each element starts from nothing and is not fetched. C7.
    fills -= DistinctWords(transfer, transfer.child, InstancesOf(transfer, transfer.child, k).base);
  }
  return words;
}

}  // namespace tessera::loopnest
