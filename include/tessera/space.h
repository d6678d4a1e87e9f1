// Decision spaces: the named choices that make up a mapping, and what their points cost. A search
// method sees nothing else of a problem, so that every method works on every one.
#ifndef TESSERA_SPACE_H_
#define TESSERA_SPACE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// ---- Points ------------------------------------------------------------------------------------
//
// A point of a decision space: for every decision, the index of the chosen value.

// A value type of fixed capacity: copying allocates nothing. Indices beyond size() are 0.
class Point {
 public:
  static constexpr size_t kCapacity = 96;

  Point() = default;
  explicit Point(size_t size) : size_(static_cast<uint32_t>(size)) {
    TESSERA_CHECK(size <= kCapacity);
  }
  explicit Point(std::span<const int32_t> indices) : Point(indices.size()) {
    std::copy(indices.begin(), indices.end(), indices_.begin());
  }

  size_t size() const { return size_; }
  int32_t& operator[](size_t decision) { return indices_[decision]; }
  int32_t operator[](size_t decision) const { return indices_[decision]; }
  std::span<const int32_t> indices() const { return {indices_.data(), size_}; }

  friend bool operator==(const Point& a, const Point& b) {
    return std::ranges::equal(a.indices(), b.indices());
  }

 private:
  uint32_t size_ = 0;
  std::array<int32_t, kCapacity> indices_{};
};

