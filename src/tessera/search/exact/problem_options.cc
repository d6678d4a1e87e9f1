// Goals, constraints and keep sets of mapping problems for the exact mapper.
#include "tessera/search/exact/problem_options.h"

#include <string>

#include <fmt/format.h>

#include "tessera/cost.h"

namespace tessera::exact {
namespace {

// Which tensors the decisions of a space let a level hold, and which it must hold.
void SetKeeps(const MappingSpace& space, const LoopProblem& problem, const Hierarchy& hierarchy,
              MapperOptions& options) {
  options.must_keep.assign(hierarchy.levels.size(), 0);
  options.keep = KeepSets(problem, hierarchy);
  const auto all = static_cast<uint8_t>((1u << problem.num_tensors) - 1);
  if (options.keep.empty()) options.keep.assign(hierarchy.levels.size(), all);
  options.keep.back() = all;
  for (size_t i = 0; i + 1 < hierarchy.levels.size(); ++i) {
    for (int v = 0; v < problem.num_tensors; ++v) {
      const std::string name = "keep_" + hierarchy.levels[i].name + "_" +
                               std::string(problem.tensors[static_cast<size_t>(v)].name.view());
      const size_t found = space.Find(name);
      if (found == space.size()) continue;
      const Decision& decision = space.decisions()[found];
      const auto bit = static_cast<uint8_t>(1u << v);
      if (decision.Find(0) < 0) options.keep[i] = static_cast<uint8_t>(options.keep[i] & ~bit);
      if (decision.Find(1) < 0) options.must_keep[i] |= bit;
    }
  }
}

}  // namespace

std::optional<Goal> GoalOf(Objective objective) {
  switch (objective) {
    case Objective::kLatency: return Goal::kCycles;
    case Objective::kEnergy: return Goal::kEnergy;
    case Objective::kEdp: return Goal::kEdp;
    case Objective::kPower:
    case Objective::kArea: break;
  }
  return std::nullopt;
}

bool Proves(loopnest::Semantics semantics) { return semantics != loopnest::Semantics::kTimeloop4; }

Result<MapperOptions> OptionsFor(const MappingProblem& problem) {
  const std::optional<Goal> goal = GoalOf(problem.objective());
  const std::optional<loopnest::Semantics> semantics = problem.model()->semantics();
  if (problem.loops() == nullptr || !semantics || !goal) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("objective {} of this cost model cannot be proved",
                                        ToString(problem.objective())),
                 .hint = "proofs are for latency, energy and edp of model loopnest"};
  }
  const auto& [loops, hierarchy] = *problem.loops();
  const CostLimits& limits = problem.options().limits;
  MapperOptions options{.goal = *goal,
                        .limits = {.cycles = limits.Of(Objective::kLatency),
                                   .energy_pj = limits.Of(Objective::kEnergy),
                                   .edp = limits.Of(Objective::kEdp)},
                        .semantics = *semantics,
                        .clock_ghz = problem.model()->clock_ghz(),
                        .decide_keep = problem.options().space.decide_keep,
                        .restrictions = RestrictionsOf(problem.space(), loops, hierarchy)};
  SetKeeps(problem.space(), loops, hierarchy, options);
  return options;
}

}  // namespace tessera::exact
