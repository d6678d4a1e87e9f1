#include "tessera/coopt/exhaustive.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tessera/base/check.h"
#include "tessera/vta/codegen/best.h"

namespace tessera::coopt {
namespace {

constexpr size_t kBatch = 256;

// Cycles that a candidate needs at least; 0 where no bound is known.
int64_t LowerBound(const Problem& problem, const ScheduleSpace& space, const SchedulePoint& point) {
  if (space.generator() != Generator::kReference) return 0;
  return vta::ReferenceLowerBound(space.shape(), space.ReferenceKnobs(point), space.config(),
                                  problem.options().epilogue, problem.options().timing);
}

}  // namespace

LayerOptimum BestOfLayer(const Problem& problem, const Simulator& simulator, size_t hardware,
                         size_t layer) {
  const Task& task = problem.task(hardware, layer);
  const bool by_cycles = problem.options().objective != Objective::kEdpProxy;
  std::vector<size_t> order(task.candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // The most promising first, so that the bound rules out many of the others.
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return task.estimates[a] < task.estimates[b]; });
  LayerOptimum optimum;
  std::vector<Measured> batch;
  const auto measure = [&] {
    simulator.Measure(batch);
    optimum.measured += std::ssize(batch);
    for (const Measured& item : batch) {
      if (!item.outcome.valid) continue;
      if (!optimum.best || item.outcome.value < optimum.best->outcome.value) optimum.best = item;
    }
    batch.clear();
  };
  for (const size_t i : order) {
    if (by_cycles && optimum.best &&
        LowerBound(problem, task.space, task.candidates[i]) >= optimum.best->outcome.cycles) {
      continue;
    }
    batch.push_back(
        {{static_cast<uint32_t>(hardware), static_cast<uint32_t>(layer), task.candidates[i]}});
    if (batch.size() == (optimum.best ? kBatch : 8)) measure();
  }
  measure();
  return optimum;
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
  std::vector<std::pair<double, size_t>> order;
  for (const size_t hardware : among) {
    order.emplace_back(problem.FloorCycles(hardware), hardware);
  }
  std::sort(order.begin(), order.end());
  NetworkOptimum best = {.value = std::numeric_limits<double>::infinity()};
  int64_t measured = 0, tried = 0;
  for (const auto& [floor, hardware] : order) {
    if (floor >= best.value) break;
    ++tried;
    NetworkOptimum candidate = {.hardware = hardware};
    for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
      LayerOptimum optimum = BestOfLayer(problem, simulator, hardware, layer);
      measured += optimum.measured;
      candidate.value +=
          optimum.best ? optimum.best->outcome.value : std::numeric_limits<double>::infinity();
      if (candidate.value >= best.value) break;
      candidate.layers.push_back(*std::move(optimum.best));
    }
    if (candidate.value < best.value) best = std::move(candidate);
  }
  best.measured = measured;
  best.hardware_tried = tried;
  if (best.layers.empty()) {
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = "no accelerator of the space runs all layers"};
  }
  return best;
}

}  // namespace tessera::coopt
