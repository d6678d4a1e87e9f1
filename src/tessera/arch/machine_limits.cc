#include "tessera/arch/machine_limits.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr double kUm2PerMm2 = 1e6;

struct LimitName {
  std::string_view name;
  std::optional<double> MachineLimits::*limit;
  double unit;  // of the name, in that of the limit
};
constexpr std::array kLimitNames = {
    LimitName{"area_mm2", &MachineLimits::area_um2, kUm2PerMm2},
    LimitName{"area_um2", &MachineLimits::area_um2, 1},
    LimitName{"power_w", &MachineLimits::power_w, 1},
    LimitName{"sram_bytes", &MachineLimits::sram_bytes, 1},
    LimitName{"aspect", &MachineLimits::aspect, 1},
};

double SramBytes(const Hierarchy& hierarchy) {
  double bytes = 0;
  for (size_t i = 0; i + 1 < hierarchy.levels.size(); ++i) {
    const MemoryLevel& level = hierarchy.levels[i];
    bytes += static_cast<double>(level.entries.value_or(0)) * static_cast<double>(level.word_bits) /
             8 * static_cast<double>(level.instances());
  }
  return bytes;
}

}  // namespace

TemplateMachine Measured(Accelerator accelerator) {
  TemplateMachine machine{.accelerator = std::move(accelerator)};
  const Hierarchy& hierarchy = *machine.accelerator.hierarchy;
  machine.area_um2 = KnownAreaUm2(hierarchy);
  machine.sram_bytes = SramBytes(hierarchy);
  const double x = static_cast<double>(hierarchy.arithmetic.mesh_x);
  const double y = static_cast<double>(hierarchy.arithmetic.mesh_y);
  machine.aspect = std::max(x / y, y / x);
  return machine;
}

bool MachineLimits::Set(std::string_view name, double most) {
  for (const LimitName& known : kLimitNames) {
    if (known.name != name) continue;
    this->*known.limit = most * known.unit;
    return true;
  }
  return false;
}

std::vector<std::string_view> MachineLimits::Names() {
  std::vector<std::string_view> names;
  for (const LimitName& known : kLimitNames) names.push_back(known.name);
  return names;
}

std::string MachineLimits::Broken(const TemplateMachine& machine) const {
  const auto broken = [](std::string_view name, double have, const std::optional<double>& most,
                         double unit) {
    if (!most || have <= *most) return std::string();
    return fmt::format("{} {:.6g} > {:.6g}", name, have / unit, *most / unit);
  };
  for (const std::string& text : {broken("area_mm2", machine.area_um2, area_um2, kUm2PerMm2),
                                  broken("sram_bytes", machine.sram_bytes, sram_bytes, 1),
                                  broken("aspect", machine.aspect, aspect, 1)}) {
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace tessera
