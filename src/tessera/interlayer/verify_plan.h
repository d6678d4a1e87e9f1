// Checks the plan of a mapping run from its files alone: it is read from the report, walked node by
// node and slice by slice (replay.h), and its numbers are compared with what that gives.
#ifndef TESSERA_INTERLAYER_VERIFY_PLAN_H_
#define TESSERA_INTERLAYER_VERIFY_PLAN_H_

#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// Adds to what VerifyMapRun has found; nothing for runs without a plan. Errors: files that cannot
// be read.
Result<void> VerifyPlan(const RunDirectory& directory, Verification& found);

}  // namespace tessera

#endif  // TESSERA_INTERLAYER_VERIFY_PLAN_H_
