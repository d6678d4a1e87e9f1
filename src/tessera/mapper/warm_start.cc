// Similar layers, and their points as hints.
#include "tessera/mapper/warm_start.h"

#include "tessera/mapper/map_settings.h"
#include "tessera/policy/game.h"
#include "tessera/policy/play.h"
#include "tessera/policy/shipped.h"
#include "tessera/search.h"
#include "tessera/space/translate.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace tessera {
namespace {

// Before proofs.
constexpr policy::ActorOptions kBeforeProofs{.first = 32, .each = 4, .rethink = 0};

// How often sizes differ by a factor of 2, over all dimensions.
double Distance(const Layer& a, const Layer& b) {
  const std::vector<NamedSize> sizes_a = Dimensions(a), sizes_b = Dimensions(b);
  double sum = 0;
  for (size_t i = 0; i < sizes_a.size(); ++i) {
    sum += std::abs(
        std::log2(static_cast<double>(sizes_a[i].size) / static_cast<double>(sizes_b[i].size)));
  }
  return sum;
}

}  // namespace

bool StartsWarm(const MapJob& job) {
  if (!job.method || job.prove || job.settings.budget.seconds > 0) return false;
  return job.method->method->takes_hints;
}

size_t WaveEnd(size_t begin, size_t layers) { return std::min(layers, 2 * begin + 1); }

std::vector<Point> HintsOf(std::span<const LayerMapping> solved, const Layer& layer,
                           const MappingProblem& problem, const MapJob& job) {
  std::vector<std::pair<double, const LayerMapping*>> similar;
  for (const LayerMapping& other : solved) {
    if (!other.point || TypeName(other.layer) != TypeName(layer)) continue;
    similar.push_back({Distance(layer, other.layer), &other});
  }
  std::stable_sort(similar.begin(), similar.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Point> hints;
  for (const auto& [distance, other] : similar) {
    const Result<std::unique_ptr<MappingProblem>> solved_problem =
        ProblemOf(job, other->layer, other->name);
    if (!solved_problem) continue;
    const Point hint = Translate((*solved_problem)->space(), *other->point, problem.space());
    if (std::find(hints.begin(), hints.end(), hint) == hints.end()) hints.push_back(hint);
  }
  return hints;
}

bool WantsProposals(const MapJob& job) {
  const std::string& name = job.settings.policy;
  return job.prove && (name.empty() ? job.method.has_value() : name != "none");
}

std::shared_ptr<const policy::Networks> PolicyOf(const MapJob& job) {
  if (job.policy != nullptr || !WantsProposals(job)) return job.policy;
  const std::string& name = job.settings.policy;
  auto loaded = policy::LoadPolicy(name.empty() ? "default" : name, job.settings.model.info().name);
  return loaded ? *std::move(loaded) : nullptr;
}

bool PolicyPlays(const MapJob& job, const MappingProblem& problem) {
  const std::shared_ptr<const policy::Networks> networks = PolicyOf(job);
  if (networks == nullptr) return false;
  const std::unique_ptr<policy::Game> game = policy::MakeGame(problem);
  return game != nullptr && game->features() == networks->features();
}

std::vector<Point> PolicyHints(const MapJob& job, const MappingProblem& problem, uint64_t seed) {
  if (job.policy == nullptr || job.prove || !job.method->method->takes_hints) return {};
  const std::unique_ptr<policy::Game> game = policy::MakeGame(problem);
  if (game == nullptr || game->features() != job.policy->features()) return {};
  constexpr int64_t kProposals = 4;
  return policy::Actor(*game, *job.policy, seed).Propose(kProposals);
}

const MethodChoice& PolicyChoice() {
  static const MethodChoice kChoice =
      *ParseMethodChoice(fmt::format("policy:first={}:each={}:rethink={}", kBeforeProofs.first,
                                     kBeforeProofs.each, kBeforeProofs.rethink));
  return kChoice;
}

std::optional<std::pair<LoopMapping, Cost>> HeldProposal(const MapJob& job,
                                                         const LayerMapping& layer) {
  MappingProblemOptions options = ProblemOptionsOf(job, layer.name);
  options.space.decide_keep = false;
  const Result<std::unique_ptr<MappingProblem>> problem =
      MappingProblem::Make(layer.layer, job.accelerator, job.settings.model, options);
  if (!problem || !PolicyPlays(job, **problem)) return std::nullopt;
  const std::unique_ptr<policy::Game> game = policy::MakeGame(**problem);
  const std::vector<Point> points =
      policy::Actor(*game, *PolicyOf(job), /*seed=*/0, kBeforeProofs).Propose(1);
  if (points.empty()) return std::nullopt;
  const Trial trial{.point = points.front(), .outcome = (*problem)->Evaluate(points.front())};
  if (!trial.outcome.feasible()) return std::nullopt;
  return std::pair(std::get<LoopMapping>((*problem)->space().Decode(trial.point)),
                   (*problem)->CostOf(trial));
}

}  // namespace tessera
