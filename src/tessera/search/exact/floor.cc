// What everything inside a level costs at least: the best tile that can be there, with the best
// parallel factors, whatever the levels outside are like. docs/optimality.md, B21.
#include <algorithm>
#include <cmath>

#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/ragged.h"
#include "tessera/search/exact/spread_bound.h"
#include "tessera/search/exact/word_cost.h"

namespace tessera::exact {
namespace {

// Tiles that are looked at, at most: a level that has more of them has no floor.
constexpr int64_t kMostTiles = 4'000;

// Instances of a level that one of the outermost level has.
double InstancesOf(const Model& model, int level) {
  double instances = 1;
  for (int i = level + 1; i < model.num_levels; ++i) instances *= model.levels[i].fan;
  return instances;
}

// A request that leaves a level for one that holds the tensor further out: it may serve all
// instances on the way, and nothing is known of which are in use. Adds what is not paid by words.
double PriceBeyond(const Model& model, int level, int v, double& fixed_pj) {
  const TensorFacts& tensor = model.tensors[v];
  double price = 0, served = 1;
  for (int i = level + 1; i <= model.parent[level][v]; ++i) {
    const double copies = InstancesOf(model, i);
    served *= model.levels[i].fan;
    const EnterCost enter = EnterCostOf(model, v, i, /*used=*/1, copies);
    price += enter.word_pj / served;
    fixed_pj += enter.fixed_pj;
    if (i < model.parent[level][v]) continue;
    const LevelFacts& holder = model.levels[i];
    const ElementFacts& element = holder.of[v];
    const double share = holder.least_share;
    price += share * (tensor.read_write ? element.update_pj : element.read_pj) / served;
    if (!tensor.read_write || !tensor.simple) continue;
    price += share * element.read_rw_pj / served;
    fixed_pj -= tensor.elements * copies * share * element.read_rw_pj;
  }
  return price;
}

}  // namespace

// The levels outside as they cost least: all instances in use, one visit in all, and tensors that
// come from further out at the price above.
void Bounder::SetOutermost(int level, std::vector<Frame>& frames) {
  frames.assign(static_cast<size_t>(model_.num_levels) + 1, Frame());
  const uint32_t all = (1u << model_.num_dims) - 1;
  const double instances = InstancesOf(model_, level);
  for (int i = level + 1; i <= model_.num_levels; ++i) {
    Frame& frame = frames[static_cast<size_t>(i)];
    frame.level = i;
    frame.parallel = i < model_.num_levels && model_.levels[i].fan > 1 ? all : 0;
    for (int v = 0; v < model_.num_tensors; ++v) {
      frame.tensors[v].copies_here = i < model_.num_levels ? InstancesOf(model_, i) : 1;
    }
  }
  Frame& parent = frames[static_cast<size_t>(level) + 1];
  parent.visits = 1 / instances;
  parent.used_below = instances;
  for (int d = 0; d < model_.num_dims; ++d) {
    parent.extents[d] = parent.least[d] = model_.bounds[d];
    parent.ragged[d].last = model_.bounds[d];
    parent.positions[d] = static_cast<int16_t>(model_.divisors[d].values.size() - 1);
  }
  for (int v = 0; v < model_.num_tensors; ++v) {
    TensorFrame& tensor = parent.tensors[v];
    tensor.copies = instances;
    tensor.plain_visits = 1 / instances;
    tensor.groups = 1;
    if (model_.Keeps(level, v)) continue;
    tensor.pending_pj = instances * PriceBeyond(model_, level, v, parent.fixed_pj);
  }
}

bool Bounder::SetFloor(int level, Floor& floor) {
  std::vector<Frame> frames;
  SetOutermost(level, frames);
  Tile tile;
  for (int d = 0; d < model_.num_dims; ++d) tile.extents[d] = 1;
  if (!Fits(level - 1, tile.extents)) return false;
  int64_t tiles = 0;
  const auto choose = [&](const auto& self, int d) -> void {
    if (tiles > kMostTiles) return;
    if (d == model_.num_dims) {
      Measure(tile);
      AddToFloor(frames, level, tile, floor);
      ++tiles;
      return;
    }
    const DivisorTable& table = model_.divisors[d];
    for (size_t k = 0; k < table.values.size(); ++k) {
      tile.positions[d] = static_cast<int16_t>(k);
      tile.extents[d] = table.values[k];
      if (k > 0 && !Fits(level - 1, tile.extents)) break;
      self(self, d + 1);
    }
    tile.positions[d] = 0;
    tile.extents[d] = 1;
  };
  choose(choose, 0);
  floor.level = level;
  return tiles <= kMostTiles;
}

void Bounder::AddToFloor(std::span<const Frame> frames, int level, const Tile& tile, Floor& floor) {
  Prepare(frames, level, tile, costs_);
  // What B18 says of innermost loops is about levels that are decided.
  costs_.innermost = (1u << model_.num_dims) - 1;
  // Outside all levels each element is delivered once.
  const Chain root = RootChain();
  const ChainSummary outside = Summarize(frames, model_.num_levels, {&root, 1});
  PartialSplit split = NothingDecided(level);
  const Frame& parent = frames[static_cast<size_t>(level) + 1];
  // Levels outside may have parallel factors, too.
  costs_.least_ratio /= parent.used_below;
  SplitBound(parent, outside, costs_, split, Goal::kEdp, kInfinity, &floor.front);
}

// What first sums save where the MACs ask for them; as OperandCosts has it, with all the children
// that one word can serve.
RaggedFloor::Inside::Sums Bounder::SumsInside(int level, const Tile& tile, int v) const {
  const TensorFacts& tensor = model_.tensors[v];
  int innermost = 0;
  while (!model_.Keeps(innermost, v)) ++innermost;
  if (!tensor.read_write || innermost >= level || !model_.Keeps(level - 1, v)) return {};
  double idle_extents = 1;
  for (int d = 0; d < model_.num_dims; ++d) {
    if (!Has(tensor.dims, d)) idle_extents *= tile.extents[d];
  }
  const Multicast most = MostMulticast(model_, v, tile.extents, model_.fan_below[innermost + 1]);
  const LevelFacts& facts = model_.levels[innermost];
  const double further_in = model_.fan_below[level] / model_.fan_below[innermost + 1];
  return {.asked = model_.macs / most.Most(),
          .first = tensor.elements * std::min(further_in, idle_extents),
          .read_pj = facts.of[v].read_rw_pj * facts.least_share,
          .instances = costs_.tensors[v].most_multicast};
}

// With any factors, where one instance of the level is all there is. R5.
bool Bounder::SetRaggedFloor(int level, const FloorEffort& effort, Floor& floor) {
  if (InstancesOf(model_, level) > 1 || !model_.disjoint) return false;
  for (int v = 0; v < model_.num_tensors; ++v) {
    if (!model_.tensors[v].simple) return false;
  }
  std::vector<Frame> frames;
  SetOutermost(level, frames);
  Tile tile;
  const auto prepare = [&](const int32_t* extents) {
    std::copy_n(extents, model_.num_dims, tile.extents);
    tile.product = 1;
    for (int d = 0; d < model_.num_dims; ++d) tile.product *= extents[d];
    Prepare(frames, level, tile, costs_);
  };
  RaggedFloor::Source source{
      .model = model_,
      .level = level,
      .fits = [&](const int32_t* extents) { return Fits(level - 1, extents); },
      .inside = [&](const int32_t* extents) -> RaggedFloor::Inside {
        prepare(extents);
        RaggedFloor::Inside inside{.fixed_pj = costs_.operands_pj, .at_once = costs_.inside};
        for (int v = 0; v < model_.num_tensors; ++v) inside.sums[v] = SumsInside(level, tile, v);
        return inside;
      },
      .most_pairs = effort.most_pairs,
      .stopped = effort.stopped};
  int32_t ones[kMaxDims];
  std::fill_n(ones, kMaxDims, 1);
  if (!Fits(level - 1, ones)) return false;
  prepare(ones);
  for (int v = 0; v < model_.num_tensors; ++v) {
    const TileTerms& terms = costs_.tensors[v];
    RaggedFloor::Prices& prices = source.prices[v];
    prices.fixed_pj = terms.fixed.moving_pj;
    if (!model_.Keeps(level, v) || !model_.Keeps(level - 1, v)) continue;
    const double first = model_.tensors[v].elements;
    prices.fill_pj = terms.child_pj;
    prices.ask_pj = terms.parent_pj;
    prices.elided_pj = terms.elided_pj / first;
    // What first sums save depends on the parallel factors; each element is handed in once.
    prices.fixed_pj += terms.elided_pj * terms.most_multicast + first * terms.inner_pj;
  }
  auto ragged = std::make_shared<RaggedFloor>();
  if (!ragged->Build(source)) return false;
  floor.level = level;
  floor.front = ragged->front();
  floor.ragged = std::move(ragged);
  return true;
}

double Bounder::RaggedTileBound(const Frame& parent, const ChainSummary& outside, const Tile& tile,
                                Goal goal) const {
  const std::span<const OperandPoint> points = floor_.ragged->PointsOf(tile);
  double least = points.empty() ? 0 : kInfinity;
  for (const OperandPoint& point : points) {
    least = std::min(
        least, ValueOf({.energy_pj = outside.closed_pj + parent.fixed_pj + point.more_pj,
                        .cycles = std::max(outside.cycles, point.cycles) + model_.latency_cycles},
                       goal));
  }
  return least;
}

double Bounder::RaggedSplitBound(const Frame& parent, const ChainSummary& outside, const Tile& tile,
                                 const int32_t* spatial, const int32_t* temporal, Goal goal) const {
  RaggedFloor::Decided decided;
  double delivered[kMaxDims];
  for (int d = 0; d < model_.num_dims; ++d) {
    const SplitChoice split{.spatial = spatial[d], .temporal = temporal[d]};
    decided.spatial[d] = split.spatial;
    decided.temporal[d] = split.temporal;
    decided.once[d] = Once(model_, parent, tile, d, split).below;
    delivered[d] = parent.ragged[d].tiles * RaggedCopies(model_, parent, tile, d, split);
  }
  for (int v = 0; v < model_.num_tensors; ++v) {
    // A tile stays for no longer than the loops that leave its tensor alone, of this level, and
    // beyond where none here moves it. R3.
    double copies = 1, arrive = 1, handed_out = 1, once = 1;
    bool moves = false;
    for (int d = 0; d < model_.num_dims; ++d) {
      if (!Has(model_.tensors[v].dims, d)) {
        copies *= spatial[d];
        arrive *= delivered[d];
        handed_out *= parent.ragged[d].tiles;
      } else if (temporal[d] > 1) {
        moves = true;
        once *= decided.once[d];
      }
    }
    const double part = moves ? 1 - once : (1 - outside.once[v]) / outside.idle_run[v];
    decided.arrive[v] = std::max(copies, arrive * part);
    decided.handed_out[v] = std::max(1.0, handed_out * part);
  }
  const OperandPoint point = floor_.ragged->CostOf(tile, decided);
  return ValueOf({.energy_pj = outside.closed_pj + parent.fixed_pj + point.more_pj,
                  .cycles = std::max(outside.cycles, point.cycles) + model_.latency_cycles},
                 goal);
}

// Of the energy that a floor leaves out, what all mappings have: each element comes in once.
double Bounder::OutsideFloor(int level) const {
  double pj = model_.macs * model_.setup->machine.mac_pj;
  const int outermost = model_.num_levels - 1;
  for (int v = 0; v < model_.num_tensors; ++v) {
    const int crossed = model_.parent[level][v];
    pj += model_.tensors[v].elements *
          (model_.inner_pj[outermost][v] - model_.inner_pj[crossed][v] -
           (model_.inner_elided_pj[outermost][v] - model_.inner_elided_pj[crossed][v]));
  }
  return pj;
}

Floor Bounder::FindFloor(Goal goal, const FloorEffort& effort) {
  Floor best;
  bool at_home = true;
  for (int v = 0; v < model_.num_tensors; ++v) {
    at_home = at_home && model_.home[v] + 1 == model_.num_levels;
  }
  if (!model_.exact || model_.linked_level || !at_home) return best;
  double most = 0;
  for (int level = 1; level + 1 < model_.num_levels; ++level) {
    Floor floor;
    const bool found = model_.any ? SetRaggedFloor(level, effort, floor) : SetFloor(level, floor);
    const double outside_pj = OutsideFloor(level);
    if (!found) floor = {.level = level};
    if (effort.spread != nullptr) {
      floor.spread = effort.spread->Inside(model_, goal, level, outside_pj, effort.enough);
    }
    if (!found && floor.spread.count == 0) continue;
    const double value = ValueOf({.energy_pj = outside_pj}, goal, floor);
    if (best.level >= 0 && value <= most) continue;
    most = value;
    best = floor;
  }
  return best;
}

}  // namespace tessera::exact
