// VTA accelerators that a budget allows: sizes of the matrix unit and of the buffers, what each
// costs, and why the others are ruled out.
#ifndef TESSERA_COOPT_VTA_TARGET_H_
#define TESSERA_COOPT_VTA_TARGET_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/coopt/problem.h"
#include "tessera/coopt/target.h"
#include "tessera/coopt/vta_space.h"
#include "tessera/result.h"
#include "tessera/vta/config.h"

namespace tessera::coopt {

HardwareCost CostOf(const vta::Config& config, double clock_mhz);

// Energy of one access to a buffer of `bytes` that moves `access_bytes`: kSramPj per byte for a
// buffer of 32 KiB, growing with the root of the size. Relative numbers to compare designs by; they
// are ours and no process is behind them.
inline constexpr double kSramPjPerByte = 0.16;
inline constexpr double kDramPjPerByte = 20.0;
inline constexpr double kMacPj = 0.23;
double SramAccessPj(int64_t bytes, int64_t access_bytes);

// All buffers of a matrix unit that never waits: a tile of INP and WGT read and a tile of ACC read
// and written every cycle.
double PeakSramPowerMw(const vta::Config& config, double clock_mhz);

// Why a configuration is ruled out; the error quotes the inequality.
Result<void> CheckHardware(const vta::Config& config, const HardwareLimits& limits);

// Knobs: batch, block_in, block_out, and the depths of the INP, WGT and ACC buffers. Buffers are
// counted in tiles, because that is what instructions address: the same depths are then possible
// whatever the blocks are.
class VtaTarget final : public Target {
 public:
  // All configurations within the limits. The error is for limits that leave none, and quotes the
  // inequality that the smallest one breaks.
  static Result<std::shared_ptr<const VtaTarget>> Make(const HardwareLimits& limits);

  // One configuration, whatever it costs.
  static std::shared_ptr<const VtaTarget> Fixed(const vta::Config& config);

  const vta::Config& config(size_t index) const { return configs_[index]; }

  // How many points were ruled out by the instruction format and by the limits.
  int64_t ruled_out_by_format() const { return counts_.by_format; }
  int64_t ruled_out_by_limits() const { return counts_.by_limits; }

  const TargetInfo& info() const override;
  std::string Name(size_t hardware) const override { return vta::ConfigId(config(hardware)); }
  std::string FileText(size_t hardware) const override {
    return vta::WriteConfig(config(hardware));
  }
  HardwareCost Cost(size_t hardware, double clock_mhz) const override {
    return CostOf(config(hardware), clock_mhz);
  }
  int64_t Images(size_t hardware) const override { return config(hardware).batch(); }
  double FloorCycles(size_t hardware, const TaskLayer& layer,
                     const CooptOptions& options) const override;
  std::vector<Note> HardwareNotes(size_t hardware, double clock_mhz) const override;
  std::vector<Note> RunNotes(size_t hardware, const CooptOptions& options) const override;
  std::unique_ptr<const ScheduleSpace> MakeSpace(size_t hardware, const TaskLayer& layer,
                                                 const CooptOptions& options) const override;

 private:
  struct Counts {
    int64_t by_format = 0, by_limits = 0;
  };
  using Accept = std::function<bool(const vta::Config&)>;
  VtaTarget(std::vector<HardwareKnob> knobs, const Accept& accept);

  std::vector<vta::Config> configs_;
  Counts counts_;
};

// CollectTasks of the layers that VTA runs.
Result<TaskList> TasksOf(std::span<const Network> networks);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_VTA_TARGET_H_
