// Components: what parts of a machine cost, with the source of every number. One file per component
// and one line in components.cc; the numbers are tables of data/components, with their citations.
//
//   const Result<ComponentCost> sram = (*FindComponent("sram"))->estimate(
//       {.bytes = 65'536, .width_bits = 64, .node_nm = 22});
#ifndef TESSERA_ARCH_COMPONENTS_COMPONENT_H_
#define TESSERA_ARCH_COMPONENTS_COMPONENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/arch/components/log_table.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// What may be asked; a component takes those that its ComponentInfo names.
struct ComponentQuery {
  int64_t bytes = 0;
  int64_t width_bits = 0;
  double node_nm = 0;
  std::string kind = "int";  // of arithmetic: int, float. Default: int.
  std::string type = {};     // of DRAM: ddr4, ...
  double length_mm = 1;      // of wires. Default: 1.
};

// What its source does not say is none.
struct ComponentCost {
  std::optional<double> read_pj = {}, write_pj = {};  // one access of the whole width
  std::optional<double> op_pj = {};                   // one operation, or one word over a wire
  std::optional<double> leakage_mw = {};
  std::optional<double> area_um2 = {};
  std::optional<double> access_ns = {};
  std::string source = {};   // who published the numbers
  std::string scaling = {};  // how they became these
};

// Contract: estimate is pure; outside of what was published it is an error that says the range.
struct ComponentInfo {
  std::string_view name;
  std::string_view summary;  // one line
  std::vector<std::string_view> takes;
  Result<ComponentCost> (*estimate)(const ComponentQuery&);
};

std::span<const ComponentInfo* const> Components();
Result<const ComponentInfo*> FindComponent(std::string_view name);

// A file of data/components, by its name.
ComponentFile ComponentData(std::string_view name);

// Carries energies and areas from the node of their source to that of the query, and says so in the
// cost. Energies go with the node (capacitance at equal voltage), areas with its square. Nodes are
// those of the SRAM table; outside of them is an error with the range.
Result<void> ScaleToNode(double from_nm, double to_nm, ComponentCost& cost);

}  // namespace tessera

#endif  // TESSERA_ARCH_COMPONENTS_COMPONENT_H_
