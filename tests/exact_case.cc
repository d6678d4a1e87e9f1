// Random cases for tests of bounds.
#include "exact_case.h"

namespace tessera::exact {

std::unique_ptr<ExactCase> MakeExactCase(uint64_t seed, std::string_view test, uint64_t number,
                                         const RandomCaseOptions& options) {
  static const Restrictions kNone;
  CounterRng rng(seed, StreamId(test), number);
  auto made = std::make_unique<ExactCase>();
  made->random = MakeRandomCase(rng, options);
  auto setup =
      loopnest::Prepare(made->random.problem, made->random.machine, loopnest::Semantics::kExact);
  if (!setup) return nullptr;
  made->setup = *std::move(setup);
  const auto all = static_cast<uint8_t>((1u << made->random.problem.num_tensors) - 1);
  made->keep = KeepSets(made->random.mapping);
  for (uint8_t& set : made->keep) set &= all;
  if (made->keep.back() != all) return nullptr;
  made->model = MakeModel(made->setup, kNone, made->keep);
  made->goal = static_cast<Goal>(number % 3);
  return made;
}

double CostOfMapping(const ExactCase& made) {
  loopnest::Workspace workspace;
  loopnest::Evaluate(made.setup, made.random.mapping, workspace);
  if (workspace.nest_error.kind != loopnest::NestError::Kind::kNone) return kInfinity;
  if (workspace.exact.status != loopnest::ExactResult::Status::kOk) return kInfinity;
  const Bound cost{.energy_pj = workspace.exact.energy,
                   .cycles = static_cast<double>(workspace.exact.cycles)};
  return cost.Value(made.goal);
}

}  // namespace tessera::exact
