// Lower bounds for partial mappings. A mapping is built from the outermost level inwards: level i
// gets its parallel factors and the tile of level i-1 below it, and what is left over are its
// temporal loops. Such a step is a Frame. Costs of a pair of levels that hold a tensor (a parent
// and the next level further in, or the MACs) are final once the child's tile is known, except for
// the order of loops. Of the order only the innermost loop of each level matters to the bounds: a
// Chain lists these choices.
//
// Every rule names the section of docs/optimality.md (B1, B2, ...) that proves it. bound.cc has the
// bound of frames, chain_bound.cc adds the order of loops, tile_bound.cc bounds a tile before the
// level above it has parallel factors.
#ifndef TESSERA_SEARCH_EXACT_BOUND_H_
#define TESSERA_SEARCH_EXACT_BOUND_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/search/exact/frame.h"
#include "tessera/search/exact/least_hops.h"
#include "tessera/search/exact/model.h"
#include "tessera/search/exact/parallel.h"
#include "tessera/search/exact/ragged_floor.h"
#include "tessera/search/exact/tile_terms.h"

namespace tessera::exact {

// Bounds are sums and quotients of doubles: what is less than this part above a whole number may be
// rounding. A few thousand roundings of 1.1e-16 each stay below it. B9.
inline constexpr double kRoundingPart = 1e-12;

// Whole cycles, forgiving the rounding of what led to them.
inline double CeilCycles(double cycles) { return std::ceil(cycles * (1 - kRoundingPart)); }

// Lower bounds on what mappings below a node cost.
struct Bound {
  double energy_pj = 0;
  double cycles = 0;
  double outside_pj = 0;  // of the energy, what a Floor does not count

  double Value(Goal goal) const {
    switch (goal) {
      case Goal::kCycles: return cycles;
      case Goal::kEnergy: return energy_pj;
      case Goal::kEdp: break;
    }
    return energy_pj * cycles;
  }
};

// What mappings may cost; those that cost more do not count.
struct Limits {
  double cycles = kInfinity, energy_pj = kInfinity, edp = kInfinity;

  bool Allow(const Bound& cost) const {
    return cost.cycles <= cycles && cost.energy_pj <= energy_pj &&
           cost.energy_pj * cost.cycles <= edp;
  }
  // Whether a mapping of at least this cost can be allowed: bounds are rounded otherwise than
  // costs.
  bool MayAllow(const Bound& least) const {
    constexpr double kSlack = 1 - 1e-9;
    return least.cycles <= cycles && least.energy_pj * kSlack <= energy_pj &&
           least.energy_pj * least.cycles * kSlack <= edp;
  }
  friend bool operator==(const Limits&, const Limits&) = default;
};

// What all chains of a list have in common, at least.
struct ChainSummary {
  double closed_pj = 0, cycles = 0;
  double idle_run[kMaxTensors] = {};
  double delivered[kMaxTensors] = {};
  double once[kMaxTensors] = {};  // with any factors: the largest OncePart
};

// What searches with different choices of kept tensors have in common, found when it is asked for.
struct Shared {
  // `model` outlives it. `one_choice`: there is no other choice of kept tensors. `stopped`: as of
  // ParallelFronts.
  Shared(const Model& model, bool one_choice, std::function<bool()> stopped = {})
      : hops(model), fronts(model, one_choice, hops, std::move(stopped)) {}

  LeastHops hops;
  ParallelFronts fronts;
};

// What everything inside a level costs at least, whatever the levels outside are like: the best of
// all tiles that can be there. docs/optimality.md, B21.
struct Floor {
  int level = -1;  // -1: not known
  OperandFront front = {};
  OperandFront spread = {};  // the same, by every way to spread the problem over the arrays. B23
  std::shared_ptr<const RaggedFloor> ragged = {};  // with any factors: tile by tile. R5
};

class SpreadBound;

// What may be spent on one.
struct FloorEffort {
  // With any factors: tiles times choices of parallel factors. 10^8 take about a second. Default:
  // 1.5e8.
  double most_pairs = 1.5e8;

  // Knows all ways to spread the problem over the arrays; those that are worth `enough` or more do
  // not matter. Default: none.
  SpreadBound* spread = nullptr;
  double enough = kInfinity;

  // Asked all the time; true ends it without a floor. Default: never.
  std::function<bool()> stopped = {};
};

// What the innermost loop of a level says of the others, where it moves a window and leaves some
// tensor alone: whether loops that leave that tensor alone, too, but bring other tiles of the
// window are inside those that move the tensor. B3.
enum class Inside : uint8_t { kAnything, kNoneOfThese, kSomeOfThese };

// Scratch and arithmetic of one thread.
class Bounder {
 public:
  // `shared` of the same problem and machine, which outlives it; null: it has its own.
  explicit Bounder(const Model& model, const Limits& limits = {}, Shared* shared = nullptr);

