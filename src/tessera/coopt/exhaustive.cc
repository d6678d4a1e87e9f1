#include "tessera/coopt/exhaustive.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/result.h"
#include "tessera/search.h"

namespace tessera::coopt {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Candidates that are measured before bounds are compared again.
constexpr size_t kBatch = 16;

// Accelerators and schedules of each layer that are measured for a first good result.
constexpr size_t kFirstHardware = 12;
constexpr size_t kFirstSchedules = 8;

double Bound(const CooptProblem& problem, size_t hardware, size_t layer,
             const SchedulePoint& point) {
  const int64_t cycles = problem.task(hardware, layer).space.LowerBoundCycles(point);
  return problem.Value(hardware, layer, cycles, /*energy_pj=*/0);
}

// Of the objective, by layer.
std::vector<double> LayerBounds(const CooptProblem& problem, size_t hardware) {
  std::vector<double> bounds;
  for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
    const Task& task = problem.task(hardware, layer);
    const auto floor = static_cast<int64_t>(task.space.FloorCycles());
    double least = task.space.enumerates() ? kInfinity
                                           : problem.Value(hardware, layer, floor, /*energy_pj=*/0);
    for (const SchedulePoint& point : task.candidates) {
      least = std::min(least, Bound(problem, hardware, layer, point));
    }
    bounds.push_back(least);
  }
  return bounds;
}

// All schedules that may have a program, by what the estimate promises.
std::vector<SchedulePoint> MostPromisingFirst(const Task& task) {
  std::vector<std::pair<double, SchedulePoint>> ranked;
  if (task.space.enumerates()) {
    for (size_t i = 0; i < task.candidates.size(); ++i) {
      ranked.emplace_back(task.estimates[i], task.candidates[i]);
    }
  } else {
    for (int64_t i = 0; i < task.space.num_points(); ++i) {
      const SchedulePoint point = task.space.At(i);
      if (task.space.Valid(point)) ranked.emplace_back(task.space.EstimateCycles(point), point);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<SchedulePoint> order;
  for (const auto& [estimate, point] : ranked) order.push_back(point);
  return order;
}

// Measures, or remembers: accelerators that differ in nothing but buffers run the same programs.
class Cache {
 public:
  Cache(const CooptProblem& problem, const Simulator& simulator) : Cache(problem, simulator, {}) {}
  Cache(const CooptProblem& problem, const Simulator& simulator, std::function<bool(int64_t)> go_on)
      : problem_(problem), simulator_(simulator), go_on_(std::move(go_on)) {}

  // Whether the search is to be ended.
  bool stopped() const { return stopped_; }

  // Returns how many were simulated. Energies are those of the accelerator that was measured.
  int64_t Measure(std::span<Measured> batch) {
    std::vector<Measured> fresh;
    for (const Measured& item : batch) {
      if (!known_.contains(KeyOf(item.request))) fresh.push_back(item);
    }
    simulator_.Measure(fresh);
    for (const Measured& item : fresh) known_.emplace(KeyOf(item.request), item.outcome);
    for (Measured& item : batch) item.outcome = known_.at(KeyOf(item.request));
    stopped_ = stopped_ || (go_on_ && !go_on_(std::ssize(known_)));
    return std::ssize(fresh);
  }

 private:
  // With the first accelerator of its kind.
  Request KeyOf(Request request) {
    HardwarePoint kind = problem_.hardware().point(request.hardware);
    for (size_t knob = 0; knob < std::min(kind.size(), problem_.hardware().knobs()); ++knob) {
      if (problem_.hardware().is_buffer(knob)) kind[knob] = 0;
    }
    request.hardware = kinds_.try_emplace(kind, request.hardware).first->second;
    return request;
  }

  const CooptProblem& problem_;
  const Simulator& simulator_;
  const std::function<bool(int64_t)> go_on_;
  bool stopped_ = false;
  std::map<HardwarePoint, uint32_t> kinds_;
  std::unordered_map<Request, MeasuredOutcome, RequestHash> known_;
};

// The best of the first `most` schedules whose bound is below `limit`.
LayerOptimum Search(const CooptProblem& problem, Cache& cache, size_t hardware, size_t layer,
                    size_t most, double limit) {
  const bool by_cycles = problem.options().objective != CooptObjective::kEdpProxy;
  LayerOptimum optimum;
  std::vector<Measured> batch;
  const auto measure = [&] {
    optimum.measured += cache.Measure(batch);
    for (const Measured& item : batch) {
      if (!item.outcome.valid) continue;
      if (!optimum.best || item.outcome.value < optimum.best->outcome.value) optimum.best = item;
      limit = std::min(limit, item.outcome.value);
    }
    batch.clear();
  };
  size_t seen = 0;
  for (const SchedulePoint& point : MostPromisingFirst(problem.task(hardware, layer))) {
    if (seen++ == most || cache.stopped()) break;
    if (by_cycles && Bound(problem, hardware, layer, point) >= limit) continue;
    batch.push_back({{static_cast<uint32_t>(hardware), static_cast<uint32_t>(layer), point}});
    if (batch.size() == kBatch) measure();
  }
  measure();
  return optimum;
}

// Branch and bound over accelerators.
class NetworkSearch {
 public:
  NetworkSearch(const CooptProblem& problem, const Simulator& simulator, const GoOn& go_on)
      : problem_(problem),
        simulator_(simulator),
        cache_(problem, simulator,
               [this, &go_on](int64_t measured) {
                 return !go_on ||
                        go_on(measured,
                              best_.layers.empty() ? std::nullopt : std::optional(best_.value));
               }),
        best_{.value = kInfinity} {
    best_.layer_measured.resize(problem.layers().size());
  }

  Result<NetworkOptimum> Run(std::span<const size_t> among) {
    struct Candidate {
      double bound;
      size_t hardware;
      std::vector<double> layers;
    };
    std::vector<Candidate> order;
    for (const size_t hardware : among) {
      std::vector<double> bounds = LayerBounds(problem_, hardware);
      const double sum = std::accumulate(bounds.begin(), bounds.end(), 0.0);
      order.push_back({sum, hardware, std::move(bounds)});
    }
    std::sort(order.begin(), order.end(), [](const Candidate& a, const Candidate& b) {
      return a.bound != b.bound ? a.bound < b.bound : a.hardware < b.hardware;
    });
    for (size_t i = 0; i < std::min(kFirstHardware, order.size()); ++i) {
      Try(order[i].hardware, order[i].layers, kFirstSchedules);
    }
    best_.hardware_tried = 0;
    for (const Candidate& candidate : order) {
      if (candidate.bound > best_.value || cache_.stopped()) break;
      Try(candidate.hardware, candidate.layers, std::numeric_limits<size_t>::max());
    }
    if (cache_.stopped()) {
      return Error{.kind = ErrorKind::kBudget, .message = "ended before the optimum was known"};
    }
    if (best_.layers.empty()) {
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = "no accelerator of the space runs all layers"};
    }
    simulator_.Measure(best_.layers);  // for the energies of this accelerator
    return std::move(best_);
  }

 private:
  // Gives up once the layers so far and the bounds of the others exceed the best.
  void Try(size_t hardware, const std::vector<double>& bounds, size_t most) {
    ++best_.hardware_tried;
    std::vector<Measured> layers;
    double sum = std::accumulate(bounds.begin(), bounds.end(), 0.0);
    for (size_t layer = 0; layer < bounds.size(); ++layer) {
      const double others = sum - bounds[layer];
      // A little more than what is left: equal sums in another order may differ in the last bit.
      const double limit = (best_.value - others) * (1 + 1e-12);
      LayerOptimum optimum = Search(problem_, cache_, hardware, layer, most, limit);
      best_.measured += optimum.measured;
      best_.layer_measured[layer] += optimum.measured;
      if (!optimum.best || cache_.stopped()) return;
      sum = others + optimum.best->outcome.value;
      if (sum > best_.value) return;
      layers.push_back(*std::move(optimum.best));
    }
    // Summed anew in layer order, as in a session.
    double value = 0;
    for (const Measured& layer : layers) value += layer.outcome.value;
    if (value >= best_.value) return;
    best_.value = value;
    best_.hardware = hardware;
    best_.layers = std::move(layers);
  }

  const CooptProblem& problem_;
  const Simulator& simulator_;
  Cache cache_;
  NetworkOptimum best_;
};

}  // namespace

