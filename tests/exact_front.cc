// One point after the other: the least energy with fewer cycles than the last point.
#include "exact_front.h"

namespace tessera::exact {

Result<ParetoFront> FindParetoFront(const LoopProblem& problem, const Hierarchy& hierarchy,
                                    const ParetoOptions& options, ThreadPool& pool) {
  ParetoFront front;
  MapperOptions mapping = options.mapper;
  mapping.goal = Goal::kEnergy;
  mapping.limits.cycles = kInfinity;
  while (std::ssize(front.points) < options.max_points) {
    const Result<std::unique_ptr<Mapper>> mapper = Mapper::Make(problem, hierarchy, mapping);
    if (!mapper) return mapper.error();
    int64_t rounds = 0;
    while ((*mapper)->Step(pool)) {
      if (++rounds == options.max_rounds) return front;
    }
    const Progress progress = (*mapper)->progress();
    front.complete = progress.status == Status::kInfeasible;
    if (progress.status != Status::kOptimal || !progress.best) return front;
    // Values within the tolerance are equal, and then fewer cycles win.
    while (!front.points.empty() &&
           front.points.back().energy_pj >= progress.best->energy_pj * (1 - kTolerance)) {
      front.points.pop_back();
    }
    front.points.push_back(*progress.best);
    mapping.limits.cycles = progress.best->cycles - 1;
  }
  return front;
}

}  // namespace tessera::exact
