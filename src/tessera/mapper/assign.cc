#include "tessera/mapper/assign.h"

#include <memory>
#include <utility>
#include <vector>

#include "tessera/part.h"
#include "tessera/search/driver.h"

namespace tessera {
namespace {

// Keeps everything that a search evaluates.
class Collector final : public SearchObserver {
 public:
  Result<void> OnTrials(std::span<const Trial> trials, const SearchResult& /*result*/) override {
    all.insert(all.end(), trials.begin(), trials.end());
    return {};
  }
  std::vector<Trial> all;
};

Result<std::vector<Trial>> Collect(const MapJob& job, const MappingProblem& problem,
                                   const MethodChoice& policy, const AssignOptions& options) {
  const Result<std::unique_ptr<Searcher>> searcher =
      policy.Make({.space = problem.space(),
                   .seed = static_cast<uint64_t>(job.settings.seed),
                   .samples = job.settings.budget.samples});
  if (!searcher) return searcher.error();
  ThreadPool pool(options.threads);
  Evaluator evaluator(problem, pool);
  Collector collector;
  const Result<SearchResult> result = RunSearch(
      **searcher, evaluator,
      {.budget = job.settings.budget, .batch = job.settings.points, .interrupted = options.stopped},
      &collector);
  if (!result) return result.error();
  return std::move(collector.all);
}

}  // namespace

Result<AssignmentStudy> AssignAgents(const MapJob& job, const MethodChoice& policy,
                                     const AssignOptions& options) {
  const Result<std::unique_ptr<MappingProblem>> problem = MappingProblem::Make(
      job.network.layers.front().layer, job.accelerator, job.settings.model, job.problem);
  if (!problem) return problem.error();
  const Result<std::vector<Trial>> trials = Collect(job, **problem, policy, options);
  if (!trials) return trials.error();
  return AssignAgents((*problem)->space(), *trials, options.assignment);
}

}  // namespace tessera
