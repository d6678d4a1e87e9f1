// The search itself, from the outermost level inwards: tiles, parallel factors, innermost loops; at
// the bottom complete mappings. Bounds come from Bounder, costs from the model. What is left out
// is left out by a rule (tree.h), and docs/optimality.md proves each.
#include "tessera/search/exact/tree.h"

#include <algorithm>
#include <bit>

#include "tessera/result.h"
#include "tessera/search/exact/ragged.h"

namespace tessera::exact {
namespace {

// Loops of a set as a list, from the lowest dimension.
int List(uint32_t set, uint8_t* dims) {
  int count = 0;
  for (; set != 0; set &= set - 1) dims[count++] = static_cast<uint8_t>(std::countr_zero(set));
  return count;
}

// Tiles and factors looked at, at most: for each step of a search, and of a split, which looks at
// all tiles of a level before its first step; and for each level of a dive, where there are steps
// of all kinds. What these were seen to take is a half, a tenth and a half of it.
constexpr int64_t kLooksPerStep = 64, kLooksPerSplit = 8, kLooksOfDive = int64_t{1} << 21;

// Sorts by bound, equal ones as they came, and drops what is beyond `most`.
template <typename Item>
void KeepLowest(size_t most, std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.bound < b.bound; });
  if (items.size() > most) items.resize(most);
}

}  // namespace

void Counters::Add(const Counters& other) {
  nodes += other.nodes;
  tiles += other.tiles;
  evaluations += other.evaluations;
  for (size_t r = 0; r < kRules; ++r) pruned[r] += other.pruned[r];
}

Tree::Tree(const Model& model, const TreeOptions& options)
    : model_(model), options_(options), bounder_(model, options.limits, options.shared) {
  const auto outside = static_cast<size_t>(model.num_levels);
  frames_[outside] = bounder_.Root();
  chains_[outside] = {bounder_.RootChain()};
  mapping_.num_levels = model.num_levels;
  for (int i = 0; i < model.num_levels; ++i) {
    mapping_.levels[static_cast<size_t>(i)].keep = model.keep[i];
  }
}

int64_t Tree::bytes() const {
  size_t sum = sizeof(Tree);
  for (const std::vector<Chain>& chains : chains_) sum += chains.capacity() * sizeof(Chain);
  for (const std::vector<Promise>& promises : promises_) {
    sum += promises.capacity() * sizeof(Promise);
  }
  return static_cast<int64_t>(sum);
}

void Tree::Prune(Rule rule, double bound, int level, const Tile* tile, const Chain* chain,
                 const LoopMapping* mapping) {
  ++counters_.pruned[static_cast<size_t>(rule)];
  if (options_.observer == nullptr) return;
  options_.observer->OnPruned(model_, rule, bound, frames_, level, tile, chain, mapping);
}

// The extent of a tile in a dimension, by its place among those there are.
void Tree::SetExtent(int level, int dim, int16_t choice) {
  Tile& tile = tiles_[level];
  choices_[level][static_cast<size_t>(dim)] = choice;
  if (!model_.any) {
    tile.positions[dim] = choice;
    tile.extents[dim] = model_.divisors[dim].values[static_cast<size_t>(choice)];
    return;
  }
  const ExtentChoice& extent = extents_[level][dim][static_cast<size_t>(choice)];
  tile.positions[dim] = static_cast<int16_t>(extent.most - 1);
  tile.extents[dim] = extent.most;
  tile.least[dim] = extent.least;
  tile.open[dim] = extent.open;
}

void Tree::SetTile(int level, const Promise& promise) {
  for (int d = 0; d < model_.num_dims; ++d) {
    SetExtent(level, d, promise.choices[static_cast<size_t>(d)]);
  }
  bounder_.Measure(tiles_[level]);
}

template <typename Use>
void Tree::ForEachTile(int level, const Use& use) {
  if (model_.any) return ForEachAnyTile(level, use);
  Tile& tile = tiles_[level];
  for (int d = 0; d < model_.num_dims; ++d) SetExtent(level, d, 0);
  const auto fits = [&] {
    return bounder_.Fits(level - 1, tile.extents) && bounder_.HasRoom(level - 1, tile.extents);
  };
  if (level > 0 && !fits()) return;
  // From dimension `d` on, extents are 1; larger ones need more memory.
  const auto choose = [&](const auto& self, int d) -> void {
    if (work_left_ < 0) return;
    if (d == model_.num_dims) {
      Look();
      if (level > 0 && !bounder_.IsNew(level - 1, tile.extents)) return;
      bounder_.Measure(tile);
      use();
      return;
    }
    const DivisorTable& table = model_.divisors[d];
    const int16_t whole = frames_[level + 1].positions[d];
    // Where there are no temporal loops, what is not in the tile is parallel.
    const double least =
        MustLieOutside(level, d) ? frames_[level + 1].extents[d] / model_.levels[level].fan : 0;
    for (const int16_t part : table.parts[static_cast<size_t>(whole)]) {
      SetExtent(level, d, part);
      if (part > 0 && !fits()) break;
      if (tile.extents[d] >= least) self(self, d + 1);
      if (level == 0) break;
    }
    SetExtent(level, d, 0);
  };
  choose(choose, 0);
}

