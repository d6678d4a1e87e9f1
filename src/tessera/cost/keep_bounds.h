// Lower bounds over several choices of what each level holds, under semantics `exact`: closed
// formulas, some microseconds a choice.
#ifndef TESSERA_COST_KEEP_BOUNDS_H_
#define TESSERA_COST_KEEP_BOUNDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/cost/loopnest/machine.h"
#include "tessera/cost/loopnest/problem_data.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera {

// The least cycles and the least energy of all choices, each by itself. A tensor that the outermost
// levels do not hold is at the outermost of those that do before the layer begins.
// `compute_cycles` is what arithmetic alone takes, which is the same for all choices: given, or
// filled in for further calls. For perfect factors. Errors: as LowerBounds.
Result<CostBounds> LeastBounds(const LoopProblem& problem, const Hierarchy& hierarchy,
                               std::span<const std::vector<uint8_t>> keeps,
                               std::optional<int64_t>& compute_cycles);

// The same for one choice, for a machine and a problem that are prepared, and for all factors,
// perfect or not.
CostBounds KeepBounds(const loopnest::ProblemData& data, const loopnest::Machine& machine,
                      const std::vector<uint8_t>& keep, std::optional<int64_t>& compute_cycles);

}  // namespace tessera

#endif  // TESSERA_COST_KEEP_BOUNDS_H_
