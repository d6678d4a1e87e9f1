// Two searches, of which the second starts from what the first has found.
#include "tessera/search/exact/imperfect.h"

#include <memory>

namespace tessera::exact {
namespace {

Result<Progress> Solve(const LoopProblem& problem, const Hierarchy& hierarchy,
                       const MapperOptions& options, int64_t rounds, const Progress* before,
                       ThreadPool& pool) {
  const Result<std::unique_ptr<Mapper>> mapper = Mapper::Make(problem, hierarchy, options);
  if (!mapper) return mapper.error();
  if (before != nullptr && before->best) (*mapper)->Offer(before->best->mapping);
  for (int64_t k = 0; (rounds == 0 || k < rounds) && (*mapper)->Step(pool); ++k) {
    if (options.stopped && options.stopped()) break;
  }
  return (*mapper)->progress();
}

}  // namespace

bool Divides(const LoopProblem& problem, const LoopMapping& mapping) {
  for (size_t d = 0; d < problem.dims().size(); ++d) {
    int64_t product = 1;
    for (size_t i = 0; i < static_cast<size_t>(mapping.num_levels); ++i) {
      product *= int64_t{mapping.levels[i].temporal[d]} * mapping.levels[i].spatial[d];
    }
    if (product != problem.dimensions[d].bound) return false;
  }
  return true;
}

Result<ImperfectResult> MapWithAnyFactors(const LoopProblem& problem, const Hierarchy& hierarchy,
                                          const ImperfectOptions& options, ThreadPool& pool) {
  MapperOptions mapping = options.mapper;
  mapping.any_factors = false;
  const Result<Progress> perfect =
      Solve(problem, hierarchy, mapping, options.rounds, nullptr, pool);
  if (!perfect) return perfect.error();
  mapping.any_factors = true;
  const Result<Progress> any = Solve(problem, hierarchy, mapping, options.rounds, &*perfect, pool);
  if (!any) return any.error();
  return ImperfectResult{.perfect = *perfect,
                         .any = *any,
                         .divides = !any->best || Divides(problem, any->best->mapping)};
}

}  // namespace tessera::exact
