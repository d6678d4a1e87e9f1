// SRAM: single-bank scratchpads, as CACTI 7 computes them, read between its points.
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/arch/components/component.h"

namespace tessera {
namespace {

struct SramTables {
  std::string source;
  LogTable read_pj, write_pj, leakage_mw, area_um2, access_ns;
};

// Doubling a memory never makes it cheaper; where CACTI's choice of another partition does, the
// step is levelled.
LogTable MonotoneTable(const ComponentFile& file, std::string_view value) {
  LogTable table(file, {"bytes", "width_bits", "node_nm"}, value);
  table.MakeMonotone(0);
  return table;
}

const SramTables& Tables() {
  static const SramTables kTables = [] {
    const ComponentFile file = ComponentData("sram");
    return SramTables{.source = file.source,
                      .read_pj = MonotoneTable(file, "read_pj"),
                      .write_pj = MonotoneTable(file, "write_pj"),
                      .leakage_mw = MonotoneTable(file, "leakage_mw"),
                      .area_um2 = MonotoneTable(file, "area_um2"),
                      .access_ns = MonotoneTable(file, "access_ns")};
  }();
  return kTables;
}

Result<ComponentCost> Estimate(const ComponentQuery& query) {
  const SramTables& tables = Tables();
  const std::vector<double> point = {static_cast<double>(query.bytes),
                                     static_cast<double>(query.width_bits), query.node_nm};
  ComponentCost cost{.source = tables.source,
                     .scaling = "logarithms on straight lines between the points of the table"};
  const std::pair<const LogTable*, std::optional<double>*> values[] = {
      {&tables.read_pj, &cost.read_pj},
      {&tables.write_pj, &cost.write_pj},
      {&tables.leakage_mw, &cost.leakage_mw},
      {&tables.area_um2, &cost.area_um2},
      {&tables.access_ns, &cost.access_ns}};
  for (const auto& [table, target] : values) {
    const Result<double> value = table->At(point);
    if (!value) return value.error();
    *target = *value;
  }
  return cost;
}

}  // namespace

extern const ComponentInfo kSramComponent = {
    .name = "sram",
    .summary = "single-bank scratchpad with one read-write port; an access is of the whole width",
    .takes = {"bytes", "width_bits", "node_nm"},
    .estimate = Estimate};

}  // namespace tessera
