// Explained runs as tables, text and JSON: energy by level and tensor, and what limits cycles.
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
Json ToJson(const LayerExplanation& layer);

// One row per layer: what it costs, what limits it, where most of its energy goes.
Table ExplainTable(const RunExplanation& run);

// Everything about one layer.
std::string LayerText(const LayerExplanation& layer);

}  // namespace tessera

#endif  // TESSERA_REPORT_EXPLAIN_REPORT_H_
