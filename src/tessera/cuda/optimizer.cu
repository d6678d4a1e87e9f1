// Adam on all networks of a group at once: sum the tiles' gradients, norms, step with clipping and
// slow copies, and the first layers on the compact state. The gradient of a full first layer is
// never stored: its rows are sums of a few rows of the compact one.
#include "tessera/cuda/update.cuh"

namespace tessera::cuda {
namespace {

__global__ void SumTilesKernel(const NetView* nets, int first, int tiles) {
  const NetView& net = nets[first + blockIdx.y];
  const int size = net.gradient_size() / 4;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= size) return;
  const float4* const from = reinterpret_cast<const float4*>(net.partial);
  float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 4
  for (int t = 0; t < tiles; ++t) {
    const float4 part = from[int64_t{t} * size + i];
    sum.x += part.x;
    sum.y += part.y;
    sum.z += part.z;
    sum.w += part.w;
  }
  reinterpret_cast<float4*>(net.gradient)[i] = sum;
}

// The sum of a value of every thread, in a fixed order; all threads get it.
__device__ float BlockSum(float value) {
  __shared__ float sums[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) sum += sums[w];
  return sum;
}

__global__ void __launch_bounds__(kThreads) NormKernel(const NetView* nets, int first) {
  const NetView& net = nets[first + blockIdx.y];
  const int parts = NormParts(net.inputs), part = static_cast<int>(blockIdx.x);
  if (part >= parts + kTailTensors) return;
  float sum = 0;
  if (part < parts) {
    const int end = min(net.inputs, (part + 1) * kInputsPerBlock);
#pragma unroll
    for (int k = 0; k < kInputsPerBlock * kRowThreads / kThreads; ++k) {
      const int i =
          part * kInputsPerBlock + static_cast<int>(threadIdx.x + k * kThreads) / kRowThreads;
      if (i >= end) break;
      const float4 g = FullGradient(net, i);
      sum += g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
    }
  } else {
    const float* const tail = net.gradient + net.first_size();
    const int tensor = part - parts, end = TailStart(tensor + 1, net.outputs);
    for (int i = TailStart(tensor, net.outputs) + threadIdx.x; i < end; i += kThreads) {
      sum += tail[i] * tail[i];
    }
  }
  sum = BlockSum(sum);
  if (threadIdx.x == 0) net.norms[part] = sum;
}

struct Step {
  float rate, root_scale, epsilon, beta1, beta2, tau;
};

__device__ void Adam(float gradient, const Step& s, float& weight, float& target, float& mean,
                     float& variance) {
  mean = fmaf(gradient, 1.0f - s.beta1, mean * s.beta1);
  variance = fmaf(gradient * gradient, 1.0f - s.beta2, variance * s.beta2);
  weight -= mean * s.rate / fmaf(sqrtf(variance), s.root_scale, s.epsilon);
  target = fmaf(s.tau, weight, (1.0f - s.tau) * target);
}

__device__ void AdamRow4(const NetView& net, int input, const Step& s, float scale) {
  const int64_t at = int64_t{input} * kRowThreads + threadIdx.x % kRowThreads;
  const auto load = [&](const float* from) { return reinterpret_cast<const float4*>(from)[at]; };
  float4 weight = load(net.parameters), target = load(net.target), mean = load(net.mean);
  float4 variance = load(net.variance);
  const float4 g = FullGradient(net, input);
  Adam(scale * g.x, s, weight.x, target.x, mean.x, variance.x);
  Adam(scale * g.y, s, weight.y, target.y, mean.y, variance.y);
  Adam(scale * g.z, s, weight.z, target.z, mean.z, variance.z);
  Adam(scale * g.w, s, weight.w, target.w, mean.w, variance.w);
  const auto store = [&](float* to, const float4& value) {
    reinterpret_cast<float4*>(to)[at] = value;
  };
  store(net.parameters, weight);
  store(net.target, target);
  store(net.mean, mean);
  store(net.variance, variance);
}

__global__ void __launch_bounds__(kThreads)
    AdamKernel(const NetView* nets, int first, AdamView adam) {
  const NetView& net = nets[first + blockIdx.y];
  const int parts = NormParts(net.inputs), part = static_cast<int>(blockIdx.x);
  const int tail_size = Tail::Size(net.outputs);
  const int tail_first = (part - parts) * kInputsPerBlock * kHidden;
  if (part >= parts && tail_first >= tail_size) return;
  __shared__ float scales[1 + kTailTensors];
  __shared__ Step step;
  float squares = 0;
  for (int i = threadIdx.x; i < parts && !adam.exact; i += kThreads) squares += net.norms[i];
  squares = adam.exact ? net.norms[0] : BlockSum(squares);
  if (threadIdx.x == 0) {
    const float* const tail_norms = net.norms + (adam.exact ? 1 : parts);
    const float limit = static_cast<float>(adam.clip_norm);
    const auto scale = [&](float norm) {
      return adam.clip == 0 ? 1.0f : limit / fmaxf(sqrtf(norm), limit);
    };
    float all = squares;
    for (int t = 0; t < kTailTensors; ++t) all += tail_norms[t];
    scales[0] = scale(adam.clip == 2 ? all : squares);
    for (int t = 0; t < kTailTensors; ++t) {
      scales[1 + t] = scale(adam.clip == 2 ? all : tail_norms[t]);
    }
    const double t = static_cast<double>(*net.steps + 1);
    const double correction1 = 1 - pow(adam.beta1, t), correction2 = 1 - pow(adam.beta2, t);
    const double rate = net.rate / correction1;
    step = {static_cast<float>(adam.tensorflow ? rate * sqrt(correction2) : rate),
            static_cast<float>(adam.tensorflow ? 1 : 1 / sqrt(correction2)),
            static_cast<float>(adam.epsilon),
            static_cast<float>(adam.beta1),
            static_cast<float>(adam.beta2),
            adam.tau};
  }
  __syncthreads();
  if (part < parts) {
    const int end = min(net.inputs, (part + 1) * kInputsPerBlock);
    for (int i = part * kInputsPerBlock + threadIdx.x / kRowThreads; i < end;
         i += kThreads / kRowThreads) {
      AdamRow4(net, i, step, scales[0]);
    }
    return;
  }
  const float* const tail = net.gradient + net.first_size();
  const int end = min(tail_size, tail_first + kInputsPerBlock * kHidden);
  for (int i = tail_first + threadIdx.x; i < end; i += kThreads) {
    int tensor = 0;
    while (i >= TailStart(tensor + 1, net.outputs)) ++tensor;
    const int64_t at = int64_t{net.inputs} * kHidden + i;
    Adam(scales[1 + tensor] * tail[i], step, net.parameters[at], net.target[at], net.mean[at],
         net.variance[at]);
  }
}

// x W1 = s (T W1): rows of T W1 for the network and its slow copy.
__global__ void __launch_bounds__(kThreads)
    CollapseKernel(const NetView* nets, int first, bool step) {
  const NetView& net = nets[first + blockIdx.y];
  const int row =
      static_cast<int>(blockIdx.x) * (kThreads / kRowThreads) + threadIdx.x / kRowThreads;
  if (step && blockIdx.x == 0 && blockIdx.z == 0 && threadIdx.x == 0) ++*net.steps;
  if (row >= 8 * net.blocks) return;
  const float* const from = blockIdx.z == 0 ? net.parameters : net.target;
  float4 sum = make_float4(0, 0, 0, 0);
  const int end = __ldg(net.collapse_start + row + 1);
#pragma unroll 4
  for (int t = __ldg(net.collapse_start + row); t < end; ++t) {
    const MapTerm term = net.collapse[t];
    AddScaled(sum, term.factor, LoadRow4(from, term.row));
  }
  float* const to = blockIdx.z == 0 ? net.first : net.first_target;
  reinterpret_cast<float4*>(to)[row * kRowThreads + threadIdx.x % kRowThreads] = sum;
}

}  // namespace

