// The scale on which methods compare costs: ratios matter, not differences.
#ifndef TESSERA_SEARCH_LOG_COST_H_
#define TESSERA_SEARCH_LOG_COST_H_

#include <cmath>
#include <limits>

#include "tessera/space/problem.h"

namespace tessera {

// The natural logarithm for large costs, linear around 0, increasing everywhere; infinite for a
// point that is not feasible.
inline double LogCost(const Outcome& outcome) {
  if (!outcome.feasible()) return std::numeric_limits<double>::infinity();
  return std::copysign(std::log1p(std::abs(outcome.value)), outcome.value);
}

}  // namespace tessera

#endif  // TESSERA_SEARCH_LOG_COST_H_
