// Policies and value functions of all units at once. A block takes one network and tiles of rows
// from what was observed to gradients; networks are in-64-64-out with tanh.
#include "tessera/cuda/policy.cuh"

#include <algorithm>

#include "tessera/cuda/launch.cuh"

namespace tessera::cuda {
namespace {

constexpr int kBuffers = 3;                     // of activations: h1, h2, d2
constexpr int kRowNumbers = 4;                  // further ones of a row
constexpr int kNoiseRows = 128;                 // kBlockRows of nn/kernels.h: the order of noise
constexpr int kLaneThreads = 128;               // of advantages, a thread per lane
constexpr uint8_t kNoEnd = 0, kTerminated = 1;  // EpisodeEnd
constexpr float kLeastProbability = 1.2e-38f;   // as CategoricalGradient

// Rows side by side do not share their banks.
__host__ __device__ int OutRow(int outputs) { return outputs | 1; }

int PolicyBytes(const PolicyView& view, int rows) {
  return 4 * (TileFloats(rows, view.x_row, kBuffers) +
              rows * (OutRow(view.most_outputs) + 2 * view.most_heads + kRowNumbers));
}

// The sum over all threads of a warp, for all of them.
__device__ double WarpSum(double value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

template <Precision P, int MT>
struct Pass {
  using T = Tile<P, MT, 2, Activation::kTanh>;
  static constexpr int kRows = T::kRows, kBlock = T::kBlock;

  __device__ Pass(const PolicyView& policy, float* memory, const NetView& network, int unit_index)
      : view(policy),
        net(network),
        tile(memory, policy.x_row, kBuffers),
        weights(Weights::Of(network, /*target=*/false)),
        unit(unit_index),
        outputs(network.outputs),
        out_row(OutRow(network.outputs)),
        first_head(policy.head_first[unit_index]),
        heads(policy.head_first[unit_index + 1] - first_head) {
    out = tile.rest();
    head_log_p = out + kRows * OutRow(view.most_outputs);
    head_entropy = head_log_p + kRows * view.most_heads;
    row_numbers = head_entropy + kRows * view.most_heads;
  }

  // Starts to copy X. row(r) says where a row begins; null: there is none. column(c) is where in it
  // the number of column c is.
  template <typename Row, typename Column>
  __device__ void Load(Row row, Column column) {
    for (int r = T::Tid() / 32; r < kRows; r += kBlock / 32) {
      const float* const from = row(r);
      float* const to = tile.x + r * tile.x_row;
      for (int i = T::Tid() % 32; i < 8 * weights.blocks; i += 32) {
        const int block = weights.block != nullptr ? __ldg(weights.block + i / 8) : i / 8;
        const int c = 8 * block + i % 8;
        if (from != nullptr && c < view.features) {
          CopyAsync4(to + c, from + column(c));
        } else {
          to[c] = 0;
        }
      }
    }
  }

  // From X to `out`.
  __device__ void Forward() {
    tile.Prefetch(weights);
    tile.ForwardHidden(weights, h1(), h2(), nullptr);
    const float* const w3 = weights.tail + Tail::kW3;
    for (int i = T::Tid(); i < kRows * outputs; i += kBlock) {
      const int r = i / outputs, o = i % outputs;
      const float* const h = h2() + r * kHiddenRow;
      float sum = __ldg(weights.tail + Tail::B3(outputs) + o);
#pragma unroll 8
      for (int k = 0; k < kHidden; ++k) sum = fmaf(h[k], __ldg(w3 + k * outputs + o), sum);
      out[r * out_row + o] = sum;
    }
    T::Sync();
  }

  // From `out`, which holds d loss / d outputs now, to the gradient of everything.
  __device__ void Backward(float* gradient, bool add) {
    float* const tail = gradient + net.first_size();
    const float* const w3 = weights.tail + Tail::kW3;
    for (int i = T::Tid(); i < kRows * kHidden; i += kBlock) {
      const int r = i / kHidden, k = i % kHidden;
      float sum = 0;
      for (int o = 0; o < outputs; ++o) {
        sum = fmaf(out[r * out_row + o], __ldg(w3 + k * outputs + o), sum);
      }
      d2()[r * kHiddenRow + k] = T::ThroughActivation(h2()[r * kHiddenRow + k], sum);
    }
    for (int i = T::Tid(); i < (kHidden + 1) * outputs; i += kBlock) {
      const int k = i / outputs, o = i % outputs;
      float sum = 0;
#pragma unroll 8
      for (int r = 0; r < kRows; ++r) {
        sum = fmaf(k < kHidden ? h2()[r * kHiddenRow + k] : 1.0f, out[r * out_row + o], sum);
      }
      T::Put(tail + Tail::kW3 + i, sum, add);  // the bias follows the weights
    }
    T::Sync();
    tile.BackwardHidden(h1(), h2(), d2(), tail, add);
    tile.FirstGradient(weights, h2(), gradient, add);
  }

  // log p of what was chosen and entropy, of each head and row; logits become probabilities.
  // chosen(r) says where a row's choices are; null: there is no such row.
  template <typename Chosen>
  __device__ void Evaluate(Chosen chosen) {
    for (int i = T::Tid(); i < kRows * heads; i += kBlock) {
      const int r = i / heads, h = i % heads;
      const PolicyHeadSpec head = view.head[first_head + h];
      float* const y = out + r * out_row + head.output;
      float top = y[0], sum = 0;
      for (int c = 1; c < head.choices; ++c) top = fmaxf(top, y[c]);
      for (int c = 0; c < head.choices; ++c) sum += expf(y[c] - top);
      const float log_norm = top + logf(sum), scale = 1.0f / sum;
      const float* const taken = chosen(r);
      const int own = taken != nullptr ? static_cast<int>(taken[h]) : 0;
      float entropy = log_norm;
      head_log_p[r * heads + h] = y[own] - log_norm;
      for (int c = 0; c < head.choices; ++c) {
        const float p = expf(y[c] - top) * scale;
        entropy -= p * y[c];
        y[c] = p;
      }
      head_entropy[r * heads + h] = entropy;
    }
    T::Sync();
  }
  __device__ float SumOfHeads(const float* values, int r) const {
    float sum = 0;
    for (int h = 0; h < heads; ++h) sum += values[r * heads + h];
    return sum;
  }

  // Probabilities become d loss / d logits, from d loss / d log p and d loss / d entropy of every
  // row, which are row numbers 0 and 1.
  template <typename Chosen>
  __device__ void HeadGradients(Chosen chosen) {
    for (int i = T::Tid(); i < kRows * heads; i += kBlock) {
      const int r = i / heads, h = i % heads;
      const PolicyHeadSpec head = view.head[first_head + h];
      float* const y = out + r * out_row + head.output;
      const float* const taken = chosen(r);
      const int own = taken != nullptr ? static_cast<int>(taken[h]) : 0;
      const float a = row_numbers[r], b = row_numbers[kRows + r];
      const float entropy = head_entropy[r * heads + h];
      for (int c = 0; c < head.choices; ++c) {
        const float p = y[c], log_p = logf(fmaxf(p, kLeastProbability));
        y[c] = a * ((c == own ? 1.0f : 0.0f) - p) - b * p * (log_p + entropy);
      }
    }
    T::Sync();
  }

  // The sum of row number n over all rows; for the first warp.
  __device__ double SumRows(int n) const {
    double sum = 0;
    for (int r = static_cast<int>(threadIdx.x); r < kRows; r += 32) {
      sum += double{row_numbers[n * kRows + r]};
    }
    return WarpSum(sum);
  }

  __device__ float* h1() const { return tile.Hidden(0); }
  __device__ float* h2() const { return tile.Hidden(1); }
  __device__ float* d2() const { return tile.Hidden(2); }

  const PolicyView& view;
  const NetView& net;
  T tile;
  const Weights weights;
  const int unit, outputs, out_row, first_head, heads;
  float *out, *head_log_p, *head_entropy, *row_numbers;
};

template <Precision P>
__global__ void __launch_bounds__(kThreads) ActKernel(PolicyView view, PolicyActs acts) {
  extern __shared__ __align__(16) float memory[];
  const int unit = static_cast<int>(blockIdx.y);
  Pass<P, 1> pass(view, memory, view.nets[unit], unit);
  const int first = static_cast<int>(blockIdx.x) * Pass<P, 1>::kRows;
  pass.Load(
      [&](int r) {
        return first + r < acts.rows ? acts.observations + int64_t{first + r} * view.observed
                                     : nullptr;
      },
      [&](int c) { return __ldg(view.basis + c); });
  pass.Forward();
  const uint64_t act = *view.acts + static_cast<uint64_t>(acts.offset);
  const int64_t row0 =
      static_cast<int64_t>(*view.step + static_cast<uint64_t>(acts.offset)) * view.lanes;
  for (int i = threadIdx.x; i < Pass<P, 1>::kRows * pass.heads; i += kThreads) {
    const int r = first + i / pass.heads, h = pass.first_head + i % pass.heads;
    if (r >= acts.rows) continue;
    const PolicyHeadSpec head = view.head[h];
    const float* const y = pass.out + i / pass.heads * pass.out_row + head.output;
    int best = 0;
    float most = 0;
    for (int c = 0; c < head.choices; ++c) {
      float score = y[c];
      if (acts.explore) {
        const int64_t output = int64_t{r / kNoiseRows} * pass.outputs + head.output + c;
        score += GumbelAt(view.keys[unit], act, output * kNoiseRows + r % kNoiseRows);
      }
      if (c > 0 && !(score > most)) continue;
      most = score;
      best = c;
    }
    float* const to = acts.out + int64_t{r} * view.actions + head.action;
    for (int c = 0; head.one_hot && c < head.choices; ++c) to[c] = c == best ? 1.0f : 0.0f;
    if (!head.one_hot) to[0] = static_cast<float>(best);
    if (acts.keep) view.chosen[(row0 + r) * view.heads + h] = static_cast<float>(best);
  }
}

// The numbers of observations that networks read, side by side.
__global__ void GatherKernel(PolicyView view) {
  const int64_t all = int64_t{view.rows} * view.features;
  const float* const from = blockIdx.y == 0 ? view.observations : view.next_observations;
  float* const to = blockIdx.y == 0 ? view.x : view.next_x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < all;
       i += int64_t{gridDim.x} * blockDim.x) {
    to[i] = from[i / view.features * view.observed + __ldg(view.basis + i % view.features)];
  }
}

// Values of the next states, values, and log p: blockIdx.z 0, 1, 2.
template <Precision P, int MT>
__global__ void __launch_bounds__(kThreads) EvaluateKernel(PolicyView view) {
  extern __shared__ __align__(16) float memory[];
  const int unit = static_cast<int>(blockIdx.y);
  const bool values = blockIdx.z < 2;
  Pass<P, MT> pass(view, memory, view.nets[values ? view.units + unit : unit], unit);
  constexpr int kRows = Pass<P, MT>::kRows;
  const int64_t first = int64_t{blockIdx.x} * kRows, own = int64_t{unit} * view.rows + first;
  const float* const x = blockIdx.z == 0 ? view.next_x : view.x;
  const auto valid = [&](int r) { return first + r < view.rows; };
  pass.Load([&](int r) { return valid(r) ? x + (first + r) * view.features : nullptr; },
            [](int c) { return c; });
  pass.Forward();
  const int r = threadIdx.x;
  if (values) {
    float* const to = blockIdx.z == 0 ? view.next_values : view.values;
    if (r < kRows && valid(r)) to[own + r] = pass.out[r * pass.out_row];
    return;
  }
  pass.Evaluate([&](int row) {
    return valid(row) ? view.chosen + (first + row) * view.heads + pass.first_head : nullptr;
  });
  if (r < kRows && valid(r)) view.log_p[own + r] = pass.SumOfHeads(pass.head_log_p, r);
}

// Generalised advantages of a lane, backwards in time, as Ppo::FillAdvantages.
__global__ void __launch_bounds__(kLaneThreads) AdvantageKernel(PolicyView view) {
  const int unit = static_cast<int>(blockIdx.y);
  const int lane = static_cast<int>(blockIdx.x * kLaneThreads + threadIdx.x);
  double sum = 0, squares = 0, advantage = 0;
  for (int t = view.steps - 1; t >= 0 && lane < view.lanes; --t) {
    const int64_t row = int64_t{t} * view.lanes + lane, at = int64_t{unit} * view.rows + row;
    const uint8_t end = view.ends[row];
    const double next = end == kTerminated ? 0 : view.next_values[at];
    const double error =
        view.rewards[row * view.units + unit] + view.gamma * next - view.values[at];
    const double carried = end == kNoEnd ? advantage : 0;
    advantage = error + view.gamma * view.lambda * carried;
    const float rounded = static_cast<float>(advantage);
    view.advantages[at] = rounded;
    view.returns[at] = static_cast<float>(advantage + view.values[at]);
    sum += rounded;
    squares += double{rounded} * rounded;
  }
  __shared__ double sums[2][kLaneThreads / 32];
  sum = WarpSum(sum);
  squares = WarpSum(squares);
  if (threadIdx.x % 32 == 0) {
    sums[0][threadIdx.x / 32] = sum;
    sums[1][threadIdx.x / 32] = squares;
  }
  __syncthreads();
  if (threadIdx.x >= 2) return;
  double all = 0;
  for (int w = 0; w < kLaneThreads / 32; ++w) all += sums[threadIdx.x][w];
  view.moments[(int64_t{unit} * gridDim.x + blockIdx.x) * 2 + threadIdx.x] = all;
}

__global__ void __launch_bounds__(kThreads) NormalizeKernel(PolicyView view, int lane_blocks) {
  const int unit = static_cast<int>(blockIdx.y);
  __shared__ double mean, scale;
  if (threadIdx.x < 32) {
    const double* const moments = view.moments + int64_t{unit} * lane_blocks * 2;
    double sum = 0, squares = 0;
    for (int b = threadIdx.x; b < lane_blocks; b += 32) {
      sum += moments[2 * b];
      squares += moments[2 * b + 1];
    }
    sum = WarpSum(sum);
    squares = WarpSum(squares);
    if (threadIdx.x == 0) {
      const double n = view.rows;
      mean = sum / n;
      scale = sqrt(fmax(0.0, squares / n - mean * mean)) + view.advantage_floor;
    }
  }
  __syncthreads();
  float* const advantages = view.advantages + int64_t{unit} * view.rows;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < view.rows;
       i += int64_t{gridDim.x} * kThreads) {
    advantages[i] = static_cast<float>((advantages[i] - mean) / scale);
  }
}

// Gradients of network blockIdx.y on the block's tiles of a mini-batch.
template <Precision P, int MT>
__global__ void __launch_bounds__(kThreads) GradientKernel(PolicyView view, MiniBatch batch) {
  extern __shared__ __align__(16) float memory[];
  const int index = static_cast<int>(blockIdx.y);
  const bool actor = index < view.units;
  const int unit = actor ? index : index - view.units;
  Pass<P, MT> pass(view, memory, view.nets[index], unit);
  constexpr int kRows = Pass<P, MT>::kRows;
  float* const gradient = pass.net.partial + int64_t{blockIdx.x} * pass.net.gradient_size();
  const float share = 1.0f / static_cast<float>(batch.count);
  double loss = 0, entropies = 0;
  const int tiles = (batch.count + kRows - 1) / kRows, r = threadIdx.x;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int first = t * kRows;
    const auto valid = [&](int row) { return first + row < batch.count; };
    const auto id = [&](int row) { return int64_t{__ldg(batch.order + first + row)}; };
    pass.Load([&](int row) { return valid(row) ? view.x + id(row) * view.features : nullptr; },
              [](int c) { return c; });
    pass.Forward();
    const int64_t at = int64_t{unit} * view.rows + (r < kRows && valid(r) ? id(r) : 0);
    if (actor) {
      const auto chosen = [&](int row) {
        return valid(row) ? view.chosen + id(row) * view.heads + pass.first_head : nullptr;
      };
      pass.Evaluate(chosen);
      if (r < kRows) {
        float toward_p = 0, toward_entropy = 0, own_loss = 0, own_entropy = 0;
        if (valid(r)) {
          const float advantage = view.advantages[at];
          const float change = pass.SumOfHeads(pass.head_log_p, r) - view.log_p[at];
          const float ratio = expf(fminf(fmaxf(change, -20.0f), 20.0f));
          const float clipped = fminf(fmaxf(ratio, view.least_ratio), view.most_ratio);
          const bool active = advantage >= 0 ? ratio <= view.most_ratio : ratio >= view.least_ratio;
          if (active) toward_p = -advantage * ratio * share;
          toward_entropy = -view.entropy * share;
          own_loss = -fminf(ratio * advantage, clipped * advantage);
          own_entropy = pass.SumOfHeads(pass.head_entropy, r);
        }
        pass.row_numbers[r] = toward_p;
        pass.row_numbers[kRows + r] = toward_entropy;
        pass.row_numbers[2 * kRows + r] = own_loss;
        pass.row_numbers[3 * kRows + r] = own_entropy;
      }
      __syncthreads();
      pass.HeadGradients(chosen);
    } else {
      if (r < kRows) {
        const float error = valid(r) ? pass.out[r * pass.out_row] - view.returns[at] : 0.0f;
        pass.out[r * pass.out_row] = error * share;
        pass.row_numbers[2 * kRows + r] = 0.5f * error * error;
        pass.row_numbers[3 * kRows + r] = 0;
      }
      __syncthreads();
    }
    if (threadIdx.x < 32) {
      loss += pass.SumRows(2);
      entropies += pass.SumRows(3);
    }
    pass.Backward(gradient, /*add=*/t != static_cast<int>(blockIdx.x));
    __syncthreads();  // X and the numbers of rows have been read
  }
  if (threadIdx.x != 0) return;
  double* const sums = view.sums + (int64_t{index} * view.parts + blockIdx.x) * 2;
  sums[0] += loss / batch.count;
  sums[1] += entropies / batch.count;
}

