// A target of one buffer whose optimum is known, for tests: what a target has to have.
#ifndef TESSERA_COOPT_TOY_TARGET_H_
#define TESSERA_COOPT_TOY_TARGET_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/coopt/targets.h"

namespace tessera::coopt {

// A tile that has to fit into a buffer, and a number of threads; large tiles and two threads are
// fast.
class ToySpace final : public ScheduleSpace {
 public:
  explicit ToySpace(int64_t buffer)
      : ScheduleSpace(Decisions(), /*mapping_knobs=*/1), buffer_(buffer) {}

  // Measurements of all toy spaces so far.
  static inline std::atomic<int64_t> measured = 0;

  bool Valid(const SchedulePoint& point) const override { return value(point, 0) <= buffer_; }
  std::string Refusal(const SchedulePoint& point) const override {
    return Valid(point) ? "" : "tile <= buffer";
  }
  std::vector<SchedulePoint> Candidates() const override {
    std::vector<SchedulePoint> valid;
    for (int64_t i = 0; i < num_points(); ++i) {
      if (Valid(At(i))) valid.push_back(At(i));
    }
    return valid;
  }
  bool enumerates() const override { return true; }
  double EstimateCycles(const SchedulePoint& point) const override {
    return static_cast<double>(Price(point).cycles);
  }
  int64_t LowerBoundCycles(const SchedulePoint& point) const override {
    return Price(point).cycles;
  }
  double FloorCycles() const override { return 1; }
  size_t FillFeatures(FeatureKind /*kind*/, const SchedulePoint& point,
                      FeatureRow& row) const override {
    for (size_t i = 0; i < size(); ++i) row[i] = static_cast<float>(value(point, i));
    return size();
  }
  size_t AddShares(const SchedulePoint& /*point*/, FeatureRow& /*row*/,
                   size_t size) const override {
    return size;
  }
  WorkloadRow Workload() const override { return {}; }
  MeasuredOutcome Measure(const SchedulePoint& point) const override {
    ++measured;
    return Price(point);
  }
  MeasuredOutcome Price(const SchedulePoint& point) const {
    if (!Valid(point)) return {.why = Refusal(point)};
    return {.valid = true, .cycles = 4096 / (value(point, 0) * value(point, 1)), .energy_pj = 1};
  }
  using ScheduleSpace::Describe;
  std::string Describe(const SchedulePoint& point) const override {
    return DecisionSpace::Describe(Unpacked(point));
  }

 private:
  static std::vector<Decision> Decisions() {
    std::vector<Decision> decisions;
    decisions.push_back(Decision::Ordinal("tile", {1, 2, 4, 8, 16, 32, 64}));
    decisions.push_back(Decision::Ordinal("threads", {1, 2}));
    return decisions;
  }
  const int64_t buffer_;
};

extern const TargetInfo kToyTarget;  // below: the class needs its name

class ToyTarget final : public Target {
 public:
  explicit ToyTarget(std::vector<int> logs)
      : Target({{"buffer", std::move(logs), /*buffer=*/true}}, [](const Logs&) { return true; }) {}

  const TargetInfo& info() const override { return kToyTarget; }
  std::string Name(size_t hardware) const override { return std::to_string(Buffer(hardware)); }
  std::string FileText(size_t hardware) const override { return Name(hardware); }
  HardwareCost Cost(size_t hardware, double /*clock_mhz*/) const override {
    return {.macs = 1, .sram_bytes = Buffer(hardware), .area_um2 = 1};
  }
  int64_t Images(size_t /*hardware*/) const override { return 1; }
  double FloorCycles(size_t /*hardware*/, const TaskLayer& /*layer*/,
                     const CooptOptions& /*options*/) const override {
    return 1;
  }
  std::unique_ptr<const ScheduleSpace> MakeSpace(size_t hardware, const TaskLayer& /*layer*/,
                                                 const CooptOptions& /*options*/) const override {
    return std::make_unique<ToySpace>(Buffer(hardware));
  }

 private:
  int64_t Buffer(size_t hardware) const { return int64_t{1} << value(hardware, 0); }
};

inline const TargetInfo kToyTarget = {
    .name = "toy",
    .summary = "one buffer",
    .hardware_file = "toy.txt",
    .tasks =
        [](std::span<const Network> networks) {
          return CollectTasks(networks, [](TaskLayer&) { return Result<void>(); });
        },
    .within = [](const HardwareLimits&) -> Result<TargetPointer> {
      return TargetPointer(std::make_shared<ToyTarget>(std::vector{2, 3, 4}));
    },
    .fixed = [](const std::string& hardware) -> Result<TargetPointer> {
      return TargetPointer(std::make_shared<ToyTarget>(std::vector{std::stoi(hardware)}));
    }};

// Two layers, on one buffer of 2^hardware or on all of them.
inline CooptProblem ToyProblem(const std::optional<std::string>& hardware) {
  const Network network = {.name = "net", .layers = {{.name = "a"}, {.name = "b"}}};
  return CooptProblem(kToyTarget.tasks({&network, 1})->layers,
                      *MakeTarget(kToyTarget, {}, hardware), {});
}

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_TOY_TARGET_H_
