// Machines of a template and what-if questions: tables, JSON, pictures and the files of machines.
#ifndef TESSERA_REPORT_EXPLORE_REPORT_H_
#define TESSERA_REPORT_EXPLORE_REPORT_H_

#include "tessera/report/run_views.h"
#include "tessera/result.h"
#include "tessera/runs.h"

namespace tessera {

// result.json, report.html, machines.csv (every machine and what became of it), front.csv, and
// machines/NUMBER/accelerator.yaml of every machine that is reported.
Result<RunView> ViewOfExplore(const ExploreRunResult& result);

// result.json, report.html, points.csv, sweep.svg, and points/NUMBER/accelerator.yaml.
Result<RunView> ViewOfSweep(const SweepRunResult& result);

}  // namespace tessera

#endif  // TESSERA_REPORT_EXPLORE_REPORT_H_
