// Constraints as parts of files: the sections of Tessera's own format, which accelerator files have
// as well, and the list of demands that holds everything.
#ifndef TESSERA_ARCH_CONSTRAINTS_H_
#define TESSERA_ARCH_CONSTRAINTS_H_

#include <string>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera {

// Adds what the sections of a map demand: dataflow, utilization, fixed, allowed, forbidden, range,
// ratio, order, types, layers, demands. Other keys are left to the reader of the map.
Result<void> ReadConstraintSections(MapReader& reader, Constraints& constraints);

// Constraints as a YAML flow list that the section `demands` reads back the same.
std::string WriteDemands(const Constraints& constraints);

}  // namespace tessera

#endif  // TESSERA_ARCH_CONSTRAINTS_H_
