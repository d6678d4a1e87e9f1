// Counting with imperfect factors. A visit is named by the loop that advanced; what happens at it
// is a product over dimensions, because each dimension has its own iterations and its own end. So
// sums over visits, instances and children are products of sums over one dimension (or one
// component, where a rank has several), and only classes of iterations are ever enumerated.
//
// What a child asks for is tile minus previous tile, |T| - |common|: two products, summed apart.
// Children with different indices in a tensor's dimensions ask for different words, except where a
// window moves with two spatial loops; those components are grouped by comparing sets.
#include "tessera/cost/loopnest/exact_residual.h"

#include <algorithm>
#include <bit>

#include "tessera/cost/loopnest/exact_count.h"
#include "tessera/cost/loopnest/exact_links.h"
#include "tessera/cost/loopnest/exact_walk.h"

namespace tessera::loopnest {
namespace {

class ResidualCounter {
 public:
  ResidualCounter(const ExactInput& input, ExactScratch& scratch, ExactResult& result)
      : input_(input),
        nest_(input.nest),
        scratch_(scratch),
        own_(scratch.residual),
        result_(result),
        num_dims_(input.nest.num_dims) {}

  void Run() {
    for (int d = 0; d < num_dims_; ++d) {
      own_.walks[d] = MakeDimWalk(nest_, d, input_.bound(d));
    }
    for (int i = 0; i < nest_.num_levels; ++i) MakeClasses(i);
    own_.kinds.clear();
    for (std::vector<DimStep>& steps : own_.steps) steps.clear();
    for (int v = 0; v < input_.data.problem.num_tensors; ++v) {
      int child = -1;
      for (int i = 0; i < nest_.num_levels; ++i) {
        if (!input_.Keeps(i, v)) continue;
        Transfer(v, child, i);
        child = i;
      }
    }
  }

 private:
  bool Uses(int v, int dim) const { return (input_.data.tensors[v].dims >> dim & 1) != 0; }

  // Instances that behave alike: the product of the classes of each dimension.
  void MakeClasses(int level) {
    int64_t classes = 1;
    for (int d = 0; d < num_dims_; ++d) {
      if (input_.machine.links) {
        // Neighbours make every instance different.
        ListInstances(own_.walks[d], level, own_.bases[level][d]);
      } else {
        ListBases(own_.walks[d], level, own_.bases[level][d]);
      }
      classes *= std::ssize(own_.bases[level][d]);
    }
    scratch_.classes[level].assign(static_cast<size_t>(classes), {});
    for (int64_t k = 0; k < classes; ++k) {
      InstanceClass& instance = scratch_.classes[level][static_cast<size_t>(k)];
      ForEachBase(level, k,
                  [&](int, const BaseClass& base) { instance.instances *= base.instances; });
    }
  }

  // The dimensions' classes that class k of a level consists of.
  template <typename Use>
  void ForEachBase(int level, int64_t k, const Use& use) const {
    for (int d = 0; d < num_dims_; ++d) {
      const std::vector<BaseClass>& bases = own_.bases[level][d];
      use(d, bases[static_cast<size_t>(k % std::ssize(bases))]);
      k /= std::ssize(bases);
    }
  }

