// Checks a mapping run from its files alone, without the code that searched. Every reported mapping
// is read from its text, checked for legality and priced again: by walking its loops where the
// layer is small, otherwise by the cost model. Bounds, gaps, statuses and totals are computed
// again; proved bounds are compared with the journal of the proof and with random mappings; every
// journalled evaluation is repeated; exported files are compared with the mappings.
#ifndef TESSERA_MAPPER_VERIFY_H_
#define TESSERA_MAPPER_VERIFY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/record/run_directory.h"
#include "tessera/result.h"

namespace tessera {

// Something that is not what it should be.
struct Discrepancy {
  std::string what;  // "layer 'conv1': cycles"
  std::string reported;
  std::string computed;
};

// What was checked of a layer.
struct LayerVerification {
  std::string name = {};
  int64_t numbers = 0;       // of the report, computed again
  int64_t trials = 0;        // of the journal, evaluated again
  int64_t files = 0;         // of the mapping, compared
  std::string mapping = {};  // how it was priced; empty: there is none
  std::string bound = {};    // where it comes from, and what it was compared with
};

struct Verification {
  std::vector<LayerVerification> layers = {};
  int64_t total_numbers = 0;  // of the network
  std::vector<Discrepancy> discrepancies = {};
};

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
// layer. Errors: runs without proofs, and as VerifyRun.
Result<AuditResult> AuditRun(const RunDirectory& directory, int threads, int64_t most);

// Errors: files that are missing or cannot be read. Wrong numbers are discrepancies.
Result<Verification> VerifyRun(const RunDirectory& directory, int threads);

}  // namespace tessera

#endif  // TESSERA_MAPPER_VERIFY_H_
