// Areas of a machine's parts from a reference table (ART) that Accelergy writes.
#ifndef TESSERA_ARCH_AREA_TABLE_H_
#define TESSERA_ARCH_AREA_TABLE_H_

#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// um^2 of one instance of a component.
struct ComponentArea {
  std::string name = {};  // of a level, or of the MACs
  Where where = {};
  Decimal area_um2 = 0;
};

struct AreaTable {
  std::vector<ComponentArea> components = {};
};

//   ART:
//     version: 0.3
//     tables:
//     - {name: "chip.PE[0..15].RF[0..3]", area: 1234.5}
//
// or, before version 0.3, a map from names to areas. Of a name the last part counts, without its
// indices.
Result<AreaTable> ParseAreaTable(const Node& document);

// Sets the areas of a machine; components that it does not have are notes, which are returned. If
// none fits, that is an error.
Result<std::vector<std::string>> ApplyAreaTable(const AreaTable& table, Accelerator& accelerator);

// The areas that a hierarchy knows as an ART; empty if there are none.
std::string WriteArt(const Hierarchy& hierarchy);

}  // namespace tessera

#endif  // TESSERA_ARCH_AREA_TABLE_H_
