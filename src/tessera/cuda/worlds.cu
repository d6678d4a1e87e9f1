// Batches of worlds: a few per block.
#include "tessera/cuda/world_step.cuh"

namespace tessera::cuda {
namespace {

constexpr int kStepThreads = 128;

// A queue pays where an agent has many to touch.
constexpr int kManyOthers = 16;

template <bool kQueued>
__global__ void __launch_bounds__(kStepThreads, kQueued ? 7 : 9)
    StepKernel(WorldView world, ActionSource actions, ReplayView replay, int worlds_per_block) {
  extern __shared__ double memory[];
  __shared__ RingStep ring_steps[kStepThreads];
  __shared__ __align__(16) unsigned char queue[kQueued ? sizeof(ContactQueue) : 1];
  const Block block = MakeBlock(world, memory, worlds_per_block);
  LoadWorlds<kStepThreads>(world, block);
  // A warp has the same agent of many worlds, so that its threads do the same.
  StepShared<kStepThreads, kQueued>(world, actions, replay, block, ring_steps,
                                    reinterpret_cast<ContactQueue*>(queue),
                                    static_cast<int>(threadIdx.x) % worlds_per_block,
                                    static_cast<int>(threadIdx.x) / worlds_per_block);
  WriteViews<kStepThreads>(world, block);
}

__global__ void __launch_bounds__(kStepThreads) ShowKernel(WorldView world, int worlds_per_block) {
  extern __shared__ double memory[];
  const Block block = MakeBlock(world, memory, worlds_per_block);
  LoadWorlds<kStepThreads>(world, block);
  WriteViews<kStepThreads>(world, block);
}

struct Shape {
  int worlds_per_block, bytes;
  unsigned blocks;
};

Shape ShapeOf(const WorldView& view) {
  Shape shape;
  shape.worlds_per_block = kStepThreads / view.agents;
  shape.bytes = 8 * shape.worlds_per_block * WorldDoubles(view.size, view.agents, view.landmarks);
  shape.blocks =
      static_cast<unsigned>((view.worlds + shape.worlds_per_block - 1) / shape.worlds_per_block);
  return shape;
}

}  // namespace

cudaError_t LaunchStep(const WorldView& view, const ActionSource& actions, const ReplayView& replay,
                       cudaStream_t stream) {
  const Shape shape = ShapeOf(view);
  const int others = view.agents + (view.navigation ? 0 : view.landmarks);
  const auto kernel = others >= kManyOthers ? StepKernel<true> : StepKernel<false>;
  kernel<<<shape.blocks, kStepThreads, static_cast<size_t>(shape.bytes), stream>>>(
      view, actions, replay, shape.worlds_per_block);
  return cudaGetLastError();
}

cudaError_t LaunchShow(const WorldView& view, cudaStream_t stream) {
  const Shape shape = ShapeOf(view);
  ShowKernel<<<shape.blocks, kStepThreads, static_cast<size_t>(shape.bytes), stream>>>(
      view, shape.worlds_per_block);
  return cudaGetLastError();
}

}  // namespace tessera::cuda
