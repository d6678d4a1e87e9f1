#include "tessera/coopt/exhaustive.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tessera/base/check.h"
#include "tessera/base/checked.h"
#include "tessera/vta/codegen/best.h"

namespace tessera::coopt {
namespace {

constexpr size_t kBatch = 256;

// Zeros that all tiles along an axis take for padding, at most.
int64_t MostPadding(int64_t pad, int64_t tile, int64_t stride) {
  return pad * CeilDiv(pad, tile * stride);
}

// Cycles that a candidate needs at least: those of the matrix unit and the ALU, and those of the
// bus for operands without padding. 0 where no bound is known.
int64_t LowerBound(const Problem& problem, const ScheduleSpace& space, const SchedulePoint& point) {
  if (space.generator() != Generator::kReference) return 0;
  const ProblemOptions& options = problem.options();
  const vta::ConvShape& s = space.shape();
  const vta::Config& config = space.config();
  const vta::Knobs k = space.ReferenceKnobs(point);
  const int64_t compute = vta::ReferenceLowerBound(s, k, config, options.epilogue, options.timing);
  const int64_t rows = s.oh() / k.tile_h * ((k.tile_h - 1) * s.stride_h + s.kh) -
                       MostPadding(s.pad_top, k.tile_h, s.stride_h) -
                       MostPadding(s.pad_bottom, k.tile_h, s.stride_h);
  const int64_t columns = s.ow() / k.tile_w * ((k.tile_w - 1) * s.stride_w + s.kw) -
                          MostPadding(s.pad_left, k.tile_w, s.stride_w) -
                          MostPadding(s.pad_right, k.tile_w, s.stride_w);
  const int64_t channel_tiles = OutputBlocks(s, config) / k.tile_co;
  const int64_t inputs = BatchBlocks(s, config) * channel_tiles * InputBlocks(s, config) *
                         std::max<int64_t>(rows, 0) * std::max<int64_t>(columns, 0);
  const int64_t weights = BatchBlocks(s, config) * (s.oh() / k.tile_h) * (s.ow() / k.tile_w) *
                          OutputBlocks(s, config) * InputBlocks(s, config) * s.kh * s.kw;
  const int64_t bytes =
      inputs * config.TileBytes(vta::Memory::kInp) + weights * config.TileBytes(vta::Memory::kWgt);
  return std::max(compute, bytes / options.timing.bus_bytes * options.timing.beat_gap_cycles);
}

// Of the objective, for a network on an accelerator.
double NetworkBound(const Problem& problem, size_t hardware) {
  double sum = 0;
  for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
    const Task& task = problem.task(hardware, layer);
    double least = std::numeric_limits<double>::infinity();
    for (const SchedulePoint& point : task.candidates) {
      const int64_t cycles = LowerBound(problem, task.space, point);
      least = std::min(least, problem.Value(hardware, layer, cycles, /*energy_pj=*/0));
    }
    sum += least;
  }
  return sum;
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
  CHECK(problem.options().generator == Generator::kReference);
  std::vector<std::pair<double, size_t>> order;
  for (const size_t hardware : among) {
    order.emplace_back(NetworkBound(problem, hardware), hardware);
  }
  std::sort(order.begin(), order.end());
  NetworkOptimum best = {.value = std::numeric_limits<double>::infinity()};
  int64_t measured = 0, tried = 0;
  std::vector<int64_t> layer_measured(problem.layers().size());
  for (const auto& [floor, hardware] : order) {
    if (floor >= best.value) break;
    ++tried;
    NetworkOptimum candidate = {.hardware = hardware};
    for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
      LayerOptimum optimum = BestOfLayer(problem, simulator, hardware, layer);
      measured += optimum.measured;
      layer_measured[layer] += optimum.measured;
      candidate.value +=
          optimum.best ? optimum.best->outcome.value : std::numeric_limits<double>::infinity();
      if (candidate.value >= best.value) break;
      candidate.layers.push_back(*std::move(optimum.best));
    }
    if (candidate.value < best.value) best = std::move(candidate);
  }
  best.measured = measured;
  best.layer_measured = std::move(layer_measured);
  best.hardware_tried = tried;
  if (best.layers.empty()) {
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = "no accelerator of the space runs all layers"};
  }
  return best;
}

}  // namespace tessera::coopt
