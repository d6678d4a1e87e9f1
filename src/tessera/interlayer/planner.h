// The best plan for a network, given what its nodes cost: homes of tensors, groups with their
// levels, slices and pinned weights. A plan is a path from the first node to the last; what the rest
// of it depends on is where the tensors are that are still alive. With lower bounds of the nodes'
// costs the same search gives a lower bound of the network's.
#ifndef TESSERA_INTERLAYER_PLANNER_H_
#define TESSERA_INTERLAYER_PLANNER_H_

#include <cstdint>
#include <map>
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
  int level = -1;      // of a group; -1: none
  int64_t slices = 1;
  uint64_t pinned = 0;              // bit k: weights of node first + k
  std::vector<int> output_homes = {};  // levels, of the tensors that the last node writes
  bool view = false;                // a concatenation that costs nothing
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
};

class Planner {
 public:
  // Problem and costs outlive it.
  Planner(const GraphProblem& problem, NodeCosts& costs, const PlannerOptions& options)
      : problem_(problem), costs_(costs), options_(options) {}

  // The best plan by upper costs, or the one that lower costs promise most for; then `bound` is
  // what no plan is below.
  Plan Best(Side side, double* bound = nullptr);

 private:
  struct Template {
    std::vector<SlicedNode> nodes = {};
    int64_t buffer_words = 0;
  };
  const std::vector<Template>& TemplatesOf(int first, int last);

  friend class PlanSearch;

  const GraphProblem& problem_;
  NodeCosts& costs_;
  const PlannerOptions options_;
  std::map<std::pair<int, int>, std::vector<Template>> templates_;
};

double ValueOf(const Spent& spent, Objective objective);

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_PLANNER_H_
