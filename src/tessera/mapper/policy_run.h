// Training a policy once more, for verify.
#ifndef TESSERA_MAPPER_POLICY_RUN_H_
#define TESSERA_MAPPER_POLICY_RUN_H_

#include <functional>

#include "tessera/map.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// From the beginning; of the folder only the inputs are read. Interrupted, or an error of kind
// kInterrupted, if `stopped`, which any thread may ask.
Result<PolicyTraining> TrainPolicyAgain(const RunDirectory& directory, int threads,
                                        const std::function<bool()>& stopped);

}  // namespace tessera

#endif  // TESSERA_MAPPER_POLICY_RUN_H_
