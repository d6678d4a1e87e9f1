// The exact mapper: finds the best mapping of a problem onto a machine under model `loopnest`, with
// a lower bound that no mapping of the space undercuts. It works in rounds and can be stopped after
// any of them; once nothing is left to search, the best mapping is optimal.
//
// With a choice of kept tensors per level, those mappings of which every level holds all that it
// can have a search of their own, as without the choice: a round of it in each round, so that
// results are never worse than without. The others wait as roots, best bound first.
//
// The space: each dimension is split into an ordered product of one temporal factor per level and
// one parallel factor per level with a fan-out, each parallel factor on X or Y within that level's
// fan-out; all orders of the temporal loops, of the X loops and of the Y loops of every level; and
// which level holds which tensor, fixed or searched. Perfect factors, or any (R1 of
// docs/optimality.md).
#ifndef TESSERA_SEARCH_EXACT_MAPPER_H_
#define TESSERA_SEARCH_EXACT_MAPPER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/search/exact/restrictions.h"
#include "tessera/search/exact/tree.h"

namespace tessera::exact {

enum class Status : uint8_t {
  kHeuristic,   // no bound was computed
  kBounded,     // a mapping, a bound, and a gap between them
  kOptimal,     // no mapping of the space is better by more than the tolerance
  kInfeasible,  // the space was searched and holds no mapping that the model accepts
};
inline constexpr std::array<std::string_view, 4> kStatusNames = {"HEURISTIC", "BOUNDED", "OPTIMAL",
                                                                 "INFEASIBLE"};

struct MapperOptions {
  Goal goal = Goal::kEnergy;  // Default: kEnergy.

  // Mappings that cost more do not count. Default: none.
  Limits limits = {};

  loopnest::Semantics semantics = loopnest::Semantics::kExact;  // Default: kExact.

  // Factors need not divide: the last iteration of a dimension's outermost loop may have less to
  // do. Semantics exact, without homes and restrictions. Default: false.
  bool any_factors = false;

  // At which what leaks in a cycle counts. Default: 1.
  double clock_ghz = 1;

  // Which tensors each level holds, bit by bit, levels[0] first. Empty: all levels hold all, or
  // what the hierarchy names. Default: empty.
  std::vector<uint8_t> keep = {};

  // Every subset of `keep` is searched, level by level; the outermost level holds all. Under
  // semantics exact, what closed formulas say of a choice bounds it from the start, and choices
  // that cannot be better than what is known are never looked at. Default: false.
  bool decide_keep = false;

  // With decide_keep: tensors that stay where `keep` has them, per level. Default: none.
  std::vector<uint8_t> must_keep = {};

  // By tensor: the level, of one instance, at which it is whole before the layer begins, and
  // outside of which no level holds it; the hierarchy's entries are what such tensors leave.
  // Semantics exact only. Default: empty (the outermost level for all).
  std::vector<int> homes = {};

  // By level: what is known of the same machine with so many entries there. Mappings that would fit
  // it are left out: the caller has offered its best one, or it has none. Semantics exact only.
  // Default: empty (nothing is known; so is a level without a number).
  std::vector<std::optional<int64_t>> known_entries = {};

  // Default: nothing is ruled out.
  Restrictions restrictions = {};

  // Nodes that a round takes from the queue. The best value is updated between rounds only, so the
  // result depends on this number and not on the number of threads. Default: 16.
  int64_t round_nodes = 16;

  // Steps after which a node is split into smaller ones instead of being searched to its end.
  // Default: 20'000.
  int64_t node_steps = 20'000;

  // Nodes that the queue may hold, and eight times as many as one node may be split into; what
  // exceeds it is given up, and the status is then never better than BOUNDED. A node takes about 80
  // bytes, and 8 more per dimension and level. Default: 4'000'000.
  int64_t max_nodes = 4'000'000;

  // Steps after which splitting a node, or trying all orders of one that cannot be split, is put
  // off until nothing else is left to do; it then gets more. It keeps rounds short where there is
  // little time. Default: no limit.
  int64_t split_steps = std::numeric_limits<int64_t>::max();

  // Mappings tried at the start, per level, along the best bounds. 0: none, only what Offer was
  // given, and nothing is annealed. Default: 64.
  int dive_width = 64;

  // Mappings are annealed before the first round and between rounds (anneal.h): about half of the
  // work at first, less and less where it finds nothing. Default: true.
  bool anneal = true;

  // The best of what was offered before the first round is where a search elsewhere has ended: it
  // takes the place of the first chains if closed formulas bound it closely, or a short chain near
  // it finds nothing better. Default: false.
  bool begun = false;

  // For tests of the audit only: multiplies every bound, so anything but 1 makes proofs false.
  // Default: 1.
  double bound_scale = 1;

  // Told of everything that is left out; used with one thread only. Default: none.
  PruneObserver* observer = nullptr;

  // Asked by all threads, every millisecond or so, once there is a mapping: true ends the round
  // where it is; what it had not searched stays open. Results then depend on when that was.
  // Default: never.
  std::function<bool()> stopped = {};
};

// Where a search stands.
struct Progress {
  Status status = Status::kHeuristic;
  std::optional<Candidate> best = {};
  double bound = 0;  // no mapping of the space has a lower value
  int64_t rounds = 0;
  int64_t open_nodes = 0;
  bool gave_up = false;  // something that may hold a better mapping exceeded max_nodes
  Counters counters = {};

  // With decide_keep: what is known of the mappings of which every level holds all that it can.
  std::optional<Candidate> held = {};  // the best one that was found
  double held_bound = kInfinity;       // none of them has a lower value
  int64_t choices_unseen = 0;          // of kept tensors, that nobody has looked at yet
  double choices_left_out = 0;         // and those that are too many to look at

  // best / bound - 1, or infinity without a mapping or a bound.
  double Gap() const;
};

// Contract:
//   Threads      Step uses the pool's threads; other members are called by one thread at a time.
//   Determinism  progress after n rounds is a function of (problem, machine, options, offers),
//                whatever the number of threads.
//   Ownership    keeps no reference to problem and hierarchy; options.observer outlives it.
class Mapper {
 public:
  // Needs a valid problem and hierarchy. Errors: what model `loopnest` does not support, semantics
  // other than exact and timeloop3, keep sets that do not suit the machine, and memories that not
  // even the smallest tiles fit.
  static Result<std::unique_ptr<Mapper>> Make(const LoopProblem& problem,
                                              const Hierarchy& hierarchy,
                                              const MapperOptions& options);
  ~Mapper();

  // A mapping from elsewhere that is to be beaten. Mappings that the model rejects are ignored; so
  // are those outside the space, since the result would not be one of it.
  void Offer(const LoopMapping& mapping);

  // A value that is known to be reachable, without its mapping; for tests and for resumed runs.
  void OfferValue(double value);

  // One round of search. False once there is nothing left to do.
  bool Step(ThreadPool& pool);

  Progress progress() const;

  // What nodes, trees of choices and fronts of parallel factors take.
  int64_t bytes() const;

  // Gives up all of that but the nodes. The next round makes again what it needs, and comes to what
  // it would have come to.
  void Trim();

 private:
  struct State;
  explicit Mapper(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_MAPPER_H_
