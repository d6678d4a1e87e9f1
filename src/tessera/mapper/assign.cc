// Samples of a search on one layer, and the groups that their correlations give.
#include "tessera/map.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/agents/assignment.h"
#include "tessera/mapper/map_settings.h"
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
  const SearchSetup setup{.space = problem.space(),
                          .seed = static_cast<uint64_t>(job.settings.seed),
                          .samples = job.settings.budget.samples};
  ThreadPool pool(options.threads);
  Evaluator evaluator(problem, pool);
  Collector collector;
  const Result<SearchResult> result = RunMethod(
      policy, setup, evaluator,
      {.budget = job.settings.budget, .batch = job.settings.points, .interrupted = options.stopped},
      &collector);
  if (!result) return result.error();
  return std::move(collector.all);
}

constexpr std::array<std::string_view, 2> kOrderNames = {"lehmer", "positions"};
constexpr std::array<std::string_view, 2> kRewardNames = {"inverse", "log"};

Result<AssignmentOptions> Typed(const AssignOptions& options) {
  const Result<CorrelationDistance> distance = FindDistance(options.distance);
  if (!distance) return distance.error();
  const Result<Linkage> linkage = FindLinkage(options.linkage);
  if (!linkage) return linkage.error();
  const auto orders = FindName<OrderColumns>("orders", options.orders, kOrderNames);
  if (!orders) return orders.error();
  const auto reward = FindName<RewardScale>("reward", options.reward, kRewardNames);
  if (!reward) return reward.error();
  return AssignmentOptions{
      .correlation = {.top = options.top, .orders = *orders, .reward = *reward},
      .distance = *distance,
      .linkage = *linkage,
      .agents = options.agents,
      .threshold = options.threshold};
}

}  // namespace

std::vector<std::string> LinkageNames() { return {kLinkageNames.begin(), kLinkageNames.end()}; }
std::vector<std::string> DistanceNames() { return {kDistanceNames.begin(), kDistanceNames.end()}; }

Result<AgentAssignment> AssignAgents(const MapJob& job, const MethodChoice& policy,
                                     const AssignOptions& options) {
  const Result<AssignmentOptions> typed = Typed(options);
  if (!typed) return typed.error();
  const NetworkLayer& layer = job.network.layers.front();
  const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job, layer.layer, layer.name);
  if (!problem) return problem.error();
  const Result<std::vector<Trial>> trials = Collect(job, **problem, policy, options);
  if (!trials) return trials.error();
  Result<AssignmentStudy> study = AssignAgents((*problem)->space(), *trials, *typed);
  if (!study) return study.error();
  return AgentAssignment{.agents = study->assignment.agents,
                         .study = std::make_shared<const AssignmentStudy>(*std::move(study))};
}

}  // namespace tessera
