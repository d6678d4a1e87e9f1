// Checks of the contract of Env (tessera/env.h), for every environment. A new environment's own
// test starts with these.
#ifndef TESSERA_RL_ENV_CONFORMANCE_H_
#define TESSERA_RL_ENV_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>

#include "tessera/env.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

using EnvFactory = std::function<Result<std::unique_ptr<Env>>(int64_t batch, ThreadPool* pool)>;

// All checks; the error names the violated line of the contract. `scratch_folder` takes a
// checkpoint.
Result<void> CheckEnv(const EnvFactory& make, const std::string& scratch_folder);

}  // namespace tessera

#endif  // TESSERA_RL_ENV_CONFORMANCE_H_
