// Depth-first search below a node of the tree of mappings: tiles, parallel factors, innermost
// loops, then complete orders and placements, which are evaluated by the cost model itself.
#ifndef TESSERA_SEARCH_EXACT_TREE_H_
#define TESSERA_SEARCH_EXACT_TREE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/mapping.h"
#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/model.h"
#include "tessera/search/exact/ragged.h"

namespace tessera::exact {

// Why a part of the tree was not searched.
enum class Rule : uint8_t {
  // Sections of docs/optimality.md prove them.
  kNode,       // bound after a level's tile and parallel factors, of a node in the queue: B1 to B9
  kTile,       // bound after the tile below a level: B7
  kSplit,      // bound after the parallel factors of some dimensions: B14
  kTiling,     // bound after a level's parallel factors: B1 to B9
  kOrder,      // bound after the innermost loops of a level: B1 to B3
  kSameOrder,  // orders that cannot cost less than one that was evaluated: B1, B11
  kSamePlace,  // axes and parallel orders that cost as much as one that was evaluated: B11
  kChoice,     // bound of a choice of kept tensors before anything else is decided: B22, B23
};
inline constexpr size_t kRules = 8;
inline constexpr std::array<std::string_view, kRules> kRuleNames = {
    "node", "tile", "split", "tiling", "order", "same-order", "same-place", "choice"};

// Values within this relative distance count as equal: a part of the tree is searched only if its
// bound is below the best value by more.
inline constexpr double kTolerance = 1e-9;

// Decisions of the outer levels: per level, from the outermost, tile positions and parallel factors
// of all dimensions.
struct Branch {
  double bound = 0;
  int32_t tree = 0;  // which choice of kept tensors
  std::vector<int32_t> choices = {};
};

struct Candidate {
  double value = kInfinity;
  double cycles = 0, energy_pj = 0;
  LoopMapping mapping = {};
};

struct Counters {
  int64_t nodes = 0;        // tilings of some level that got a bound
  int64_t tiles = 0;        // tiles of some level that got a bound
  int64_t evaluations = 0;  // calls of the cost model
  std::array<int64_t, kRules> pruned = {};

  void Add(const Counters& other);
};

// Told of every part of the tree that is left out. Frames are those of all levels decided so far,
// the last at index `level`, which is the state outside all levels where none is; `chain` is null
// where no loop is chosen yet.
class PruneObserver {
 public:
  virtual ~PruneObserver() = default;
  virtual void OnPruned(const Model& model, Rule rule, double bound, std::span<const Frame> frames,
                        int level, const Tile* tile, const Chain* chain,
                        const LoopMapping* mapping) = 0;
};

struct TreeOptions {
  Goal goal = Goal::kEnergy;
  Limits limits = {};
  double bound_scale = 1;  // for tests of the audit only: anything else makes proofs false
  PruneObserver* observer = nullptr;
  Shared* shared = nullptr;            // of this thread; null: the tree has its own
  std::function<bool()> stopped = {};  // asked every millisecond or so; empty: never
};

class Tree {
 public:
  Tree(const Model& model, const TreeOptions& options);

  // The best mapping so far; only better ones are looked for.
  const Candidate& best() const { return best_; }
  void SetLimit(double value) { best_ = {.value = value}; }
  void SetBest(const Candidate& best) { best_ = best; }
  const Counters& counters() const { return counters_; }
  void ResetCounters() { counters_ = {}; }

  // What a split left out.
  struct Rest {
    double given_up = kInfinity;  // least bound of children beyond `most`
    bool cut = false;             // `work` steps or the user's patience were over before the end
    double bound = 0;             // of what comes after the cut
  };
  // Puts the children of a node that may hold something better into `children`: at most `most`,
  // those of the lowest bounds, found in about `work` steps, each with a few tiles and factors that
  // lead to nothing. A node whose levels are all decided has no children.
  Rest Split(const Branch& node, int64_t most, int64_t work, std::vector<Branch>& children);
  int LevelsDecided(const Branch& node) const;

  // Searches everything below a node, or gives up after about `work` steps, each with some tiles
  // and factors that lead to nothing, and returns false.
  bool Search(const Branch& node, int64_t work);

  // Evaluates mappings below the most promising children, `width` at each level, to have something
  // to compare with. Returns a bound of everything below the node: of the lowest of its tiles.
  double Dive(const Branch& node, int width);

  // What it takes, beside what it shares.
  int64_t bytes() const;

  // Whether the last Split, Search or Dive ended because options.stopped said so.
  bool stopped() const { return stopped_; }

  // What everything inside some level costs at least, for all bounds from now on. B21.
  Floor FindFloor(const FloorEffort& effort) { return bounder_.FindFloor(options_.goal, effort); }
  void SetFloor(const Floor& floor) { bounder_.SetFloor(floor); }
  // The bound of a node, by what is known now.
  double BoundOf(const Branch& node);

  // Evaluates one mapping of the space.
  void Try(const LoopMapping& mapping) { Evaluate(mapping); }

 private:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  // A tile that is open again once what was inside it has been searched.
  struct Opened {
    int level, dim;
    int32_t extent, least, open;
    RaggedDim ragged;
  };

  // What the parallel factors of the first dimensions leave of both axes, in all ways to place
  // them.
  struct Room {
    static constexpr int kMost = 16;
    int ways = 0;  // kMost: some are left out
    int64_t x[kMost] = {}, y[kMost] = {};
  };

  // A tile by its choices: there may be hundreds of thousands.
  struct Promise {
    double bound;
    std::array<int16_t, kMaxDims> choices;
  };

  // Parallel loops of a level on their way to a placement.
  struct Axis {
    uint8_t dims[kMaxDims] = {};
    int count = 0;
    int64_t used = 1;  // product of their factors
  };
  struct Placing {
    int level = 0;
    bool one_will_do = false, done = false;
    Axis x = {}, y = {};
  };

