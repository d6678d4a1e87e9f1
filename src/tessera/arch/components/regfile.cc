// Register files in a processing element.
#include "tessera/arch/components/component.h"

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr double kTableBits = 16, kTableNm = 28;

Result<ComponentCost> Estimate(const ComponentQuery& query) {
  static const ComponentFile kFile = ComponentData("regfile");
  static const LogTable kEnergy(kFile, {"bytes"}, "read_pj");
  if (query.width_bits < 1) {
    return Error{.kind = ErrorKind::kBadValue, .message = "width_bits must be 1 or more"};
  }
  const Result<double> energy = kEnergy.At({static_cast<double>(query.bytes)});
  if (!energy) return energy.error();
  const double pj = *energy * static_cast<double>(query.width_bits) / kTableBits;
  ComponentCost cost{.read_pj = pj,
                     .write_pj = pj,
                     .source = kFile.source,
                     .scaling = fmt::format("times {}/{} bits", query.width_bits, kTableBits)};
  if (Result<void> scaled = ScaleToNode(kTableNm, query.node_nm, cost); !scaled) {
    return scaled.error();
  }
  return cost;
}

}  // namespace

extern const ComponentInfo kRegfileComponent = {
    .name = "regfile",
    .summary = "registers of a processing element; energies only",
    .takes = {"bytes", "width_bits", "node_nm"},
    .estimate = Estimate};

}  // namespace tessera
