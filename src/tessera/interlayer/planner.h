// The best plan for a network, given what its nodes cost: homes of tensors, groups with their
// levels, slices and pinned weights. A plan is a path from the first node to the last; what the
// rest of it depends on is where the tensors are that are still alive. With lower bounds of the
// nodes' costs the same search gives a lower bound of the network's.
#ifndef TESSERA_INTERLAYER_PLANNER_H_
#define TESSERA_INTERLAYER_PLANNER_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "tessera/interlayer/graph_problem.h"
#include "tessera/interlayer/node_costs.h"
#include "tessera/interlayer/slices.h"
#include "tessera/interlayer/transfers.h"

namespace tessera::interlayer {

// One node with MACs in a plan, for one number of rows.
struct Part {
  int node = -1;
  int staircase = -1;
  Room room = {};
  int64_t times = 1;  // slices that compute so many rows
  int found = -1;     // its mapping
};

// One node by itself, or a group.
struct Stage {
  int first = 0, last = 0;
  int level = -1;  // of a group; -1: none
  int64_t slices = 1;
  uint64_t pinned = 0;                 // bit k: weights of node first + k
  std::vector<int> output_homes = {};  // levels, of the tensors that the last node writes
  bool view = false;                   // a concatenation that costs nothing
  Spent spent = {};
  std::vector<Part> parts = {};
};

struct Plan {
  bool found = false;
  Spent spent = {};
  std::vector<Stage> stages = {};
};

// What a search for plans may choose from.
enum class Freedom : uint8_t { kNone, kHomes, kSlices };

// Which costs it sums up.
enum class Side : uint8_t { kLower, kUpper };

struct PlannerOptions {
  Objective objective = Objective::kEnergy;
  Freedom freedom = Freedom::kSlices;

  // States after a node, and points of a front of one of them, beyond which plans are dropped and
  // bounds get weaker. Default: 4096 and 256.
  size_t max_states = 4096;
  size_t max_points = 256;

  // Ends a search where it is: nothing is found then, and the bound is a weak one. Default: never.
  std::function<bool(Side)> stopped = {};
};

// Nodes of a group at most.
inline constexpr int kMostGroupNodes = 32;

class Planner {
 public:
  // Problem and costs outlive it.
  Planner(const GraphProblem& problem, NodeCosts& costs, const PlannerOptions& options)
      : problem_(problem), costs_(costs), options_(options) {}

  // The best plan by upper costs, or the one that lower costs promise most for; then `bound` is
  // what no plan is below.
  Plan Best(Side side, double* bound = nullptr);

  // A plan of this value is known: groups that can only be in worse ones are not looked at again.
  void Beat(double value) { known_ = std::min(known_, value); }

 private:
  struct Template {
    std::vector<SlicedNode> nodes = {};
    int64_t buffer_words = 0;
  };
  const std::vector<Template>& TemplatesOf(int first, int last);

  // Where a group can be: nodes, home, where its input and output are, what room it has.
  struct Place {
    int first = 0, last = 0, home = 0;
    std::vector<int8_t> codes = {};
    Room room = {};
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Known {
    std::vector<bool> dead = {};                // by slices and pins: cannot be in a better plan
    std::map<int64_t, uint64_t> promised = {};  // by slices: pins that a bound is about
  };

  friend class PlanSearch;

  const GraphProblem& problem_;
  NodeCosts& costs_;
  const PlannerOptions options_;
  std::map<std::vector<int64_t>, std::vector<Template>> templates_;  // by what rows depend on

  double known_ = std::numeric_limits<double>::infinity();
  // Of the last search with lower costs: what leads to a node costs at least, and what follows.
  std::vector<Spent> before_ = {}, after_ = {};
  std::map<Place, Known> places_;
};

double ValueOf(const Spent& spent, Objective objective);

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_PLANNER_H_
