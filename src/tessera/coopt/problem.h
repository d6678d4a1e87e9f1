// What a co-optimization decides: one accelerator for all layers, and a schedule for each of them.
// Everything about it that can be known without measuring is here.
#ifndef TESSERA_COOPT_PROBLEM_H_
#define TESSERA_COOPT_PROBLEM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/coopt/hardware.h"
#include "tessera/coopt/schedule_space.h"
#include "tessera/vta/sim/timing.h"
#include "tessera/workload/network.h"

namespace tessera::coopt {

// What is to be small, summed over the layers with their counts. Throughput: cycles per image.
// Latency: cycles until a batch is done. EDP proxy: energy times cycles of each layer per image,
// with the energies of coopt/hardware.h.
enum class Objective : uint8_t { kThroughput, kLatency, kEdpProxy };
inline constexpr std::array<std::string_view, 3> kObjectiveNames = {"throughput", "latency",
                                                                    "edp-proxy"};
Result<Objective> FindObjective(std::string_view name);

struct TaskLayer {
  std::string name;
  std::string network;
  Layer layer = {};
  vta::ConvShape shape = {};
  int64_t count = 1;
};

// A layer that VTA does not run, and why.
struct LeftOut {
  std::string name;
  int64_t count = 1;
  std::string why;
};

struct TaskList {
  std::vector<TaskLayer> layers;
  std::vector<LeftOut> left_out;
};

// The layers of all networks that VTA runs. With several networks a layer's name starts with the
// network's. The error is for networks without such layers.
Result<TaskList> TasksOf(std::span<const Network> networks);

struct ProblemOptions {
  Generator generator = Generator::kBest;        // Default: kBest.
  Objective objective = Objective::kThroughput;  // Default: kThroughput.
  vta::Epilogue epilogue = {};                   // Default: shift 8, bias, ReLU.
  vta::TimingParameters timing = {};             // Default: the published design.
  double clock_mhz = 100;                        // Default: 100.
};

// One layer on one accelerator.
struct Task {
  Task(const vta::ConvShape& shape, const vta::Config& config, Generator generator)
      : space(shape, config, generator) {}

  ScheduleSpace space;

  // Starting points, all valid: the whole space of the reference template, a coarse grid of the
  // improved generator's. Empty where nothing fits.
  std::vector<SchedulePoint> candidates = {};

  // Cycles that coopt/roofline.h expects, by candidate.
  std::vector<double> estimates = {};
};

// Contract:
//   Threads      used by one thread at a time: tasks are made when they are first asked for.
//   Ownership    tasks stay valid as long as the problem.
class Problem {
 public:
  Problem(std::vector<TaskLayer> layers, HardwareSpace hardware, const ProblemOptions& options);

  std::span<const TaskLayer> layers() const { return layers_; }
  const HardwareSpace& hardware() const { return hardware_; }
  const ProblemOptions& options() const { return options_; }

  const Task& task(size_t hardware, size_t layer) const;

  // Images that a program of this accelerator works on.
  int64_t images(size_t hardware) const { return hardware_.config(hardware).batch(); }

  // The part of a layer in the objective.
  double Value(size_t hardware, size_t layer, int64_t cycles, double energy_pj) const;

  // A lower bound of the objective (of its cycles) from the matrix unit alone.
  double FloorCycles(size_t hardware) const;

 private:
  std::vector<TaskLayer> layers_;
  HardwareSpace hardware_;
  ProblemOptions options_;
  mutable std::vector<std::unique_ptr<Task>> tasks_;  // by hardware, then layer
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_PROBLEM_H_
