// Comparisons of methods as runs: what was asked for as data that goes to a file and comes back,
// and all evaluations once more to check one.
#ifndef TESSERA_MAPPER_COMPARE_RUN_H_
#define TESSERA_MAPPER_COMPARE_RUN_H_

#include <string>
#include <string_view>

#include "tessera/map.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// An error unless a run that evaluates with a program may do so (CheckMayExecute).
Result<void> CheckCompareMayExecute(const RunDirectory& directory, bool allowed);

// Evaluates everything that the journals hold again; what differs goes to `found`. Returns the
// comparison that the repeated evaluations give.
Result<Comparison> CompareAgain(const CompareJob& job, const RunDirectory& directory,
                                const VerifyOptions& options, Verification& found);

}  // namespace tessera

#endif  // TESSERA_MAPPER_COMPARE_RUN_H_
