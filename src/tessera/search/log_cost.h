// The scale on which methods compare costs: ratios matter, not differences.
#ifndef TESSERA_SEARCH_LOG_COST_H_
#define TESSERA_SEARCH_LOG_COST_H_

#include <cmath>
#include <limits>

#include "tessera/space.h"

namespace tessera {

// The natural logarithm for large costs, linear around 0, increasing everywhere; infinite for a
// point that is not feasible.
inline double LogCost(const Outcome& outcome) {
  if (!outcome.feasible()) return std::numeric_limits<double>::infinity();
  return std::copysign(std::log1p(std::abs(outcome.value)), outcome.value);
}

// Above LogCost of every feasible point.
inline constexpr double kInfeasibleCost = 1e4;

// The same for a search that has seen nothing feasible yet: an infeasible point costs more than any
// feasible one, and the less the closer it is to the rules. Infinite if the problem cannot tell.
inline double OrderedCost(const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::kInfeasible || outcome.excess <= 0) return LogCost(outcome);
  return kInfeasibleCost + outcome.excess;
}

}  // namespace tessera

#endif  // TESSERA_SEARCH_LOG_COST_H_
