// What a cost of model `loopnest` is made of: energy and traffic by level and tensor, and the
// resource that the cycles wait for.
#ifndef TESSERA_COST_LOOPNEST_BREAKDOWN_H_
#define TESSERA_COST_LOOPNEST_BREAKDOWN_H_

#include "tessera/cost.h"
#include "tessera/cost/loopnest/evaluation.h"

namespace tessera::loopnest {

// Of a mapping that was evaluated in the workspace and is feasible. `cost` is its cost; bounds are
// those of the space. Fills in everything.
CostBreakdown BreakDown(const Setup& setup, const LoopMapping& mapping, const Workspace& workspace,
                        const Cost& cost, const LoopBounds& bounds);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_BREAKDOWN_H_