// The same with any factors: of an extent maybe only how many tiles it leads to. R1.
template <typename Use>
void Tree::ForEachAnyTile(int level, const Use& use) {
  Tile& tile = tiles_[level];
  const bool outermost = level + 1 == model_.num_levels;
  for (int d = 0; d < model_.num_dims; ++d) {
    ListExtents(model_, frames_[level + 1], level, d, extents_[level][d]);
    SetExtent(level, d, 0);
  }
  if (level > 0 && !bounder_.Fits(level - 1, tile.least)) return;
  const auto choose = [&](const auto& self, int d) -> void {
    if (work_left_ < 0) return;
    if (d == model_.num_dims) {
      Look();
      bounder_.Measure(tile);
      use();
      return;
    }
    for (size_t k = 0; k < extents_[level][d].size(); ++k) {
      const ExtentChoice& choice = extents_[level][d][k];
      // The other way round it is the same.
      if (outermost && model_.twin[d] >= 0 && choice.most < tile.extents[model_.twin[d]]) continue;
      SetExtent(level, d, static_cast<int16_t>(k));
      if (choice.least > 1 && !bounder_.Fits(level - 1, tile.least)) break;
      self(self, d + 1);
    }
    SetExtent(level, d, 0);
  };
  choose(choose, 0);
}

// The extents of tiles further out that were left open follow from the factors of a level; false if
// one does not fit. What was there is put into `opened`.
bool Tree::CloseTiles(int level, const int32_t* spatial, const int32_t* temporal,
                      std::vector<Opened>& opened) {
  opened.clear();
  const Tile& tile = tiles_[level];
  int last = level;
  for (int d = 0; d < model_.num_dims; ++d) {
    if (frames_[level + 1].open[d] == 0 || tile.open[d] != 0) continue;
    const int32_t extent = tile.extents[d] * spatial[d] * temporal[d];
    for (int k = level + 1; k < model_.num_levels && frames_[k].open[d] != 0; ++k) {
      Frame& frame = frames_[k];
      opened.push_back({k, d, frame.extents[d], frame.least[d], frame.open[d], frame.ragged[d]});
      frame.extents[d] = frame.least[d] = extent;
      frame.open[d] = 0;
      frame.ragged[d].once_below =
          OnceOutside(model_, frame, level, d, tile.extents[d], spatial[d]);
      last = std::max(last, k);
    }
  }
  for (int k = level + 1; k <= last; ++k) {
    if (!bounder_.Fits(k - 1, frames_[k].least)) return false;
  }
  return true;
}

void Tree::OpenTiles(const std::vector<Opened>& opened) {
  for (const Opened& was : opened) {
    Frame& frame = frames_[was.level];
    frame.extents[was.dim] = was.extent;
    frame.least[was.dim] = was.least;
    frame.open[was.dim] = was.open;
    frame.ragged[was.dim] = was.ragged;
  }
}

// What is known of the loops outside a level: chain by chain, if they are few.
void Tree::SetOutside(int level) {
  constexpr size_t kFew = 3;
  const std::span<const Chain> chains = chains_[level + 1];
  std::vector<ChainSummary>& outside = outside_[level];
  outside.clear();
  if (chains.size() > kFew) {
    outside.push_back(bounder_.Summarize(frames_, level + 1, chains));
    return;
  }
  for (const Chain& chain : chains) {
    outside.push_back(bounder_.Summarize(frames_, level + 1, {&chain, 1}));
  }
}

// Before the parallel factors of a level are chosen.
void Tree::BeginSplit(int level) {
  tiles_[level].decided = 0;
  partial_[level][0] = bounder_.NothingDecided(level);
  Room& room = room_[level][0];
  room = {.ways = 1};
  room.x[0] = model_.levels[level].fan_x;
  room.y[0] = model_.levels[level].fan_y;
  if (level > 0) bounder_.Prepare(frames_, level, tiles_[level], costs_[level]);
}

