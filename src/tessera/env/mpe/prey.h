// How prey move when nobody learns for them. The papers leave it open, and it decides whether
// predators can learn at all, so it is a choice of the user.
#ifndef TESSERA_ENV_MPE_PREY_H_
#define TESSERA_ENV_MPE_PREY_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "tessera/cuda/worlds.h"
#include "tessera/env/mpe/world.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

struct PreyController {
  std::string_view name;
  std::string_view summary;
  // Force on one prey; null for "learned", where prey are agents with actions of their own. Draws
  // from `rng` only.
  void (*force)(const MpeWorld& world, MpeState state, int64_t prey, CounterRng& rng,
                double force[2]);
  cuda::PreyMotion on_device = cuda::PreyMotion::kNone;
};

// All controllers; the first is the default.
std::span<const PreyController> PreyControllers();
Result<const PreyController*> FindPreyController(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_ENV_MPE_PREY_H_
