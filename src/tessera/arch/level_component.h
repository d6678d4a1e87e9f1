// Levels and MACs of accelerator files that name a component instead of energies, and where every
// number of a machine comes from.
#ifndef TESSERA_ARCH_LEVEL_COMPONENT_H_
#define TESSERA_ARCH_LEVEL_COMPONENT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera {

// A number of a machine and its source.
struct NumberSource {
  std::string part = {};    // "GLB"
  std::string number = {};  // "read_pj"
  double value = 0;
  std::string source = {};   // "given", or who published it
  std::string scaling = {};  // how it became this number; empty: as published
};

// Fills in the energies that a level, or the arithmetic, does not give, from the component that it
// names with the keys `component`, `node_nm` (of the level, or else of the hierarchy), `type` and
// `kind`. The map's own numbers win. Without a component nothing changes. Adds all numbers to
// `sources`. Errors: with the place of the key; a component that cannot be a level.
Result<void> ApplyComponent(MapReader& map, const Node& node, std::optional<double> node_nm,
                            MemoryLevel& level, std::vector<NumberSource>& sources);
Result<void> ApplyComponent(MapReader& map, const Node& node, std::optional<double> node_nm,
                            Arithmetic& arithmetic, std::vector<NumberSource>& sources);

// Adds area and leakage of all instances of the parts for which they are known, as part "machine".
void AddTotals(const Hierarchy& hierarchy, std::vector<NumberSource>& sources);

// The accelerator that a document of Tessera's own format holds.
Result<Accelerator> AcceleratorOf(const Node& root);

// All numbers of a file of Tessera's own format; none of other formats, which give theirs.
Result<std::vector<NumberSource>> ExplainAccelerator(std::string_view bytes,
                                                     const std::string& file);

}  // namespace tessera

#endif  // TESSERA_ARCH_LEVEL_COMPONENT_H_
