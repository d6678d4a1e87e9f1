// Model `loopnest`: any memory hierarchy, exact access counts, Timeloop's numbers on request. The
// default model. The other files of this folder, in the order in which an evaluation uses them:
// machine and problem_data (prepared once), nest (the mapping's loops), then either timeloop* and
// fan (Timeloop's rules) or exact*, touched, hops and residual* (the exact ones).
#ifndef TESSERA_COST_LOOPNEST_LOOPNEST_H_
#define TESSERA_COST_LOOPNEST_LOOPNEST_H_

#include <memory>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera {

extern const CostModelInfo kLoopnestModel;

// The model with options, for code that does not start from a user's words.
CostModelChoice LoopnestChoice(const LoopnestOptions& options);

// The model for a problem of any shape; kLoopnestModel starts from a layer. Both must be valid.
// Costs hold words of tensors by role; a tensor without a role counts as an input. Power is energy
// over time at 1 GHz. Area is not modelled and is 0.
Result<std::unique_ptr<CostModel>> MakeLoopnestModel(const LoopProblem& problem,
                                                     const Hierarchy& hierarchy,
                                                     const LoopnestOptions& options = {});

}  // namespace tessera

#endif  // TESSERA_COST_LOOPNEST_LOOPNEST_H_
