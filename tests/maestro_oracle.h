// A second, slow model of MAESTRO for tests and benchmarks: it follows docs/cost-maestro.md rule by
// rule, walks every case of every level each time anew, and shares nothing with cost/maestro but
// the types of its input and output.
#ifndef TESSERA_TESTS_MAESTRO_ORACLE_H_
#define TESSERA_TESTS_MAESTRO_ORACLE_H_

#include "tessera/accelerator.h"
#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping.h"

namespace tessera {

enum class OracleStatus { kOk, kReject, kCrash, kGivenUp };

struct OracleResult {
  OracleStatus status = OracleStatus::kOk;
  maestro::Analysis analysis = {};
};

// For layers whose counts fit in 64 bits. A mapping that takes more than `max_cases` cases, all
// levels and visits together, is given up.
OracleResult EvaluateByTheBook(const maestro::Declaration& declaration, const PeArray& array,
                               MaestroVersion version, const Dataflow& dataflow,
                               int64_t max_cases = 10'000'000);

}  // namespace tessera

#endif  // TESSERA_TESTS_MAESTRO_ORACLE_H_
