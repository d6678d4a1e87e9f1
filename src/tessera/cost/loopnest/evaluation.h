// Evaluation of loop mappings: a problem and a machine are prepared once, then each mapping costs
// about a microsecond and allocates nothing.
#ifndef TESSERA_COST_LOOPNEST_EVALUATION_H_
#define TESSERA_COST_LOOPNEST_EVALUATION_H_

#include <memory>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/cost/loopnest/exact.h"
#include "tessera/cost/loopnest/machine.h"
#include "tessera/cost/loopnest/nest.h"
#include "tessera/cost/loopnest/problem_data.h"
#include "tessera/cost/loopnest/timeloop.h"
#include "tessera/result.h"

namespace tessera::loopnest {

// Immutable; many threads may evaluate against it.
struct Setup {
  ProblemData data;
  Machine machine;
  Semantics semantics = Semantics::kExact;
  bool extrapolate = true;  // of the Timeloop semantics
};

// The problem is valid; what leaks in a cycle depends on the clock. The error says what of the
// hierarchy is not supported.
Result<Setup> Prepare(const LoopProblem& problem, const Hierarchy& hierarchy, Semantics semantics,
                      bool extrapolate = true, double clock_ghz = 1);

// Scratch of one thread, and the result of its last evaluation. Grows on first use.
struct Workspace {
  NestError nest_error = {};  // if set, there is no result
  Nest nest;
  TimeloopScratch timeloop_scratch = {};
  TimeloopResult timeloop = {};  // under the Timeloop semantics
  ExactScratch exact_scratch = {};
  ExactResult exact = {};  // under semantics exact
};

// Makes the workspace large enough for the usual mappings of the setup; without it, the first
// evaluations grow it.
void Reserve(const Setup& setup, Workspace& workspace);

// The mapping is valid for the problem and has as many levels as the machine.
void Evaluate(const Setup& setup, const LoopMapping& mapping, Workspace& workspace);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_EVALUATION_H_
