// Studies as `tessera study` shows them.
#ifndef TESSERA_REPORT_STUDY_REPORT_H_
#define TESSERA_REPORT_STUDY_REPORT_H_

#include "tessera/report/json.h"
#include "tessera/report/run_views.h"
#include "tessera/report/table.h"
#include "tessera/result.h"
#include "tessera/runs.h"

namespace tessera {

// {"study", "id", "part", "done", "failed", "open", "units": [...]}: every unit with its record.
Json ToJson(const StudyRunResult& result);

// One row per unit.
Table UnitTable(const StudyRunResult& result);

// A study with, as files once nothing is left to do, result.json, study.sqlite and report.html.
Result<RunView> ViewOfStudy(const StudyRunResult& result);

}  // namespace tessera

#endif  // TESSERA_REPORT_STUDY_REPORT_H_
