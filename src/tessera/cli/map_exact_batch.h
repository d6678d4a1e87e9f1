// tessera map --method exact --batch ROWS: proved optima of many small problems, for scripts.
#ifndef TESSERA_CLI_MAP_EXACT_BATCH_H_
#define TESSERA_CLI_MAP_EXACT_BATCH_H_

#include <cstdint>
#include <string>

#include "tessera/cli/command.h"
#include "tessera/cost.h"
#include "tessera/result.h"

namespace tessera {

struct ExactBatchOptions {
  loopnest::Semantics semantics = loopnest::Semantics::kExact;  // Default: kExact.

  // For each objective of each row; 0: none. Default: 0.
  double time_limit_seconds = 0;

  // Random mappings per pruning rule that are checked against the bound for which they were left
  // out; the answer then has `audit`. Default: 0.
  int64_t audit = 0;
};

// Answers each row of a file (search/exact/row.h) with a line of JSON: the size of the space, the
// optimum for cycles, energy and EDP with its status and mapping, evaluations and seconds.
Result<void> MapExactBatch(const std::string& path, const ExactBatchOptions& options,
                           Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_MAP_EXACT_BATCH_H_
