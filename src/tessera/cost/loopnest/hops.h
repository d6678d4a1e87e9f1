// How far words travel below a level, under semantics `exact`: the place of a child follows from
// its indices, X and Y apart.
#ifndef TESSERA_COST_LOOPNEST_HOPS_H_
#define TESSERA_COST_LOOPNEST_HOPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/cost/loopnest/nest.h"

namespace tessera::loopnest {

// Half hops of all groups below one instance of a level, where children form a group exactly if
// they agree in the loops over `relevant_dims`. `loops` are the level's spatial loops, `fan_y` is
// its physical fan-out along Y. `places` is scratch.
int64_t SumHalfHops(std::span<const Loop> loops, uint32_t relevant_dims, int64_t fan_y,
                    std::vector<int64_t>& places);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_HOPS_H_
