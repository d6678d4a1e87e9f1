// tessera map --method exact --batch ROWS: proved optima of many small problems, for scripts.
#ifndef TESSERA_CLI_MAP_EXACT_BATCH_H_
#define TESSERA_CLI_MAP_EXACT_BATCH_H_

#include <string>

#include "tessera/base/result.h"
#include "tessera/cli/command.h"
#include "tessera/cost/loopnest/semantics.h"

namespace tessera {

// Answers each row of a file (search/exact/row.h) with a line of JSON: the size of the space, the
// optimum for cycles, energy and EDP with its status and mapping, evaluations and seconds.
// `time_limit_seconds` is for each objective of each row; 0: none.
Result<void> MapExactBatch(const std::string& path, loopnest::Semantics semantics,
                           double time_limit_seconds, Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_MAP_EXACT_BATCH_H_
