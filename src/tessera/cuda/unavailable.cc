// The CUDA engine of a build that has none.
#ifndef TESSERA_WITH_CUDA

#include "tessera/cuda/device.h"
#include "tessera/cuda/map_engine.h"
#include "tessera/cuda/off_policy_engine.h"
#include "tessera/cuda/on_policy_engine.h"
#include "tessera/cuda/worlds.h"

namespace tessera::cuda {
namespace {

Error NotBuilt() {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = "this build of tessera has no CUDA",
               .hint = "build it with 'cmake --preset cuda' (nvcc 12 or 13), or take --device cpu"};
}

}  // namespace

bool Built() { return false; }
Result<DeviceInfo> FindDevice() { return NotBuilt(); }
Result<void> BreakDevice() { return NotBuilt(); }
Result<std::unique_ptr<OffPolicyEngine>> OffPolicyEngine::Make(const EngineSpec& /*spec*/) {
  return NotBuilt();
}
Result<std::unique_ptr<OnPolicyEngine>> OnPolicyEngine::Make(const OnPolicySpec& /*spec*/) {
  return NotBuilt();
}
Result<std::unique_ptr<MapEngine>> MapEngine::Make(const NestPlan& /*plan*/) { return NotBuilt(); }
Result<std::unique_ptr<WorldBatch>> WorldBatch::Make(const WorldSpec& /*spec*/) {
  return NotBuilt();
}

}  // namespace tessera::cuda

#endif  // TESSERA_WITH_CUDA
