#include "tessera/coopt/problem.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/coopt/roofline.h"

namespace tessera::coopt {
namespace {

// The layer as a program of `batch` images sees it.
vta::ConvShape ForBatch(vta::ConvShape shape, int64_t batch) {
  shape.n *= batch;
  return shape;
}

// Every combination of a few values per knob, spread evenly from the smallest to the largest.
void AddCoarseGrid(const ScheduleSpace& space, std::vector<SchedulePoint>& candidates) {
  constexpr std::array<size_t, kMaxScheduleKnobs> kMost = {8, 5, 3, 8, 3, 3, 2, 1};
  std::array<std::vector<uint8_t>, kMaxScheduleKnobs> picks;
  for (size_t knob = 0; knob < space.knobs().size(); ++knob) {
    const size_t count = space.knobs()[knob].values.size(), most = std::min(kMost[knob], count);
    for (size_t i = 0; i < most; ++i) {
      const bool is_slots = knob == 4 || knob == 5;
      const size_t at = is_slots    ? std::array<size_t, 3>{1, 3, count - 1}[i]
                        : most == 1 ? 0
                                    : count - 1 - i * (count - 1) / (most - 1);
      picks[knob].push_back(static_cast<uint8_t>(at));
    }
  }
  const auto fill = [&](auto&& self, size_t knob, SchedulePoint& point) -> void {
    if (knob == space.knobs().size()) {
      if (space.Valid(point)) candidates.push_back(point);
      return;
    }
    for (const uint8_t pick : picks[knob]) {
      point[knob] = pick;
      self(self, knob + 1, point);
    }
  };
  SchedulePoint point = {};
  fill(fill, 0, point);
}

}  // namespace

Result<Objective> FindObjective(std::string_view name) {
  for (size_t i = 0; i < kObjectiveNames.size(); ++i) {
    if (kObjectiveNames[i] == name) return static_cast<Objective>(i);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown objective '{}'", name),
               .hint = DidYouMean(name, kObjectiveNames)};
}

Result<TaskList> TasksOf(std::span<const Network> networks) {
  TaskList tasks;
  std::optional<Error> refusal;
  for (const Network& network : networks) {
    for (const NetworkLayer& entry : network.layers) {
      const std::string name = networks.size() > 1 ? network.name + ":" + entry.name : entry.name;
      const Result<vta::ConvShape> shape = vta::ConvShapeOf(entry.layer);
      Result<void> valid = shape ? vta::Validate(*shape, vta::Config{}) : shape.error();
      if (!valid) {
        refusal = valid.error();
        tasks.left_out.push_back({name, entry.count, valid.error().message});
        continue;
      }
      tasks.layers.push_back({name, network.name, entry.layer, *shape, entry.count});
    }
  }
  if (tasks.layers.empty()) {
    Error error = refusal ? *refusal : Error{.kind = ErrorKind::kBadValue, .message = "no layers"};
    error.message = "nothing to optimize: " + error.message;
    return error;
  }
  return tasks;
}

Problem::Problem(std::vector<TaskLayer> layers, HardwareSpace hardware,
                 const ProblemOptions& options)
    : layers_(std::move(layers)),
      hardware_(std::move(hardware)),
      options_(options),
      tasks_(layers_.size() * hardware_.size()) {}

const Task& Problem::task(size_t hardware, size_t layer) const {
  std::unique_ptr<Task>& task = tasks_[hardware * layers_.size() + layer];
  if (task) return *task;
  task = std::make_unique<Task>(ForBatch(layers_[layer].shape, images(hardware)),
                                hardware_.config(hardware), options_.generator);
  const ScheduleSpace& space = task->space;
  if (!vta::Validate(space.shape(), space.config())) return *task;
  if (options_.generator == Generator::kBest) {
    AddCoarseGrid(space, task->candidates);
  } else {
    for (int64_t i = 0; i < space.size(); ++i) {
      const SchedulePoint point = space.At(i);
      if (space.Valid(point)) task->candidates.push_back(point);
    }
  }
  for (const SchedulePoint& point : task->candidates) {
    task->estimates.push_back(EstimateCycles(space, point, options_.epilogue, options_.timing));
  }
  return *task;
}

double Problem::Value(size_t hardware, size_t layer, int64_t cycles, double energy_pj) const {
  const double count = static_cast<double>(layers_[layer].count);
  const double batch = static_cast<double>(images(hardware)), time = static_cast<double>(cycles);
  switch (options_.objective) {
    case Objective::kThroughput: return count * time / batch;
    case Objective::kLatency: return count * time;
    case Objective::kEdpProxy: return count * (time / batch) * (energy_pj / batch);
  }
  return 0;
}

double Problem::FloorCycles(size_t hardware) const {
  double sum = 0;
  for (const TaskLayer& layer : layers_) {
    const vta::ConvShape shape = ForBatch(layer.shape, images(hardware));
    sum += static_cast<double>(layer.count * GemmFloor(shape, hardware_.config(hardware)));
  }
  return options_.objective == Objective::kLatency ? sum
                                                   : sum / static_cast<double>(images(hardware));
}

}  // namespace tessera::coopt