__global__ void __launch_bounds__(kThreads)
    PolicyLossKernel(PolicyView view, int gradient_steps, double* losses) {
  __shared__ double sums[3][kThreads / 32];
  double own[3] = {};  // critics' losses, actors', entropy
  for (int i = threadIdx.x; i < 2 * view.units * view.parts; i += kThreads) {
    const bool actor = i < view.units * view.parts;
    own[actor ? 1 : 0] += view.sums[2 * i];
    own[2] += view.sums[2 * i + 1];
  }
  for (int n = 0; n < 3; ++n) {
    own[n] = WarpSum(own[n]);
    if (threadIdx.x % 32 == 0) sums[n][threadIdx.x / 32] = own[n];
  }
  __syncthreads();
  if (threadIdx.x >= 3) return;
  double all = 0;
  for (int w = 0; w < kThreads / 32; ++w) all += sums[threadIdx.x][w];
  losses[threadIdx.x] = all / (static_cast<double>(gradient_steps) * view.units);
}

unsigned BlocksFor(int64_t count, int64_t of, int64_t most) {
  return static_cast<unsigned>(std::clamp<int64_t>((count + of - 1) / of, 1, most));
}

template <Precision P, int MT>
cudaError_t Evaluate(const PolicyView& view, cudaStream_t stream) {
  constexpr int kRows = Pass<P, MT>::kRows;
  return Launch(EvaluateKernel<P, MT>, PolicyBytes(view, kRows),
                dim3(BlocksFor(view.rows, kRows, INT32_MAX), static_cast<unsigned>(view.units), 3),
                kThreads, stream, view);
}

