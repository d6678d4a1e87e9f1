// The counter for imperfect factors, which exact_residual.cc explains. What it does is in four more
// files, named at their sections.
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

// Counts one mapping; made anew for each, its memory is the thread's scratch.
class ResidualCounter {
 public:
  ResidualCounter(const ExactInput& input, ExactScratch& scratch, ExactResult& result)
      : input_(input),
        nest_(input.nest),
        scratch_(scratch),
        own_(scratch.residual),
        result_(result),
        num_dims_(input.nest.num_dims) {}

  // Counts every tensor between every two levels that keep it, into the result.
  void Run();

 private:
  bool Uses(int v, int dim) const { return (input_.data.tensors[v].dims >> dim & 1) != 0; }

  // Instances that behave alike: the product of the classes of each dimension.
  void MakeClasses(int level);

  // The dimensions' classes that class k of a level consists of.
  template <typename Use>
  void ForEachBase(int level, int64_t k, const Use& use) const {
    for (int d = 0; d < num_dims_; ++d) {
      const std::vector<BaseClass>& bases = own_.bases[level][d];
      use(d, bases[static_cast<size_t>(k % std::ssize(bases))]);
      k /= std::ssize(bases);
    }
  }

  // What goes between a level and the next one above it that keeps the tensor (child -1: the MACs).
  void Transfer(int v, int child, int parent);

  // Adds own_.handed_on, by child of the parent's instance k, to the reads of those children.
  void AddHandedOn(int64_t k);

  // Calls use(visit) for every visit of the child: the first, and those at which a loop advances.
  template <typename Use>
  void ForEachVisit(const Use& use) {
    if (child_ < 0) {
      use(kAnyVisit);
      return;
    }
    use(kFirstVisit);
    for (int j = nest_.first_temporal[child_ + 1]; j < nest_.num_temporal(); ++j) use(j);
  }

  // The same without the visits at which nothing of the tensor moves: those of the innermost loops
  // over other dimensions.
  template <typename Use>
  void ForEachMovingVisit(const Use& use) {
    if (child_ < 0) {
      use(kAnyVisit);
      return;
    }
    use(kFirstVisit);
    int j = nest_.first_temporal[child_ + 1];
    while (j < nest_.num_temporal() && !Uses(v_, nest_.temporal[j].dim)) ++j;
    for (; j < nest_.num_temporal(); ++j) use(j);
  }

  // Whether the tile before counts: MACs hold nothing, and at first there was none.
  static bool HasPrevious(int visit) { return visit >= 0; }

  int64_t Extent(int dim) const { return child_ < 0 ? 1 : nest_.extent[child_][dim]; }

  // Kinds of visits of the child, all of them; tensors with the same child share them.
  void MakeSteps();

  void StartVisit(int visit) {
    visit_ = visit;
    const int number = visit < 0 ? 0 : 1 + visit - nest_.first_temporal[child_ + 1];
    steps_ = own_.steps[child_ + 1].data() + number * num_dims_;
  }

  std::span<const VisitKind> Kinds(int d) const {
    return {own_.kinds.data() + steps_[d].first_kind, steps_[d].num_kinds};
  }

  // ---- Fills of the child: residual_fills.cc

  // Words that each class of instances of the child receives; also sets own_.raw_words and returns
  // their sum over all instances. For one visit this is a product of factors, one per component of
  // the tensor and one per other dimension, each of which depends on the class in its own
  // dimensions only.
  int64_t CountFills();

  // The same for MACs, which are not counted one by one: their parent's classes are, as if each had
  // one MAC.
  int64_t CountOperations();

  // Visits at which an instance at `base` has something left in dimension d.
  int64_t VisitsAt(int d, int64_t base) const {
    int64_t visits = 0;
    for (const VisitKind& kind : Kinds(d)) visits += kind.left > base ? kind.times : 0;
    return visits;
  }

  // own_.factors of this visit: first the components, by the classes of their dimensions, then one
  // per dimension, of those that the tensor does not have.
  void MakeFactors();

  // Whether component k is a single dimension by itself, whose tiles are equal or disjoint.
  bool IsSimple(int k) const {
    const TensorData& tensor = input_.data.tensors[v_];
    return std::has_single_bit(tensor.component_dims[k]) &&
           std::has_single_bit(tensor.component_ranks[k]);
  }

  // Adds `times` tiles of dimension d with `left` indices remaining, where that is all of a
  // component.
  void AddSimpleTile(int d, int64_t left, int64_t times, int64_t& tile, int64_t& same) const {
    const DimVisit& visit = steps_[d].visit;
    if (left <= 0) return;
    const int64_t words = times * std::min(left, visit.extent);
    tile += words;
    if (!HasPrevious(visit_) || visit.own) return;
    if (visit.num_inner == 0 ||
        (left < visit.regular_left && TileAt(visit, left).previous_shift == 0)) {
      same += words;
    }
  }

