// The list of environments.
#include "tessera/env.h"

#include <fmt/format.h>

#include "tessera/part.h"

namespace tessera {

#define TESSERA_ENVS(PART)        \
  PART(EnvInfo, kPredatorPreyEnv) \
  PART(EnvInfo, kNavigationEnv)   \
  PART(EnvInfo, kMappingEnv)

TESSERA_ENVS(TESSERA_DECLARE_PART)

namespace {

std::vector<const EnvInfo*>& List() {
  static std::vector<const EnvInfo*> envs = {TESSERA_ENVS(TESSERA_PART_ADDRESS)};
  return envs;
}

}  // namespace

std::span<const EnvInfo* const> Envs() { return List(); }

Result<void> RegisterEnv(const EnvInfo& env) {
  if (FindEnv(env.name)) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("there is an environment '{}' already", env.name)};
  }
  List().push_back(&env);
  return {};
}

Result<const EnvInfo*> FindEnv(std::string_view name) {
  std::vector<std::string_view> names;
  for (const EnvInfo* env : Envs()) {
    if (env->name == name) return env;
    names.push_back(env->name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown environment '{}'", name),
               .hint = DidYouMean(name, std::span<const std::string_view>(names))};
}

}  // namespace tessera
