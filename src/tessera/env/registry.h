// The environments that learners train on by name: `tessera train --env`, `tessera list envs`,
// docs and bindings read this list. An environment is one file and one line in registry.cc.
#ifndef TESSERA_ENV_REGISTRY_H_
#define TESSERA_ENV_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/parameter.h"
#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/rl/env.h"

namespace tessera {

struct EnvInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<ParameterInfo> (*parameters)();
  // A batch of environments. The pool, if any, must outlive it.
  Result<std::unique_ptr<Env>> (*make)(const Assignments& assignments, int64_t batch,
                                       ThreadPool* pool);
};

std::span<const EnvInfo* const> Envs();
Result<const EnvInfo*> FindEnv(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_ENV_REGISTRY_H_