// Decides the factors of the next dimension; false if no others can lead to anything better. B14.
bool Tree::Decide(int level, int dim, int32_t spatial, int32_t temporal) {
  const Room& room = room_[level][dim];
  Room& next = room_[level][dim + 1];
  double left = 0;
  next.ways = 0;
  if (spatial == 1 || room.ways == Room::kMost) {
    next = room;
    left = spatial == 1 ? partial_[level][dim].left : partial_[level][dim].left / spatial;
  } else {
    for (int k = 0; k < room.ways; ++k) {
      for (const bool on_y : {false, true}) {
        const int64_t x = on_y ? room.x[k] : room.x[k] / spatial;
        const int64_t y = on_y ? room.y[k] / spatial : room.y[k];
        if (x == 0 || y == 0 || next.ways == Room::kMost) continue;
        next.x[next.ways] = x;
        next.y[next.ways++] = y;
        left = std::max(left, static_cast<double>(x * y));
      }
    }
    if (next.ways == 0) return false;
    if (next.ways == Room::kMost) left = partial_[level][dim].left / spatial;
  }
  if (level == 0) {
    partial_[level][dim + 1].left = left;
    return true;
  }
  TileCosts& costs = costs_[level];
  Tile& tile = tiles_[level];
  const Frame& parent = frames_[level + 1];
  PartialSplit& split = partial_[level][dim + 1];
  split = partial_[level][dim];
  SplitFactors factors{.spatial = spatial,
                       .temporal = temporal,
                       .cut = static_cast<double>(spatial),
                       .copies = static_cast<double>(spatial)};
  if (model_.any) {
    const OnceParts once = Once(model_, parent, tile, dim, {spatial, temporal});
    factors.once = once.here;
    factors.once_below = once.below;
    factors.cut = RaggedCut(parent, tile, dim, spatial);
    factors.copies = RaggedCopies(model_, parent, tile, dim, {spatial, temporal});
  }
  bounder_.Decide(costs, factors, left, split);
  tile.spatial[dim] = spatial;
  tile.temporal[dim] = temporal;
  if (costs.ratios[dim] == 1) return true;
  double bound = kInfinity;
  for (const ChainSummary& outside : outside_[level]) {
    bound = std::min(bound, bounder_.SplitBound(parent, outside, costs, split, options_.goal,
                                                Limit() / options_.bound_scale));
  }
  bound = Scaled(bound);
  if (bound < Limit()) return true;
  tile.decided = dim + 1;
  Prune(Rule::kSplit, bound, level + 1, &tile, nullptr);
  tile.decided = 0;
  return false;
}

// What a floor says of a tile with all parallel factors of its level. R5.
bool Tree::MayBeBetter(int level, const int32_t* spatial, const int32_t* temporal) {
  if (!bounder_.KnowsTiles(level)) return true;
  Tile& tile = tiles_[level];
  double bound = kInfinity;
  for (const ChainSummary& outside : outside_[level]) {
    bound = std::min(bound, bounder_.RaggedSplitBound(frames_[level + 1], outside, tile, spatial,
                                                      temporal, options_.goal));
  }
  bound = Scaled(bound);
  if (bound < Limit()) return true;
  tile.decided = model_.num_dims;
  Prune(Rule::kSplit, bound, level + 1, &tile, nullptr);
  tile.decided = 0;
  return false;
}

template <typename Use>
void Tree::ForEachAnySplit(int level, const Use& use) {
  const Tile& tile = tiles_[level];
  const auto fan = static_cast<int64_t>(model_.levels[level].fan);
  int32_t spatial[kMaxDims], temporal[kMaxDims];
  for (int d = 0; d < model_.num_dims; ++d) {
    ListSplits(model_, frames_[level + 1], level, tile, d, splits_[level][d]);
  }
  const auto choose = [&](const auto& self, int d, int64_t product) -> void {
    if (work_left_ < 0) return;
    if (d == model_.num_dims) {
      Look();
      if (!SpatialFits(level, spatial)) return;
      if (!MayBeBetter(level, spatial, temporal)) return;
      std::vector<Opened>& opened = opened_[level];
      if (CloseTiles(level, spatial, temporal, opened)) {
        bounder_.MakeFrame(frames_, level, tile, spatial, temporal);
        use();
      }
      return OpenTiles(opened);
    }
    for (const SplitChoice& choice : splits_[level][d]) {
      if (product * choice.spatial > fan) break;
      if (!Decide(level, d, choice.spatial, choice.temporal)) continue;
      spatial[d] = choice.spatial;
      temporal[d] = choice.temporal;
      self(self, d + 1, product * choice.spatial);
    }
    spatial[d] = 1;
  };
  std::fill_n(spatial, model_.num_dims, 1);
  BeginSplit(level);
  choose(choose, 0, 1);
}

