// Adders and multiply-accumulate units, integer and floating point.
#include "tessera/arch/components/component.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr double kTableNm = 45;

struct Operation {
  double pj = 0, area_um2 = 0;
};

// The rows of one operation and kind.
ComponentFile RowsOf(const ComponentFile& file, std::string_view operation, std::string_view kind) {
  ComponentFile rows{.source = file.source, .columns = file.columns};
  for (const std::vector<std::string>& row : file.rows) {
    if (row[file.Column("operation")] == operation && row[file.Column("kind")] == kind) {
      rows.rows.push_back(row);
    }
  }
  return rows;
}

Result<Operation> OperationOf(const ComponentFile& file, std::string_view operation,
                              const ComponentQuery& query) {
  const ComponentFile rows = RowsOf(file, operation, query.kind);
  if (rows.rows.empty()) {
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("kind is '{}', but must be int or float", query.kind)};
  }
  const std::vector<double> width = {static_cast<double>(query.width_bits)};
  const Result<double> pj = LogTable(rows, {"width_bits"}, "op_pj").At(width);
  if (!pj) return pj.error();
  const Result<double> area = LogTable(rows, {"width_bits"}, "area_um2").At(width);
  if (!area) return area.error();
  return Operation{*pj, *area};
}

Result<ComponentCost> CostOf(const ComponentFile& file, const Operation& operation,
                             std::string_view scaling, const ComponentQuery& query) {
  ComponentCost cost{.op_pj = operation.pj,
                     .area_um2 = operation.area_um2,
                     .source = file.source,
                     .scaling = std::string(scaling)};
  if (Result<void> scaled = ScaleToNode(kTableNm, query.node_nm, cost); !scaled) {
    return scaled.error();
  }
  return cost;
}

Result<ComponentCost> EstimateAdder(const ComponentQuery& query) {
  const ComponentFile file = ComponentData("arithmetic");
  const Result<Operation> add = OperationOf(file, "add", query);
  if (!add) return add.error();
  return CostOf(file, *add, "widths between the rows on straight lines of logarithms", query);
}

Result<ComponentCost> EstimateMac(const ComponentQuery& query) {
  const ComponentFile file = ComponentData("arithmetic");
  const Result<Operation> multiply = OperationOf(file, "multiply", query);
  if (!multiply) return multiply.error();
  // Products of integers are twice as wide, up to what the table has.
  ComponentQuery sum = query;
  if (query.kind == "int") sum.width_bits = std::min<int64_t>(2 * query.width_bits, 32);
  const Result<Operation> add = OperationOf(file, "add", sum);
  if (!add) return add.error();
  const Operation both{multiply->pj + add->pj, multiply->area_um2 + add->area_um2};
  return CostOf(file, both,
                fmt::format("a multiplication of {} bits and an addition of {}; widths between the "
                            "rows on straight lines of logarithms",
                            query.width_bits, sum.width_bits),
                query);
}

}  // namespace

extern const ComponentInfo kAdderComponent = {
    .name = "adder",
    .summary = "one addition; kind int (8 to 32 bits) or float (16 to 32 bits)",
    .takes = {"kind", "width_bits", "node_nm"},
    .estimate = EstimateAdder};

extern const ComponentInfo kMacComponent = {
    .name = "mac",
    .summary = "one multiply-accumulate; kind int (8 to 32 bits) or float (16 to 32 bits)",
    .takes = {"kind", "width_bits", "node_nm"},
    .estimate = EstimateMac};

}  // namespace tessera