template <Precision P, int MT>
cudaError_t Gradients(const PolicyView& view, const MiniBatch& batch, cudaStream_t stream) {
  return Launch(GradientKernel<P, MT>, PolicyBytes(view, Pass<P, MT>::kRows),
                dim3(static_cast<unsigned>(batch.blocks), static_cast<unsigned>(2 * view.units)),
                kThreads, stream, view, batch);
}

// FUNCTION<precision, rows of a tile / 32>(...)
#define TESSERA_POLICY_KERNEL(FUNCTION, ...)                                     \
  switch (precision) {                                                           \
    case Precision::kSplit:                                                      \
      return tile_rows > 32 ? FUNCTION<Precision::kSplit, 2>(view, __VA_ARGS__)  \
                            : FUNCTION<Precision::kSplit, 1>(view, __VA_ARGS__); \
    case Precision::kTf32:                                                       \
      return tile_rows > 32 ? FUNCTION<Precision::kTf32, 2>(view, __VA_ARGS__)   \
                            : FUNCTION<Precision::kTf32, 1>(view, __VA_ARGS__);  \
    case Precision::kBf16:                                                       \
      return tile_rows > 32 ? FUNCTION<Precision::kBf16, 2>(view, __VA_ARGS__)   \
                            : FUNCTION<Precision::kBf16, 1>(view, __VA_ARGS__);  \
  }                                                                              \
  return cudaErrorInvalidValue

