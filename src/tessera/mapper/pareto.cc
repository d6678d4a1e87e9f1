// Fronts of layers: both ends by search and proof, the points between them by repeated exact
// search.
#include "tessera/map.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>

#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/part.h"
#include "tessera/record/clock.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The mappings of least energy and of fewest cycles.
struct Ends {
  const LayerMapping& energy;
  const LayerMapping& latency;
};

class FrontFinder {
 public:
  FrontFinder(const MapJob& job, const RunHooks& hooks, double deadline, const Ends& ends,
              LayerFront& front)
      : job_(job), hooks_(hooks), deadline_(deadline), ends_(ends), front_(front) {}

  Result<void> Go() {
    if (!ends_.energy.mapping || !ends_.latency.mapping) return {};
    if (Result<void> made = Make(); !made) return made;
    Add(ends_.energy, ends_.energy.bound.value_or(0));
    bool searched = true;
    while (searched && MoreAhead()) {
      const Result<bool> found = AddNext();
      if (!found) return found.error();
      searched = *found;
    }
    Close();
    return {};
  }

 private:
  Result<void> Make() {
    Result<std::unique_ptr<MappingProblem>> problem = ProblemOf(job_, front_.layer, front_.name);
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
  bool FewestProved() const { return ends_.latency.status == MapStatus::kOptimal; }
  // Whether there may be mappings with fewer cycles than those of the last point.
  bool MoreAhead() const {
    return !FewestProved() || front_.points.back().cost.cycles > ends_.latency.cost->cycles;
  }

  // The least energy with fewer cycles than the last point has; false if time is over, or if there
  // are none.
  Result<bool> AddNext() {
    if (Over()) return false;
    options_.limits.cycles =
        std::min(limit_cycles_, static_cast<double>(front_.points.back().cost.cycles) - 1);
    const double now = SteadySeconds();
    // A point without proof may take a quarter of the time that is left, so that others follow.
    const double end = deadline_ < kInfinity ? now + (deadline_ - now) / 4 : kInfinity;
    options_.stopped = [this, end] {
      return SteadySeconds() >= end || (hooks_.stopped && hooks_.stopped());
    };
    const auto& [loops, hierarchy] = *problem_->loops();
    const Result<std::unique_ptr<exact::Mapper>> mapper =
        exact::Mapper::Make(loops, hierarchy, options_);
    if (!mapper) return mapper.error();
    (*mapper)->Offer(std::get<LoopMapping>(*ends_.latency.mapping));
    ThreadPool one(1);  // Layers are what runs side by side.
    for (int64_t round = 1; (*mapper)->Step(one); ++round) {
      if (job_.settings.proof_rounds > 0 && round >= job_.settings.proof_rounds) break;
      if (options_.stopped()) break;
    }
    const exact::Progress progress = (*mapper)->progress();
    front_.evaluations += progress.counters.evaluations;
    if (!progress.best) {
      none_ahead_ = progress.status == exact::Status::kInfeasible;
      return false;
    }
    const Result<Cost> cost = Evaluate(*model_, progress.best->mapping);
    if (!cost) return cost.error();
    const bool optimal = progress.status == exact::Status::kOptimal;
    // With fewer cycles no mapping needs less energy than what was shown of more, which holds also
    // where time was over before this point had a bound of its own.
    const double bound_pj = std::max(progress.bound, covered_.back());
    Add({.mapping = progress.best->mapping,
         .cost = *cost,
         .bound_pj = optimal ? cost->energy_pj : std::min(bound_pj, cost->energy_pj),
         .status = optimal ? MapStatus::kOptimal : MapStatus::kBounded});
    return true;
  }

  void Add(const LayerMapping& end, double bound_pj) {
    Add({.mapping = std::get<LoopMapping>(*end.mapping),
         .cost = *end.cost,
         .bound_pj = std::min(bound_pj, end.cost->energy_pj),
         .status = StatusOf(end.cost->energy_pj, bound_pj)});
  }

  // A point with fewer cycles than all others.
  void Add(FrontPoint point) {
    // Points that cost no less energy with more cycles are not on the front; what was shown of
    // mappings with as many cycles goes on to hold.
    double bound_pj = point.bound_pj;
    while (!front_.points.empty() &&
           front_.points.back().cost.energy_pj >= point.cost.energy_pj * (1 - exact::kTolerance)) {
      bound_pj = std::min(bound_pj, covered_.back());
      front_.points.pop_back();
      covered_.pop_back();
    }
    front_.points.push_back(point);
    covered_.push_back(bound_pj);
  }

  // The end of fewest cycles, if time was over before it was reached, and the gaps.
  void Close() {
    const int64_t fewest = ends_.latency.cost->cycles;
    if (front_.points.back().cost.cycles > fewest) {
      // Mappings with fewer cycles than the last point need no less energy than those with more.
      const double least_pj = covered_.back();
      const bool proved = FewestProved() && !ends_.latency.then.empty() &&
                          ends_.latency.then.front().objective == Objective::kEnergy &&
                          ends_.latency.then.front().proved;
      Add(ends_.latency, proved ? ends_.latency.cost->energy_pj : least_pj);
      covered_.back() = std::min(covered_.back(), least_pj);
    }
    double gap = 0;
    for (size_t i = 0; i < covered_.size(); ++i) {
      const double energy_pj = front_.points[i].cost.energy_pj;
      gap = std::max(gap, covered_[i] > 0 ? energy_pj / covered_[i] - 1 : kInfinity);
    }
    if (gap < kInfinity) front_.gap = gap <= exact::kTolerance ? 0 : gap;
    const double cycles = static_cast<double>(front_.points.back().cost.cycles);
    if (none_ahead_ || FewestProved()) {
      front_.cycles_gap = 0;
    } else if (ends_.latency.bound.value_or(0) > 0) {
      front_.cycles_gap = std::max(0.0, cycles / *ends_.latency.bound - 1);
    }
    front_.complete = front_.gap == 0.0 && front_.cycles_gap == 0.0;
  }

  const MapJob& job_;
  const RunHooks& hooks_;
  const double deadline_;
  const Ends ends_;
  LayerFront& front_;
  const double limit_cycles_ = job_.problem.limits.Of(Objective::kLatency);
  std::vector<double> covered_;  // by point: no mapping between it and the one before needs less
  bool none_ahead_ = false;
  std::unique_ptr<MappingProblem> problem_;
  std::unique_ptr<CostModel> model_;
  exact::MapperOptions options_;
};

// The best mapping of every layer for one objective.
Result<NetworkMapping> FindEnd(const MapJob& job, Objective objective, double seconds, int threads,
                               const RunHooks& hooks) {
  MapSettings settings = job.settings;
  settings.objective = objective;
  settings.then.clear();
  settings.budget.seconds = seconds;
  settings.proof_seconds = 0;
  Result<MapJob> end = MakeMapJob(settings, job.network, job.accelerator);
  if (!end) return end.error();
  return MapNetwork(*end, threads, {.progress = hooks.progress, .stopped = hooks.stopped});
}

}  // namespace

