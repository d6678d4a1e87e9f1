// Mappings as traces for Perfetto (ui.perfetto.dev): who moves what when.
#ifndef TESSERA_REPORT_MAPPING_TRACE_H_
#define TESSERA_REPORT_MAPPING_TRACE_H_

#include <string>

#include "tessera/map.h"

namespace tessera {

// Trace events as JSON, a cycle as a microsecond. Layers follow each other, one occurrence of each.
// A layer is cut into equal steps, the iterations of its outermost loops, as many as keep the whole
// below kMostSlices. Each level has a track with, in every step in which a tensor's tile below it
// changes, a slice for the words that move: all of them together are the reads and updates of
// `tessera explain`, in equal parts. A slice is as long as the level's bandwidth needs, or the
// whole step where it has none. Mappings without loops of their own (dataflows) are one step.
std::string MappingTrace(const RunExplanation& run);

inline constexpr int64_t kMostSlices = 20'000;

}  // namespace tessera

#endif  // TESSERA_REPORT_MAPPING_TRACE_H_
