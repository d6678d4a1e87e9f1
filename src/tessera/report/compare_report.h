// Comparisons of search methods as `tessera compare` shows them.
#ifndef TESSERA_REPORT_COMPARE_REPORT_H_
#define TESSERA_REPORT_COMPARE_REPORT_H_

#include <string>

#include "tessera/map.h"
#include "tessera/report/json.h"
#include "tessera/report/run_views.h"
#include "tessera/report/table.h"
#include "tessera/result.h"
#include "tessera/runs.h"

namespace tessera {

// {"results": [{"method", "seed", "samples", "best", "curve"}], "best_known", ...}; with `times`
// also the seconds of every run.
Json ToJson(const MapJob& job, const Comparison& comparison, bool times);

// One row per method.
Table SummaryTable(const Comparison& comparison, bool times);

// The best value so far against samples, a line for every run.
std::string CurvesSvg(const MapJob& job, const Comparison& comparison);

// The mean rewards of all runs.
std::string ReturnsSvg(const MapJob& job, const Comparison& comparison);

// A run with result.json, curves.svg and report.html. Runs that all found nothing are an error of
// the view.
Result<RunView> ViewOfCompare(const CompareRunResult& result);

}  // namespace tessera

#endif  // TESSERA_REPORT_COMPARE_REPORT_H_