  // What leaks while the cycles go by comes to the energy of accesses, which is what bounds add up.
  double ValueOf(Bound bound, Goal goal) const {
    bound.energy_pj += model_.leakage_pj * bound.cycles;
    return limits_.MayAllow(bound) ? bound.Value(goal) : kInfinity;
  }
  // The same with one of the choices that a front leaves. B15.
  double ValueOf(const Bound& bound, Goal goal, const OperandFront& front) const {
    double least = front.count == 0 ? ValueOf(bound, goal) : kInfinity;
    for (int k = 0; k < front.count; ++k) {
      const double cycles = front.points[k].cycles + model_.latency_cycles;
      least = std::min(least, ValueOf({.energy_pj = bound.energy_pj + front.points[k].more_pj,
                                       .cycles = std::max(bound.cycles, cycles)},
                                      goal));
    }
    return least;
  }

  // The same of a frame or of a tile whose innermost decided level is `level`: also with the floor.
  double ValueOf(const Bound& bound, Goal goal, const OperandFront& front, int level) const {
    const double value = ValueOf(bound, goal, front);
    if (floor_.level < 0 || level <= floor_.level) return value;
    const Bound outside{.energy_pj = bound.outside_pj, .cycles = bound.cycles};
    return std::max(value, ValueOf(outside, goal, floor_));
  }
  // Of what is outside a floor, and the floor. B21.
  double ValueOf(const Bound& outside, Goal goal, const Floor& floor) const {
    return std::max(ValueOf(outside, goal, floor.front), ValueOf(outside, goal, floor.spread));
  }

  const Model& model() const { return model_; }

  // Finds the floor that says most; takes some milliseconds. Bounds know of it once it is set.
  Floor FindFloor(Goal goal, const FloorEffort& effort = {});
  void SetFloor(const Floor& floor) { floor_ = floor; }

  // The state outside the outermost level.
  Frame Root() const;
  Chain RootChain();

  // Whether the tile of a level fits its memory.
  bool Fits(int level, const int32_t* extents);
  // Whether the tile of a level without loops in time can be spread over memories further in. B17.
  bool HasRoom(int level, const int32_t* extents);
  // Whether a tile of `level` that is larger by a factor over `dim` would fit and hold more. B18.
  bool CanGrow(int level, const Tile& tile, int dim, int32_t factor) const;
  // Which of the loops of a level may be innermost, if the tile inside can grow over some.
  uint32_t MayBeInnermost(int level, uint32_t loops, uint32_t grows) const;
  // Whether the innermost loop outside a level could be its own outermost one. B18.
  bool CouldHoldMore(std::span<const Frame> frames, int level, const Chain& chain);
  // The same of the tile inside a level without loops, by the innermost loop further out.
  bool CanGrow(std::span<const Frame> frames, int level, const Chain& chain);
  // Whether such a tile is not one of those that are known to lead to nothing better.
  bool IsNew(int level, const int32_t* extents);

  // Sets all but the positions and extents of a tile.
  void Measure(Tile& tile);

  // Sets frames[level], above `tile`, from the frames of the outer levels; `spatial` are the
  // level's parallel factors.
  void MakeFrame(std::span<Frame> frames, int level, const Tile& tile, const int32_t* spatial);
  // The same with any factors, where the temporal ones do not follow.
  void MakeFrame(std::span<Frame> frames, int level, const Tile& tile, const int32_t* spatial,
                 const int32_t* temporal);

  // Lower bound of all mappings with this chain of innermost loops, where `dim` is the choice at
  // this level (-1: it has no loops). `frames` are indexed by level.
  // `inside`: what else is inside the loops that move some tensor.
  Bound Extend(std::span<const Frame> frames, int level, const Chain& chain, int dim, Chain& out,
               Inside inside = Inside::kAnything);
  // Whether there is something that can be inside or not.
  bool HasRivals(const Frame& frame, int dim) const;
  // The less of both, if there is something that can be inside or not.
  Bound ExtendBoth(std::span<const Frame> frames, int level, const Chain& chain, int dim,
                   Chain& out);

  // `chains` of the levels at and above `level`.
  ChainSummary Summarize(std::span<const Frame> frames, int level,
                         std::span<const Chain> chains) const;

  // A quick bound on what Least returns.
  double QuickLeast(std::span<const Frame> frames, int level, const ChainSummary& chains,
                    Goal goal);

