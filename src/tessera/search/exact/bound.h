// Lower bounds for partial mappings. A mapping is built from the outermost level inwards: level i
// gets its parallel factors and the tile of level i-1 below it, and what is left over are its
// temporal loops. Such a step is a Frame. Costs of a pair of levels that hold a tensor (a parent
// and the next level further in, or the MACs) are final once the child's tile is known, except for
// the order of loops. Of the order only the innermost loop of each level matters to the bounds: a
// Chain lists these choices. docs/optimality.md derives every formula.
#ifndef TESSERA_SEARCH_EXACT_BOUND_H_
#define TESSERA_SEARCH_EXACT_BOUND_H_

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/search/exact/model.h"

namespace tessera::exact {

inline bool Has(uint32_t set, int item) { return (set >> item & 1) != 0; }

// Under Timeloop's rules read-only fills are cut to whole words, and other counts are rounded.
inline constexpr double kCut = 1, kRounded = 0.5;

// Whole cycles, forgiving the rounding of what led to them.
inline double CeilCycles(double cycles) { return std::ceil(cycles * (1 - 1e-12)); }

// Lower bounds on what mappings below a node cost.
struct Bound {
  double energy_pj = 0;
  double cycles = 0;

  double Value(Goal goal) const {
    switch (goal) {
      case Goal::kCycles: return cycles;
      case Goal::kEnergy: return energy_pj;
      case Goal::kEdp: break;
    }
    return energy_pj * cycles;
  }
};

// The tile of a level, known before its parallel factors above are.
struct Tile {
  int16_t positions[kMaxDims] = {};  // of the extents in the divisor tables
  int32_t extents[kMaxDims] = {};
  double words[kMaxTensors] = {};
  double plain_words[kMaxTensors] = {};  // product of the extents that move a plain rank
  double product = 1;                    // of all extents
};

// One level with its factors decided.
struct Frame {
  int level = 0;
  int16_t positions[kMaxDims] = {};  // of the tile extents of level - 1
  int32_t extents[kMaxDims] = {};
  int32_t temporal[kMaxDims] = {}, spatial[kMaxDims] = {};

  uint32_t loops = 0;        // dimensions with a temporal loop here
  uint32_t loops_above = 0;  // and at this or an outer level
  uint32_t parallel = 0;     // dimensions with a spatial loop here
  double visits = 1;         // product of temporal factors of this and all outer levels
  double used = 1;           // instances of this level in use
  double used_below = 1;     // and of the level below
  double cycles = 0;         // fewest, from the parallelism still possible

  // By tensor.
  double idle[kMaxTensors] = {};    // product of this level's temporal factors that leave it alone
  bool all_idle[kMaxTensors] = {};  // and there are no others
  double copies[kMaxTensors] = {};  // instances of the level below that hold the same words
  double copies_here[kMaxTensors] = {};   // the same of this level
  double plain_visits[kMaxTensors] = {};  // as visits, of dimensions that move a plain rank
  double groups[kMaxTensors] = {};  // of the open pair: requests at its parent per child request
  double pending_pj[kMaxTensors] = {};  // of the open pair: per request of one child
  double words[kMaxTensors] = {};       // tile below times visits
  double close_pj[kMaxTensors] = {};    // per word, if the pair ends here
  double later_pj[kMaxTensors] = {};    // per word, at least, of what is not decided yet
  double fill_part[kMaxTensors] = {};   // of the words that surely arrive at a child
  double open_words[kMaxTensors] = {};  // open pairs: words for a child, whatever the order
  bool closes[kMaxTensors] = {};
  bool link_risk[kMaxTensors] = {};  // neighbours may pass words on

  double fixed_pj = 0;  // of this and all outer levels: MACs, less what is elided
  double later_fixed_pj = 0;
};

// Innermost loops of this and all outer levels, and what follows from them.
struct Chain {
  double closed_pj = 0;
  double idle_run[kMaxTensors] = {};  // product of the innermost loops that leave the tensor alone
  int8_t first_dim = -1;              // innermost loop of all these levels; -1: none
  int8_t first_level = -1;
  int8_t dims[kMaxLevels] = {};                            // innermost loop by level; -1: none
  double reads[kMaxLevels] = {}, writes[kMaxLevels] = {};  // of one instance
  double cycles = 0;  // that the busiest level needs, without latency
};

// What all chains of a list have in common, at least.
struct ChainSummary {
  double closed_pj = 0, cycles = 0;
  double idle_run[kMaxTensors] = {};
};

// Scratch and arithmetic of one thread.
class Bounder {
 public:
  // Mappings with more than `max_cycles` cycles do not count.
  explicit Bounder(const Model& model, double max_cycles = kInfinity);

