// Spaces as `tessera map --dry-run` shows them: how large they are, every decision with its values,
// and what constraints leave of them.
#ifndef TESSERA_REPORT_SPACE_REPORT_H_
#define TESSERA_REPORT_SPACE_REPORT_H_

#include <string>
#include <vector>

#include "tessera/map.h"
#include "tessera/report/json.h"

namespace tessera {

// A row per layer, then a table of decisions for each. `spaces` are those of the job's layers.
std::string SpacesText(const MapJob& job, const std::vector<SpaceSize>& spaces);

// A list with an object per layer: "layer", "count", "type", "open_decisions", "log10_size",
// "log10_paper", "decisions", "relations".
Json SpacesJson(const MapJob& job, const std::vector<SpaceSize>& spaces);

}  // namespace tessera

#endif  // TESSERA_REPORT_SPACE_REPORT_H_