struct PointHash {
  size_t operator()(const Point& point) const {
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over whole indices
    for (const int32_t index : point.indices()) {
      hash = (hash ^ static_cast<uint32_t>(index)) * 0x100000001b3u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

// ---- Orders ------------------------------------------------------------------------------------
//
// Orders of a few items, numbered: the Lehmer index of a permutation and back. Index 0 is the order
// 0 1 2 ..., the last index its reverse, and indices sort as the orders do.

// 10! is the largest count of orders whose indices are still small numbers.
inline constexpr size_t kMaxPermutationItems = 10;

// items[0] comes first; only the first `size` entries are used.
struct Permutation {
  size_t size = 0;
  std::array<uint8_t, kMaxPermutationItems> items{};

  // Not of a temporary: a loop over its order would read what is gone.
  std::span<const uint8_t> order() const& { return {items.data(), size}; }
  std::span<const uint8_t> order() const&& = delete;
  friend bool operator==(const Permutation&, const Permutation&) = default;
};

int64_t Factorial(size_t count);  // of at most 20

Permutation PermutationAt(int64_t index, size_t size);  // index in 0 .. size! - 1
int64_t IndexOf(const Permutation& permutation);

// ---- Decisions ---------------------------------------------------------------------------------
//
// One named decision of a mapping: a size, a choice or an order, with the values that it may take.

enum class DecisionKind : uint8_t {
  kOrdinal,      // numbers in ascending order: neighbours are alike
  kCategorical,  // labels without an order
  kPermutation,  // orders of the labelled items, by ascending Lehmer index
};

// What a decision is about, for operators that know mappings (search/gamma.cc) and for tables.
enum class DecisionRole : uint8_t {
  kTile,      // the size of a tile, which encloses the tile of the next level
  kFactor,    // a part of a dimension, or where it goes
  kOrder,     // of loops
  kParallel,  // which dimension is parallel
  kCount,     // of units
  kOther,
};

// Values are addressed by index 0 .. size()-1, which is what a Point holds.
class Decision {
 public:
  // `values` ascend and are not empty.
  static Decision Ordinal(std::string name, std::vector<int64_t> values);
  static Decision Categorical(std::string name, std::vector<std::string> labels);
  // All orders of `items`, at most kMaxPermutationItems.
  static Decision Order(std::string name, std::vector<std::string> items);

  // Says what the decision is about: a role, a memory level (0 is the outermost that the space
  // decides on) and, for tiles, a dimension.
  Decision About(DecisionRole role, int level, std::string dimension = "") &&;

  const std::string& name() const { return name_; }
  DecisionKind kind() const { return kind_; }
  DecisionRole role() const { return role_; }
  int level() const { return level_; }
  const std::string& dimension() const { return dimension_; }

  int32_t size() const { return size_; }
  // Ordinal: the number; categorical: the label's position in the full list; order: Lehmer index.
  int64_t value(int32_t index) const {
    return values_.empty() ? index : values_[static_cast<size_t>(index)];
  }
  // Categorical: all labels; order: the items.
  std::span<const std::string> labels() const { return labels_; }

  // "64", "K" or "K C Y X": what the value is called in files and tables.
  std::string Label(int32_t index) const;
  // The index of a value by its label; the error lists what is allowed.
  Result<int32_t> Parse(std::string_view label) const;

  // The index of a value, or -1.
  int32_t Find(int64_t value) const;
  // Ordinal: the largest value not above `value`, or the first.
  int32_t AtMost(int64_t value) const;
  // Ordinal: the value nearest to `value` in ratio.
  int32_t Nearest(double value) const;

  // Order: the order at an index, and the index of an order; an order that is not allowed is
  // replaced by one in which each item comes as early as the rules permit.
  Permutation OrderAt(int32_t index) const;
  // Which items have to come before which others, as KeepBefore was told.
  std::span<const std::pair<uint8_t, uint8_t>> before() const { return before_; }
  int32_t IndexOfOrder(const Permutation& permutation) const;

  // Leaves only the values whose `allowed` is true. If none would remain, returns false and changes
  // nothing.
  [[nodiscard]] bool Keep(const std::vector<bool>& allowed);
  // Order: the same for orders in which item `first` comes before item `second`.
  [[nodiscard]] bool KeepBefore(size_t first, size_t second);

 private:
  Decision(std::string name, DecisionKind kind) : name_(std::move(name)), kind_(kind) {}

  std::string name_;
  DecisionKind kind_;
  DecisionRole role_ = DecisionRole::kOther;
  int level_ = -1;
  std::string dimension_;
  std::vector<int64_t> values_;  // empty: value(i) is i
  int32_t size_ = 0;
  std::vector<std::string> labels_;
  std::vector<std::pair<uint8_t, uint8_t>> before_;  // order: rules (first, second)
};

// ---- Spaces ------------------------------------------------------------------------------------
//
// A decision space: the named choices that make up a mapping, and which combinations are legal.
// Search methods see nothing else of a problem.

// Contract, checked for every space by CheckSpace (space/conformance.h):
//   Threads      const; any number of threads may use a space at once.
//   Determinism  a sample or neighbour is a function of its arguments and the rng's position.
//   Legality     Sample, Neighbor and Repair give legal points; Repair leaves a legal one as it is.
//   Range        a point's index i is in 0 .. decisions()[i].size()-1; others are never legal.
// A space without rules between decisions is this class itself; others derive from it.
class DecisionSpace {
 public:
  // At most Point::kCapacity decisions with distinct names.
  explicit DecisionSpace(std::vector<Decision> decisions);
  virtual ~DecisionSpace() = default;
  DecisionSpace(const DecisionSpace&) = delete;
  DecisionSpace& operator=(const DecisionSpace&) = delete;

  std::span<const Decision> decisions() const { return decisions_; }
  size_t size() const { return decisions_.size(); }
  // Positions of the decisions with more than one value.
  std::span<const size_t> open() const { return open_; }
  // The position of a decision, or size() if there is none of that name.
  size_t Find(std::string_view name) const;

  // Whether a point is legal; the error names the violated inequality.
  virtual Result<void> Check(const Point& point) const;

  // Turns any indices in range into a legal point that differs as little as the space can arrange.
  virtual void Repair(Point& point) const;

  // log10 of the number of legal points.
  virtual double Log10Size() const;

  // A random point: every decision uniform, drawn again up to `redraws` times until it is legal,
  // and repaired if that did not help.
  virtual Point Sample(CounterRng& rng, int64_t redraws) const;

  // A legal point one step away: one decision changed, and what Repair changes with it. Small steps
  // of a number and swaps of an order are likelier than large ones.
  virtual Point Neighbor(const Point& point, CounterRng& rng) const;

  // A different value for one decision, as Neighbor draws it; the point may then need Repair.
  void Mutate(Point& point, size_t decision, CounterRng& rng) const;

  // "k_l2=16 order_l2=K,C,Y,X ...", for messages and logs.
  std::string Describe(const Point& point) const;

 protected:
  // Whether every index is in range; for implementations of Check.
  Result<void> CheckRange(const Point& point) const;

 private:
  std::vector<Decision> decisions_;
  std::vector<size_t> open_;
};

// ---- What constraints leave of decisions -------------------------------------------------------

// Two decisions that depend on each other: min <= over / under <= max. If `over` is kUtilization,
// nothing is under it, and the product of all parallel factors over the MACs is at least `min`.
inline constexpr std::string_view kUtilization = "utilization";

struct Relation {
  std::string over = {}, under = {};
  double min = 0, max = std::numeric_limits<double>::infinity();

  bool Holds(double over_value, double under_value) const;
};

// Removes from `decisions` what the constraints rule out, and returns what they ask of pairs. Names
// and values that do not exist are errors with a hint. Demands that cannot hold are infeasible: the
// error names a smallest set of them that contradict each other.
Result<std::vector<Relation>> Apply(const Constraints& constraints,
                                    std::vector<Decision>& decisions);

// The demands that are about layers of a type and a name.
Constraints ConstraintsOn(const Constraints& constraints, std::string_view type,
                          std::string_view layer);

// The dataflows that a constraint can name.
struct DataflowRecipe {
  std::string_view name;
  std::string_view summary;
};
std::span<const DataflowRecipe> DataflowRecipes();
std::vector<std::string> DataflowNames();

// ---- Problems ----------------------------------------------------------------------------------
//
// A problem for search: a decision space and what its points cost. Where the price comes from (a
// cost model, a simulator, another program) is the problem's own business.

enum class OutcomeKind : uint8_t {
  kFeasible,    // `value` holds the objective
  kInfeasible,  // a rule of the problem is violated; `why` names the inequality
  kFailed,      // the evaluation itself went wrong; `why` says how
};

// What one point costs.
struct Outcome {
  OutcomeKind kind = OutcomeKind::kFailed;
  double value = std::numeric_limits<double>::infinity();  // the objective: lower is better
  // Whatever the objective is, for observations and reports; 0 where the problem has no such thing.
  double cycles = 0, energy_pj = 0, power_mw = 0, area_um2 = 0;
  // How far an infeasible point is from the rules that it breaks: less is closer, 0 if the problem
  // cannot tell. Searches that have seen nothing feasible yet walk where it falls.
  double excess = 0;
  std::string why = {};

  bool feasible() const { return kind == OutcomeKind::kFeasible; }
  static Outcome Infeasible(std::string why, double excess = 0) {
    return {.kind = OutcomeKind::kInfeasible, .excess = excess, .why = std::move(why)};
  }
  static Outcome Failed(std::string why) {
    return {.kind = OutcomeKind::kFailed, .why = std::move(why)};
  }
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// A point with its outcome.
struct Trial {
  Point point = {};
  Outcome outcome = {};
};

// Contract:
//   Threads      Evaluate may be called by several threads at once, each with its own workspace.
//   Determinism  Evaluate is a pure function of the point; what a workspace was used for before
//                makes no difference.
//   Errors       every point has an outcome; Evaluate does not throw.
class Problem {
 public:
  // Scratch memory for one thread.
  class Workspace {
   public:
    virtual ~Workspace() = default;
  };

  virtual ~Problem() = default;

  virtual const DecisionSpace& space() const = 0;
  virtual std::unique_ptr<Workspace> MakeWorkspace() const { return std::make_unique<Workspace>(); }
  virtual Outcome Evaluate(const Point& point, Workspace& workspace) const = 0;

  // For problems whose points are cheaper by the batch: fills in all outcomes and returns true. The
  // others are asked point by point.
  virtual bool EvaluateBatch(std::span<Trial> /*trials*/, ThreadPool& /*pool*/) const {
    return false;
  }

  // Whether a feasible outcome is better than another. An order: of equal ones, neither is better
  // than the other.
  virtual bool Better(const Outcome& a, const Outcome& b) const { return a.value < b.value; }

  // One evaluation without ceremony.
  Outcome Evaluate(const Point& point) const { return Evaluate(point, *MakeWorkspace()); }
};

// ---- Mapping problems --------------------------------------------------------------------------
//
// A layer on an accelerator, what its mappings cost under a model, and which of the costs is to be
// small.

// How tile sizes are chosen.
enum class TileSizes : uint8_t {
  kDivisors,  // divisors of the dimension and powers of two
  kAll,       // every integer from 1
};
inline constexpr std::array<std::string_view, 2> kTileSizesNames = {"divisors", "all"};

// What a user may choose about a space.
struct SpaceOptions {
  // Dataflows: sizes of tiles; loops have perfect factors only. Default: kDivisors.
  TileSizes sizes = TileSizes::kDivisors;

  // Dataflows: whether the number of PEs is a decision. Default: false.
  bool decide_pes = false;

  // Loops: whether bypassing a level is a decision. Default: false.
  bool decide_keep = false;

  Constraints constraints = {};

  // What the layer is called, for constraints that name layers. Default: empty.
  std::string layer = {};
};

// A space whose points are mappings.
class MappingSpace : public DecisionSpace {
 public:
  using DecisionSpace::DecisionSpace;

  // The mapping at a legal point.
  virtual Mapping Decode(const Point& point) const = 0;

  // The point of a mapping; the error says what the space does not have. Decode gives the mapping
  // back, up to what makes no difference (orders of loops that do not loop).
  virtual Result<Point> Encode(const Mapping& mapping) const = 0;

  // The position of the decision that is the machine's number of PEs; size(): none is.
  virtual size_t pes_decision() const { return size(); }

  // Numbers that follow from the decisions and that constraints may be about, too: the factors of
  // the outermost level. Each has the values that it may take.
  virtual std::span<const Decision> leftovers() const { return {}; }

  // What constraints ask of pairs of decisions and leftovers.
  virtual std::span<const Relation> relations() const { return {}; }
};

struct MappingProblemOptions {
  Objective objective = Objective::kLatency;  // Default: kLatency.
  SpaceOptions space = {};

  // What decides between mappings of equal value, one after another. Default: nothing.
  std::vector<Objective> ties = {};

  // Mappings that cost more are infeasible. Default: none.
  CostLimits limits = {};
};

class MappingProblem final : public Problem {
 public:
  // Errors: layers or machines that the model cannot take, constraints that leave nothing.
  static Result<std::unique_ptr<MappingProblem>> Make(const Layer& layer,
                                                      const Accelerator& accelerator,
                                                      const CostModelChoice& model,
                                                      const MappingProblemOptions& options = {});

  const MappingSpace& space() const override { return *space_; }
  std::unique_ptr<Workspace> MakeWorkspace() const override;
  using Problem::Evaluate;
  Outcome Evaluate(const Point& point, Workspace& workspace) const override;
  bool EvaluateBatch(std::span<Trial> trials, ThreadPool& pool) const override;
  bool Better(const Outcome& a, const Outcome& b) const override;  // by value, then by ties

  // Everything that is known about a feasible trial. A model that prices by the batch is not asked
  // again.
  Cost CostOf(const Trial& trial) const;

  Objective objective() const { return options_.objective; }
  const MappingProblemOptions& options() const { return options_; }
  const CostModelChoice& model() const { return model_; }

  // What is mapped, where mappings are loops; null otherwise.
  struct LoopForm {
    LoopProblem problem = {};
    Hierarchy hierarchy = {};
  };
  const LoopForm* loops() const { return loops_ ? &*loops_ : nullptr; }

  // Where it is mapped, if the machine has such a form.
  const PeArray* array() const { return array_ ? &*array_ : nullptr; }

 private:
  MappingProblem(std::unique_ptr<MappingSpace> space, CostModelChoice model,
                 MappingProblemOptions options)
      : space_(std::move(space)), model_(std::move(model)), options_(std::move(options)) {}

  Result<void> MakeModels(const Layer& layer, const Accelerator& accelerator);

  // The model at a point; it depends on the point only where the number of PEs is decided.
  const CostModel& ModelAt(const Point& point) const;
  int64_t PesAt(const Point& point) const;
  Outcome OutcomeOf(const Cost& cost) const;

  std::unique_ptr<MappingSpace> space_;
  CostModelChoice model_;
  MappingProblemOptions options_;
  std::optional<LoopForm> loops_ = {};
  std::optional<PeArray> array_ = {};
  std::vector<std::unique_ptr<CostModel>> models_;  // one, or one per number of PEs
  std::unique_ptr<BatchModel> batch_ = nullptr;     // instead of models
  int64_t macs_ = 0, num_pes_ = 1;
};

}  // namespace tessera

#endif  // TESSERA_SPACE_H_
