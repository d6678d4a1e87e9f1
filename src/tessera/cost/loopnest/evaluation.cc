// Dispatch by semantics.
#include "tessera/cost/loopnest/evaluation.h"

namespace tessera::loopnest {

Result<Setup> Prepare(const LoopProblem& problem, const Hierarchy& hierarchy, Semantics semantics,
                      bool extrapolate) {
  Result<Machine> machine = MakeMachine(hierarchy);
  if (!machine) return machine.error();
  return Setup{.data = MakeProblemData(problem),
               .machine = *std::move(machine),
               .semantics = semantics,
               .extrapolate = extrapolate};
}

void Evaluate(const Setup& setup, const LoopMapping& mapping, Workspace& workspace) {
  if (setup.semantics == Semantics::kExact) {
    workspace.nest_error = MakeExactNest(setup.data.problem, mapping, workspace.nest);
    if (workspace.nest_error.kind != NestError::Kind::kNone) return;
    EvaluateExact(setup.data, setup.machine, mapping, workspace.nest, workspace.exact_scratch,
                  workspace.exact);
    return;
  }
  workspace.nest_error =
      MakeTimeloopNest(setup.data.problem, setup.machine, mapping, workspace.nest);
  if (workspace.nest_error.kind != NestError::Kind::kNone) return;
  const WalkRules rules{.v4 = setup.semantics == Semantics::kTimeloop4,
                        .extrapolate = setup.extrapolate};
  EvaluateTimeloop(setup.data, setup.machine, mapping, workspace.nest, rules,
                   workspace.timeloop_scratch, workspace.timeloop);
}

}  // namespace tessera::loopnest
