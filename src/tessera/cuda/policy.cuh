// What the kernels of PPO, IPPO and MAPPO read and write, and how they are launched. A unit is one
// policy with its critic (rl/policy_unit.h); all units are in every launch.
#ifndef TESSERA_CUDA_POLICY_CUH_
#define TESSERA_CUDA_POLICY_CUH_

#include "tessera/cuda/on_policy_engine.h"
#include "tessera/cuda/tile.cuh"

namespace tessera::cuda {

struct PolicyView {
  int units, lanes, steps, rows;  // rows of a rollout: step * lanes + lane
  int observed, features, x_row;  // x_row: floats from row to row of X in shared memory
  int actions, heads, most_heads, most_outputs;  // the last two of one unit
  const int32_t* basis;                          // [features] of the numbers that are observed
  const NetView* nets;                           // [2 units]: actors, then critics
  const PolicyHeadSpec* head;                    // [heads], unit by unit
  const int32_t* head_first;                     // [units + 1]
  const PhiloxKey* keys;                         // [units], of noise
  const uint64_t *acts, *step;                   // so far; of the rollout

  float *observations, *next_observations;  // [rows x observed]
  float *x, *next_x;                        // [rows x features]
  float *chosen, *rewards;                  // [rows x heads], [rows x units]
  uint8_t* ends;                            // [rows], EpisodeEnd
  float *log_p, *values, *next_values;      // [units x rows]
  float *advantages, *returns;              // the same
  double* moments;                          // [units x lane blocks x 2]
  const int32_t* order;                     // [epochs x rows]
  double* sums;  // [2 units x parts x 2]: losses of networks and entropies, since the update began
  int parts;     // blocks of a network in a gradient step, at most

  double gamma, lambda, advantage_floor;
  bool normalize;
  float least_ratio, most_ratio, entropy;
};

// Which environments act, and where their actions go.
struct PolicyActs {
  const float* observations;  // [rows x observed]
  float* out;                 // [rows x actions]
  int rows;
  bool explore;
  bool keep;   // choices go to the rollout
  int offset;  // steps since the counters were written
};

// Rows order[first] .. order[end - 1] of a rollout.
struct MiniBatch {
  const int32_t* order;
  int count;
  int blocks;  // per network
};

// Rows of a tile of `kernel`s below: 64 if there is enough to do, else 32; 0 if none fits.
int PolicyTileRows(const PolicyView& view, int rows, int multiprocessors, int shared_bytes);

cudaError_t LaunchPolicyAct(const PolicyView& view, const PolicyActs& acts, Precision precision,
                            cudaStream_t stream);

// Before the gradient steps: X, values, log p of what was chosen, advantages.
cudaError_t LaunchPrepare(const PolicyView& view, int tile_rows, Precision precision,
                          cudaStream_t stream);
// Gradients of all networks; sums are added to.
cudaError_t LaunchPolicyGradients(const PolicyView& view, const MiniBatch& batch, int tile_rows,
                                  Precision precision, cudaStream_t stream);
// Means of the sums over `gradient_steps` steps of all units: losses of critics and actors,
// entropy.
cudaError_t LaunchPolicyLosses(const PolicyView& view, int gradient_steps, double* losses,
                               cudaStream_t stream);

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_POLICY_CUH_