cudaError_t LaunchEvaluate(const PolicyView& view, int tile_rows, Precision precision,
                           cudaStream_t stream) {
  TESSERA_POLICY_KERNEL(Evaluate, stream);
}

}  // namespace

int PolicyTileRows(const PolicyView& view, int rows, int multiprocessors, int shared_bytes) {
  const bool enough = 2 * view.units * ((rows + 63) / 64) >= multiprocessors;
  if (enough && PolicyBytes(view, 64) <= shared_bytes) return 64;
  return PolicyBytes(view, 32) <= shared_bytes ? 32 : 0;
}

cudaError_t LaunchPolicyAct(const PolicyView& view, const PolicyActs& acts, Precision precision,
                            cudaStream_t stream) {
  const int bytes = PolicyBytes(view, 32);
  const dim3 grid(BlocksFor(acts.rows, 32, INT32_MAX), static_cast<unsigned>(view.units));
  switch (precision) {
    case Precision::kSplit:
      return Launch(ActKernel<Precision::kSplit>, bytes, grid, kThreads, stream, view, acts);
    case Precision::kTf32:
      return Launch(ActKernel<Precision::kTf32>, bytes, grid, kThreads, stream, view, acts);
    case Precision::kBf16:
      return Launch(ActKernel<Precision::kBf16>, bytes, grid, kThreads, stream, view, acts);
  }
  return cudaErrorInvalidValue;
}

