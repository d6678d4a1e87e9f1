// Launches take longer than a step of one world, so here a block takes many steps in one. Networks
// of small teams stay in shared memory all the while.
#include "tessera/cuda/rollout.cuh"

#include "tessera/cuda/launch.cuh"
#include "tessera/cuda/world_step.cuh"

namespace tessera::cuda {
namespace {

constexpr int kPlayers = 512;  // threads
constexpr int kMostRolloutAgents = 24, kMostRolloutWorlds = 264;

struct Layout {
  int world_bytes, observations, hidden, logits, noise, weights, floats;  // offsets in floats

  __host__ __device__ static Layout Of(const WorldView& world, int agents) {
    Layout layout;
    layout.world_bytes = 8 * WorldDoubles(world.size, world.agents, world.landmarks);
    layout.observations = 0;
    layout.hidden = (world.observed + 3) / 4 * 4;
    layout.logits = layout.hidden + 2 * agents * kHidden;
    layout.noise = layout.logits + agents * kMostOutputs;
    layout.weights = layout.noise + agents * kMostOutputs;
    layout.floats = layout.weights;
    return layout;
  }
};

__host__ __device__ int NetFloats(int inputs, int outputs) {
  return (inputs * kHidden + Tail::Size(outputs) + 3) / 4 * 4;
}

// Column c of x W + b; `exact`: in the host's order.
__device__ float Column(const float* x, int inputs, const float* weights, const float* bias, int c,
                        int columns, bool exact) {
  if (exact) {
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < inputs; ++k) sum = fmaf(x[k], weights[k * columns + c], sum);
    return sum + bias[c];
  }
  float sums[4] = {bias[c], 0, 0, 0};
  int k = 0;
#pragma unroll 4
  for (; k + 4 <= inputs; k += 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[i] = fmaf(x[k + i], weights[(k + i) * columns + c], sums[i]);
    }
  }
  for (; k < inputs; ++k) sums[0] = fmaf(x[k], weights[k * columns + c], sums[0]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Actions of all agents in the world, from their observations in shared memory.
__device__ void ActInWorld(const ActView& act, const Layout& layout, float* memory,
                           const float* const* networks, uint64_t step, int64_t e) {
  float *const h1 = memory + layout.hidden, *const h2 = h1 + act.agents * kHidden;
  float *const logits = memory + layout.logits, *const noise = memory + layout.noise;
  const int64_t padded = (act.lanes + 15) / 16 * 16;
  const int units = act.agents * kHidden;
  for (int i = threadIdx.x; i < units + act.agents * kMostOutputs; i += kPlayers) {
    if (i < units) {
      const int a = i / kHidden, inputs = act.observation_size[a];
      const float* const net = networks[a];
      h1[i] = fmaxf(Column(memory + act.observation_first[a], inputs, net, net + inputs * kHidden,
                           i % kHidden, kHidden, act.exact),
                    0.0f);
      continue;
    }
    // Threads that are left over draw the noise.
    const int a = (i - units) / kMostOutputs, c = (i - units) % kMostOutputs;
    if (c < act.choices[a]) {
      noise[i - units] = GumbelAt(act.key, step, (act.action_first[a] + c) * padded + e);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < units; i += kPlayers) {
    const int a = i / kHidden;
    const float* const tail = networks[a] + act.observation_size[a] * kHidden;
    h2[i] = fmaxf(Column(h1 + a * kHidden, kHidden, tail + Tail::kW2, tail + Tail::kB2, i % kHidden,
                         kHidden, act.exact),
                  0.0f);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < act.agents * kMostOutputs; i += kPlayers) {
    const int a = i / kMostOutputs, c = i % kMostOutputs, choices = act.choices[a];
    if (c >= choices) continue;
    const float* const tail = networks[a] + act.observation_size[a] * kHidden;
    logits[i] = noise[i] + Column(h2 + a * kHidden, kHidden, tail + Tail::kW3,
                                  tail + Tail::B3(choices), c, choices, act.exact);
  }
  __syncthreads();
  for (int a = threadIdx.x; a < act.agents; a += kPlayers) {
    const int choices = act.choices[a];
    float* const y = logits + a * kMostOutputs;
    float top = y[0], sum = 0;
    for (int c = 1; c < choices; ++c) top = fmaxf(top, y[c]);
    for (int c = 0; c < choices; ++c) sum += y[c] = ExpOf(y[c] - top);
    const float scale = 1.0f / sum;
    float* const to = act.out + e * act.actions + act.action_first[a];
    for (int c = 0; c < choices; ++c) to[c] = y[c] * scale;
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kPlayers)
    RolloutKernel(WorldView world, ActView act, ReplayView replay, int steps, bool cached) {
  extern __shared__ double worlds[];
  __shared__ RingStep ring_step[1];
  __shared__ const float* networks[kMostRolloutAgents];
  const Layout layout = Layout::Of(world, act.agents);
  float* const memory = reinterpret_cast<float*>(worlds) + layout.world_bytes / 4;
  const Block block = MakeBlock(world, worlds, 1);
  const int64_t e = block.first;
  float* copy = memory + layout.weights;
  for (int a = 0; a < act.agents; ++a) {
    const NetView& net = act.actors[a];
    const float* const from = act.target ? net.target : net.parameters;
    const int size = net.inputs * kHidden + Tail::Size(net.outputs);
    if (cached) {
      for (int i = threadIdx.x; i < size; i += kPlayers) copy[i] = from[i];
    }
    if (threadIdx.x == 0) networks[a] = cached ? copy : from;
    copy += NetFloats(net.inputs, net.outputs);
  }
  LoadWorlds<kPlayers>(world, block);
  const uint64_t acts = *act.acts;
  const ActionSource source{.vectors = act.out};
  const int agent = static_cast<int>(threadIdx.x) % world.agents;
  const int index = static_cast<int>(threadIdx.x) / world.agents;
  for (int step = 0; step < steps; ++step) {
    for (int i = threadIdx.x; i < world.observed; i += kPlayers) {
      memory[layout.observations + i] = ObservedAt(world, block.state, i);
    }
    __syncthreads();
    ActInWorld(act, layout, memory, networks, acts + static_cast<uint64_t>(step), e);
    StepShared<kPlayers, false>(world, source, replay, block, ring_step, nullptr, index, agent);
  }
  WriteViews<kPlayers>(world, block);
}

}  // namespace

bool RolloutSuits(const WorldView& world) {
  return world.actors <= kMostRolloutAgents && world.worlds <= kMostRolloutWorlds;
}

cudaError_t LaunchRollout(const WorldView& world, const ActView& act, const ReplayView& replay,
                          int steps, int shared_bytes, cudaStream_t stream) {
  const Layout layout = Layout::Of(world, act.agents);
  int bytes = layout.world_bytes + 4 * layout.floats;
  const int weights = 4 * act.agents * NetFloats(act.x_row, kMostOutputs);  // at most
  const bool cached = bytes + weights <= shared_bytes;
  if (cached) bytes += weights;
  if (cudaError_t error = AllowShared(RolloutKernel, bytes); error != cudaSuccess) return error;
  ReplayView uncounted = replay;
  uncounted.acts = nullptr;
  RolloutKernel<<<static_cast<unsigned>(world.worlds), kPlayers, static_cast<size_t>(bytes),
                  stream>>>(world, act, uncounted, steps, cached);
  return cudaGetLastError();
}

}  // namespace tessera::cuda
