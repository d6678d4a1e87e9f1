// What the page of `tessera report` shows of runs, as JSON: web/src/data.ts has the other side of
// it.
#ifndef TESSERA_REPORT_RUN_DATA_H_
#define TESSERA_REPORT_RUN_DATA_H_

#include <string>
#include <vector>

#include "tessera/report/json.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// Result, explanation and search of every run, and how each later one differs from the first.
// Errors: kinds of runs that have no page yet, and damaged folders.
// `version` is that of the program.
Result<Json> ReportData(const std::vector<RunDirectory>& runs, const std::string& version);

// The result.json of a run. Errors: runs that have not ended, damaged files.
Result<Json> ResultOf(const RunDirectory& run);

// What is known of a run that has not ended: the same without its result.
Json OpenRunData(const RunDirectory& run);

// One file that needs no other, with the data in it: nothing in the data can become markup.
std::string ReportPage(const Json& data);

// The same page for `tessera serve`: without data, and allowed to ask its server for them.
std::string ServedPage(const std::string& version);

}  // namespace tessera

#endif  // TESSERA_REPORT_RUN_DATA_H_