bool Tree::SpatialFits(int level, const int32_t* spatial) const {
  const LevelFacts& facts = model_.levels[level];
  const Restrictions& restrictions = *model_.restrictions;
  const auto place = [&](const auto& self, int d, int64_t x, int64_t y) -> bool {
    while (d < model_.num_dims && spatial[d] == 1) ++d;
    if (d == model_.num_dims) return true;
    const int64_t factor = spatial[d];
    if (x * factor <= facts.fan_x && restrictions.AllowsAxis(level, d, /*on_y=*/false) &&
        self(self, d + 1, x * factor, y)) {
      return true;
    }
    return y * factor <= facts.fan_y && restrictions.AllowsAxis(level, d, /*on_y=*/true) &&
           self(self, d + 1, x, y * factor);
  };
  return place(place, 0, 1, 1);
}

template <typename Use>
void Tree::ForEachSpatial(int level, const Use& use) {
  if (model_.any) return ForEachAnySplit(level, use);
  const Tile& tile = tiles_[level];
  const Frame& parent = frames_[level + 1];
  const auto fan = static_cast<int64_t>(model_.levels[level].fan);
  int32_t spatial[kMaxDims];
  std::fill_n(spatial, model_.num_dims, 1);
  const auto choose = [&](const auto& self, int d, int64_t product) -> void {
    if (work_left_ < 0) return;
    if (d == model_.num_dims) {
      Look();
      if (!SpatialFits(level, spatial)) return;
      bounder_.MakeFrame(frames_, level, tile, spatial);
      if (AllBelongOutside(frames_[level])) return;
      if (model_.restrictions->none || AllowsTemporal(level)) use();
      return;
    }
    const DivisorTable& table = model_.divisors[d];
    const int16_t rest = table.quotients[static_cast<size_t>(parent.positions[d])]
                                        [static_cast<size_t>(tile.positions[d])];
    const bool whole = MustLieOutside(level, d);
    for (const int16_t part : table.parts[static_cast<size_t>(rest)]) {
      if (whole && part != rest) continue;
      spatial[d] = table.values[static_cast<size_t>(part)];
      if (product * spatial[d] > fan) break;
      if (!model_.restrictions->AllowsSpatial(level, d, spatial[d])) continue;
      const int32_t in_time = table.values[static_cast<size_t>(rest)] / spatial[d];
      if (Decide(level, d, spatial[d], in_time)) self(self, d + 1, product * spatial[d]);
    }
    spatial[d] = 1;
  };
  BeginSplit(level);
  choose(choose, 0, 1);
}

// Then the level could as well have no loops. B13.
bool Tree::AllBelongOutside(const Frame& frame) const {
  if ((frame.loops & ~model_.outward[frame.level]) != 0 || frame.loops == 0) return false;
  for (uint32_t rest = frame.loops; rest != 0; rest &= rest - 1) {
    if (!BelongsOutside(frame.level, std::countr_zero(rest))) return false;
  }
  return true;
}

bool Tree::AllowsTemporal(int level) const {
  for (int d = 0; d < model_.num_dims; ++d) {
    if (!model_.restrictions->AllowsTemporal(level, d, frames_[level].temporal[d])) return false;
  }
  const auto value = [&](const Restrictions::Factor& factor) {
    const Frame& frame = frames_[static_cast<size_t>(factor.level)];
    return factor.spatial ? frame.spatial[factor.dim] : frame.temporal[factor.dim];
  };
  return PairsHold(*model_.restrictions, level, value) &&
         EnoughParallel(*model_.restrictions, level, model_.num_levels, model_.num_dims, value);
}

// The tiles below a level that may lead to something better, best bound first.
void Tree::SortTiles(int level) {
  std::vector<Promise>& promises = promises_[level];
  promises.clear();
  ForEachTile(level, [&] {
    double bound = 0;
    if (level > 0) {
      ++counters_.tiles;
      if (bounder_.KnowsTiles(level)) {
        bound = kInfinity;
        for (const ChainSummary& outside : outside_[level]) {
          bound = std::min(bound, bounder_.RaggedTileBound(frames_[level + 1], outside,
                                                           tiles_[level], options_.goal));
        }
        bound = Scaled(bound);
        if (bound >= Limit()) {
          return Prune(Rule::kTile, bound, level + 1, &tiles_[level], nullptr);
        }
      }
      bound = Scaled(bounder_.TileBound(frames_, level, chains_[level + 1], tiles_[level],
                                        options_.goal, Limit() / options_.bound_scale));
      if (bound >= Limit()) return Prune(Rule::kTile, bound, level + 1, &tiles_[level], nullptr);
    }
    promises.push_back({bound, choices_[level]});
  });
  std::stable_sort(promises.begin(), promises.end(),
                   [](const Promise& a, const Promise& b) { return a.bound < b.bound; });
}

