// What a search may decide: every decision of a space with its values.
#ifndef TESSERA_REPORT_SPACE_REPORT_H_
#define TESSERA_REPORT_SPACE_REPORT_H_

#include <vector>

#include "tessera/map.h"
#include "tessera/report/output.h"
#include "tessera/result.h"

namespace tessera {

// Sizes of the spaces of a job's layers, and every decision. In JSON `layers`, each with `choices`:
// `name`, `kind` (number, choice, order, rest), `count`, `values`; orders also have `items`, and
// `values` is null where there are more than 720 of them. `rest`: follows from the others.
Result<void> ShowSpaces(const MapJob& job, const std::vector<SpaceSize>& spaces, Output& output);

}  // namespace tessera

#endif  // TESSERA_REPORT_SPACE_REPORT_H_
