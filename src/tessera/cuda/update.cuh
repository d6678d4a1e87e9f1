// What the kernels of an update round read and write, and how they are launched. A group is a set
// of consecutive trainers that are updated at once: all of them, or one after another.
#ifndef TESSERA_CUDA_UPDATE_CUH_
#define TESSERA_CUDA_UPDATE_CUH_

#include "tessera/cuda/tile.cuh"

namespace tessera::cuda {

enum class ActorTerm { kLogitPenalty, kEntropy };

// kFp32: what the passes of a network leave behind for its gradient, whose sums run over all rows
// of a mini-batch in their order (exact.cu).
struct KeptRows {
  float *h1, *h2, *d1, *d2;  // [rows x 64]: activations, and gradients of the layers' sums
  float* dout;               // [rows x kMostOutputs]

  __host__ __device__ static int64_t Floats(int64_t rows) {
    return rows * (4 * kHidden + kMostOutputs);
  }
  // Those of network `net`, from row `first` on.
  __device__ static KeptRows Of(float* kept, int64_t rows, int net, int64_t first) {
    float* const own = kept + net * Floats(rows);
    const int64_t size = rows * kHidden, at = first * kHidden;
    return {own + at, own + size + at, own + 2 * size + at, own + 3 * size + at,
            own + 4 * size + first * kMostOutputs};
  }
};

struct UpdateView {
  int agents, critics;          // critics of one agent: 1, or 2 of which the lesser counts
  int base, base_columns;       // features before the actions; the same in X, in whole blocks
  int actions, columns, x_row;  // columns of X, and floats from row to row
  int record;                   // floats of a replay record
  int64_t lane_slots;
  const float* records;
  const uint8_t* kinds;
  int max_rows;
  const int64_t* slots;                 // [agents x max_rows]
  const float* row_weights;             // the same
  const int* rows;                      // [agents]
  float* errors;                        // [agents x max_rows], for priorities
  float* next_actions;                  // [agents x max_rows x actions], of the target actors
  float* kept;                          // kFp32: KeptRows of all critics, then of actors
  const NetView *actors, *critic_nets;  // [agents], [agents x critics]
  const int *action_first, *choices;    // [agents], among the actions
  const PhiloxKey *target_keys, *policy_keys;  // [agents x agents], [agents]
  const uint64_t* round;
  double *q_losses, *p_losses, *entropies;  // [agents x tiles]
  int tiles;
  float gamma;
  bool ignore_done;
  ActorTerm term;
  double penalty;     // weight of the term: of squared logits, or of entropy
  bool targets_only;  // to measure them: nothing is written
};

struct Group {
  int first, count;
};

// Rows of a tile of each kernel: 64 if there is enough to do and it fits in shared memory,
// else 32; 0 if that does not fit either. A group of `group` trainers is updated at once.
struct TileRows {
  int target = 0, critic = 0, actor = 0;
};
TileRows ChooseTileRows(int agents, int group, int rows, int base_columns, int x_row,
                        int multiprocessors, int shared_bytes);

// One after another: next actions of the target actors, then critics, then (their step taken)
// actors.
cudaError_t LaunchTargets(const UpdateView& view, Group group, int rows, Precision precision,
                          int multiprocessors, cudaStream_t stream);
cudaError_t LaunchCritics(const UpdateView& view, Group group, int rows, Precision precision,
                          cudaStream_t stream);
cudaError_t LaunchActors(const UpdateView& view, Group group, int rows, Precision precision,
                         cudaStream_t stream);

// ---- exact.cu ----------------------------------------------------------------------------------

// Gradients of networks from what kFp32's kernels kept: of the critics or actors of a group.
struct NetSizes;
cudaError_t LaunchExactGradients(const UpdateView& view, Group group, bool actors,
                                 const NetSizes& sizes, cudaStream_t stream);
// Squares of each tensor's gradient, summed up as Kernels::squared_norm does: NetView::norms.
cudaError_t LaunchExactNorms(const NetView* nets, int first, int count, cudaStream_t stream);

// ---- optimizer.cu ------------------------------------------------------------------------------

struct AdamView {
  double beta1, beta2, epsilon, clip_norm;
  bool tensorflow;
  int clip;  // 0: none, 1: each tensor, 2: all of a network
  float tau;
  bool exact;  // gradients are there as a whole, norms as LaunchExactNorms takes them
};

// Four columns of a row of the full first layer's gradient, which is never stored: a sum of a few
// rows of the compact one. Sixteen threads side by side take a row.
inline constexpr int kRowThreads = kHidden / 4;
__device__ inline float4 LoadRow4(const float* matrix, int64_t row) {
  return reinterpret_cast<const float4*>(matrix)[row * kRowThreads + threadIdx.x % kRowThreads];
}
__device__ inline void AddScaled(float4& sum, float factor, const float4& value) {
  sum.x = fmaf(factor, value.x, sum.x);
  sum.y = fmaf(factor, value.y, sum.y);
  sum.z = fmaf(factor, value.z, sum.z);
  sum.w = fmaf(factor, value.w, sum.w);
}
__device__ inline float4 FullGradient(const NetView& net, int input) {
  float4 sum = make_float4(0, 0, 0, 0);
  const int end = __ldg(net.expand_start + input + 1);
  for (int t = __ldg(net.expand_start + input); t < end; ++t) {
    const MapTerm term = net.expand[t];
    AddScaled(sum, term.factor, LoadRow4(net.gradient, term.row));
  }
  return sum;
}

// Where tensor `tensor` of the tail begins: b1, W2, b2, W3, b3.
__host__ __device__ inline int TailStart(int tensor, int outputs) {
  return tensor == 0   ? Tail::kB1
         : tensor == 1 ? Tail::kW2
         : tensor == 2 ? Tail::kB2
         : tensor == 3 ? Tail::kW3
         : tensor == 4 ? Tail::B3(outputs)
                       : Tail::Size(outputs);
}

// Sums the tiles' gradients of nets first .. first+count-1, clips, steps, moves targets and
// collapses the first layers again.
struct NetSizes {
  int most_inputs, most_gradient, most_blocks, most_outputs;
  int most_listed;  // blocks of a network that lists them
};
cudaError_t LaunchOptimizer(const NetView* nets, int first, int count, const NetSizes& sizes,
                            int tiles, const AdamView& adam, cudaStream_t stream);
// Only the last of these: after networks were loaded.
cudaError_t LaunchCollapse(const NetView* nets, int first, int count, const NetSizes& sizes,
                           bool step, cudaStream_t stream);

inline constexpr int kInputsPerBlock = 32;  // of a first layer, in one block of the optimiser
inline constexpr int kTailTensors = 5;
__host__ __device__ inline int NormParts(int inputs) {
  return (inputs + kInputsPerBlock - 1) / kInputsPerBlock;
}

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_UPDATE_CUH_
