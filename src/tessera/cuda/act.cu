// A block takes one agent and 32 environments; the first layer reads observations as they are.
#include "tessera/cuda/act.cuh"

#include "tessera/cuda/launch.cuh"

namespace tessera::cuda {
namespace {

constexpr int kActRows = 32, kActHidden = 2;

template <Precision P>
__global__ void __launch_bounds__(kThreads) ActKernel(ActView view) {
  extern __shared__ __align__(16) float memory[];
  Tile<P, 1> tile(memory, view.x_row, kActHidden);
  const int agent = static_cast<int>(blockIdx.y), first = static_cast<int>(blockIdx.x) * kActRows;
  const NetView& net = view.actors[agent];
  const int size = view.observation_size[agent], columns = (size + 7) / 8 * 8;
  const float* const parameters = view.target ? net.target : net.parameters;
  // Rows past the inputs are those of the bias and W2, times zeros.
  const Weights weights{parameters, nullptr, columns / 8,
                        parameters + int64_t{net.inputs} * kHidden, net.outputs};
  for (int r = threadIdx.x / 32; r < kActRows; r += kThreads / 32) {
    const float* const from =
        view.observations + int64_t{first + r} * view.observed + view.observation_first[agent];
    for (int f = threadIdx.x % 32; f < columns; f += 32) {
      float* const to = tile.x + r * tile.x_row + f;
      if (f < size && first + r < view.rows) {
        CopyAsync4(to, from + f);
      } else {
        *to = 0;
      }
    }
  }
  tile.Prefetch(weights);
  tile.Forward(weights, tile.Hidden(0), tile.Hidden(1), nullptr);
  const int r = threadIdx.x, choices = view.choices[agent];
  if (r >= kActRows || first + r >= view.rows) return;
  const int64_t padded = (view.rows + 15) / 16 * 16;
  float* const to = view.out + int64_t{first + r} * view.actions + view.action_first[agent];
  float y[kMostOutputs], top = -INFINITY, sum = 0;
  int best = 0;
#pragma unroll
  for (int c = 0; c < kMostOutputs; ++c) {
    if (c >= choices) continue;
    y[c] = tile.out[r * kMostOutputs + c];
    if (view.explore) {
      y[c] += GumbelAt(view.key, *view.acts, (view.action_first[agent] + c) * padded + first + r);
    }
    if (y[c] > top) {
      top = y[c];
      best = c;
    }
  }
#pragma unroll
  for (int c = 0; c < kMostOutputs; ++c) {
    if (c < choices) sum += y[c] = ExpOf(y[c] - top);
  }
  const float scale = 1.0f / sum;
#pragma unroll
  for (int c = 0; c < kMostOutputs; ++c) {
    if (c < choices) to[c] = view.explore ? y[c] * scale : c == best ? 1.0f : 0.0f;
  }
}

template <typename Kernel>
cudaError_t Launch(Kernel kernel, const ActView& view, cudaStream_t stream) {
  const int bytes = ActBytes(view.x_row);
  if (cudaError_t error = AllowShared(kernel, bytes); error != cudaSuccess) return error;
  kernel<<<dim3((view.rows + kActRows - 1) / kActRows, view.agents), kThreads, bytes, stream>>>(
      view);
  return cudaGetLastError();
}

}  // namespace

int ActBytes(int x_row) { return 4 * TileFloats(kActRows, x_row, kActHidden); }

cudaError_t LaunchAct(const ActView& view, Precision precision, cudaStream_t stream) {
  switch (precision) {
    case Precision::kFp32: return Launch(ActKernel<Precision::kFp32>, view, stream);
    case Precision::kTf32: return Launch(ActKernel<Precision::kTf32>, view, stream);
    case Precision::kBf16: return Launch(ActKernel<Precision::kBf16>, view, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace tessera::cuda
