// The accelerators that a budget allows: sizes of the matrix unit and of the buffers, what each
// costs, and why the others are ruled out.
#ifndef TESSERA_COOPT_HARDWARE_H_
#define TESSERA_COOPT_HARDWARE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/vta/config.h"

namespace tessera::coopt {

struct HardwareLimits {
  // Multipliers of the matrix unit. The space has no units of less than a quarter of them: they
  // would only thin out a search for speed. Default: 256.
  int64_t macs = 256;

  // Bytes of all buffers. Default: 0 (no limit).
  int64_t sram_bytes = 0;

  // vta::EstimateArea with its default assumptions. Default: 0 (no limit).
  double area_um2 = 0;

  // PeakSramPowerMw. Default: 0 (no limit).
  double sram_power_mw = 0;

  // Images that the matrix unit works on at once; no RTL exists for more than 1. Default: 8.
  int64_t max_batch = 8;

  double clock_mhz = 100;  // Default: 100.
};

struct HardwareCost {
  int64_t macs = 0;
  int64_t sram_bytes = 0;
  double area_um2 = 0;
  double sram_power_mw = 0;  // PeakSramPowerMw
};
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

// The knobs of the hardware agent. Buffers are counted in tiles, because that is what instructions
// address: the same depths are then possible whatever the blocks are.
enum class HardwareKnob : uint8_t { kBatch, kBlockIn, kBlockOut, kInp, kWgt, kAcc };
inline constexpr size_t kHardwareKnobs = 6;
inline constexpr std::array<std::string_view, kHardwareKnobs> kHardwareKnobNames = {
    "batch", "block_in", "block_out", "inp_depth", "wgt_depth", "acc_depth"};

using HardwarePoint = std::array<uint8_t, kHardwareKnobs>;  // indices of values

class HardwareSpace {
 public:
  // All configurations within the limits. The error is for limits that leave none, and quotes the
  // inequality that the smallest one breaks.
  static Result<HardwareSpace> Make(const HardwareLimits& limits);

  // One configuration, whatever it costs.
  static HardwareSpace Fixed(const vta::Config& config);

  const HardwareLimits& limits() const { return limits_; }
  bool fixed() const { return configs_.size() == 1; }

  // Base-2 logarithms, ascending.
  std::span<const int> values(size_t knob) const { return values_[knob]; }

  // The valid configurations and their points, in lexicographic order of the points.
  size_t size() const { return configs_.size(); }
  const vta::Config& config(size_t index) const { return configs_[index]; }
  const HardwarePoint& point(size_t index) const { return points_[index]; }
  std::optional<size_t> Find(const HardwarePoint& point) const;

  // Those whose buffers cannot grow within the limits: larger buffers never cost cycles, so that an
  // optimum is among them.
  std::vector<size_t> LargestBuffers() const;

  // How many points were ruled out by the instruction format and by the limits.
  int64_t ruled_out_by_format() const { return by_format_; }
  int64_t ruled_out_by_limits() const { return by_limits_; }

 private:
  HardwareLimits limits_;
  std::array<std::vector<int>, kHardwareKnobs> values_;
  std::vector<vta::Config> configs_;
  std::vector<HardwarePoint> points_;
  std::vector<int32_t> index_;  // of every point of the grid; -1: ruled out
  int64_t by_format_ = 0, by_limits_ = 0;

  size_t GridIndex(const HardwarePoint& point) const;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_HARDWARE_H_
