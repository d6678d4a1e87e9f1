#include "tessera/coopt/problem.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace tessera::coopt {

Result<CooptObjective> FindCooptObjective(std::string_view name) {
  for (size_t i = 0; i < kCooptObjectiveNames.size(); ++i) {
    if (kCooptObjectiveNames[i] == name) return static_cast<CooptObjective>(i);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown objective '{}'", name),
               .hint = DidYouMean(name, kCooptObjectiveNames)};
}

Result<Generator> FindGenerator(std::string_view name) {
  for (size_t i = 0; i < kGeneratorNames.size(); ++i) {
    if (kGeneratorNames[i] == name) return static_cast<Generator>(i);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown generator '{}'", name),
               .hint = DidYouMean(name, kGeneratorNames)};
}

Result<TaskList> CollectTasks(std::span<const Network> networks,
                              const std::function<Result<void>(TaskLayer&)>& check) {
  TaskList tasks;
  std::optional<Error> refusal;
  for (const Network& network : networks) {
    for (const NetworkLayer& entry : network.layers) {
      const std::string name = networks.size() > 1 ? network.name + ":" + entry.name : entry.name;
      TaskLayer layer = {name, network.name, entry.layer, {}, entry.count};
      if (const Result<void> runs = check(layer); !runs) {
        refusal = runs.error();
        tasks.left_out.push_back({name, entry.count, runs.error().message});
        continue;
      }
      tasks.layers.push_back(std::move(layer));
    }
  }
  if (tasks.layers.empty()) {
    Error error = refusal ? *refusal : Error{.kind = ErrorKind::kBadValue, .message = "no layers"};
    error.message = "nothing to optimize: " + error.message;
    return error;
  }
  return tasks;
}

CooptProblem::CooptProblem(std::vector<TaskLayer> layers, std::shared_ptr<const Target> target,
                           const CooptOptions& options)
    : layers_(std::move(layers)),
      target_(std::move(target)),
      options_(options),
      tasks_(layers_.size() * target_->size()) {}

const Task& CooptProblem::task(size_t hardware, size_t layer) const {
  std::unique_ptr<Task>& task = tasks_[hardware * layers_.size() + layer];
  if (task) return *task;
  task = std::make_unique<Task>(target_->MakeSpace(hardware, layers_[layer], options_));
  task->candidates = task->space.Candidates();
  for (const SchedulePoint& point : task->candidates) {
    task->estimates.push_back(task->space.EstimateCycles(point));
  }
  return *task;
}

double CooptProblem::Value(size_t hardware, size_t layer, int64_t cycles, double energy_pj) const {
  const double count = static_cast<double>(layers_[layer].count) * Penalty(hardware);
  const double batch = static_cast<double>(images(hardware)), time = static_cast<double>(cycles);
  switch (options_.objective) {
    case CooptObjective::kThroughput: return count * time / batch;
    case CooptObjective::kLatency: return count * time;
    case CooptObjective::kEdpProxy: return count * (time / batch) * (energy_pj / batch);
  }
  return 0;
}

double CooptProblem::Penalty(size_t hardware) const {
  if (options_.limit_penalty == 0) return 1;
  const HardwareCost cost = target_->Cost(hardware, options_.clock_mhz);
  const HardwareLimits& limits = options_.limits;
  const auto excess = [](double value, double limit) {
    return limit > 0 ? std::max(0.0, value / limit - 1) : 0.0;
  };
  return 1 + options_.limit_penalty * (excess(static_cast<double>(cost.sram_bytes),
                                              static_cast<double>(limits.sram_bytes)) +
                                       excess(cost.area_um2, limits.area_um2) +
                                       excess(cost.sram_power_mw, limits.sram_power_mw));
}

double CooptProblem::FloorCycles(size_t hardware) const {
  double sum = 0;
  for (const TaskLayer& layer : layers_) {
    sum += static_cast<double>(layer.count) * target_->FloorCycles(hardware, layer, options_);
  }
  return options_.objective == CooptObjective::kLatency
             ? sum
             : sum / static_cast<double>(images(hardware));
}

}  // namespace tessera::coopt
