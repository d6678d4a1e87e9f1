// Mappings to learn from.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/mapper/policy_training.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {

KnownMapping TeachExactly(const MappingProblem& problem, int64_t rounds,
                          const std::function<bool()>& stopped) {
  KnownMapping known;
  Result<exact::MapperOptions> options = exact::OptionsFor(problem);
  if (!options || rounds == 0) return known;
  // A lesson needs a good mapping, not a proof: small rounds, few nodes.
  options->max_nodes = 100'000;
  options->split_steps = 20'000;
  options->node_steps = 4'000;
  options->dive_width = 16;
  options->stopped = stopped;
  const auto& [loops, hierarchy] = *problem.loops();
  const Result<std::unique_ptr<exact::Mapper>> mapper =
      exact::Mapper::Make(loops, hierarchy, *options);
  if (!mapper) return known;
  ThreadPool one(1);
  for (int64_t i = 0; i < rounds && (*mapper)->Step(one); ++i) {
    if (stopped && stopped()) return known;
  }
  const exact::Progress progress = (*mapper)->progress();
  if (!progress.best) return known;
  const Result<Point> point = problem.space().Encode(progress.best->mapping);
  if (!point) return known;
  const Outcome outcome = problem.Evaluate(*point);
  if (!outcome.feasible()) return known;
  return {.point = *point, .value = outcome.value, .known = true};
}

void ImproveNearBy(const MappingProblem& problem, int64_t evaluations, CounterRng& rng,
                   KnownMapping& known, const std::function<bool()>& stopped) {
  constexpr int64_t kBetweenPolls = 64;
  const std::unique_ptr<Problem::Workspace> workspace = problem.MakeWorkspace();
  const MappingSpace& space = problem.space();
  for (int64_t i = 0; i < evaluations; ++i) {
    if (i % kBetweenPolls == 0 && stopped && stopped()) return;
    Point point = known.known ? space.Neighbor(known.point, rng) : space.Sample(rng, 0);
    for (int64_t more = known.known ? rng.UniformInt(3) : 0; more > 0; --more) {
      point = space.Neighbor(point, rng);
    }
    const Outcome outcome = problem.Evaluate(point, *workspace);
    // Equal ones are taken, too: plateaus are wide.
    if (!outcome.feasible() || (known.known && outcome.value > known.value)) continue;
    known = {.point = point, .value = outcome.value, .known = true};
  }
}

// Many starts, of which the better ones go on: a walk from one start ends where that start led it.
KnownMapping TeachByWalks(const MappingProblem& problem, int64_t evaluations, CounterRng& rng,
                          const std::function<bool()>& stopped) {
  constexpr int64_t kStarts = 16, kGoOn = 4;
  const int64_t first = evaluations / (4 * kStarts), second = evaluations / (3 * kGoOn);
  const auto better = [](const KnownMapping& a, const KnownMapping& b) {
    return a.known != b.known ? a.known : a.value < b.value;
  };
  const std::unique_ptr<Problem::Workspace> workspace = problem.MakeWorkspace();
  std::vector<KnownMapping> walks(kStarts);
  for (KnownMapping& known : walks) {
    if (stopped && stopped()) return walks.front();
    for (int64_t i = 0; i < first / 4; ++i) {
      const Point point = problem.space().Sample(rng, 0);
      const Outcome outcome = problem.Evaluate(point, *workspace);
      if (!outcome.feasible() || (known.known && outcome.value >= known.value)) continue;
      known = {.point = point, .value = outcome.value, .known = true};
    }
    ImproveNearBy(problem, first - first / 4, rng, known, stopped);
  }
  std::stable_sort(walks.begin(), walks.end(), better);
  walks.resize(kGoOn);
  for (KnownMapping& known : walks) ImproveNearBy(problem, second, rng, known, stopped);
  std::stable_sort(walks.begin(), walks.end(), better);
  KnownMapping best = walks.front();
  ImproveNearBy(problem, evaluations - kStarts * first - kGoOn * second, rng, best, stopped);
  return best;
}

}  // namespace tessera
