// Worlds and actors together, many steps in one launch: a block plays one world.
#ifndef TESSERA_CUDA_ROLLOUT_CUH_
#define TESSERA_CUDA_ROLLOUT_CUH_

#include "tessera/cuda/act.cuh"
#include "tessera/cuda/worlds.cuh"

namespace tessera::cuda {

// Whether this pays: few worlds, and agents whose networks one block can read in a few
// microseconds.
bool RolloutSuits(const WorldView& world);

// `steps` steps of every world with actions of `act`, into replay. Counts no acts: the caller does.
cudaError_t LaunchRollout(const WorldView& world, const ActView& act, const ReplayView& replay,
                          int steps, int shared_bytes, cudaStream_t stream);

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_ROLLOUT_CUH_
