#include "tessera/coopt/exhaustive.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tessera/base/check.h"

namespace tessera::coopt {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Candidates that are measured before bounds are compared again.
constexpr size_t kBatch = 16;

// Accelerators and schedules of each layer that are measured for a first good result.
constexpr size_t kFirstHardware = 12;
constexpr size_t kFirstSchedules = 8;

double Bound(const Problem& problem, size_t hardware, size_t layer, const SchedulePoint& point) {
  const int64_t cycles = problem.task(hardware, layer).space.LowerBoundCycles(point);
  return problem.Value(hardware, layer, cycles, /*energy_pj=*/0);
}

// Of the objective, by layer.
std::vector<double> LayerBounds(const Problem& problem, size_t hardware) {
  std::vector<double> bounds;
  for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
    double least = kInfinity;
    for (const SchedulePoint& point : problem.task(hardware, layer).candidates) {
      least = std::min(least, Bound(problem, hardware, layer, point));
    }
    bounds.push_back(least);
  }
  return bounds;
}

// Candidates by what the estimate promises.
std::vector<size_t> MostPromisingFirst(const Task& task) {
  std::vector<size_t> order(task.candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return task.estimates[a] < task.estimates[b]; });
  return order;
}

// The best of the first `most` candidates whose bound is below `limit`.
LayerOptimum Search(const Problem& problem, const Simulator& simulator, size_t hardware,
                    size_t layer, size_t most, double limit) {
  const Task& task = problem.task(hardware, layer);
  const bool by_cycles = problem.options().objective != Objective::kEdpProxy;
  LayerOptimum optimum;
  std::vector<Measured> batch;
  const auto measure = [&] {
    simulator.Measure(batch);
    optimum.measured += std::ssize(batch);
    for (const Measured& item : batch) {
      if (!item.outcome.valid) continue;
      if (!optimum.best || item.outcome.value < optimum.best->outcome.value) optimum.best = item;
      limit = std::min(limit, item.outcome.value);
    }
    batch.clear();
  };
  size_t seen = 0;
  for (const size_t i : MostPromisingFirst(task)) {
    if (seen++ == most) break;
    const SchedulePoint& point = task.candidates[i];
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
  NetworkSearch(const Problem& problem, const Simulator& simulator)
      : problem_(problem), simulator_(simulator), best_{.value = kInfinity} {
    best_.layer_measured.resize(problem.layers().size());
  }

  NetworkOptimum Run(std::span<const size_t> among) {
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
      if (candidate.bound > best_.value) break;
      Try(candidate.hardware, candidate.layers, std::numeric_limits<size_t>::max());
    }
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
      LayerOptimum optimum = Search(problem_, simulator_, hardware, layer, most, limit);
      best_.measured += optimum.measured;
      best_.layer_measured[layer] += optimum.measured;
      if (!optimum.best) return;
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

  const Problem& problem_;
  const Simulator& simulator_;
  NetworkOptimum best_;
};

}  // namespace

LayerOptimum BestOfLayer(const Problem& problem, const Simulator& simulator, size_t hardware,
                         size_t layer) {
  return Search(problem, simulator, hardware, layer, std::numeric_limits<size_t>::max(), kInfinity);
}

std::vector<Measured> Landscape(const Problem& problem, const Simulator& simulator, size_t hardware,
                                size_t layer) {
  std::vector<Measured> all;
  for (const SchedulePoint& point : problem.task(hardware, layer).candidates) {
    all.push_back({{static_cast<uint32_t>(hardware), static_cast<uint32_t>(layer), point}});
  }
  simulator.Measure(all);
  return all;
}

Result<NetworkOptimum> BestOfNetwork(const Problem& problem, const Simulator& simulator,
                                     std::span<const size_t> among) {
  CHECK(problem.options().objective != Objective::kEdpProxy);
  NetworkOptimum best = NetworkSearch(problem, simulator).Run(among);
  if (best.layers.empty()) {
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = "no accelerator of the space runs all layers"};
  }
  return best;
}

}  // namespace tessera::coopt
