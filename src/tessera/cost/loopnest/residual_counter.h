// What the parts of the counter for imperfect factors hand to each other. exact_residual.cc
// explains the idea and runs them; each part is a file, and all they know is in the structs that
// they get. The sections named at the rules (C1, C2, ...) are those of docs/cost-loopnest.md.
#ifndef TESSERA_COST_LOOPNEST_RESIDUAL_COUNTER_H_
#define TESSERA_COST_LOOPNEST_RESIDUAL_COUNTER_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/cost/loopnest/exact_count.h"
#include "tessera/cost/loopnest/exact_residual.h"

namespace tessera::loopnest {

// Words of one tensor on their way between a level that keeps it and the next one further in that
// does (child -1: the MACs).
struct Transfer {
  const ExactInput& input;
  ExactScratch& scratch;
  ExactResult& result;
  const int v, child, parent;

  const Nest& nest() const { return input.nest; }
  int num_dims() const { return input.nest.num_dims; }
  int num_ranks() const { return input.tensor(v).num_ranks; }
  const TensorData& tensor() const { return input.data.tensors[v]; }
  ResidualScratch& own() const { return scratch.residual; }
  bool Uses(int dim) const { return (tensor().dims >> dim & 1) != 0; }
  int64_t Extent(int dim) const { return child < 0 ? 1 : nest().extent[child][dim]; }

  // Whether component k is a single dimension by itself, whose tiles are equal or disjoint.
  bool IsSimple(int k) const {
    return std::has_single_bit(tensor().component_dims[k]) &&
           std::has_single_bit(tensor().component_ranks[k]);
  }
};

// Visits of the child's tile that are named by one loop: the one that advanced to get there, or
// kFirstVisit, or kAnyVisit for MACs.
struct TileVisit {
  int loop = kFirstVisit;
  const DimStep* steps = nullptr;  // by dimension
  const VisitKind* kinds = nullptr;

  // Whether the tile before counts: MACs hold nothing, and at first there was none.
  bool HasPrevious() const { return loop >= 0; }
  std::span<const VisitKind> Kinds(int d) const {
    return {kinds + steps[d].first_kind, steps[d].num_kinds};
  }
};

// Instances of a level that behave alike: where the first of them starts, and how many there are.
struct AlikeInstances {
  int64_t base[kMaxDims] = {};
  int64_t count = 1;
};

// The network below a level: by dimension, the places of the level's spatial loop and what one
// place is in columns or rows.
struct NetworkBelow {
  int level = 0;
  bool spreads = false;  // the level has spatial loops at all
  int64_t places[kMaxDims] = {}, stride[kMaxDims] = {};
  int64_t step[kMaxDims] = {};  // by which the loop moves the dimension; 0: there is none
  bool on_y[kMaxDims] = {};
  uint32_t joint = 0;  // components in which children with different indices can coincide
};

// One visit of the children below some instances of the parent.
struct NetworkVisit {
  const Transfer& transfer;
  const NetworkBelow& network;
  const AlikeInstances& parents;
  const TileVisit& visit;

