// Fronts of mapped networks as `tessera map --objective pareto` shows them.
#ifndef TESSERA_REPORT_PARETO_REPORT_H_
#define TESSERA_REPORT_PARETO_REPORT_H_

#include <string>

#include "tessera/map.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"
#include "tessera/result.h"

namespace tessera {

// One row per point.
Table FrontTable(const NetworkFronts& fronts);

// {"network", "accelerator", "model", "objective", "method", "layers": [{"name", "count",
// "complete", "points": [{"cycles", "energy_pj", "edp", "bound_pj", "status", "mapping"}]}]}
Result<Json> ToJson(const MapJob& job, const NetworkFronts& fronts);

// What is complete, in a sentence.
std::string Summary(const MapJob& job, const NetworkFronts& fronts);

// Energy over cycles, a line per layer.
std::string FrontsSvg(const MapJob& job, const NetworkFronts& fronts);

}  // namespace tessera

#endif  // TESSERA_REPORT_PARETO_REPORT_H_