LayerOptimum BestOfLayer(const CooptProblem& problem, const Simulator& simulator, size_t hardware,
                         size_t layer) {
  Cache cache(problem, simulator);
  return Search(problem, cache, hardware, layer, std::numeric_limits<size_t>::max(), kInfinity);
}

std::vector<Measured> Landscape(const CooptProblem& problem, const Simulator& simulator,
                                size_t hardware, size_t layer) {
  std::vector<Measured> all;
  for (const SchedulePoint& point : problem.task(hardware, layer).candidates) {
    all.push_back({{static_cast<uint32_t>(hardware), static_cast<uint32_t>(layer), point}});
  }
  simulator.Measure(all);
  return all;
}

Result<void> CheckSize(const CooptProblem& problem, std::span<const size_t> among) {
  int64_t schedules = 0;
  for (const size_t hardware : among) {
    for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
      const ScheduleSpace& space = problem.task(hardware, layer).space;
      if (!space.enumerates()) schedules += space.num_points();
      if (schedules <= kMostUnbounded) continue;
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = fmt::format(
                       "more than {} schedules have no bound to rule them out "
                       "by; {} alone has {} on {}",
                       WithThousands(kMostUnbounded), problem.layers()[layer].name,
                       WithThousands(space.num_points()), problem.hardware().Name(hardware))};
    }
  }
  return {};
}

// Carried out by BestOfNetwork: there is nothing to propose and to learn.
MethodInfo ExhaustiveMethod() {
  return {.name = "exhaustive",
          .summary = "measures all that a lower bound does not rule out: the optimum of cooptimize",
          .proves = true};
}

Result<NetworkOptimum> BestOfNetwork(const CooptProblem& problem, const Simulator& simulator,
                                     std::span<const size_t> among, const GoOn& go_on) {
  TESSERA_CHECK(problem.options().objective != CooptObjective::kEdpProxy);
  return NetworkSearch(problem, simulator, go_on).Run(among);
}

}  // namespace tessera::coopt
