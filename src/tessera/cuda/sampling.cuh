// Mini-batches drawn on the device: the slots that the samplers of rl/replay/ draw, from the same
// random numbers.
#ifndef TESSERA_CUDA_SAMPLING_CUH_
#define TESSERA_CUDA_SAMPLING_CUH_

#include "tessera/cuda/common.cuh"
#include "tessera/cuda/off_policy_engine.h"
#include "tessera/cuda/replay_ring.h"

namespace tessera::cuda {

struct SamplingView {
  RingShape shape;
  int lanes;
  const ReplayLane* lane;  // [lanes]
  const SlotKind* kinds;
  int batch, max_rows;
  int64_t* slots;  // [agents x max_rows]
  float* row_weights;
  int* rows;              // [agents]
  const PhiloxKey* keys;  // [agents]
  const uint64_t* round;
  bool skip_newest;
  SamplerSettings sampler;
  int64_t* parts;  // [agents]: which rounds a trainer's batch is for, by number / sampler.rounds
  // Prioritised sampling: the tree of rl/replay/sum_tree.h, node i with children 2i and 2i+1; and
  // the largest priority so far.
  double* tree;
  int64_t leaves;
  double* top;
};

cudaError_t LaunchSampling(const SamplingView& view, int first, int count, cudaStream_t stream);

// After a critic's step: the trainers' errors become priorities.
cudaError_t LaunchPriorities(const SamplingView& view, int first, int count, const float* errors,
                             cudaStream_t stream);

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_SAMPLING_CUH_
