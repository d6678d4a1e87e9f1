// A user's program as an evaluator: it reads problems as JSON lines and writes answers as JSON
// lines (docs/external-evaluator.md). Its crashes and time-outs are never taken for bad mappings.
#ifndef TESSERA_COST_EXTERNAL_EXTERNAL_H_
#define TESSERA_COST_EXTERNAL_EXTERNAL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cost.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

struct ExternalOptions {
  // Run by sh.
  std::string command = {};

  // Longest time from the start of execution to the first answer, and from answer to answer.
  // Default: 60.
  double timeout_seconds = 60;

  // Address space of the program, in MiB; 0: no limit. Default: 4096.
  int64_t memory_mib = 4096;

  // Rows that one run of the program gets. Default: 64.
  int64_t batch_rows = 64;
};

// What became of one row.
struct ExternalAnswer {
  enum class Kind : uint8_t {
    kAnswered,  // `line` is the program's answer, whatever its status
    kCrash,     // the program died on it
    kTimeout,   // the program did not answer in time
    kFailed,    // the program ended without an answer, or could not be started
  };
  Kind kind = Kind::kFailed;
  std::string line = {};     // JSON; made here unless answered: {"id", "status", "msg"}
  std::string message = {};  // why there is no answer
};

// Evaluates rows, each one JSON object on one line with an `id` that no other row has. The error is
// for rows that are not, or of kind kInterrupted. If a run ends badly with several rows open, each
// of them gets a run of its own: so the row that is to blame is found and the others are answered.
// Runs go on in parallel, one per thread of the pool; the answers do not depend on how many.
Result<std::vector<ExternalAnswer>> RunExternal(const ExternalOptions& options,
                                                std::span<const std::string> rows,
                                                ThreadPool& pool);

// The cost in an answer. `status` "ok" needs `cycles` and `energy_pj`, and may have `power_mw`,
// `area_um2`, `macs` and `utilization`, or MAESTRO's `out` columns instead; numbers that cannot
// be (no cycles, half a cycle, less energy than none, more than all units busy) are an error. Any
// other status is an error of kind kInfeasible with the answer's `msg`.
Result<Cost> CostOfAnswer(std::string_view line);

}  // namespace tessera

#endif  // TESSERA_COST_EXTERNAL_EXTERNAL_H_
