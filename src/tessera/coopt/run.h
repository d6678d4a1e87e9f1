// The same co-optimization once more, to check a run.
#ifndef TESSERA_COOPT_RUN_H_
#define TESSERA_COOPT_RUN_H_

#include "tessera/cooptimize.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera::coopt {

// Repeats every measurement of the journal; what differs goes to `found`. Returns the result that
// the repeated measurements give.
Result<CooptimizeResult> CooptimizeAgain(const RunDirectory& directory,
                                         const VerifyOptions& options, Verification& found);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_RUN_H_
