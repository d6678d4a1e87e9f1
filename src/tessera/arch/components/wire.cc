// On-chip wires: a word over a distance.
#include "tessera/arch/components/component.h"

#include <fmt/format.h>

namespace tessera {
namespace {

Result<ComponentCost> Estimate(const ComponentQuery& query) {
  static const ComponentFile kFile = ComponentData("wire");
  const std::string& per_bit = kFile.rows.front()[kFile.Column("pj_per_bit_mm")];
  const Result<Decimal> energy = Decimal::Parse(per_bit);
  TESSERA_CHECK(energy.ok());
  if (query.width_bits < 1 || !(query.length_mm >= 0)) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = "width_bits must be 1 or more, length_mm 0 or more"};
  }
  return ComponentCost{
      .op_pj = energy->ToDouble() * static_cast<double>(query.width_bits) * query.length_mm,
      .source = kFile.source,
      .scaling = fmt::format("{} pJ per bit and mm, whatever the node", per_bit)};
}

}  // namespace

extern const ComponentInfo kWireComponent = {
    .name = "wire",
    .summary = "a word over a distance on the chip; energy only",
    .takes = {"width_bits", "length_mm"},
    .estimate = Estimate};

}  // namespace tessera
