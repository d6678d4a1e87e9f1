// Explained runs as tables, text and JSON: energy by level and tensor, what limits cycles, and how
// two runs differ.
#ifndef TESSERA_REPORT_EXPLAIN_REPORT_H_
#define TESSERA_REPORT_EXPLAIN_REPORT_H_

#include <string>

#include "tessera/map.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"

namespace tessera {

// `layers`, each with energy_pj by level and tensor, mac_pj, leakage_pj, limited_by,
// cycles_if_lifted and what they come from; docs/explain.md has all keys.
Json ToJson(const RunExplanation& run);

// One row per layer: what it costs, what limits it, where most of its energy goes.
Table ExplainTable(const RunExplanation& run);

// Everything about one layer.
std::string LayerText(const LayerExplanation& layer);

// Both sides of every layer, and the differences by level and tensor; `total`: of the network.
Json ToJson(const RunDiff& diff);
Table DiffTable(const RunDiff& diff);

// Energies by level and tensor, a, b and their difference, largest differences first.
Table PartTable(const std::vector<PartDelta>& parts);

}  // namespace tessera

#endif  // TESSERA_REPORT_EXPLAIN_REPORT_H_
