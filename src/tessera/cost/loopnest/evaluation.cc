// Dispatch by semantics.
#include "tessera/cost/loopnest/evaluation.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace tessera::loopnest {
namespace {

// A dimension in two ranks, of which a tensor's distinct elements would not be a product.
std::optional<std::string_view> SharedDimension(const LoopProblem& problem,
                                                const LoopTensor& tensor) {
  uint32_t seen = 0;
  for (const TensorRank& rank : tensor.view()) {
    for (const RankTerm& term : rank.view()) {
      if ((seen >> term.dimension & 1) != 0) {
        return problem.dimensions[static_cast<size_t>(term.dimension)].name.view();
      }
      seen |= 1u << term.dimension;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Setup> Prepare(const LoopProblem& problem, const Hierarchy& hierarchy, Semantics semantics,
                      bool extrapolate, double clock_ghz) {
  Result<Machine> machine = MakeMachine(hierarchy, problem, semantics, clock_ghz);
  if (!machine) return machine.error();
  if (Result<void> fit = CheckCycles(*machine, problem); !fit) return fit.error();
  for (const LoopTensor& tensor : problem.tensor_view()) {
    if (semantics != Semantics::kExact || !tensor.read_write) continue;
    if (const std::optional<std::string_view> shared = SharedDimension(problem, tensor)) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("dimension {} occurs in two ranks of the read-write "
                                          "tensor {}",
                                          *shared, tensor.name.view())};
    }
  }
  return Setup{.data = MakeProblemData(problem),
               .machine = *std::move(machine),
               .semantics = semantics,
               .extrapolate = extrapolate};
}

void Reserve(const Setup& setup, Workspace& workspace) {
  // Larger machines are rare; there the first evaluations may still allocate.
  const auto children = static_cast<size_t>(std::min<int64_t>(setup.machine.mac_instances, 4096));
  constexpr size_t kUsual = 64;
  if (setup.semantics == Semantics::kExact) {
    Reserve(children, kUsual, workspace.exact_scratch);
    for (int i = 0; i < setup.machine.num_levels; ++i) {
      for (ExactNetworkTensor& network : workspace.exact.levels[i].network) {
        network.ingresses.reserve(kUsual);
      }
    }
  } else {
    Reserve(children, workspace.timeloop_scratch.fan);
    workspace.timeloop_scratch.classes.reserve(children);
    workspace.timeloop_scratch.places.reserve(children);
    workspace.timeloop.ingresses.reserve(children);
  }
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
