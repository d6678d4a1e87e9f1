// The optimizer: plans with lower costs say what could be best, plans with upper costs what is
// known to be possible; work goes to the nodes on which the two differ most, until they meet or the
// time is over.
#ifndef TESSERA_INTERLAYER_OPTIMIZER_H_
#define TESSERA_INTERLAYER_OPTIMIZER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "tessera/interlayer/graph_problem.h"
#include "tessera/interlayer/node_costs.h"
#include "tessera/interlayer/planner.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera::interlayer {

struct OptimizerOptions {
  Objective objective = Objective::kEnergy;
  Freedom freedom = Freedom::kSlices;

  // Of the clock (SteadySeconds). Default: none.
  double deadline = std::numeric_limits<double>::infinity();

  // The same for what is worth more time: the first bound, and every plan of what was found.
  // Without a plan to start from the first one is made whatever time it takes. Default: none.
  double latest = std::numeric_limits<double>::infinity();

  // Default: 0 (until it is proved).
  double target_gap = 0;

  // A plan that is known; what is found is never worse. Default: none.
  Plan start = {};

  // Default: never.
  std::function<bool()> stopped = {};

  // Told after every round of work: value, bound. Default: nobody.
  std::function<void(double value, double bound)> tell = {};

  // Asked after each piece of work, to write it down. Default: nothing.
  std::function<Result<void>()> keep = {};
};

struct Optimized {
  Plan plan = {};
  double bound = 0;        // no plan has a lower value
  bool proved = false;     // nothing is left to do, or the target gap is reached
  bool exhausted = false;  // nothing is left to do within the limits of single proofs
  int64_t rounds = 0;
};

// Errors: those of `keep`.
Result<Optimized> Optimize(const GraphProblem& problem, NodeCosts& costs,
                           const OptimizerOptions& options, ThreadPool& pool);

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_OPTIMIZER_H_
