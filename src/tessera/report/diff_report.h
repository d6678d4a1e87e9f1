// How two runs differ, as tables and JSON.
#ifndef TESSERA_REPORT_DIFF_REPORT_H_
#define TESSERA_REPORT_DIFF_REPORT_H_

#include <vector>

#include "tessera/map.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"

namespace tessera {

// Both sides of every layer, and the differences by level and tensor; `total`: of the network.
Json ToJson(const RunDiff& diff);
Table DiffTable(const RunDiff& diff);

// Energies by level and tensor, a, b and their difference, largest differences first.
Table PartTable(const std::vector<PartDelta>& parts);

}  // namespace tessera

#endif  // TESSERA_REPORT_DIFF_REPORT_H_
