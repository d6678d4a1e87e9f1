// The list of environments.
#include "tessera/env/registry.h"

#include <fmt/format.h>

namespace tessera {

extern const EnvInfo kPredatorPreyEnv;
extern const EnvInfo kNavigationEnv;
extern const EnvInfo kMappingEnv;

namespace {

constexpr const EnvInfo* kEnvs[] = {
    &kPredatorPreyEnv,
    &kNavigationEnv,
    &kMappingEnv,
};

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