// Calls use(bound) with the frame and the chains of the level in place.
template <typename Use>
void Tree::ForEachTiling(int level, const Use& use) {
  const std::span<const Frame> frames(frames_);
  const ChainSummary summary = bounder_.Summarize(frames, level + 1, chains_[level + 1]);
  SetOutside(level);
  SortTiles(level);
  for (const Promise& promise : promises_[level]) {
    SetTile(level, promise);
    if (promise.bound >= Limit()) {
      Prune(Rule::kTile, promise.bound, level + 1, &tiles_[level], nullptr);
      continue;
    }
    if (work_left_ >= 0) cut_bound_ = promise.bound;
    ForEachSpatial(level, [&] {
      ++counters_.nodes;
      --work_left_;
      const double quick = Scaled(bounder_.QuickLeast(frames, level, summary, options_.goal));
      if (quick >= Limit()) return use(quick);
      use(Scaled(bounder_.Least(frames, level, chains_[level + 1], options_.goal, ChainLimit(),
                                chains_[level])));
    });
  }
}

void Tree::SearchLevel(int level) {
  ForEachTiling(level, [&](double bound) {
    if (bound >= Limit()) return Prune(Rule::kTiling, bound, level, nullptr, nullptr);
    if (level > 0) {
      SearchLevel(level - 1);
    } else {
      SearchOrders(model_.num_levels - 1, chains_[model_.num_levels].front(), 0);
    }
  });
}

void Tree::SearchOrders(int level, const Chain& chain, double least) {
  if (level < 0) return EvaluateChain(chain, least);
  const Frame& frame = frames_[level];
  if (bounder_.CouldHoldMore(frames_, level, chain)) return;
  const auto search = [&](int dim) {
    if (work_left_ < 0) return;
    Chain out;
    const Bound bound = bounder_.ExtendBoth(frames_, level, chain, dim, out);
    const double value = Scaled(bounder_.ValueOf(bound, options_.goal, frame.front, level));
    if (value >= Limit()) return Prune(Rule::kOrder, value, level, nullptr, &out);
    SearchOrders(level - 1, out, value);
  };
  if (frame.loops == 0) return bounder_.CanGrow(frames_, level, chain) ? void() : search(-1);
  if (!bounder_.OrderMatters(frame)) return search(std::countr_zero(frame.loops));
  for (uint32_t rest = frame.innermost; rest != 0; rest &= rest - 1) search(std::countr_zero(rest));
}

// The order that keeps in place, for as long as possible, the tensor that `first` leaves alone.
// Where each dimension is idle for at most one tensor, no other order of this chain costs less. B1.
void Tree::SetRepresentativeOrder(int level, int first) {
  LoopLevel& loops = mapping_.levels[static_cast<size_t>(level)];
  uint32_t idle = 0;
  for (int v = 0; v < model_.num_tensors && first >= 0; ++v) {
    if (!Has(model_.tensors[v].dims, first)) idle |= ~model_.tensors[v].dims;
  }
  uint8_t* order = loops.temporal_order.data();
  int count = 0;
  if (first >= 0) order[count++] = static_cast<uint8_t>(first);
  for (const bool wanted : {true, false}) {
    for (int d = 0; d < model_.num_dims; ++d) {
      if (d != first && Has(idle, d) == wanted) order[count++] = static_cast<uint8_t>(d);
    }
  }
}

void Tree::EvaluateChain(const Chain& chain, double bound) {
  order_bound_ = bound;
  for (int i = 0; i < model_.num_levels; ++i) {
    LoopLevel& loops = mapping_.levels[static_cast<size_t>(i)];
    for (int d = 0; d < model_.num_dims; ++d) {
      loops.temporal[static_cast<size_t>(d)] = frames_[i].temporal[d];
      loops.spatial[static_cast<size_t>(d)] = frames_[i].spatial[d];
    }
    SetRepresentativeOrder(i, chain.dims[i]);
  }
  // A dive is content with one order, but constraints may forbid the one that is in place.
  const bool constrained = !model_.restrictions->none;
  if (constrained || (!diving_ && bounder_.OrderRisk(frames_, chain))) {
    return EvaluateOrders(model_.num_levels - 1);
  }
  EvaluatePlacements(model_.num_levels - 1);
  if (!diving_) Prune(Rule::kSameOrder, Scaled(last_value_), 0, nullptr, &chain, &mapping_);
}

