#include "tessera/coopt/maestro_target.h"

#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/coopt/maestro_schedules.h"
#include "tessera/coopt/targets.h"
#include "tessera/result.h"

namespace tessera::coopt {
namespace {

// An array has at least one part in this many of the PEs that it may have.
constexpr int64_t kLeastPesShare = 4;

constexpr int64_t kNocElementsPerCycle = 64;
constexpr int64_t kOffchipElementsPerCycle = 16;

PeArray ArrayAt(const std::array<int, kMaxHardwareKnobs>& logs) {
  return {.num_pes = int64_t{1} << logs[0],
          .l1_elements = int64_t{1} << logs[1],
          .l2_elements = int64_t{1} << logs[2],
          .noc_elements_per_cycle = kNocElementsPerCycle,
          .offchip_elements_per_cycle = kOffchipElementsPerCycle};
}

int64_t SramBytes(const PeArray& array) {
  return array.num_pes * array.l1_elements + array.l2_elements;
}

std::string NameOf(const PeArray& array) {
  return fmt::format("{}pe_l1-{}_l2-{}", array.num_pes, array.l1_elements, array.l2_elements);
}

Result<void> CheckArray(const PeArray& array, const PeArrayLimits& limits) {
  struct Limit {
    std::string_view what;
    double value, most;
  };
  for (const Limit& limit :
       {Limit{"PEs", static_cast<double>(array.num_pes), static_cast<double>(limits.pes)},
        {"SRAM bytes", static_cast<double>(SramBytes(array)),
         static_cast<double>(limits.sram_bytes)},
        {"area um2", PeArrayAreaUm2(array), limits.area_um2}}) {
    if (limit.most > 0 && limit.value > limit.most) {
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = fmt::format("{}: {} {:.6g} > {:.6g}", NameOf(array), limit.what,
                                          limit.value, limit.most)};
    }
  }
  return {};
}

std::vector<int> LogRange(int first, int last) {
  std::vector<int> logs;
  for (int log = first; log <= last; ++log) logs.push_back(log);
  return logs;
}

}  // namespace

double PeArrayAreaUm2(const PeArray& array) {
  return static_cast<double>(array.num_pes) * 282 +
         static_cast<double>(SramBytes(array)) * 8 * 0.086;
}

MaestroTarget::MaestroTarget(std::vector<HardwareKnob> knobs,
                             const std::function<bool(const PeArray&)>& accept)
    : Target(std::move(knobs), [&](const Logs& logs) { return accept(ArrayAt(logs)); }) {
  for (size_t i = 0; i < size(); ++i) {
    Logs logs = {};
    for (size_t knob = 0; knob < this->knobs(); ++knob) logs[knob] = value(i, knob);
    arrays_.push_back(ArrayAt(logs));
  }
}

Result<std::shared_ptr<const MaestroTarget>> MaestroTarget::Make(const PeArrayLimits& limits) {
  std::optional<Error> refusal;  // of the smallest array
  std::shared_ptr<MaestroTarget> target(
      new MaestroTarget({{"num_pes", LogRange(4, 12)},
                         {"l1_elements", LogRange(5, 12), /*buffer=*/true},
                         {"l2_elements", LogRange(12, 22), /*buffer=*/true}},
                        [&](const PeArray& array) {
                          const Result<void> checked = CheckArray(array, limits);
                          if (!checked && !refusal) refusal = checked.error();
                          return checked.ok() && array.num_pes * kLeastPesShare >= limits.pes;
                        }));
  if (target->size() > 0) return std::shared_ptr<const MaestroTarget>(std::move(target));
  Error error = refusal ? *refusal
                        : Error{.kind = ErrorKind::kInfeasible,
                                .message = fmt::format("over {} PEs", limits.pes)};
  error.message = "no hardware fits the budget; the smallest is " + error.message;
  error.hint = "raise the limit that is exceeded";
  return error;
}

std::shared_ptr<const MaestroTarget> MaestroTarget::Fixed(const PeArray& array) {
  const auto knob = [](std::string_view name, int64_t value) {
    const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(value)));
    return HardwareKnob{name, {bits - 1}, /*buffer=*/false};
  };
  std::shared_ptr<MaestroTarget> target(
      new MaestroTarget({knob("num_pes", array.num_pes), knob("l1_elements", array.l1_elements),
                         knob("l2_elements", array.l2_elements)},
                        [](const PeArray&) { return true; }));
  target->arrays_ = {array};  // as it is; sizes need not be powers of two
  return target;
}

std::string MaestroTarget::Name(size_t hardware) const { return NameOf(array(hardware)); }

std::string MaestroTarget::FileText(size_t hardware) const {
  Accelerator accelerator;
  accelerator.name = Name(hardware);
  accelerator.pe_array = array(hardware);
  return AcceleratorText(accelerator);
}

HardwareCost MaestroTarget::Cost(size_t hardware, double /*clock_mhz*/) const {
  const PeArray& own = array(hardware);
  return {.macs = own.num_pes, .sram_bytes = SramBytes(own), .area_um2 = PeArrayAreaUm2(own)};
}

double MaestroTarget::FloorCycles(size_t hardware, const TaskLayer& layer,
                                  const CooptOptions& /*options*/) const {
  const Result<TiledShape> shape = TiledShapeOf(layer.layer);
  TESSERA_CHECK(shape.ok());
  return static_cast<double>(shape->macs()) / static_cast<double>(array(hardware).num_pes);
}

std::unique_ptr<const ScheduleSpace> MaestroTarget::MakeSpace(
    size_t hardware, const TaskLayer& layer, const CooptOptions& /*options*/) const {
  Result<std::unique_ptr<const ScheduleSpace>> space =
      MaestroSchedules::Make(layer.layer, array(hardware));
  TESSERA_CHECK(space.ok());  // MaestroTasksOf keeps only such layers
  return *std::move(space);
}

Result<TaskList> MaestroTasksOf(std::span<const Network> networks) {
  return CollectTasks(networks, [](TaskLayer& layer) -> Result<void> {
    const Result<TiledShape> shape = TiledShapeOf(layer.layer);
    if (!shape) return shape.error();
    const Result<std::unique_ptr<const ScheduleSpace>> space =
        MaestroSchedules::Make(layer.layer, PeArray{});
    return space ? Result<void>() : space.error();
  });
}

namespace {

Result<TargetPointer> Within(const HardwareLimits& limits) {
  Result<std::shared_ptr<const MaestroTarget>> target = MaestroTarget::Make(
      {.pes = limits.macs, .sram_bytes = limits.sram_bytes, .area_um2 = limits.area_um2});
  if (!target) return target.error();
  return TargetPointer(*std::move(target));
}

Result<TargetPointer> FixedByName(const std::string& hardware) {
  const Result<Accelerator> accelerator = LoadAccelerator(hardware);
  if (!accelerator) return accelerator.error();
  if (!accelerator->pe_array) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} has no PE array", hardware)};
  }
  return TargetPointer(MaestroTarget::Fixed(*accelerator->pe_array));
}

}  // namespace

extern const TargetInfo kMaestroTarget = {
    .name = "maestro",
    .summary = "a PE array with two levels of buffers, mappings priced by model maestro",
    .hardware_file = "accelerator.yaml",
    .tasks = MaestroTasksOf,
    .within = Within,
    .fixed = FixedByName};

const TargetInfo& MaestroTarget::info() const { return kMaestroTarget; }

}  // namespace tessera::coopt
