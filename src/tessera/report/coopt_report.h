// The result of a co-optimization: the accelerator, the schedules, how it got there.
#ifndef TESSERA_REPORT_COOPT_REPORT_H_
#define TESSERA_REPORT_COOPT_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/coopt/session.h"
#include "tessera/report/json.h"
#include "tessera/report/run_views.h"
#include "tessera/report/table.h"
#include "tessera/runs.h"

namespace tessera {

// What stands beside the measurements.
struct CooptRun {
  std::string network;
  std::string method;
  uint64_t seed = 1;
  bool validity_filter = true;
};

// Everything for programs. The result must have an accelerator.
Json CooptJson(const CooptRun& run, const coopt::CooptProblem& problem,
               const coopt::SessionResult& result, const std::vector<coopt::LeftOut>& left_out);

// The layers for people.
Table CooptTable(const coopt::CooptProblem& problem, const coopt::SessionResult& result);

// Area against throughput, the best of each.
Table ParetoTable(const coopt::CooptProblem& problem, const coopt::SessionResult& result);

// "1x16x16_...: 256 MACs, 491,520 bytes of SRAM, ...; 12.3 inferences/s at 100 MHz".
std::string CooptSummary(const coopt::CooptProblem& problem, const coopt::SessionResult& result);

// A page that a browser opens without anything else: what CooptSummary and the tables say, area
// against throughput, and how the search went.
std::string CooptPage(const std::string& network, const std::string& text,
                      const coopt::CooptProblem& problem, const coopt::SessionResult& result);

// A run with the accelerator, the programs below "programs/", result.json, report.txt and
// report.html.
Result<RunView> ViewOfCooptimize(const CooptimizeRunResult& result);

}  // namespace tessera

#endif  // TESSERA_REPORT_COOPT_REPORT_H_