  ResidualScratch& own() const { return transfer.own(); }
};

inline int HighestDim(uint32_t dims) { return static_cast<int>(std::bit_width(dims)) - 1; }

inline TileVisit VisitOf(const Transfer& transfer, int loop) {
  const int number = loop < 0 ? 0 : 1 + loop - transfer.nest().first_temporal[transfer.child + 1];
  const ResidualScratch& own = transfer.own();
  return {.loop = loop,
          .steps = own.steps[transfer.child + 1].data() + number * transfer.num_dims(),
          .kinds = own.kinds.data()};
}

// Calls use(loop) for every visit of the child: the first, and those at which a loop from `first`
// on advances.
template <typename Use>
void ForEachLoop(const Transfer& transfer, int first, const Use& use) {
  if (transfer.child < 0) return use(kAnyVisit);
  use(kFirstVisit);
  for (int j = first; j < transfer.nest().num_temporal(); ++j) use(j);
}

// Calls use(visit) for all visits at which something of the tensor moves; that is, not for those of
// the innermost loops over other dimensions.
template <typename Use>
void ForEachMovingVisit(const Transfer& transfer, const Use& use) {
  const Nest& nest = transfer.nest();
  int first = nest.first_temporal[transfer.child + 1];
  while (first < nest.num_temporal() && !transfer.Uses(nest.temporal[first].dim)) ++first;
  ForEachLoop(transfer, first, [&](int loop) { use(VisitOf(transfer, loop)); });
}

// Calls use(dimension, class) for the classes of each dimension that class k of a level consists
// of.
template <typename Use>
void ForEachBase(const ResidualScratch& own, int num_dims, int level, int64_t k, const Use& use) {
  for (int d = 0; d < num_dims; ++d) {
    const std::vector<BaseClass>& bases = own.bases[level][d];
    use(d, bases[static_cast<size_t>(k % std::ssize(bases))]);
    k /= std::ssize(bases);
  }
}

// The instances of class k of a level.
inline AlikeInstances InstancesOf(const Transfer& transfer, int level, size_t k) {
  AlikeInstances instances{.count = transfer.scratch.classes[level][k].instances};
  ForEachBase(transfer.own(), transfer.num_dims(), level, static_cast<int64_t>(k),
              [&](int d, const BaseClass& base) { instances.base[d] = base.base; });
  return instances;
}

// Adds `times` tiles of dimension d with `left` indices remaining, where that is all of a
// component: their elements, and those of tiles that are the same as before. C3.
inline void AddSimpleTile(const TileVisit& visit, int d, int64_t left, int64_t times, int64_t& tile,
                          int64_t& same) {
  const DimVisit& step = visit.steps[d].visit;
  if (left <= 0) return;
  const int64_t words = times * std::min(left, step.extent);
  tile += words;
  if (!visit.HasPrevious() || step.own) return;
  if (step.num_inner == 0 || (left < step.regular_left && TileAt(step, left).previous_shift == 0)) {
    same += words;
  }
}

// ---- Fills of the child: residual_fills.cc

// Sets the fills of each class of instances of the child, own().raw_words by class, and returns the
// words over all instances. For MACs, which are not counted one by one, classes are those of the
// parent, as if each had one MAC.
int64_t CountFills(const Transfer& transfer);

// ---- Tiles of components: residual_shapes.cc

// All spatial indices of a dimension in the levels first .. last, those of equal place at `level`
// together.
void ListPlacements(const DimWalk& walk, int level, int first, int last,
                    std::vector<Placement>& placements);

// The different tiles in dimension d of an instance at `base` and its children, and how often each
// occurs at each of `places` places.
void ListShapes(const TileVisit& visit, int d, int64_t base, std::span<const Placement> placements,
                int64_t places, ShapeList& shapes);

// Which tiles of a component are summed: all, or those at one place of one dimension.
struct PlaceChoice {
  int dim = -1;
  size_t place = 0, places = 1;
};

// Sums over the tiles of component k, by family, from own().shapes of its dimensions.
FamilySums SumTiles(const Transfer& transfer, const TileVisit& visit, int k,
                    const PlaceChoice& choice);

// ---- Networks: residual_network.cc

// Counts the network below level i for instances of the parent; returns the words of one of them.
int64_t CountNetwork(const Transfer& transfer, const AlikeInstances& parents, int i);

// Whether children below level i that differ in the dimensions of component k can ask for the same
// words. C6.
bool MayCoincide(const Transfer& transfer, int i, int k);

// Half hops down a column from the first row to the last one that a group reaches.
inline int64_t VerticalHalfHops(int64_t centre, int64_t top, int64_t bottom) {
  return std::max<int64_t>(0, centre - 2 * top) + std::max<int64_t>(0, 2 * bottom - centre);
}

// ---- Components in which children can coincide: residual_joint.cc

// Adds one visit to the network, own().groups being those of the other components; returns the
// words of one instance of the parent.
int64_t AddJointGroups(const NetworkVisit& at);

// ---- Distinct elements: residual_distinct.cc

// Different elements that the instance of `level` at `base` ever holds.
int64_t DistinctWords(const Transfer& transfer, int level, const int64_t* base);

// Words of the groups below level i at which an element comes to the parent at `base` for the first
// time.
int64_t FirstWords(const Transfer& transfer, int i, const int64_t* base);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_RESIDUAL_COUNTER_H_
