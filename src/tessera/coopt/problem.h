// What a co-optimization decides: one accelerator for all layers, and a schedule for each of them.
// Everything about it that can be known without measuring is here.
#ifndef TESSERA_COOPT_PROBLEM_H_
#define TESSERA_COOPT_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/coopt/target.h"

namespace tessera::coopt {

struct TaskList {
  std::vector<TaskLayer> layers;
  std::vector<LeftOut> left_out;
};

// The layers of all networks that `check` takes, which fills in what a target needs. With several
// networks a layer's name starts with the network's. The error is for networks without such layers.
Result<TaskList> CollectTasks(std::span<const Network> networks,
                              const std::function<Result<void>(TaskLayer&)>& check);

// One layer on one accelerator.
struct Task {
  explicit Task(std::unique_ptr<const ScheduleSpace> made) : owned(std::move(made)) {}

  std::unique_ptr<const ScheduleSpace> owned;
  const ScheduleSpace& space = *owned;

  // ScheduleSpace::Candidates and EstimateCycles of each.
  std::vector<SchedulePoint> candidates = {};
  std::vector<double> estimates = {};
};

// Contract:
//   Threads      used by one thread at a time: tasks are made when they are first asked for.
//   Ownership    tasks stay valid as long as the problem.
class CooptProblem {
 public:
  CooptProblem(std::vector<TaskLayer> layers, std::shared_ptr<const Target> target,
               const CooptOptions& options);

  std::span<const TaskLayer> layers() const { return layers_; }
  const Target& hardware() const { return *target_; }
  const CooptOptions& options() const { return options_; }

  const Task& task(size_t hardware, size_t layer) const;

  // Images that a program of this accelerator works on.
  int64_t images(size_t hardware) const { return target_->Images(hardware); }

  // The part of a layer in the objective.
  double Value(size_t hardware, size_t layer, int64_t cycles, double energy_pj) const;

  // What the objective of an accelerator is multiplied by: 1, or more where limits act as a penalty
  // and it is above them.
  double Penalty(size_t hardware) const;

  // A lower bound of the objective (of its cycles), whatever the schedules, without a penalty.
  double FloorCycles(size_t hardware) const;

 private:
  std::vector<TaskLayer> layers_;
  std::shared_ptr<const Target> target_;
  CooptOptions options_;
  mutable std::vector<std::unique_ptr<Task>> tasks_;  // by hardware, then layer
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_PROBLEM_H_