// All orders with the innermost loops that are in place.
void Tree::EvaluateOrders(int level) {
  if (level < 0) return EvaluatePlacements(model_.num_levels - 1);
  uint8_t* order = mapping_.levels[static_cast<size_t>(level)].temporal_order.data();
  uint8_t dims[kMaxDims];
  // Where the order costs nothing, the chain names one of the loops for all of them.
  const bool matters = bounder_.OrderMatters(frames_[level]);
  const int first = frames_[level].loops == 0 || !matters ? -1 : order[0];
  const int count = List(frames_[level].loops & ~(first < 0 ? 0 : 1u << first), dims);
  const auto use = [&] {
    int place = 0;
    if (first >= 0) order[place++] = static_cast<uint8_t>(first);
    for (int k = 0; k < count; ++k) order[place++] = dims[k];
    if (!model_.restrictions->AllowsTemporalOrder(level, {order, static_cast<size_t>(place)})) {
      return false;
    }
    for (int d = 0; d < model_.num_dims; ++d) {
      if (!Has(frames_[level].loops, d)) order[place++] = static_cast<uint8_t>(d);
    }
    EvaluateOrders(level - 1);
    return true;
  };
  // One that is allowed will do there, and for a dive.
  const bool one = diving_ || !matters;
  do {
    // What the first orders reach, the others may not be able to beat.
    if (work_left_ < 0 || order_bound_ >= Limit()) return;
    if (use() && one) return;
  } while (std::next_permutation(dims, dims + count));
}

// All axes and orders of the parallel loops, or one of each where they make no difference. B11.
void Tree::EvaluatePlacements(int level) {
  if (level < 0) return Evaluate(mapping_);
  if (frames_[level].parallel == 0) return EvaluatePlacements(level - 1);
  const bool all = bounder_.PlacementMatters(frames_[level]) || !model_.restrictions->none;
  Placing placing{.level = level, .one_will_do = !all};
  PlaceLoops(frames_[level].parallel, placing);
  if (!all && !diving_)
    Prune(Rule::kSamePlace, Scaled(last_value_), level, nullptr, nullptr, &mapping_);
}

// Puts each of the loops left on X or Y, in all ways that fit, and evaluates all orders of them.
void Tree::PlaceLoops(uint32_t loops_left, Placing& placing) {
  if (placing.done || work_left_ < 0) return;
  if (loops_left == 0) return OrderLoops(placing);
  const int d = std::countr_zero(loops_left);
  const int64_t factor = frames_[placing.level].spatial[d];
  const LevelFacts& facts = model_.levels[placing.level];
  const int64_t fans[2] = {facts.fan_x, facts.fan_y};
  for (const bool on_y : {false, true}) {
    Axis& axis = on_y ? placing.y : placing.x;
    if (axis.used * factor > fans[on_y ? 1 : 0]) continue;
    if (!model_.restrictions->AllowsAxis(placing.level, d, on_y)) continue;
    // Lists are sorted in place further down, so each branch gives back its own.
    const Axis saved_x = placing.x, saved_y = placing.y;
    axis.dims[axis.count++] = static_cast<uint8_t>(d);
    axis.used *= factor;
    PlaceLoops(loops_left & (loops_left - 1), placing);
    placing.x = saved_x;
    placing.y = saved_y;
  }
}

void Tree::OrderLoops(Placing& placing) {
  Axis &x = placing.x, &y = placing.y;
  std::sort(x.dims, x.dims + x.count);
  do {
    std::sort(y.dims, y.dims + y.count);
    do {
      EvaluatePlacement(placing);
    } while (!placing.done && std::next_permutation(y.dims, y.dims + y.count));
  } while (!placing.done && std::next_permutation(x.dims, x.dims + x.count));
}

void Tree::EvaluatePlacement(Placing& placing) {
  const int level = placing.level;
  const Axis &x = placing.x, &y = placing.y;
  LoopLevel& loops = mapping_.levels[static_cast<size_t>(level)];
  uint8_t* order = loops.spatial_order.data();
  uint8_t* end = std::copy_n(x.dims, x.count, order);
  end = std::copy_n(y.dims, y.count, end);
  loops.split = static_cast<uint8_t>(x.count);
  if (!model_.restrictions->AllowsSpatialOrder(level, {order, static_cast<size_t>(x.count)},
                                               {order + x.count, static_cast<size_t>(y.count)})) {
    return;
  }
  for (int d = 0; d < model_.num_dims; ++d) {
    if (!Has(frames_[level].parallel, d)) *end++ = static_cast<uint8_t>(d);
  }
  EvaluatePlacements(level - 1);
  placing.done = placing.one_will_do;
}

