// What the kernel that steps worlds reads and writes.
#ifndef TESSERA_CUDA_WORLDS_CUH_
#define TESSERA_CUDA_WORLDS_CUH_

#include "tessera/cuda/common.cuh"
#include "tessera/cuda/replay_ring.h"
#include "tessera/cuda/worlds.h"

namespace tessera::cuda {

// State and increment of a PCG64, low words first.
struct PcgWords {
  uint64_t state_low, state_high, increment_low, increment_high;
};

struct WorldView {
  bool navigation, mpe2, prey_at_random;
  int predators, agents, landmarks, actors, size, observed;
  double local_ratio;
  int64_t horizon, worlds;
  const ObservedNumber* observed_numbers;  // [observed]
  double* state;                           // [worlds x size]
  int64_t *steps, *clocks;                 // [worlds]
  uint32_t* generators;                    // [kGeneratorWords x worlds]
  PcgWords* pcg;                           // [worlds]
  float *observations, *states,
      *rewards;  // [worlds x observed], [worlds x size], [worlds x actors]
  PhiloxKey seed;
};

// Where the actions of a step come from.
struct ActionSource {
  const float* vectors = nullptr;  // [worlds x actors x 5]; null: random choices
  PhiloxKey key = {};
  uint64_t step = 0;
};

// Steps of a rollout (on_policy_engine.h), row by row: a row is a step of a world.
struct RolloutRows {
  float *now = nullptr, *next;  // [rows x observed]; null: none is kept
  float* rewards;               // [rows x units]
  uint8_t* ends;                // [rows], EpisodeEnd
  int units;
  const int32_t* member_first;  // [units + 1] among the actors
  const uint64_t* step;         // of the rollout, before this launch and those that go with it
  int offset;                   // of them
};

// Where the steps of worlds that play with a learner go.
struct ReplayView {
  bool keep = false;
  RolloutRows rollout = {};
  bool compact;  // records hold states, else observations
  RingShape shape;
  ReplayLane* lanes;
  SlotKind* kinds;
  float* records;
  int record, base;
  double* tree;  // prioritised: leaves, or null
  int64_t leaves;
  const double* top;
  double *running = nullptr, *ring;  // returns; null: nobody asks
  int64_t window;
  uint64_t* acts;  // counted by the step; null: by somebody else
};

cudaError_t LaunchStep(const WorldView& view, const ActionSource& actions, const ReplayView& replay,
                       cudaStream_t stream);
// Observations and states of worlds as they stand.
cudaError_t LaunchShow(const WorldView& view, cudaStream_t stream);

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_WORLDS_CUH_