  void Transfer(int v, int child, int parent) {
    v_ = v;
    child_ = child;
    parent_ = parent;
    MakeSteps();
    const int64_t raw_words = CountFills();
    StartGroups(own_.joint);
    // Words below each level, over all instances, and those of them that are the first of their
    // elements.
    int64_t words[kMaxLevels] = {}, first_words[kMaxLevels] = {};
    const bool read_write = input_.tensor(v).read_write;
    const bool both_ways = read_write && !input_.machine.levels[parent].reduces;
    const bool linked = HasLinks(input_, v, child, parent);
    for (size_t k = 0; k < scratch_.classes[parent].size(); ++k) {
      InstanceClass& instance = scratch_.classes[parent][k];
      ForEachBase(parent, static_cast<int64_t>(k),
                  [&](int d, const BaseClass& base) { base_[d] = base.base; });
      instances_ = instance.instances;
      int64_t handed_out = own_.raw_words[k];  // if the parent has one child
      if (linked) {
        handed_out = WalkLinked(input_, v, child, base_, instances_, scratch_,
                                result_.levels[parent].network[v], own_.handed_on);
        AddHandedOn(static_cast<int64_t>(k));
      }
      for (int i = child + 1; i <= parent && !linked; ++i) {
        if (nest_.HasSpatial(i)) {
          handed_out = Network(i);
          words[i] += instances_ * handed_out;
        }
        if (both_ways) first_words[i] += instances_ * FirstWords(i);
      }
      InstanceCounts& counts = instance.tensors[v];
      (read_write ? counts.updates : counts.reads) = handed_out;
      if (read_write) counts.reads = handed_out - DistinctWords(parent);
    }
    int64_t passing = raw_words;
    for (int i = child + 1; i <= parent && !linked; ++i) {
      ExactNetworkTensor& network = result_.levels[i].network[v];
      if (nest_.HasSpatial(i)) {
        passing = words[i];
      } else {
        // One child only: what comes out of the network below goes on as it is.
        AddIngress(network, 1, passing);
      }
      if (both_ways) network.down_words += passing - first_words[i];
    }
  }

  // Adds own_.handed_on, by child of the parent's instance k, to the reads of those children.
  void AddHandedOn(int64_t k) {
    int64_t first[kMaxDims];  // index of the parent's first child, in each dimension
    for (int d = 0; d < num_dims_; ++d) {
      const int64_t parents = std::ssize(own_.bases[parent_][d]);
      first[d] = k % parents * (std::ssize(own_.bases[child_][d]) / parents);
      k /= parents;
    }
    for (size_t c = 0; c < own_.handed_on.size(); ++c) {
      int64_t index[kMaxDims], rest = static_cast<int64_t>(c);
      for (int d = 0; d < num_dims_; ++d) index[d] = first[d];
      for (const Loop& loop : input_.SpatialLoops(parent_)) {
        index[loop.dim] += rest % loop.count;
        rest /= loop.count;
      }
      int64_t place = 0;
      for (int d = num_dims_ - 1; d >= 0; --d) {
        place = place * std::ssize(own_.bases[child_][d]) + index[d];
      }
      scratch_.classes[child_][static_cast<size_t>(place)].tensors[v_].reads += own_.handed_on[c];
    }
  }

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
  void MakeSteps() {
    std::vector<DimStep>& steps = own_.steps[child_ + 1];
    if (!steps.empty()) return;
    ForEachVisit([&](int visit) {
      for (int d = 0; d < num_dims_; ++d) {
        ListKinds(own_.walks[d], child_, visit, own_.some_kinds);
        steps.push_back({.visit = MakeDimVisit(own_.walks[d], child_, visit, Extent(d)),
                         .first_kind = own_.kinds.size(),
                         .num_kinds = own_.some_kinds.size()});
        own_.kinds.insert(own_.kinds.end(), own_.some_kinds.begin(), own_.some_kinds.end());
      }
    });
  }

  void StartVisit(int visit) {
    visit_ = visit;
    const int number = visit < 0 ? 0 : 1 + visit - nest_.first_temporal[child_ + 1];
    steps_ = own_.steps[child_ + 1].data() + number * num_dims_;
  }

  std::span<const VisitKind> Kinds(int d) const {
    return {own_.kinds.data() + steps_[d].first_kind, steps_[d].num_kinds};
  }

  // ---- Fills of the child ----------------------------------------------------------------------