void Tree::Evaluate(const LoopMapping& mapping) {
  ++counters_.evaluations;
  --work_left_;
  Look();
  const loopnest::Workspace& done = EvaluateOnThread(*model_.setup, mapping);
  last_value_ = kInfinity;
  if (done.nest_error.kind != loopnest::NestError::Kind::kNone) return;
  Candidate candidate;
  if (model_.exact) {
    const loopnest::ExactResult& result = done.exact;
    if (result.status != loopnest::ExactResult::Status::kOk) return;
    candidate.cycles = static_cast<double>(result.cycles);
    candidate.energy_pj = result.energy;
  } else {
    const loopnest::TimeloopResult& result = done.timeloop;
    if (result.status != loopnest::TimeloopResult::Status::kOk) return;
    candidate.cycles = static_cast<double>(result.cycles);
    candidate.energy_pj = result.energy;
  }
  const Bound cost{.energy_pj = candidate.energy_pj, .cycles = candidate.cycles};
  if (!options_.limits.Allow(cost)) return;
  candidate.value = cost.Value(options_.goal);
  last_value_ = candidate.value;
  if (candidate.value >= best_.value) return;
  candidate.mapping = mapping;
  best_ = candidate;
}

Branch Tree::BranchOf(int level, double bound, int32_t tree) const {
  Branch node{.bound = bound, .tree = tree};
  node.choices.reserve(static_cast<size_t>(ChoicesPerLevel() * (model_.num_levels - level)));
  for (int i = model_.num_levels - 1; i >= level; --i) {
    const Frame& frame = frames_[i];
    for (int d = 0; d < model_.num_dims; ++d) {
      // With any factors, tiles that are open are known by their number.
      const int32_t any = frame.open[d] != 0 ? -frame.open[d] : frame.extents[d];
      node.choices.push_back(model_.any ? any : frame.positions[d]);
    }
    for (int d = 0; d < model_.num_dims; ++d) node.choices.push_back(frame.spatial[d]);
    for (int d = 0; d < model_.num_dims && model_.any; ++d) {
      node.choices.push_back(frame.temporal[d]);
    }
  }
  return node;
}

int Tree::LevelsDecided(const Branch& node) const {
  return static_cast<int>(std::ssize(node.choices)) / ChoicesPerLevel();
}

bool Tree::Load(const Branch& node) {
  const int32_t* choice = node.choices.data();
  const int last = model_.num_levels - LevelsDecided(node);
  for (int i = model_.num_levels - 1; i >= last; --i) {
    Tile& tile = tiles_[i];
    int32_t spatial[kMaxDims];
    for (int d = 0; d < model_.num_dims && !model_.any; ++d) {
      tile.positions[d] = static_cast<int16_t>(*choice++);
      tile.extents[d] = model_.divisors[d].values[static_cast<size_t>(tile.positions[d])];
    }
    for (int d = 0; d < model_.num_dims && model_.any; ++d) {
      const ExtentChoice extent = ExtentOf(model_, d, *choice++);
      tile.extents[d] = extent.most;
      tile.least[d] = extent.least;
      tile.open[d] = extent.open;
    }
    for (int d = 0; d < model_.num_dims; ++d) spatial[d] = *choice++;
    bounder_.Measure(tile);
    if (model_.any) {
      CloseTiles(i, spatial, choice, opened_[i]);
      bounder_.MakeFrame(frames_, i, tile, spatial, choice);
      choice += model_.num_dims;
    } else {
      bounder_.MakeFrame(frames_, i, tile, spatial);
    }
    bounder_.Least(frames_, i, chains_[i + 1], options_.goal, ChainLimit(), chains_[i]);
    if (chains_[i].empty()) return false;
  }
  return true;
}

double Tree::BoundOf(const Branch& node) {
  if (node.choices.empty()) return node.bound;
  Begin(kNoLimit);
  if (!Load(node)) return kInfinity;
  const int level = model_.num_levels - LevelsDecided(node);
  std::vector<Chain> chains;
  const double bound = bounder_.Least(frames_, level, chains_[static_cast<size_t>(level) + 1],
                                      options_.goal, Limit(), chains);
  if (Scaled(bound) >= Limit()) Prune(Rule::kNode, Scaled(bound), level, nullptr, nullptr);
  return std::max(node.bound, Scaled(bound));
}

