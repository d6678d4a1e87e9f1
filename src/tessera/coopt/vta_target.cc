#include "tessera/coopt/vta_target.h"

#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tessera/coopt/targets.h"

namespace tessera::coopt {
namespace {

using vta::Config;
using vta::Memory;

// Programs use at most 2,048 micro-ops, whatever the buffer could hold.
constexpr int kLogUopBytes = 13;

// A matrix unit has at least one part in this many of the MACs that it may have.
constexpr int64_t kLeastMacsShare = 4;

Config ConfigAt(const std::array<int, kMaxHardwareKnobs>& logs) {
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

std::vector<int> LogRange(int first, int last) {
  std::vector<int> logs;
  for (int log = first; log <= last; ++log) logs.push_back(log);
  return logs;
}

// The layer as a program of `batch` images sees it.
vta::ConvShape ForBatch(vta::ConvShape shape, int64_t batch) {
  shape.n *= batch;
  return shape;
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

VtaTarget::VtaTarget(std::vector<HardwareKnob> knobs, const Accept& accept)
    : Target(std::move(knobs), [&](const Logs& logs) { return accept(ConfigAt(logs)); }) {
  for (size_t i = 0; i < size(); ++i) {
    Logs logs = {};
    for (size_t knob = 0; knob < this->knobs(); ++knob) logs[knob] = value(i, knob);
    configs_.push_back(ConfigAt(logs));
  }
}

Result<std::shared_ptr<const VtaTarget>> VtaTarget::Make(const HardwareLimits& limits) {
  Counts counts;
  std::optional<Error> refusal;  // of the smallest configuration
  const auto accept = [&](const Config& config) {
    if (!vta::Validate(config)) {
      ++counts.by_format;
      return false;
    }
    const Result<void> checked = CheckHardware(config, limits);
    if (checked.ok() && config.macs() * kLeastMacsShare >= limits.macs) return true;
    ++counts.by_limits;
    if (!checked && !refusal) refusal = checked.error();
    return false;
  };
  std::shared_ptr<VtaTarget> target(new VtaTarget({{"batch", LogRange(0, 3)},
                                                   {"block_in", LogRange(2, 7)},
                                                   {"block_out", LogRange(2, 7)},
                                                   {"inp_depth", LogRange(8, 12), /*buffer=*/true},
                                                   {"wgt_depth", LogRange(7, 12), /*buffer=*/true},
                                                   {"acc_depth", LogRange(8, 11), /*buffer=*/true}},
                                                  accept));
  target->counts_ = counts;
  if (target->size() > 0) return std::shared_ptr<const VtaTarget>(std::move(target));
  Error error = refusal ? *refusal
                        : Error{.kind = ErrorKind::kInfeasible,
                                .message = fmt::format("over {} MACs", limits.macs)};
  error.message = "no hardware fits the budget; the smallest is " + error.message;
  error.hint = "raise the limit that is exceeded";
  return error;
}

std::shared_ptr<const VtaTarget> VtaTarget::Fixed(const Config& config) {
  const auto knob = [](std::string_view name, int log) {
    return HardwareKnob{name, {log}, /*buffer=*/false};
  };
  std::shared_ptr<VtaTarget> target(new VtaTarget(
      {knob("batch", config.log_batch), knob("block_in", config.log_block_in),
       knob("block_out", config.log_block_out), knob("inp_depth", config.log_inp_depth()),
       knob("wgt_depth", config.log_wgt_depth()), knob("acc_depth", config.log_acc_depth())},
      [](const Config&) { return true; }));
  target->configs_ = {config};  // as it is, micro-op buffer and name included
  return target;
}

double VtaTarget::FloorCycles(size_t hardware, const TaskLayer& layer,
                              const CooptOptions& options) const {
  const vta::ConvShape shape = ForBatch(layer.shape, Images(hardware));
  return static_cast<double>(coopt::FloorCycles(shape, config(hardware), options));
}

std::unique_ptr<const ScheduleSpace> VtaTarget::MakeSpace(size_t hardware, const TaskLayer& layer,
                                                          const CooptOptions& options) const {
  return std::make_unique<VtaSpace>(ForBatch(layer.shape, Images(hardware)), config(hardware),
                                    options);
}

std::vector<Note> VtaTarget::HardwareNotes(size_t hardware, double clock_mhz) const {
  return {{"sram_power_mw", Cost(hardware, clock_mhz).sram_power_mw},
          {"batch", Images(hardware)},
          {"rtl_exists", Images(hardware) == 1}};
}

std::vector<Note> VtaTarget::RunNotes(size_t hardware, const CooptOptions& options) const {
  return {{"generator", std::string(kGeneratorNames[static_cast<size_t>(options.generator)])},
          {"bus_bits", options.timing.bus_bytes * 8},
          {"extrapolated", !config(hardware).IsDefaultSize()}};
}

Result<TaskList> TasksOf(std::span<const Network> networks) {
  return CollectTasks(networks, [](TaskLayer& layer) -> Result<void> {
    const Result<vta::ConvShape> shape = vta::ConvShapeOf(layer.layer);
    if (!shape) return shape.error();
    layer.shape = *shape;
    return vta::Validate(*shape, vta::Config{});
  });
}

namespace {

Result<TargetPointer> Within(const HardwareLimits& limits) {
  Result<std::shared_ptr<const VtaTarget>> target = VtaTarget::Make(limits);
  if (!target) return target.error();
  return TargetPointer(*std::move(target));
}

Result<TargetPointer> FixedByName(const std::string& hardware) {
  const Result<Config> config = hardware == "default" ? Config{} : vta::LoadConfig(hardware);
  if (!config) return config.error();
  return TargetPointer(VtaTarget::Fixed(*config));
}

}  // namespace

extern const TargetInfo kVtaTarget = {
    .name = "vta",
    .summary = "VTA: a matrix unit with its buffers, programs timed by the cycle simulator",
    .limits_power = true,
    .has_bounds = true,
    .hardware_file = "vta_config.json",
    .program_suffix = ".vta",
    .tasks = TasksOf,
    .within = Within,
    .fixed = FixedByName};

const TargetInfo& VtaTarget::info() const { return kVtaTarget; }

}  // namespace tessera::coopt
