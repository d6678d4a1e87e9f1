// Checks a mapping run from its files alone, without the code that searched. Every reported mapping
// is read from its text, checked for legality and priced again: by walking its loops where the
// layer is small, otherwise by the cost model. Bounds, gaps, statuses and totals are computed
// again; proved bounds are compared with the journal of the proof and with random mappings, and
// proved again as far as time allows; every journalled evaluation is repeated; exported files are
// compared with the mappings.
#ifndef TESSERA_MAPPER_VERIFY_H_
#define TESSERA_MAPPER_VERIFY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapping/mapping.h"
#include "tessera/record/run_directory.h"
#include "tessera/record/verification.h"

namespace tessera {

// Below parts that the exact mapper left out, random mappings are priced.
struct RuleVerification {
  std::string_view rule = {};
  int64_t audited = 0, violations = 0;
  double tightest = 0;  // largest bound / cost
};

struct AuditResult {
  std::vector<RuleVerification> rules = {};
  std::vector<Discrepancy> discrepancies = {};
};

// Repeats the proofs of a run, as many rounds as they took, with up to `most` mappings per rule and
// layer. Errors: runs without proofs, and as VerifyMapRun.
Result<AuditResult> AuditRun(const RunDirectory& directory, int threads, int64_t most);

// Errors: files that are missing or cannot be read. Wrong numbers are discrepancies; bounds whose
// proofs could not be repeated in the time given are listed as trusted.
Result<Verification> VerifyMapRun(const RunDirectory& directory, const VerifyOptions& options);

// Proves a layer again, until `bound` is reached or SteadySeconds() passes the deadline.
struct ProvedAgain {
  bool reached = false;   // nothing is below `bound`
  bool complete = false;  // nothing is left to search
  double least = 0;       // value of the best mapping that was found or given; infinite: none
};
Result<ProvedAgain> ProveAgain(const MapJob& job, const Layer& layer,
                               const std::optional<Mapping>& known, double bound, double deadline);

}  // namespace tessera

#endif  // TESSERA_MAPPER_VERIFY_H_