Tree::Rest Tree::Split(const Branch& node, int64_t most, int64_t work,
                       std::vector<Branch>& children) {
  Begin(work, kLooksPerSplit);
  cut_bound_ = 0;
  if (!Load(node)) return {};
  double given_up = kInfinity;
  const auto shrink = [&] {
    const auto end = children.begin() + most;
    std::nth_element(children.begin(), end, children.end(),
                     [](const Branch& a, const Branch& b) { return a.bound < b.bound; });
    given_up = std::min(given_up, end->bound);
    children.erase(end, children.end());
  };
  const int level = model_.num_levels - 1 - LevelsDecided(node);
  TESSERA_CHECK(level >= 0);
  ForEachTiling(level, [&](double bound) {
    if (bound >= Limit()) return Prune(Rule::kNode, bound, level, nullptr, nullptr);
    children.push_back(BranchOf(level, std::max(bound, node.bound), node.tree));
    // Not every time: finding the lowest bounds takes as long as making them.
    if (std::ssize(children) >= 2 * most) shrink();
  });
  if (std::ssize(children) > most) shrink();
  // Tiles come by their bounds, so the one at which it was cut has the least of those left.
  const bool cut = work_left_ < 0;
  return {.given_up = given_up, .cut = cut, .bound = cut && !stopped_ ? cut_bound_ : 0};
}

bool Tree::Search(const Branch& node, int64_t work) {
  Begin(work, kLooksPerStep);
  if (!Load(node)) return true;
  const int level = model_.num_levels - 1 - LevelsDecided(node);
  if (level >= 0) {
    SearchLevel(level);
  } else {
    SearchOrders(model_.num_levels - 1, chains_[model_.num_levels].front(), 0);
  }
  return work_left_ >= 0;
}

double Tree::Dive(const Branch& node, int width) {
  diving_ = true;
  Begin(kNoLimit);
  std::vector<Branch> beam = {node};
  double least = node.bound;
  const int first = model_.num_levels - 1 - LevelsDecided(node);
  for (int level = first; level >= 0; --level) {
    double least_tile = 0;
    beam = Narrow(beam, level, static_cast<size_t>(width), least_tile);
    // One that was stopped has not seen all tiles.
    if (level == first && !stopped_) least = std::max(least, least_tile);
  }
  for (const Branch& leaf : beam) {
    if (Load(leaf)) SearchOrders(model_.num_levels - 1, chains_[model_.num_levels].front(), 0);
  }
  diving_ = false;
  return least;
}

// The most promising children, at most `width`, of the most promising tiles, as many, of a beam;
// and the lowest bound of the tiles, 0 if there were too many of them. B7.
std::vector<Branch> Tree::Narrow(std::span<const Branch> beam, int level, size_t width,
                                 double& least_tile) {
  struct Start {
    double bound;
    size_t node;
    Tile tile;
  };
  // Not every time: sorting them takes as long as finding them.
  const auto keep_some = [width](auto& items) {
    constexpr size_t kFew = 1000;
    if (items.size() >= 2 * width + kFew) KeepLowest(width, items);
  };
  std::vector<Start> starts;
  EndPart(kLooksOfDive);
  for (size_t k = 0; k < beam.size() && !stopped_; ++k) {
    if (!Load(beam[k])) continue;
    ForEachTile(level, [&] {
      const double bound = level == 0 ? 0
                                      : bounder_.TileBound(frames_, level, chains_[level + 1],
                                                           tiles_[level], options_.goal);
      starts.push_back({bound, k, tiles_[level]});
      keep_some(starts);
    });
  }
  KeepLowest(width, starts);
  least_tile = starts.empty() ? kInfinity : Scaled(starts.front().bound);
  if (!EndPart(kLooksOfDive)) least_tile = 0;
  std::vector<Branch> children;
  for (const Start& start : starts) {
    if (stopped_) break;
    if (!Load(beam[start.node])) continue;
    SetOutside(level);
    tiles_[level] = start.tile;
    ForEachSpatial(level, [&] {
      const double bound = bounder_.Least(frames_, level, chains_[level + 1], options_.goal,
                                          Limit(), chains_[level]);
      if (bound < Limit()) children.push_back(BranchOf(level, bound, beam[start.node].tree));
      keep_some(children);
    });
  }
  EndPart(kNoLimit);
  KeepLowest(width, children);
  return children;
}

}  // namespace tessera::exact