  double ValueOf(const Bound& bound, Goal goal) const {
    return bound.cycles > max_cycles_ ? kInfinity : bound.Value(goal);
  }

  const Model& model() const { return model_; }

  // The state outside the outermost level.
  Frame Root() const;
  Chain RootChain() const;

  // Whether the tile of a level fits its memory.
  bool Fits(int level, const int32_t* extents);

  // Sets all but the positions and extents of a tile.
  void Measure(Tile& tile);

  // Sets frames[level], above `tile`, from the frames of the outer levels; `spatial` are the
  // level's parallel factors.
  void MakeFrame(std::span<Frame> frames, int level, const Tile& tile, const int32_t* spatial);

  // Lower bound of all mappings with this chain of innermost loops, where `dim` is the choice at
  // this level (-1: it has no loops). `frames` are indexed by level.
  Bound Extend(std::span<const Frame> frames, int level, const Chain& chain, int dim, Chain& out);

  ChainSummary Summarize(std::span<const Chain> chains) const;

  // A quick bound on what Least returns.
  double QuickLeast(std::span<const Frame> frames, int level, const ChainSummary& chains,
                    Goal goal);

  // Least value over `chains` and all choices at this level. Chains whose value stays below `limit`
  // are put into `extended`; if those are too many, one stands for all.
  double Least(std::span<const Frame> frames, int level, std::span<const Chain> chains, Goal goal,
               double limit, std::vector<Chain>& extended);

  // Lower bound before the parallel factors of the level inside `parent` are chosen.
  double TileBound(const Frame& parent, std::span<const Chain> chains, const Tile& tile, Goal goal);

  // Whether the cost depends on more of the temporal order than the innermost loops.
  bool OrderRisk(std::span<const Frame> frames, const Chain& chain) const;

  // Whether the order of loops at a level makes any difference.
  bool OrderMatters(const Frame& frame) const {
    return frame.level > 0 || (!model_.exact && frame.parallel != 0) || window_outputs_;
  }
  // Whether axes and order of parallel loops make one.
  bool PlacementMatters(const Frame& frame) const;

 private:
  double Ratio(std::span<const Frame> frames, int level, int v, const Chain& chain);
  double QuickRatio(std::span<const Frame> frames, int level, int v, int dim,
                    const ChainSummary& chains);
  double NewPart(int v, const int32_t* extents, int dim, double step);
  double RankOverlap(int v, int r, const int32_t* extents, double distance);
  double LeastNewPart(std::span<const Frame> frames, int level, int v, int first_level, int dim);
  bool MayMatch(std::span<const Frame> frames, int level, int v, int first_level, int dim) const;
  double BusiestCycles(const double* reads, const double* writes) const;
  double OperandCost(int v, int level, double copies, double idle_extents) const;
  template <typename Use>
  bool AnyDisplacement(std::span<const Frame> frames, int level, int v, int r, uint32_t still,
                       int first_level, int first_dim, const Use& use) const;
  bool LinkRisk(std::span<const Frame> frames, int v, const Frame& frame) const;
  double Groups(int v, const Frame& frame) const;
  double EnterCost(int v, int level, double used, double copies, double& fixed_pj) const;
  // Least cost of words that pass a level which does not hold them; as the inner_* of Model.
  struct InnerCost {
    double word_pj = 0, elided_pj = 0, slack_pj = 0;
  };
  InnerCost InnerCostOf(int v, int next) const;
  void AddTensor(std::span<const Frame> frames, int v, const Tile& tile, Frame& frame);

  struct TileTerms;
  void SetTileTerms(int v, const Frame& parent, const Tile& tile, TileTerms& terms);
  void SetStepParts(int v, const Tile& tile, TileTerms& terms);
  double TouchedOf(int v, int r, const int32_t* extents);
  double TileClass(const Chain& chain, const TileTerms* terms, int dim);

  const Model& model_;
  const double max_cycles_;
  bool window_outputs_ = false;
  double tile_fan_ = 1;  // of the level that TileBound is about
  loopnest::TouchedScratch touched_;
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_BOUND_H_
