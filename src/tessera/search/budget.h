// What a run may spend. It ends at the first limit reached, and the report names that limit.
#ifndef TESSERA_SEARCH_BUDGET_H_
#define TESSERA_SEARCH_BUDGET_H_

#include <cstdint>

namespace tessera {

struct Budget {
  // Evaluations, infeasible ones included. Default: 20'000.
  int64_t samples = 20'000;

  // Wall-clock limit, which makes the result depend on the machine. Default: 0 (none).
  double seconds = 0;
};

}  // namespace tessera

#endif  // TESSERA_SEARCH_BUDGET_H_