cudaError_t LaunchPrepare(const PolicyView& view, int tile_rows, Precision precision,
                          cudaStream_t stream) {
  GatherKernel<<<dim3(BlocksFor(int64_t{view.rows} * view.features, kThreads, 2048), 2), kThreads,
                 0, stream>>>(view);
  if (cudaError_t e = LaunchEvaluate(view, tile_rows, precision, stream); e != cudaSuccess) {
    return e;
  }
  const unsigned lane_blocks = BlocksFor(view.lanes, kLaneThreads, INT32_MAX);
  const unsigned units = static_cast<unsigned>(view.units);
  AdvantageKernel<<<dim3(lane_blocks, units), kLaneThreads, 0, stream>>>(view);
  if (view.normalize) {
    NormalizeKernel<<<dim3(BlocksFor(view.rows, kThreads, 256), units), kThreads, 0, stream>>>(
        view, static_cast<int>(lane_blocks));
  }
  return cudaGetLastError();
}

cudaError_t LaunchPolicyGradients(const PolicyView& view, const MiniBatch& batch, int tile_rows,
                                  Precision precision, cudaStream_t stream) {
  TESSERA_POLICY_KERNEL(Gradients, batch, stream);
}

cudaError_t LaunchPolicyLosses(const PolicyView& view, int gradient_steps, double* losses,
                               cudaStream_t stream) {
  PolicyLossKernel<<<1, kThreads, 0, stream>>>(view, gradient_steps, losses);
  return cudaGetLastError();
}

}  // namespace tessera::cuda
