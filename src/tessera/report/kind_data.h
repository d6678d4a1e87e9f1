// What pages show of single kinds of runs beyond their result.
#ifndef TESSERA_REPORT_KIND_DATA_H_
#define TESSERA_REPORT_KIND_DATA_H_

#include "tessera/map.h"
#include "tessera/report/json.h"
#include "tessera/run.h"

namespace tessera {

// The proofs of a run of map, by layer: [[rounds, bound, value or null], ...], as the journal has
// them; at most kMostProofPoints of each.
Result<Json> ProofData(const RunDirectory& run, const MapJob& job);
inline constexpr size_t kMostProofPoints = 400;

// {"nodes": [{"name", "type", "layer"}], "edges": [[from, to, words]]}: who reads what whom wrote,
// without views; null where the network has no graph, or more than kMostNodes nodes.
Json GraphData(const Network& network);
inline constexpr size_t kMostNodes = 600;

// {"knobs": [names], "machines": [{"name", "values", "area", "cycles", "chosen"}]}: the machines
// that a run of cooptimize measured with every layer, the fastest ones; and "timelines": for each
// of its longest programs the busy parts of every stage, at most kMostSpans of each.
Result<Json> CooptData(const RunDirectory& run, const Json& result);
inline constexpr size_t kMostMachines = 300, kMostTimelines = 4, kMostSpans = 1'500;

// {"episode": an animated drawing or null, "episode_return", "phases": [{"name", "seconds"}]} of a
// run of train; what cannot be had is null.
Json TrainData(const RunDirectory& run, const Json& times);

}  // namespace tessera

#endif  // TESSERA_REPORT_KIND_DATA_H_