cudaError_t LaunchCollapse(const NetView* nets, int first, int count, const NetSizes& sizes,
                           bool step, cudaStream_t stream) {
  const int rows = kThreads / kRowThreads;
  CollapseKernel<<<dim3((8 * sizes.most_blocks + rows - 1) / rows, count, 2), kThreads, 0,
                   stream>>>(nets, first, step);
  return cudaGetLastError();
}

cudaError_t LaunchOptimizer(const NetView* nets, int first, int count, const NetSizes& sizes,
                            int tiles, const AdamView& adam, cudaStream_t stream) {
  const int parts = NormParts(sizes.most_inputs);
  const int tail_blocks = (Tail::Size(sizes.most_outputs) + kInputsPerBlock * kHidden - 1) /
                          (kInputsPerBlock * kHidden);
  if (adam.exact) {
    if (cudaError_t error = LaunchExactNorms(nets, first, count, stream); error != cudaSuccess) {
      return error;
    }
  } else {
    SumTilesKernel<<<dim3((sizes.most_gradient / 4 + kThreads - 1) / kThreads, count), kThreads, 0,
                     stream>>>(nets, first, tiles);
    NormKernel<<<dim3(parts + kTailTensors, count), kThreads, 0, stream>>>(nets, first);
  }
  AdamKernel<<<dim3(parts + tail_blocks, count), kThreads, 0, stream>>>(nets, first, adam);
  if (cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  return LaunchCollapse(nets, first, count, sizes, /*step=*/true, stream);
}

}  // namespace tessera::cuda