  // Goes through the classes of the dimensions left, the lowest dimension's running fastest.
  void MakeComponentFactors(int c, uint32_t dims_left, std::vector<int64_t>& tile,
                            std::vector<int64_t>& common);

  // Words that an instance of class k of the child receives at this visit.
  int64_t WordsOfClass(size_t k) const;

  // ---- Networks: residual_network.cc

  // Counts the network below level i for instances_ instances of the parent; returns the words of
  // one of them.
  int64_t Network(int i);

  // Whether children that differ in the dimensions of component k can ask for the same words.
  bool MayCoincide(int k) const;

  // Column or row step of each dimension's loop at the level, and its number of places.
  void SetPlaces();

  // All spatial indices of dimension d in the levels first .. last, those of equal place together.
  void ListPlacements(int d, int first, int last);

  // The different tiles in dimension d, and how often each occurs at each place.
  void ListShapes(int d, int64_t places);

  // Adds to `sums` the tiles of component k in which dimension `fixed` is at `place`; the places of
  // its other dimensions are summed over.
  void AddComponent(int k, int fixed, int64_t place, int64_t* sums);
  void AddShapes(int k, uint32_t dims_left, int fixed, int64_t place, int64_t times, int64_t* sums);

  // Adds the tile that tile_ describes.
  void AddTile(int k, int64_t times, int64_t* sums);

  // Sums over the groups that the components outside joint_ make: product of totals, and where
  // they lie.
  void SumComponents();
  void SumSimpleComponent(int d);

  // Takes own_.weights, those of one component by its place, into the product.
  void Multiply(int spread, GroupWeights& groups);

  // Ways in which one word spreads over the dimensions that the tensor does not have: how many
  // children of level_ are at work there, over all visits and all instances of level_.
  void ListSpreads();

  // own_.reached[n]: how often n children of level_ have something left in dimension d.
  void CountReached(int d);

  // Half hops down the columns of groups that begin at `row` of each and end `depth` further down.
  static int64_t Vertical(int64_t centre, int64_t top, int64_t bottom) {
    return std::max<int64_t>(0, centre - 2 * top) + std::max<int64_t>(0, 2 * bottom - centre);
  }

  bool Spreads() const { return !input_.SpatialLoops(level_).empty(); }

  // Groups are the indices in the tensor's dimensions.
  int64_t AddSimpleGroups();

  // ---- Components in which children can coincide: residual_joint.cc

  // Goes through the kinds of visits of the joint components' dimensions, and through the instances
  // of level_ below the parent as far as they differ in these dimensions.
  int64_t AddJointGroups();
  int64_t AddJointKinds(uint32_t dims_left, int64_t times);
  int64_t AddJointVisit(int64_t times);

  // Multiplies own_.children by the children in dimension d; those without work are dropped.
  void AddJointDimension(int d);

  // Adds the term of dimension d to a rank of the child.
  void AddJointTerm(const RankShape& rank, int d, int64_t shift, const DimTile& tile,
                    JointRank& child) const;

  // One group of the joint components, combined with all groups of the others.
  int64_t AddJointGroup(const JointGroup& group, const int64_t* weights, int64_t times);

  // ---- Distinct elements: residual_distinct.cc

  // Different elements that the instance of `level` at base_ ever holds.
  int64_t DistinctWords(int level);
  int64_t DistinctIndices(int d, int level);
  int64_t DistinctCoordinates(const RankShape& rank, int level);

  // Words of the groups below level i at which an element comes to the parent for the first time.
  int64_t FirstWords(int i);

  const ExactInput& input_;
  const Nest& nest_;
  ExactScratch& scratch_;
  ResidualScratch& own_;
  ExactResult& result_;
  const int num_dims_;

  int v_ = 0, child_ = -1, parent_ = 0, level_ = 0, visit_ = 0;
  int64_t instances_ = 1;           // of the parent, all like the one at hand
  int64_t base_[kMaxDims] = {};     // of the instance at hand
  const DimStep* steps_ = nullptr;  // of the visit at hand, by dimension
  DimTile tile_[kMaxDims];
  int64_t places_[kMaxDims] = {}, stride_[kMaxDims] = {};
  bool on_y_[kMaxDims] = {};

  uint32_t joint_ = 0, joint_dims_ = 0;
  int64_t joint_left_[kMaxDims] = {};
  int num_joint_ranks_ = 0;
  const RankShape* joint_ranks_[kMaxRanks] = {};
};

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_RESIDUAL_COUNTER_H_