  // Words that each class of instances of the child receives; also sets own_.raw_words and returns
  // their sum over all instances. For one visit this is a product of factors, one per component of
  // the tensor and one per other dimension, each of which depends on the class in its own
  // dimensions only.
  int64_t CountFills() {
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

  // The same for MACs, which are not counted one by one: their parent's classes are, as if each had
  // one MAC.
  int64_t CountOperations() {
    const std::vector<InstanceClass>& classes = scratch_.classes[parent_];
    own_.raw_words.assign(classes.size(), 1);
    StartVisit(kAnyVisit);
    for (size_t k = 0; k < classes.size(); ++k) {
      ForEachBase(parent_, static_cast<int64_t>(k), [&](int d, const BaseClass& base) {
        own_.raw_words[k] *= VisitsAt(d, base.base);
      });
    }
    return Macs(input_.data.problem);
  }

  // Visits at which an instance at `base` has something left in dimension d.
  int64_t VisitsAt(int d, int64_t base) const {
    int64_t visits = 0;
    for (const VisitKind& kind : Kinds(d)) visits += kind.left > base ? kind.times : 0;
    return visits;
  }

  // own_.factors of this visit: first the components, by the classes of their dimensions, then one
  // per dimension, of those that the tensor does not have.
  void MakeFactors() {
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

  // Words that an instance of class k of the child receives at this visit.
  int64_t WordsOfClass(size_t k) const {
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

  // ---- Networks --------------------------------------------------------------------------------

  // Counts the network below level i for instances_ instances of the parent; returns the words of
  // one of them.
  int64_t Network(int i) {
    level_ = i;
    const TensorData& tensor = input_.data.tensors[v_];
    joint_ = 0;
    for (int k = 0; k < tensor.num_components; ++k) {
      if (MayCoincide(k)) joint_ |= 1u << k;
    }
    SetPlaces();
    int64_t words = 0;
    ForEachMovingVisit([&](int visit) {
      StartVisit(visit);
      for (int d = 0; d < num_dims_; ++d) ListPlacements(d, child_ + 1, parent_);
      ListSpreads();
      if (own_.spreads.empty()) return;
      SumComponents();
      words += joint_ == 0 ? AddSimpleGroups() : AddJointGroups();
    });
    return words;
  }

  // Whether children that differ in the dimensions of component k can ask for the same words.
  bool MayCoincide(int k) const {
    const TensorData& tensor = input_.data.tensors[v_];
    const uint32_t dims = tensor.component_dims[k];
    if (IsSimple(k)) return false;
    uint32_t spread = 0;
    for (int s = nest_.first_spatial[child_ + 1]; s < nest_.first_spatial[level_ + 1]; ++s) {
      spread |= 1u << nest_.spatial[s].dim & dims;
    }
    if (!std::has_single_bit(tensor.component_ranks[k])) return spread != 0;
    return spread != 0 && !std::has_single_bit(spread);
  }

  // Column or row step of each dimension's loop at the level, and its number of places.
  void SetPlaces() {
    for (int d = 0; d < num_dims_; ++d) {
      places_[d] = 1;
      stride_[d] = 0;
      on_y_[d] = false;
    }
    int64_t stride[2] = {1, 1};
    for (const Loop& loop : input_.SpatialLoops(level_)) {
      places_[loop.dim] = loop.count;
      stride_[loop.dim] = stride[loop.on_y];
      on_y_[loop.dim] = loop.on_y;
      stride[loop.on_y] *= loop.count;
    }
  }

  // All spatial indices of dimension d in the levels first .. last, those of equal place together.
  void ListPlacements(int d, int first, int last) {
    std::vector<Placement>& placements = own_.placements[d];
    placements.assign(1, {});
    const DimWalk& walk = own_.walks[d];
    for (const bool own_level : {false, true}) {
      for (int k = 0; k < walk.num_loops; ++k) {
        const DimLoop& loop = walk.loops[k];
        if (!loop.spatial || loop.level < first || loop.level > last) continue;
        if ((loop.level == level_) != own_level) continue;
        const size_t inner = placements.size();
        for (int64_t n = 1; n < loop.count; ++n) {
          for (size_t p = 0; p < inner; ++p) {
            placements.push_back(
                {.place = own_level ? n : 0, .shift = placements[p].shift + n * loop.step});
          }
        }
      }
    }
  }

  // The different tiles in dimension d, and how often each occurs at each place.
  void ListShapes(int d, int64_t places) {
    std::vector<DimTile>& shapes = own_.shapes[d];
    std::vector<int64_t>& times = own_.times[d];
    shapes.clear();
    times.clear();
    for (const VisitKind& kind : Kinds(d)) {
      for (const Placement& placement : own_.placements[d]) {
        const int64_t left = kind.left - base_[d] - placement.shift;
        if (left <= 0) continue;
        const DimTile tile = TileAt(steps_[d].visit, left);
        size_t s = 0;
        while (s < shapes.size() &&
               (shapes[s].width != tile.width || shapes[s].previous_shift != tile.previous_shift ||
                shapes[s].previous_width != tile.previous_width)) {
          ++s;
        }
        if (s == shapes.size()) {
          shapes.push_back(tile);
          times.resize(times.size() + static_cast<size_t>(places), 0);
        }
        times[s * static_cast<size_t>(places) + static_cast<size_t>(placement.place)] += kind.times;
      }
    }
  }

  // Adds to `sums` the tiles of component k in which dimension `fixed` is at `place`; the places of
  // its other dimensions are summed over.
  void AddComponent(int k, int fixed, int64_t place, int64_t* sums) {
    const uint32_t dims = input_.data.tensors[v_].component_dims[k];
    AddShapes(k, dims, fixed, place, 1, sums);
  }

  void AddShapes(int k, uint32_t dims_left, int fixed, int64_t place, int64_t times,
                 int64_t* sums) {
    if (dims_left == 0) {
      AddTile(k, times, sums);
      return;
    }
    const int d = std::countr_zero(dims_left);
    const size_t places = d == fixed ? static_cast<size_t>(places_[d]) : 1;
    for (size_t s = 0; s < own_.shapes[d].size(); ++s) {
      const int64_t here =
          own_.times[d][s * places + (d == fixed ? static_cast<size_t>(place) : 0)];
      if (here == 0) continue;
      tile_[d] = own_.shapes[d][s];
      AddShapes(k, dims_left & (dims_left - 1), fixed, place, times * here, sums);
    }
  }

  // Adds the tile that tile_ describes.
  void AddTile(int k, int64_t times, int64_t* sums) {
    const TensorData& tensor = input_.data.tensors[v_];
    int64_t touched = 1, common = HasPrevious(visit_) ? 1 : 0;
    for (uint32_t ranks = tensor.component_ranks[k]; ranks != 0; ranks &= ranks - 1) {
      const RankShape& rank = tensor.ranks[std::countr_zero(ranks)];
      TouchedBox box, previous;
      int64_t shift = 0;
      for (int t = 0; t < rank.num_terms; ++t) {
        const DimTile& tile = tile_[rank.dims[t]];
        box.widths[t] = tile.width;
        previous.widths[t] = tile.previous_width;
        shift += rank.coefficients[t] * tile.previous_shift;
      }
      touched *= CountTouched(rank, box, scratch_.touched);
      if (common != 0) common *= CountCommon(rank, box, previous, shift, scratch_.touched);
    }
    sums[kTile] += times * touched;
    sums[kCommon] += times * common;
    if (common != 0) sums[kOverlapping] += times * touched;
    if (common == touched) sums[kSame] += times * touched;
  }

  // Sums over the groups that the components outside joint_ make: product of totals, and where
  // they lie.
  void SumComponents() {
    GroupWeights& groups = own_.groups;
    for (int f = 0; f < kFamilies; ++f) {
      groups.total[f] = 1;
      groups.columns[f] = 0;
      groups.rows[f].assign(1, 1);
    }
    const TensorData& tensor = input_.data.tensors[v_];
    for (int k = 0; k < tensor.num_components; ++k) {
      if ((joint_ >> k & 1) != 0) continue;
      if (IsSimple(k)) {
        SumSimpleComponent(std::countr_zero(tensor.component_dims[k]));
        continue;
      }
      // At most one of the dimensions has children to choose from here.
      int spread = -1;
      for (int d = 0; d < num_dims_; ++d) {
        if ((tensor.component_dims[k] >> d & 1) != 0 && places_[d] > 1) spread = d;
      }
      for (int d = 0; d < num_dims_; ++d) {
        if ((tensor.component_dims[k] >> d & 1) == 0) continue;
        if (d != spread) {
          for (Placement& placement : own_.placements[d]) placement.place = 0;
        }
        ListShapes(d, d == spread ? places_[d] : 1);
      }
      const int64_t places = spread < 0 ? 1 : places_[spread];
      for (std::vector<int64_t>& weights : own_.weights) {
        weights.assign(static_cast<size_t>(places), 0);
      }
      for (int64_t place = 0; place < places; ++place) {
        int64_t sums[kFamilies] = {};
        AddComponent(k, spread, place, sums);
        for (int f = 0; f < kFamilies; ++f) own_.weights[f][static_cast<size_t>(place)] = sums[f];
      }
      Multiply(spread, groups);
    }
  }

  void SumSimpleComponent(int d) {
    for (std::vector<int64_t>& weights : own_.weights) {
      weights.assign(static_cast<size_t>(places_[d]), 0);
    }
    for (const VisitKind& kind : Kinds(d)) {
      for (const Placement& placement : own_.placements[d]) {
        const auto place = static_cast<size_t>(placement.place);
        AddSimpleTile(d, kind.left - base_[d] - placement.shift, kind.times,
                      own_.weights[kTile][place], own_.weights[kSame][place]);
      }
    }
    own_.weights[kOverlapping] = own_.weights[kSame];
    own_.weights[kCommon] = own_.weights[kSame];
    Multiply(places_[d] > 1 ? d : -1, own_.groups);
  }

  // Takes own_.weights, those of one component by its place, into the product.
  void Multiply(int spread, GroupWeights& groups) {
    const int64_t stride = spread < 0 ? 0 : stride_[spread];
    const bool on_y = spread >= 0 && on_y_[spread];
    for (int f = 0; f < kFamilies; ++f) {
      int64_t sum = 0, moment = 0;
      for (size_t p = 0; p < own_.weights[f].size(); ++p) {
        sum += own_.weights[f][p];
        moment += own_.weights[f][p] * static_cast<int64_t>(p) * stride;
      }
      groups.columns[f] *= sum;
      if (!on_y) groups.columns[f] += groups.total[f] * moment;
      groups.total[f] *= sum;
      if (!on_y) {
        for (int64_t& row : groups.rows[f]) row *= sum;
        continue;
      }
      const size_t reach = (own_.weights[f].size() - 1) * static_cast<size_t>(stride);
      own_.row_sums.assign(groups.rows[f].size() + reach, 0);
      for (size_t p = 0; p < own_.weights[f].size(); ++p) {
        for (size_t y = 0; y < groups.rows[f].size(); ++y) {
          own_.row_sums[y + p * static_cast<size_t>(stride)] +=
              groups.rows[f][y] * own_.weights[f][p];
        }
      }
      std::swap(groups.rows[f], own_.row_sums);
    }
  }

  // Ways in which one word spreads over the dimensions that the tensor does not have: how many
  // children of level_ are at work there, over all visits and all instances of level_.
  void ListSpreads() {
    own_.spreads.assign(1, {});
    for (int d = 0; d < num_dims_; ++d) {
      if (Uses(v_, d)) continue;
      own_.reached.assign(static_cast<size_t>(places_[d]) + 1, 0);
      CountReached(d);
      own_.more_spreads.clear();
      for (int64_t n = 1; n <= places_[d]; ++n) {
        const int64_t times = own_.reached[static_cast<size_t>(n)];
        if (times == 0) continue;
        for (Spread spread : own_.spreads) {
          spread.times *= times;
          spread.children *= n;
          if (on_y_[d]) {
            spread.depth += (n - 1) * stride_[d];
          } else {
            spread.last_column += (n - 1) * stride_[d];
            spread.columns *= n;
          }
          own_.more_spreads.push_back(spread);
        }
      }
      std::swap(own_.spreads, own_.more_spreads);
    }
  }

  // own_.reached[n]: how often n children of level_ have something left in dimension d.
  void CountReached(int d) {
    int64_t step = 0;
    for (const Loop& loop : input_.SpatialLoops(level_)) step = loop.dim == d ? loop.step : step;
    ListPlacements(d, level_ + 1, parent_);
    for (const VisitKind& kind : Kinds(d)) {
      for (const Placement& placement : own_.placements[d]) {
        const int64_t left = kind.left - base_[d] - placement.shift;
        if (left <= 0) continue;
        const int64_t n = step == 0 ? 1 : std::min(places_[d], (left - 1) / step + 1);
        own_.reached[static_cast<size_t>(n)] += kind.times;
      }
    }
  }

  // Half hops down the columns of groups that begin at `row` of each and end `depth` further down.
  static int64_t Vertical(int64_t centre, int64_t top, int64_t bottom) {
    return std::max<int64_t>(0, centre - 2 * top) + std::max<int64_t>(0, 2 * bottom - centre);
  }

  bool Spreads() const { return !input_.SpatialLoops(level_).empty(); }

  // Groups are the indices in the tensor's dimensions.
  int64_t AddSimpleGroups() {
    const GroupWeights& groups = own_.groups;
    const int64_t words = groups.total[kTile] - groups.total[kCommon];
    const int64_t columns = groups.columns[kTile] - groups.columns[kCommon];
    ExactNetworkTensor& network = result_.levels[level_].network[v_];
    const int64_t centre = input_.machine.levels[level_].fan_y - 1;
    int64_t all = 0;
    for (const Spread& spread : own_.spreads) {
      AddIngress(network, spread.children, instances_ * spread.times * words);
      all += spread.times * words;
      if (!Spreads()) continue;
      int64_t half_hops = 2 * (columns + spread.last_column * words);
      for (size_t y = 0; y < groups.rows[kTile].size(); ++y) {
        const auto row = static_cast<int64_t>(y);
        half_hops += (groups.rows[kTile][y] - groups.rows[kCommon][y]) * spread.columns *
                     Vertical(centre, row, row + spread.depth);
      }
      network.half_hops += instances_ * spread.times * half_hops;
    }
    return all;
  }

  // ---- Components in which children can coincide
  // -------------------------------------------------

  // Goes through the kinds of visits of the joint components' dimensions, and through the instances
  // of level_ below the parent as far as they differ in these dimensions.
  int64_t AddJointGroups() {
    const TensorData& tensor = input_.data.tensors[v_];
    joint_dims_ = 0;
    num_joint_ranks_ = 0;
    for (int k = 0; k < tensor.num_components; ++k) {
      if ((joint_ >> k & 1) == 0) continue;
      joint_dims_ |= tensor.component_dims[k];
      for (uint32_t ranks = tensor.component_ranks[k]; ranks != 0; ranks &= ranks - 1) {
        joint_ranks_[num_joint_ranks_++] = &tensor.ranks[std::countr_zero(ranks)];
      }
    }
    return AddJointKinds(joint_dims_, 1);
  }

  int64_t AddJointKinds(uint32_t dims_left, int64_t times) {
    if (dims_left == 0) return AddJointVisit(times);
    const int d = std::countr_zero(dims_left);
    int64_t words = 0;
    for (size_t k = 0; k < Kinds(d).size(); ++k) {
      // Listed anew each time, because the dimensions further in use the same memory.
      ListPlacements(d, level_ + 1, parent_);
      const size_t instances = own_.placements[d].size();
      for (size_t p = 0; p < instances; ++p) {
        ListPlacements(d, level_ + 1, parent_);
        const VisitKind kind = Kinds(d)[k];
        joint_left_[d] = kind.left - base_[d] - own_.placements[d][p].shift;
        if (joint_left_[d] <= 0) continue;
        words += AddJointKinds(dims_left & (dims_left - 1), times * kind.times);
      }
    }
    return words;
  }

  int64_t AddJointVisit(int64_t times) {
    own_.children.assign(1, {});
    for (uint32_t dims = joint_dims_; dims != 0; dims &= dims - 1) {
      AddJointDimension(std::countr_zero(dims));
    }
    const GroupWeights& groups = own_.groups;
    int64_t words = 0;
    const auto add = [&](Sameness sameness, const auto& weigh) {
      GroupChildren(own_.children, {joint_ranks_, static_cast<size_t>(num_joint_ranks_)}, sameness,
                    own_.joint);
      for (const JointGroup& group : own_.joint.groups) {
        int64_t weights[kFamilies] = {};
        weigh(group, weights);
        words += AddJointGroup(group, weights, times);
      }
    };
    // Which sets must be equal depends on the other components, so each case has its own groups.
    if (groups.total[kTile] != groups.total[kOverlapping]) {
      add(Sameness::kTile, [](const JointGroup& group, int64_t* weights) {
        weights[kTile] = group.tile;
        weights[kOverlapping] = -group.tile;
      });
    }
    if (groups.total[kSame] != 0) {
      add(Sameness::kNew, [](const JointGroup& group, int64_t* weights) {
        weights[kSame] = group.tile - group.common;
      });
    }
    if (groups.total[kOverlapping] != groups.total[kSame]) {
      add(Sameness::kTileAndOld, [](const JointGroup& group, int64_t* weights) {
        weights[kOverlapping] = group.tile;
        weights[kCommon] = -group.common;
        weights[kSame] = group.common - group.tile;
      });
    }
    return words;
  }

  // Multiplies own_.children by the children in dimension d; those without work are dropped.
  void AddJointDimension(int d) {
    ListPlacements(d, child_ + 1, level_);
    const size_t before = own_.children.size();
    for (const Placement& placement : own_.placements[d]) {
      const int64_t left = joint_left_[d] - placement.shift;
      if (left <= 0) continue;
      const DimTile tile = TileAt(steps_[d].visit, left);
      for (size_t c = 0; c < before; ++c) {
        JointChild child = own_.children[c];
        (on_y_[d] ? child.row : child.column) += placement.place * stride_[d];
        child.regular = child.regular && left >= steps_[d].visit.regular_left;
        for (int r = 0; r < num_joint_ranks_; ++r) {
          AddJointTerm(*joint_ranks_[r], d, placement.shift, tile, child.ranks[r]);
        }
        own_.children.push_back(child);
      }
    }
    own_.children.erase(own_.children.begin(),
                        own_.children.begin() + static_cast<std::ptrdiff_t>(before));
  }

  void AddJointTerm(const RankShape& rank, int d, int64_t shift, const DimTile& tile,
                    JointRank& child) const {
    for (int t = 0; t < rank.num_terms; ++t) {
      if (rank.dims[t] != d) continue;
      child.start += rank.coefficients[t] * shift;
      child.box.widths[t] = tile.width;
      child.has_previous = HasPrevious(visit_);
      child.previous.widths[t] = tile.previous_width;
      child.previous_shift += rank.coefficients[t] * tile.previous_shift;
    }
  }

  // One group of the joint components, combined with all groups of the others.
  int64_t AddJointGroup(const JointGroup& group, const int64_t* weights, int64_t times) {
    const GroupWeights& groups = own_.groups;
    int64_t words = 0, columns = 0;
    for (int f = 0; f < kFamilies; ++f) {
      words += weights[f] * groups.total[f];
      columns += weights[f] * groups.columns[f];
    }
    ExactNetworkTensor& network = result_.levels[level_].network[v_];
    const int64_t centre = input_.machine.levels[level_].fan_y - 1;
    int64_t all = 0;
    for (const Spread& spread : own_.spreads) {
      AddIngress(network, spread.children * group.reached,
                 instances_ * times * spread.times * words);
      all += times * spread.times * words;
      if (!Spreads()) continue;
      int64_t half_hops = 2 * (columns + (spread.last_column + group.last_column) * words);
      for (size_t y = 0; y < groups.rows[kTile].size(); ++y) {
        int64_t here = 0;
        for (int f = 0; f < kFamilies; ++f) here += weights[f] * groups.rows[f][y];
        if (here == 0) continue;
        const auto row = static_cast<int64_t>(y);
        for (size_t c = 0; c < group.num_columns; ++c) {
          const JointColumn& column = own_.joint.columns[group.first_column + c];
          half_hops += here * spread.columns *
                       Vertical(centre, row + column.top, row + column.bottom + spread.depth);
        }
      }
      network.half_hops += instances_ * times * spread.times * half_hops;
    }
    return all;
  }

  // ---- Distinct elements
  // -------------------------------------------------------------------------

  // Different elements that the instance of `level` at base_ ever holds.
  int64_t DistinctWords(int level) {
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

  int64_t DistinctIndices(int d, int level) {
    std::vector<VisitKind>& kinds = own_.some_kinds;
    ListKinds(own_.walks[d], level, kAnyVisit, kinds);
    int64_t indices = 0;
    for (const VisitKind& kind : kinds) {
      const int64_t left = kind.left - base_[d];
      indices += kind.times * std::clamp<int64_t>(left, 0, nest_.extent[level][d]);
    }
    return indices;
  }

  int64_t DistinctCoordinates(const RankShape& rank, int level) {
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

  static void AddMultiples(int64_t count, int64_t step, std::vector<int64_t>& values) {
    const size_t inner = values.size();
    for (int64_t n = 1; n < count; ++n) {
      for (size_t k = 0; k < inner; ++k) values.push_back(values[k] + n * step);
    }
  }

  // Words of the groups below level i at which an element comes to the parent for the first time.
  int64_t FirstWords(int i) {
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
      words *= CountFirstCoordinates(nest_, rank, bounds, base_, child_, i, parent_,
                                     scratch_.first_words);
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

}  // namespace

void Reserve(size_t children, size_t usual, ResidualScratch& scratch) {
  for (auto& level : scratch.bases) {
    for (std::vector<BaseClass>& bases : level) bases.reserve(usual);
  }
  for (int d = 0; d < kMaxDims; ++d) {
    scratch.placements[d].reserve(children);
    scratch.shapes[d].reserve(usual);
    scratch.times[d].reserve(8 * children);
  }
  for (int f = 0; f < kFamilies; ++f) {
    scratch.weights[f].reserve(children);
    scratch.groups.rows[f].reserve(children);
  }
  for (std::vector<DimStep>& steps : scratch.steps) steps.reserve(4 * usual);
  scratch.kinds.reserve(64 * usual);
  scratch.some_kinds.reserve(usual);
  scratch.raw_words.reserve(usual);
  for (auto& factor : scratch.factors) {
    for (std::vector<int64_t>& part : factor) part.reserve(usual);
  }
  scratch.row_sums.reserve(children);
  scratch.spreads.reserve(usual);
  scratch.more_spreads.reserve(usual);
  scratch.reached.reserve(children);
  scratch.children.reserve(2 * children);
  Reserve(children, scratch.joint);
}

bool IsTooLong(const ExactInput& input, ExactResult& result) {
  for (int v = 0; v < input.data.problem.num_tensors; ++v) {
    int child = -1;
    for (int i = 0; i < input.nest.num_levels; ++i) {
      if (!input.Keeps(i, v)) continue;
      const bool windows = input.tensor(v).read_write && !input.data.tensors[v].simple &&
                           !input.machine.levels[i].reduces;
      if ((HasLinks(input, v, child, i) || windows) &&
          VisitsToWalk(input, child) > kMaxVisitsToWalk) {
        result.status = ExactResult::Status::kTooLong;
        result.level = i;
        result.tensor = v;
        result.have = static_cast<int64_t>(std::min(VisitsToWalk(input, child), 9e18));
        result.limit = static_cast<int64_t>(kMaxVisitsToWalk);
        return true;
      }
      child = i;
    }
  }
  return false;
}

void CountResidual(const ExactInput& input, ExactScratch& scratch, ExactResult& result) {
  ResidualCounter(input, scratch, result).Run();
}

}  // namespace tessera::loopnest
