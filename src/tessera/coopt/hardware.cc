#include "tessera/coopt/hardware.h"

#include <cmath>

#include <fmt/format.h>

namespace tessera::coopt {
namespace {

using vta::Config;
using vta::Memory;

// Programs use at most 2,048 micro-ops, whatever the buffer could hold.
constexpr int kLogUopBytes = 13;

// A matrix unit has at least one part in this many of the MACs that it may have.
constexpr int64_t kLeastMacsShare = 4;

Config ConfigAt(const std::array<int, kHardwareKnobs>& logs) {
  const auto& [batch, in, out, inp, wgt, acc] = logs;
  Config config = {.log_batch = batch,
                   .log_block_in = in,
                   .log_block_out = out,
                   .log_uop_buff_size = kLogUopBytes,
                   .log_inp_buff_size = inp + batch + in,
                   .log_wgt_buff_size = wgt + in + out,
                   .log_acc_buff_size = acc + batch + out + 2};
  config.name = vta::ConfigId(config);
  return config;
}

std::vector<int> Logs(int first, int last) {
  std::vector<int> logs;
  for (int log = first; log <= last; ++log) logs.push_back(log);
  return logs;
}

Error OverLimit(const Config& config, std::string_view what, double value, double limit) {
  return {
      .kind = ErrorKind::kInfeasible,
      .message = fmt::format("{}: {} {:.6g} > {:.6g}", vta::ConfigId(config), what, value, limit)};
}

}  // namespace

double SramAccessPj(int64_t bytes, int64_t access_bytes) {
  return kSramPjPerByte * static_cast<double>(access_bytes) *
         std::sqrt(static_cast<double>(bytes) / (32 * 1024));
}

double PeakSramPowerMw(const Config& config, double clock_mhz) {
  double pj_per_cycle = 0;
  for (const auto& [memory, accesses] :
       {std::pair{Memory::kInp, 1.0}, {Memory::kWgt, 1.0}, {Memory::kAcc, 2.0}}) {
    const int64_t tile = config.TileBytes(memory);
    pj_per_cycle += accesses * SramAccessPj(config.Depth(memory) * tile, tile);
  }
  return pj_per_cycle * clock_mhz * 1e-3;  // pJ * MHz = uW
}

HardwareCost CostOf(const Config& config, double clock_mhz) {
  const vta::Area area = vta::EstimateArea(config);
  return {.macs = area.macs,
          .sram_bytes = area.sram_bits / 8,
          .area_um2 = area.area_um2,
          .sram_power_mw = PeakSramPowerMw(config, clock_mhz)};
}

Result<void> CheckHardware(const Config& config, const HardwareLimits& limits) {
  if (Result<void> valid = vta::Validate(config); !valid) return valid;
  const HardwareCost cost = CostOf(config, limits.clock_mhz);
  struct Limit {
    std::string_view what;
    double value, most;
  };
  for (const Limit& limit :
       {Limit{"MACs", static_cast<double>(cost.macs), static_cast<double>(limits.macs)},
        {"batch", static_cast<double>(config.batch()), static_cast<double>(limits.max_batch)},
        {"SRAM bytes", static_cast<double>(cost.sram_bytes),
         static_cast<double>(limits.sram_bytes)},
        {"area um2", cost.area_um2, limits.area_um2},
        {"SRAM power mW", cost.sram_power_mw, limits.sram_power_mw}}) {
    if (limit.most > 0 && limit.value > limit.most) {
      return OverLimit(config, limit.what, limit.value, limit.most);
    }
  }
  return {};
}

Result<HardwareSpace> HardwareSpace::Make(const HardwareLimits& limits) {
  HardwareSpace space;
  space.limits_ = limits;
  space.values_ = {Logs(0, 3), Logs(2, 7), Logs(2, 7), Logs(8, 12), Logs(7, 12), Logs(8, 11)};
  size_t grid = 1;
  for (const std::vector<int>& values : space.values_) grid *= values.size();
  space.index_.assign(grid, -1);
  HardwarePoint point = {};
  std::optional<Error> refusal;  // of the smallest configuration
  for (size_t i = 0; i < grid; ++i) {
    std::array<int, kHardwareKnobs> logs = {};
    for (size_t knob = kHardwareKnobs, rest = i; knob-- > 0;) {
      const std::vector<int>& values = space.values_[knob];
      point[knob] = static_cast<uint8_t>(rest % values.size());
      rest /= values.size();
      logs[knob] = values[point[knob]];
    }
    const Config config = ConfigAt(logs);
    const bool fits_format = vta::Validate(config).ok();
    if (!fits_format) {
      ++space.by_format_;
      continue;
    }
    const Result<void> checked = CheckHardware(config, limits);
    if (!checked || config.macs() * kLeastMacsShare < limits.macs) {
      ++space.by_limits_;
      if (!checked && !refusal) refusal = checked.error();
      continue;
    }
    space.index_[i] = static_cast<int32_t>(space.configs_.size());
    space.configs_.push_back(config);
    space.points_.push_back(point);
  }
  if (space.configs_.empty()) {
    Error error = refusal ? *refusal
                          : Error{.kind = ErrorKind::kInfeasible,
                                  .message = fmt::format("over {} MACs", limits.macs)};
    error.message = "no hardware fits the budget; the smallest is " + error.message;
    error.hint = "raise the limit that is exceeded";
    return error;
  }
  return space;
}

HardwareSpace HardwareSpace::Fixed(const Config& config) {
  HardwareSpace space;
  space.limits_.macs = config.macs();
  space.values_ = {std::vector{config.log_batch}, {config.log_block_in},
                   {config.log_block_out},        {config.log_inp_depth()},
                   {config.log_wgt_depth()},      {config.log_acc_depth()}};
  space.configs_ = {config};
  space.points_ = {HardwarePoint{}};
  space.index_ = {0};
  return space;
}

size_t HardwareSpace::GridIndex(const HardwarePoint& point) const {
  size_t index = 0;
  for (size_t knob = 0; knob < kHardwareKnobs; ++knob) {
    index = index * values_[knob].size() + point[knob];
  }
  return index;
}

std::optional<size_t> HardwareSpace::Find(const HardwarePoint& point) const {
  for (size_t knob = 0; knob < kHardwareKnobs; ++knob) {
    if (point[knob] >= values_[knob].size()) return std::nullopt;
  }
  const int32_t index = index_[GridIndex(point)];
  if (index < 0) return std::nullopt;
  return static_cast<size_t>(index);
}

std::vector<size_t> HardwareSpace::LargestBuffers() const {
  std::vector<size_t> largest;
  for (size_t i = 0; i < size(); ++i) {
    bool can_grow = false;
    for (const HardwareKnob knob : {HardwareKnob::kInp, HardwareKnob::kWgt, HardwareKnob::kAcc}) {
      HardwarePoint larger = points_[i];
      ++larger[static_cast<size_t>(knob)];
      can_grow = can_grow || Find(larger).has_value();
    }
    if (!can_grow) largest.push_back(i);
  }
  return largest;
}

}  // namespace tessera::coopt
