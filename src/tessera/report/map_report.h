// Mapped networks as `tessera map` shows them.
#ifndef TESSERA_REPORT_MAP_REPORT_H_
#define TESSERA_REPORT_MAP_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/map.h"
#include "tessera/network.h"
#include "tessera/report/json.h"
#include "tessera/report/run_views.h"
#include "tessera/report/table.h"
#include "tessera/result.h"
#include "tessera/runs.h"

namespace tessera {

// {"network", "accelerator", "model", "objective", "method", "seed", "layers", "total"}, with null
// for what is not known.
Result<Json> ToJson(const MapJob& job, const NetworkMapping& mapping);

// One row per distinct layer.
Table LayerTable(const NetworkMapping& mapping);

// Totals in a sentence or two, and what is worth knowing about the search.
std::string Summary(const MapJob& job, const NetworkMapping& mapping);

// A run with, as files, the best mapping of every layer, below "mappings/", result.json and
// report.html. A network of which a layer could not be mapped is an error of the view.
Result<RunView> ViewOfMap(const MapRunResult& result);

}  // namespace tessera

#endif  // TESSERA_REPORT_MAP_REPORT_H_
