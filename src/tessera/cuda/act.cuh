// Actions of all agents in a batch of environments.
#ifndef TESSERA_CUDA_ACT_CUH_
#define TESSERA_CUDA_ACT_CUH_

#include "tessera/cuda/tile.cuh"

namespace tessera::cuda {

struct ActView {
  int agents, lanes, rows;       // rows: environments that are asked for
  int observed, actions, x_row;  // numbers of all agents; floats from row to row in shared memory
  const int *observation_first, *observation_size, *action_first, *choices;  // [agents]
  const float* observations;                                                 // [rows x observed]
  float* out;                                                                // [rows x actions]
  const NetView* actors;
  bool target;  // the slow copies act
  bool exact;   // rollouts: as Precision::kFp32
  bool explore;
  PhiloxKey key;
  const uint64_t* acts;  // the step of the noise's stream
};

int ActBytes(int x_row);
cudaError_t LaunchAct(const ActView& view, Precision precision, cudaStream_t stream);

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_ACT_CUH_
