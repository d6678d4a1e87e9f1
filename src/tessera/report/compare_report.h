// Comparisons of search methods as `tessera compare` shows them.
#ifndef TESSERA_REPORT_COMPARE_REPORT_H_
#define TESSERA_REPORT_COMPARE_REPORT_H_

#include <string>

#include "tessera/mapper/compare.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"

namespace tessera {

// {"results": [{"method", "seed", "samples", "best", "seconds", "curve"}], "best_known", ...}.
Json ToJson(const MapJob& job, const Comparison& comparison);

// One row per method.
Table SummaryTable(const Comparison& comparison);

// The best value so far against samples, a line for every run.
std::string CurvesSvg(const MapJob& job, const Comparison& comparison);

}  // namespace tessera

#endif  // TESSERA_REPORT_COMPARE_REPORT_H_
