// What a node with MACs costs at least and at most, by the homes of its tensors and by the room
// that other tensors leave: its staircases. A step is a proof of the exact mapper for one room; it
// is made when somebody asks and refined round by round. Every mapping found at one step is known
// to all steps that it fits, and every bound to all steps with less room.
#ifndef TESSERA_INTERLAYER_NODE_COSTS_H_
#define TESSERA_INTERLAYER_NODE_COSTS_H_

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/cost.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/interlayer/graph_problem.h"
#include "tessera/interlayer/transfers.h"
#include "tessera/mapping.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/search/exact/mapper.h"

namespace tessera::interlayer {

// Which optimum is asked for. Rows: those that the node computes at once; 0 for layers that have
// none. Homes: levels, by loop tensor.
struct NodeKey {
  int layer = 0;
  int64_t rows = 0;
  std::array<int8_t, LoopProblem::kMaxTensors> homes = {};

  friend auto operator<=>(const NodeKey&, const NodeKey&) = default;
};

// Words that are left for tiles at each home, by index of GraphProblem::homes.
inline constexpr size_t kMaxHomes = LoopMapping::kMaxLevels - 1;
using Room = std::array<int64_t, kMaxHomes>;

// A mapping with its price. Tiles: words at each home, tensors that live there aside.
struct Found {
  Spent spent = {};
  LoopMapping mapping = {};
  std::array<int64_t, kMaxHomes> tiles = {};
  int64_t outer_words = 0;  // read and written at the outermost level
};

// One point of a front: cycles and energy, and which Found of the staircase has them (-1: a bound).
struct CostPoint {
  Spent spent = {};
  int found = -1;
};
using Front = std::vector<CostPoint>;

struct NodeCostOptions {
  Objective objective = Objective::kEnergy;  // latency, energy or edp
  bool decide_keep = true;
  int64_t max_nodes = 100'000;  // of one proof
  int64_t max_rounds = 0;       // of one step; 0: no limit
  std::function<bool()> stopped = {};
};

// What is known of one step, for journals, tables and plots.
struct StepView {
  int staircase = 0;
  Room room = {};
  double bound = 0;  // of the objective; of energy for edp
  bool done = false, infeasible = false;
  int64_t rounds = 0;
};

// What became known, in order: a mapping (`found` >= 0) or more about a step, and how many
// evaluations that took.
struct Change {
  int staircase = 0;
  int found = -1;
  StepView step = {};
  int64_t evaluations = 0;
};

// Contract:
//   Threads      used by one thread; Refine works on the pool's.
//   Determinism  a function of the calls so far, unless options.stopped ends rounds.
class NodeCosts {
 public:
  // The problem outlives it.
  NodeCosts(const GraphProblem& problem, NodeCostOptions options);
  ~NodeCosts();

  // The staircase of a key; made at the first call.
  int Find(const NodeKey& key);
  const NodeKey& KeyOf(int staircase) const;

  // No mapping that fits the room is below every point. Empty: none fits.
  const Front& Lower(int staircase, const Room& room);
  // Mappings that fit the room. Empty: none is known.
  const Front& Upper(int staircase, const Room& room);
  const Found& found(int staircase, int index) const;

  // Some work on what Lower and Upper say; false if nothing is left to do.
  bool Refine(int staircase, const Room& room, int64_t rounds, ThreadPool& pool);

  // A mapping from elsewhere; ignored if the model rejects it.
  void Offer(int staircase, const LoopMapping& mapping);
  // A bound from elsewhere on the objective (edp: on the energy), for rooms up to this one; `done`:
  // nothing is better than what was offered, or nothing fits.
  void Bound(const StepView& step);
  // Evaluations that were made before, for the same costs.
  void Count(int64_t evaluations) { evaluations_ += evaluations; }

  std::vector<StepView> Steps() const;
  // Since the last call.
  std::vector<Change> TakeChanges() { return std::exchange(changes_, {}); }
  int64_t evaluations() const { return evaluations_; }

  // Counts changes of what Lower or Upper could say.
  int64_t version() const { return version_; }

 private:
  struct Step;
  struct Staircase;

  static StepView ViewOf(int staircase, const Step& step);
  void SetWidest(Staircase& staircase) const;
  Step& StepFor(Staircase& staircase, const Room& room);
  bool BestFits(const Staircase& staircase, const Room& room, const Room& other) const;
  void Advance(Staircase& staircase, Step& step, int64_t rounds, ThreadPool& pool);
  void AdvanceFront(Staircase& staircase, Step& step, int64_t rounds, ThreadPool& pool);
  std::unique_ptr<exact::Mapper> MakeMapper(const Staircase& staircase, const Step& step,
                                            exact::Goal goal, double cycles_limit) const;
  Hierarchy HierarchyWith(const Room& room) const;
  // False: it is known already, or illegal.
  bool Take(Staircase& staircase, const LoopMapping& mapping);
  // Takes what is known for the next smaller and larger numbers of rows, cut to its own.
  void Borrow(Staircase& staircase);
  bool Fits(const Found& found, const Room& room) const;
  double ValueOf(const Spent& spent) const;

  const GraphProblem& problem_;
  const NodeCostOptions options_;
  std::map<NodeKey, int> index_;
  // By layer and homes: staircases by rows.
  std::map<std::pair<int, decltype(NodeKey::homes)>, std::map<int64_t, int>> same_homes_;
  std::vector<std::unique_ptr<Staircase>> staircases_;
  std::map<std::pair<int, int64_t>, std::optional<int64_t>> compute_cycles_;  // by layer and rows
  int64_t evaluations_ = 0, version_ = 0;
  std::vector<Change> changes_;
};

// Sorts by cycles and leaves the points that no other one is at least as good as in both.
void KeepPareto(Front& front);

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_NODE_COSTS_H_
