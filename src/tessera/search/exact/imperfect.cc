// Sizes are rounded up to multiples of small powers of two, one dimension at a time and all at
// once: fan-outs and memories usually are such powers.
#include "tessera/search/exact/imperfect.h"

#include <algorithm>
#include <vector>

#include "tessera/cost.h"

namespace tessera::exact {
namespace {

// Rounding up by more than this part leaves too much of the machine idle.
constexpr double kMostPadding = 0.25;
constexpr int64_t kMultiples[] = {2, 4, 8, 16, 32, 64};

int64_t RoundUp(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

bool Acceptable(int64_t size, int64_t rounded) {
  return static_cast<double>(rounded - size) <= kMostPadding * static_cast<double>(size);
}

// Problems with some sizes rounded up, none twice and none the true one.
std::vector<LoopProblem> Roundings(const LoopProblem& problem) {
  std::vector<LoopProblem> roundings;
  const auto add = [&](const LoopProblem& rounded) {
    const auto same = [&](const LoopProblem& other) {
      return std::ranges::equal(other.dims(), rounded.dims(), {}, &LoopDimension::bound,
                                &LoopDimension::bound);
    };
    if (!same(problem) && std::ranges::none_of(roundings, same)) roundings.push_back(rounded);
  };
  for (const int64_t multiple : kMultiples) {
    LoopProblem all = problem;
    for (size_t d = 0; d < problem.dims().size(); ++d) {
      const int64_t size = problem.dimensions[d].bound, rounded = RoundUp(size, multiple);
      if (size == 1 || !Acceptable(size, rounded)) continue;
      all.dimensions[d].bound = rounded;
      LoopProblem one = problem;
      one.dimensions[d].bound = rounded;
      add(one);
    }
    add(all);
  }
  return roundings;
}

Result<Progress> Solve(const LoopProblem& problem, const Hierarchy& hierarchy,
                       const MapperOptions& options, int64_t rounds, ThreadPool& pool) {
  const Result<std::unique_ptr<Mapper>> mapper = Mapper::Make(problem, hierarchy, options);
  if (!mapper) return mapper.error();
  for (int64_t k = 0; k < rounds && (*mapper)->Step(pool); ++k) {
    if (options.stopped && options.stopped()) break;
  }
  return (*mapper)->progress();
}

Error Unsupported(std::string message, std::string hint) {
  return Error{
      .kind = ErrorKind::kUnsupported, .message = std::move(message), .hint = std::move(hint)};
}

double ValueOf(const LoopBounds& bounds, Goal goal) {
  return Bound{.energy_pj = bounds.energy_pj, .cycles = static_cast<double>(bounds.cycles)}.Value(
      goal);
}

}  // namespace

Result<ImperfectResult> MapWithAnyFactors(const LoopProblem& problem, const Hierarchy& hierarchy,
                                          const ImperfectOptions& options, ThreadPool& pool) {
  const MapperOptions& mapping = options.mapper;
  if (mapping.semantics != loopnest::Semantics::kExact) {
    return Unsupported("factors that do not divide are counted by semantics exact only",
                       "use semantics exact, or perfect factors");
  }
  if (!mapping.restrictions.none || mapping.limits != Limits{}) {
    return Unsupported("constraints are about factors that divide", "leave one of them out");
  }
  const std::vector<uint8_t> keep =
      mapping.keep.empty() ? KeepSets(problem, hierarchy) : mapping.keep;
  const Result<LoopBounds> bounds =
      LowerBounds(problem, hierarchy,
                  {.keep = mapping.decide_keep ? std::vector<uint8_t>() : keep,
                   .clock_ghz = mapping.clock_ghz});
  if (!bounds) return bounds.error();
  const Result<Progress> perfect = Solve(problem, hierarchy, mapping, options.rounds, pool);
  if (!perfect) return perfect.error();

  ImperfectResult result{.perfect = *perfect, .any = *perfect};
  const Result<loopnest::Setup> setup = loopnest::Prepare(problem, hierarchy, mapping.semantics,
                                                          /*extrapolate=*/true, mapping.clock_ghz);
  if (!setup) return setup.error();
  loopnest::Workspace workspace;
  Reserve(*setup, workspace);
  for (const LoopProblem& rounded : Roundings(problem)) {
    if (mapping.stopped && mapping.stopped()) break;
    const Result<Progress> found = Solve(rounded, hierarchy, mapping, options.rounds, pool);
    if (!found || !found->best) continue;
    Candidate candidate = *found->best;
    loopnest::Evaluate(*setup, candidate.mapping, workspace);
    if (workspace.nest_error.kind != loopnest::NestError::Kind::kNone) continue;
    if (workspace.exact.status != loopnest::ExactResult::Status::kOk) continue;
    candidate.cycles = static_cast<double>(workspace.exact.cycles);
    candidate.energy_pj = workspace.exact.energy;
    candidate.value =
        Bound{.energy_pj = candidate.energy_pj, .cycles = candidate.cycles}.Value(mapping.goal);
    result.any.counters.Add(found->counters);
    if (result.any.best && candidate.value >= result.any.best->value) continue;
    result.any.best = candidate;
    result.divides = false;
  }
  result.any.bound = ValueOf(*bounds, mapping.goal);
  if (result.any.best) result.any.bound = std::min(result.any.bound, result.any.best->value);
  result.any.status = Status::kBounded;
  return result;
}

}  // namespace tessera::exact
