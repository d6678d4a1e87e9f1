// The list of environments.
#include "tessera/env/registry.h"

#include <fmt/format.h>

#include "tessera/base/registry.h"

namespace tessera {

#define TESSERA_ENVS(PART)        \
  PART(EnvInfo, kPredatorPreyEnv) \
  PART(EnvInfo, kNavigationEnv)   \
  PART(EnvInfo, kMappingEnv)

TESSERA_ENVS(TESSERA_DECLARE_PART)

namespace {

constexpr const EnvInfo* kEnvs[] = {TESSERA_ENVS(TESSERA_PART_ADDRESS)};

}  // namespace

std::span<const EnvInfo* const> Envs() { return kEnvs; }

Result<const EnvInfo*> FindEnv(std::string_view name) {
  std::vector<std::string_view> names;
  for (const EnvInfo* env : kEnvs) {
    if (env->name == name) return env;
    names.push_back(env->name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown environment '{}'", name),
               .hint = DidYouMean(name, std::span<const std::string_view>(names))};
}

}  // namespace tessera
