// Plans of inter-layer mapping as `tessera map --inter-layer` shows them: what stays on chip, which
// groups run in slices, what each decision saves, and the staircases behind it.
#ifndef TESSERA_REPORT_PLAN_REPORT_H_
#define TESSERA_REPORT_PLAN_REPORT_H_

#include <string>

#include "tessera/map.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"
#include "tessera/result.h"

namespace tessera {

// {"homes", "groups", "none", "stages", "staircases"}.
Result<Json> PlanJson(const MapJob& job, const InterLayerPlan& plan);

// The stages that decide something: a row each.
Table PlanTable(const InterLayerPlan& plan);

// The network with and without, in a line.
std::string PlanSummary(const MapJob& job, const NetworkMapping& mapping);

// One row per step.
Table StaircaseTable(const MapJob& job, const InterLayerPlan& plan);

// Optimum against room, for layers that are computed whole: SVG.
std::string StaircaseChart(const MapJob& job, const InterLayerPlan& plan);

}  // namespace tessera

#endif  // TESSERA_REPORT_PLAN_REPORT_H_