Result<NetworkFronts> FindFronts(const MapJob& job, int threads, const RunHooks& hooks) {
  const double start = SteadySeconds();
  const double seconds = std::max(job.settings.budget.seconds, job.settings.proof_seconds);
  const double deadline = seconds > 0 ? start + seconds : kInfinity;
  // Fewest cycles are mostly proved at once: what they leave of their third goes to the energy, of
  // which the first point's gap is a gap of the whole front.
  const Result<NetworkMapping> latency =
      FindEnd(job, Objective::kLatency, seconds / 3, threads, hooks);
  if (!latency) return latency.error();
  const double left = seconds > 0 ? std::max(deadline - SteadySeconds(), 0.01) : 0;
  const Result<NetworkMapping> energy = FindEnd(job, Objective::kEnergy, left / 2, threads, hooks);
  if (!energy) return energy.error();
  const std::vector<NetworkLayer>& layers = job.network.layers;
  NetworkFronts fronts;
  fronts.layers.resize(layers.size());
  ThreadPool pool(threads);
  // Layers run one after another on every thread, each with its part of the time.
  const auto turns = (std::ssize(layers) + pool.threads() - 1) / std::max(1, pool.threads());
  const double share =
      (deadline - SteadySeconds()) / static_cast<double>(std::max<int64_t>(1, turns));
  std::vector<Result<void>> outcomes(layers.size());
  std::mutex mutex;
  pool.ParallelFor(std::ssize(layers), 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
    const auto i = static_cast<size_t>(begin);
    const Ends ends{energy->layers[i], latency->layers[i]};
    LayerFront& front = fronts.layers[i];
    front = {.name = layers[i].name,
             .count = layers[i].count,
             .layer = layers[i].layer,
             .evaluations = ends.energy.samples() + ends.latency.samples()};
    const double end = std::min(deadline, SteadySeconds() + share);
    outcomes[i] = FrontFinder(job, hooks, end, ends, front).Go();
    const std::lock_guard<std::mutex> guard(mutex);
    if (hooks.progress == nullptr || !outcomes[i]) return;
    hooks.progress->OnProgress(ProgressEvent::kDone,
                               {.name = layers[i].name, .samples = front.evaluations});
  });
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!outcomes[i]) return InLayer(layers[i].name, outcomes[i].error());
  }
  fronts.interrupted = hooks.stopped && hooks.stopped();
  const bool complete = std::ranges::all_of(fronts.layers, &LayerFront::complete);
  fronts.stopped_by = complete             ? MapStop::kProved
                      : fronts.interrupted ? MapStop::kInterrupted
                      : seconds > 0        ? MapStop::kTime
                                           : MapStop::kRounds;
  fronts.seconds = SteadySeconds() - start;
  return fronts;
}

}  // namespace tessera