  // Called wherever a little work is done. What leads to nothing is no step, but there may be more
  // of it than of these.
  void Look() {
    constexpr uint32_t kLooks = 64;
    if (--looks_left_ < 0) work_left_ = -1;
    if (++looks_ % kLooks != 0 || !options_.stopped || !options_.stopped()) return;
    stopped_ = true;
    work_left_ = -1;
  }
  void Begin(int64_t work, int64_t looks_per_step = 1) {
    work_left_ = work;
    looks_left_ = work > kNoLimit / looks_per_step ? kNoLimit : work * looks_per_step;
    stopped_ = false;
  }
  // Whether a part of a dive did all it had to in so many looks; the next one has as many.
  bool EndPart(int64_t looks) {
    looks_left_ = looks;
    return stopped_ || std::exchange(work_left_, kNoLimit) >= 0;
  }

  double Limit() const { return best_.value * (1 - kTolerance); }
  // Chains that cannot lead to anything better are dropped; but then bounds of inner levels hold
  // for the others only, which an audit would take for a violation.
  double ChainLimit() const {
    return options_.observer != nullptr ? kInfinity : Limit() / options_.bound_scale;
  }
  double Scaled(double bound) const { return bound * options_.bound_scale; }
  void Prune(Rule rule, double bound, int level, const Tile* tile, const Chain* chain,
             const LoopMapping* mapping = nullptr);
  bool Load(const Branch& node);

  // Calls use() for every tile of the level inside `level`, which is in tiles_[level].
  template <typename Use>
  void ForEachTile(int level, const Use& use);
  template <typename Use>
  void ForEachSpatial(int level, const Use& use);
  template <typename Use>
  void ForEachTiling(int level, const Use& use);
  template <typename Use>
  void ForEachAnyTile(int level, const Use& use);
  template <typename Use>
  void ForEachAnySplit(int level, const Use& use);
  void SetOutside(int level);
  void BeginSplit(int level);
  bool Decide(int level, int dim, int32_t spatial, int32_t temporal);
  bool MayBeBetter(int level, const int32_t* spatial, const int32_t* temporal);
  bool CloseTiles(int level, const int32_t* spatial, const int32_t* temporal,
                  std::vector<Opened>& opened);
  void OpenTiles(const std::vector<Opened>& opened);
  int ChoicesPerLevel() const { return (model_.any ? 3 : 2) * model_.num_dims; }

  void SetExtent(int level, int dim, int16_t choice);
  void SetTile(int level, const Promise& promise);
  void SortTiles(int level);
  bool AllowsTemporal(int level) const;
  void SearchLevel(int level);
  void SearchOrders(int level, const Chain& chain, double least);
  void EvaluateChain(const Chain& chain, double bound);
  void EvaluateOrders(int level);
  void EvaluatePlacements(int level);
  void PlaceLoops(uint32_t loops_left, Placing& placing);
  void OrderLoops(Placing& placing);
  void EvaluatePlacement(Placing& placing);
  std::vector<Branch> Narrow(std::span<const Branch> beam, int level, size_t width,
                             double& least_tile);
  void SetRepresentativeOrder(int level, int first);
  void Evaluate(const LoopMapping& mapping);
  // Whether a loop over `dim`, if it is the outermost one of the level, would be the same as the
  // innermost one of the level outside. B13.
  bool BelongsOutside(int level, int dim) const {
    if (((model_.outward[level] >> dim) & 1) == 0) return false;
    const Frame& outside = frames_[level + 1];
    return (outside.temporal[dim] == 1 || Has(model_.joins, level)) &&
           (outside.spatial[dim] == 1 || ((model_.labels >> dim) & 1) != 0);
  }
  // The same where any loop can be outermost: the order of the level makes no difference, or it
  // holds nothing. B13, B17.
  bool MustLieOutside(int level, int dim) const {
    return Has(model_.still, level) ||
           (level == 0 && bounder_.AnyOrderInside() && BelongsOutside(level, dim));
  }
  bool AllBelongOutside(const Frame& frame) const;
  bool SpatialFits(int level, const int32_t* spatial) const;
  Branch BranchOf(int level, double bound, int32_t tree) const;

  const Model& model_;
  const TreeOptions options_;
  Bounder bounder_;
  Frame frames_[kMaxLevels + 1];
  std::vector<Chain> chains_[kMaxLevels + 1];
  Tile tiles_[kMaxLevels];
  // Of these: positions in the divisor tables, or, with any factors, in extents_.
  std::array<int16_t, kMaxDims> choices_[kMaxLevels] = {};
  std::vector<Promise> promises_[kMaxLevels];
  // Per level, after the parallel factors of so many dimensions.
  std::vector<ChainSummary> outside_[kMaxLevels];
  TileCosts costs_[kMaxLevels];
  PartialSplit partial_[kMaxLevels][kMaxDims + 1];
  Room room_[kMaxLevels][kMaxDims + 1];
  // With any factors only.
  std::vector<ExtentChoice> extents_[kMaxLevels][kMaxDims];
  std::vector<SplitChoice> splits_[kMaxLevels][kMaxDims];
  std::vector<Opened> opened_[kMaxLevels];
  LoopMapping mapping_ = {};
  bool diving_ = false;  // looking for something good, not for everything
  double last_value_ = 0;
  double order_bound_ = 0;  // of all orders that are being evaluated
  double cut_bound_ = 0;    // of the tile, and of all after it, at which the last Split was cut
  Candidate best_;
  Counters counters_;
  int64_t work_left_ = 0, looks_left_ = 0;
  uint32_t looks_ = 0;
  bool stopped_ = false;
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_TREE_H_
