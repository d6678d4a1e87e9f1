// How fast the MACs alone can be, whatever the memories do.
#ifndef TESSERA_COST_COMPUTE_CYCLES_H_
#define TESSERA_COST_COMPUTE_CYCLES_H_

#include <cstdint>

#include "tessera/mapping.h"

namespace tessera {

// Fewest cycles in which the MACs can do all operations: over the ways to spread the dimensions
// over `columns` x `rows` MACs, the least product of what is left to do in turn. `perfect`: only
// factors that divide.
int64_t FewestComputeCycles(const LoopProblem& problem, int64_t columns, int64_t rows,
                            bool perfect);

}  // namespace tessera

#endif  // TESSERA_COST_COMPUTE_CYCLES_H_
