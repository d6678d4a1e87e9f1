// PE arrays that a budget allows: how many PEs, and how large L1 and L2 are. Schedules are mappings
// that model `maestro` prices.
#ifndef TESSERA_COOPT_MAESTRO_TARGET_H_
#define TESSERA_COOPT_MAESTRO_TARGET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/coopt/problem.h"
#include "tessera/coopt/target.h"
#include "tessera/result.h"

namespace tessera::coopt {

struct PeArrayLimits {
  // The space has no arrays of less than a quarter of them. Default: 256.
  int64_t pes = 256;

  // Bytes of all L1 and of L2, at one byte an element. Default: 0 (no limit).
  int64_t sram_bytes = 0;

  // PeArrayAreaUm2. Default: 0 (no limit).
  double area_um2 = 0;
};

// GAMMA's formula for the buffers that the array has: 282 per PE and 0.688 per byte.
double PeArrayAreaUm2(const PeArray& array);

// Knobs: num_pes, l1_elements (of a PE) and l2_elements. Networks are the same for all: 64 elements
// a cycle from L2 to the PEs, 16 from outside.
class MaestroTarget final : public Target {
 public:
  // The error quotes the inequality that the smallest array breaks.
  static Result<std::shared_ptr<const MaestroTarget>> Make(const PeArrayLimits& limits);

  // One array, whatever it costs.
  static std::shared_ptr<const MaestroTarget> Fixed(const PeArray& array);

  const PeArray& array(size_t index) const { return arrays_[index]; }

  const TargetInfo& info() const override;
  std::string Name(size_t hardware) const override;
  std::string FileText(size_t hardware) const override;
  HardwareCost Cost(size_t hardware, double clock_mhz) const override;
  int64_t Images(size_t /*hardware*/) const override { return 1; }
  double FloorCycles(size_t hardware, const TaskLayer& layer,
                     const CooptOptions& options) const override;
  std::unique_ptr<const ScheduleSpace> MakeSpace(size_t hardware, const TaskLayer& layer,
                                                 const CooptOptions& options) const override;

 private:
  MaestroTarget(std::vector<HardwareKnob> knobs, const std::function<bool(const PeArray&)>& accept);

  std::vector<PeArray> arrays_;
};

// CollectTasks of the layers that MaestroSchedules has knobs for.
Result<TaskList> MaestroTasksOf(std::span<const Network> networks);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_MAESTRO_TARGET_H_