  // Least value over `chains` and all choices at this level. Chains whose value stays below `limit`
  // are put into `extended`; if those are too many, one stands for all.
  double Least(std::span<const Frame> frames, int level, std::span<const Chain> chains, Goal goal,
               double limit, std::vector<Chain>& extended);

  // Lower bound before the parallel factors of `level` are chosen; frames of the levels outside
  // are set. One that is at least `limit` may be lower than it could be.
  double TileBound(std::span<const Frame> frames, int level, std::span<const Chain> chains,
                   const Tile& tile, Goal goal, double limit = kInfinity);

  // The same in two steps, and after the factors of some dimensions are: what a tile costs, and
  // the least of it with such factors (B14). `floor`: the costs of all choices that are not worse
  // than others in both energy and cycles are added to it instead.
  void Prepare(std::span<const Frame> frames, int level, const Tile& tile, TileCosts& costs);
  double SplitBound(const Frame& parent, const ChainSummary& outside, TileCosts& costs,
                    const PartialSplit& split, Goal goal, double limit = kInfinity,
                    OperandFront* floor = nullptr);
  PartialSplit NothingDecided(int level) const;

  // With any factors, above the tiles that the floor knows: bounds of a tile, and of one with all
  // parallel factors of its level; 0 elsewhere. R5.
  double RaggedTileBound(const Frame& parent, const ChainSummary& outside, const Tile& tile,
                         Goal goal) const;
  double RaggedSplitBound(const Frame& parent, const ChainSummary& outside, const Tile& tile,
                          const int32_t* spatial, const int32_t* temporal, Goal goal) const;
  bool KnowsTiles(int level) const { return floor_.ragged && level == floor_.level; }
  // The factors of the next dimension; `left` children are for the others.
  void Decide(const TileCosts& costs, const SplitFactors& factors, double left,
              PartialSplit& split) const;

  // Whether the cost depends on more of the temporal order than the innermost loops. B11.
  bool OrderRisk(std::span<const Frame> frames, const Chain& chain) const;

  // Whether the order of loops at a level makes any difference. B11.
  bool OrderMatters(const Frame& frame) const {
    return frame.level > 0 || (!model_.exact && frame.parallel != 0) || window_outputs_;
  }
  // Whether that of the innermost level makes none, whatever its factors.
  bool AnyOrderInside() const { return model_.exact && !window_outputs_; }
  // Whether axes and order of parallel loops make one. B11.
  bool PlacementMatters(const Frame& frame) const;

 private:
  double UnitsHeld(int level, const int32_t* extents);
  // Whether the tile inside a frame would fit if it were larger by a factor.
  bool FitsLarger(const Frame& frame, int dim, int32_t factor);
  Shared& SharedParts();
  // What the parallel factors of the levels inside `level` can come to. B15.
  std::span<const ParallelPoint> ParallelOf(int level, const int16_t* positions);

  uint32_t Innermost(const Frame& parent, int level, const Tile& tile) const;
  void SetJoint(int level, TileCosts& costs);
  void SetOutsideTerms(TileCosts& costs) const;
  template <typename Energy>
  void AddAll(TileCosts& costs, double known_pj, double alone_pj, double cycles,
              const Energy& least_energy, OperandFront& front);

  // floor.cc
  void SetOutermost(int level, std::vector<Frame>& frames);
  bool SetFloor(int level, Floor& floor);
  RaggedFloor::Inside::Sums SumsInside(int level, const Tile& tile, int v) const;
  bool SetRaggedFloor(int level, const FloorEffort& effort, Floor& floor);
  void AddToFloor(std::span<const Frame> frames, int level, const Tile& tile, Floor& floor);
  double OutsideFloor(int level) const;

  // chain_bound.cc
  double RaggedRatio(std::span<const Frame> frames, int level, int v, const Chain& chain,
                     bool further_in) const;
  double AskedBy(std::span<const Frame> frames, int level, int v, const Chain& chain) const;
  double OncePart(std::span<const Frame> frames, int level, int v, const Chain& chain) const;
  double Ratio(std::span<const Frame> frames, int level, int v, const Chain& chain);
  double WindowRatio(std::span<const Frame> frames, int level, int v, const Chain& chain);
  double QuickRatio(std::span<const Frame> frames, int level, int v, int dim,
                    const ChainSummary& chains);
  double BusiestCycles(const double* reads, const double* writes) const;

  const Model& model_;
  const Limits limits_;
  bool window_outputs_ = false;
  loopnest::TouchedScratch touched_;
  TileCosts costs_;
  std::unique_ptr<Shared> own_;
  Shared* shared_ = nullptr;
  ParallelFronts::Table* tables_[kMaxLevels + 1] = {};
  Floor floor_ = {};
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_BOUND_H_
