// The particle worlds as batched environments to train on.
#ifndef TESSERA_ENV_MPE_MPE_ENV_H_
#define TESSERA_ENV_MPE_MPE_ENV_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/cuda/worlds.h"
#include "tessera/env.h"
#include "tessera/env/mpe/prey.h"
#include "tessera/env/mpe/world.h"
#include "tessera/part.h"

namespace tessera {

struct MpeOptions {
  MpeWorld world = {};

  // Who moves the prey of predator_prey. Default: "flee".
  std::string prey = "flee";

  // Steps of an episode. Default: 25.
  int64_t horizon = 25;
};

// An environment of the particle worlds, with access to its worlds for views and bindings.
class MpeEnv : public Env {
 public:
  virtual const MpeWorld& world() const = 0;
  // Environment e of the batch.
  virtual MpeState world_state(int64_t e) = 0;
  // Starts a new episode in every world, wherever it stands; each draws on from its own numbers.
  virtual void Restart() = 0;

  // ---- For engines that step the worlds on a device --------------------------------------------

  // Errors: a prey controller that is not there.
  virtual Result<cuda::WorldSpec> device_spec() const = 0;
  // Everything that the next steps depend on. After writing to it, ChangedImage shows it.
  virtual cuda::WorldImage image() = 0;
  virtual void ChangedImage() = 0;
  virtual uint64_t seed() const = 0;
};

// Errors: a world that cannot be, an unknown prey controller, no environments.
Result<std::unique_ptr<MpeEnv>> MakeMpeEnv(const MpeOptions& options, int64_t batch,
                                           ThreadPool* pool = nullptr);

}  // namespace tessera

#endif  // TESSERA_ENV_MPE_MPE_ENV_H_
