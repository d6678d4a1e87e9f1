// DRAM by type: energy of every bit that crosses its interface.
#include "tessera/arch/components/component.h"

#include <fmt/format.h>

namespace tessera {
namespace {

Result<ComponentCost> Estimate(const ComponentQuery& query) {
  static const ComponentFile kFile = ComponentData("dram");
  if (query.width_bits < 1) {
    return Error{.kind = ErrorKind::kBadValue, .message = "width_bits must be 1 or more"};
  }
  std::vector<std::string> types;
  for (const std::vector<std::string>& row : kFile.rows) {
    types.push_back(row[kFile.Column("type")]);
    if (types.back() != query.type) continue;
    const std::string& per_bit = row[kFile.Column("pj_per_bit")];
    const Result<Decimal> energy = Decimal::Parse(per_bit);
    TESSERA_CHECK(energy.ok());
    const double pj = energy->ToDouble() * static_cast<double>(query.width_bits);
    return ComponentCost{.read_pj = pj,
                         .write_pj = pj,
                         .source = row[kFile.Column("source")],
                         .scaling = fmt::format("{} pJ per bit", per_bit)};
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown type of DRAM '{}'", query.type),
               .hint = DidYouMean(query.type, types)};
}

}  // namespace

extern const ComponentInfo kDramComponent = {
    .name = "dram",
    .summary = "DRAM of type ddr4, lpddr4, lpddr5, hbm2 or hbm3; energies only",
    .takes = {"type", "width_bits"},
    .estimate = Estimate};

}  // namespace tessera
