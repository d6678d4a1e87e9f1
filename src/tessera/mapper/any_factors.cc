// Mappings whose factors need not divide, after the proofs for those that do.
#include "tessera/mapper/any_factors.h"

#include <memory>
#include <utility>

#include "tessera/mapper/map_settings.h"
#include "tessera/search/exact/imperfect.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {
namespace {

// For each rounding of the sizes: enough to find a good mapping, the proofs of other sizes are of
// no use.
constexpr int64_t kRounds = 5;

Error Refused(std::string message, std::string hint) {
  return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

}  // namespace

Result<void> CheckAnyFactors(const MapJob& job) {
  if (!job.prove) {
    return Refused("factors any needs method auto or exact", "leave out --method or --factors");
  }
  if (job.settings.model->semantics() != loopnest::Semantics::kExact) {
    return Refused("factors that do not divide are counted by semantics exact only",
                   "leave out --semantics or --factors");
  }
  if (!job.problem.space.constraints.demands.empty()) {
    return Refused("constraints are about factors that divide",
                   "leave out --constraints, --dataflow or --factors");
  }
  if (!job.accelerator.constraints.demands.empty()) {
    return Refused("constraints, which the machine has, are about factors that divide",
                   "leave out --factors");
  }
  return {};
}

Result<void> TryAnyFactors(const MapJob& job, ThreadPool& pool,
                           const std::function<bool()>& stopped, LayerMapping& layer) {
  const Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job, layer.layer, layer.name);
  if (!problem) return problem.error();
  Result<exact::MapperOptions> options = exact::OptionsFor(**problem);
  if (!options) return options.error();
  options->stopped = stopped;
  const auto& [loops, hierarchy] = *(*problem)->loops();
  const Result<exact::ImperfectResult> found =
      exact::MapWithAnyFactors(loops, hierarchy, {.mapper = *options, .rounds = kRounds}, pool);
  if (!found) return found.error();
  if (!found->any.best || (layer.cost && found->any.best->value >= layer.value)) return {};
  const Result<std::unique_ptr<CostModel>> model = ModelOf(job, layer.layer);
  if (!model) return model.error();
  const Result<Cost> cost = Evaluate(**model, found->any.best->mapping);
  if (!cost) return cost.error();
  layer.mapping = found->any.best->mapping;
  layer.cost = *cost;
  layer.value = ValueOf(*cost, job.problem.objective);
  layer.point.reset();
  return {};
}

void BoundAnyFactors(Objective objective, LayerMapping& layer) {
  layer.bound = layer.bounds.Of(objective);
  if (layer.cost) layer.status = layer.bound ? MapStatus::kBounded : MapStatus::kHeuristic;
}

}  // namespace tessera
