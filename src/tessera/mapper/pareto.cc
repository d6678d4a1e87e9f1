// Fronts of layers by repeated exact search.
#include "tessera/map.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/part.h"
#include "tessera/record/clock.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class FrontFinder {
 public:
  FrontFinder(const MapJob& job, const RunHooks& hooks, double seconds, LayerFront& front)
      : job_(job), hooks_(hooks), front_(front) {
    if (seconds > 0) deadline_ = SteadySeconds() + seconds;
  }

  Result<void> Go() {
    if (Result<void> made = Make(); !made) return made;
    for (;;) {
      const Result<exact::Progress> progress = Search();
      if (!progress) return progress.error();
      front_.evaluations += progress->counters.evaluations;
      if (!progress->best) {
        front_.complete = progress->status == exact::Status::kInfeasible && AllOptimal();
        return {};
      }
      if (Result<void> added = Add(*progress); !added) return added;
      if (Over()) return {};
    }
  }

 private:
  Result<void> Make() {
    Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job_, {front_.name, front_.layer});
    if (!problem) return problem.error();
    problem_ = *std::move(problem);
    Result<exact::MapperOptions> options = exact::OptionsFor(*problem_);
    if (!options) return options.error();
    options_ = *std::move(options);
    options_.goal = exact::Goal::kEnergy;
    Result<std::unique_ptr<CostModel>> model = ModelOf(job_, front_.layer);
    if (!model) return model.error();
    model_ = *std::move(model);
    return {};
  }

  bool Over() const { return (hooks_.stopped && hooks_.stopped()) || SteadySeconds() >= deadline_; }
  bool AllOptimal() const {
    return std::all_of(front_.points.begin(), front_.points.end(),
                       [](const FrontPoint& point) { return point.status == MapStatus::kOptimal; });
  }

  // The least energy with at most options_.max_cycles.
  Result<exact::Progress> Search() {
    const auto& [loops, hierarchy] = *problem_->loops();
    const Result<std::unique_ptr<exact::Mapper>> mapper =
        exact::Mapper::Make(loops, hierarchy, options_);
    if (!mapper) return mapper.error();
    ThreadPool one(1);  // Layers are what runs side by side.
    // A point without proof may take a quarter of the time that is left, so that others follow.
    const double now = SteadySeconds();
    const double end = deadline_ < kInfinity ? now + (deadline_ - now) / 4 : kInfinity;
    for (int64_t round = 1; (*mapper)->Step(one); ++round) {
      if (job_.settings.proof_rounds > 0 && round >= job_.settings.proof_rounds) break;
      if ((hooks_.stopped && hooks_.stopped()) || SteadySeconds() >= end) break;
    }
    return (*mapper)->progress();
  }

  Result<void> Add(const exact::Progress& progress) {
    const Result<Cost> cost = Evaluate(*model_, progress.best->mapping);
    if (!cost) return cost.error();
    const bool optimal = progress.status == exact::Status::kOptimal;
    // Points that cost no less energy with more cycles are not on the front.
    while (!front_.points.empty() &&
           front_.points.back().cost.energy_pj >= cost->energy_pj * (1 - exact::kTolerance)) {
      front_.points.pop_back();
    }
    front_.points.push_back({.mapping = progress.best->mapping,
                             .cost = *cost,
                             .bound_pj = optimal ? cost->energy_pj : progress.bound,
                             .status = optimal ? MapStatus::kOptimal : MapStatus::kBounded});
    options_.max_cycles = static_cast<double>(cost->cycles) - 1;
    return {};
  }

  const MapJob& job_;
  const RunHooks& hooks_;
  LayerFront& front_;
  double deadline_ = kInfinity;
  std::unique_ptr<MappingProblem> problem_;
  std::unique_ptr<CostModel> model_;
  exact::MapperOptions options_;
};

}  // namespace

Result<NetworkFronts> FindFronts(const MapJob& job, int threads, const RunHooks& hooks) {
  const double start = SteadySeconds();
  const std::vector<NetworkLayer>& layers = job.network.layers;
  NetworkFronts fronts;
  fronts.layers.resize(layers.size());
  ThreadPool pool(threads);
  // Layers run one after another on every thread, each with its part of the time.
  const auto turns = (std::ssize(layers) + pool.threads() - 1) / std::max(1, pool.threads());
  const double seconds = std::max(job.settings.budget.seconds, job.settings.proof_seconds) /
                         static_cast<double>(std::max<int64_t>(1, turns));
  std::vector<Result<void>> outcomes(layers.size());
  std::mutex mutex;
  pool.ParallelFor(std::ssize(layers), 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
    const auto i = static_cast<size_t>(begin);
    fronts.layers[i] = {.name = layers[i].name, .count = layers[i].count, .layer = layers[i].layer};
    outcomes[i] = FrontFinder(job, hooks, seconds, fronts.layers[i]).Go();
    const std::lock_guard<std::mutex> guard(mutex);
    if (hooks.progress == nullptr || !outcomes[i]) return;
    hooks.progress->OnProgress(ProgressEvent::kDone,
                               {.name = layers[i].name, .samples = fronts.layers[i].evaluations});
  });
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!outcomes[i]) return InLayer(layers[i].name, outcomes[i].error());
  }
  fronts.interrupted = hooks.stopped && hooks.stopped();
  fronts.seconds = SteadySeconds() - start;
  return fronts;
}

}  // namespace tessera
