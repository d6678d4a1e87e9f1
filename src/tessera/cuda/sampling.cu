// One block per trainer. The host's samplers draw one candidate after another and pass over those
// that are no transitions; here a thousand candidates are drawn at once, and a running count of the
// good ones says where each goes, so that the batch is the same.
#include "tessera/cuda/sampling.cuh"

namespace tessera::cuda {
namespace {

constexpr int kDrawers = 1024;

__device__ bool IsTransition(SlotKind kind) { return kind != SlotKind::kEmpty; }
__device__ bool EndsEpisode(SlotKind kind) {
  return kind == SlotKind::kTerminated || kind == SlotKind::kTruncated;
}

__device__ int64_t UsedSlots(const SamplingView& view, int64_t lane) {
  const ReplayLane& l = view.lane[lane];
  return l.wrapped ? view.shape.lane_slots : l.head;
}

// The sum of `value` over the threads before this one, and over all of them.
__device__ int BlockScan(int value, int& total) {
  __shared__ int sums[kDrawers / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int inclusive = value;
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(~0u, inclusive, step);
    if (lane >= step) inclusive += before;
  }
  __syncthreads();  // the last scan has been read
  if (lane == 31) sums[warp] = inclusive;
  __syncthreads();
  if (warp == 0) {
    int sum = sums[lane];
    for (int step = 1; step < 32; step *= 2) {
      const int before = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += before;
    }
    sums[lane] = sum;
  }
  __syncthreads();
  total = sums[kDrawers / 32 - 1];
  return inclusive - value + (warp > 0 ? sums[warp - 1] : 0);
}

// Draw k of a stream as CounterRng::Bits64 gives it.
__device__ uint64_t Draw64(PhiloxKey key, uint64_t step, int64_t k) {
  const uint4 words = Philox(key, step, static_cast<uint64_t>(k / 2));
  return k % 2 == 0 ? words.x | static_cast<uint64_t>(words.y) << 32
                    : words.z | static_cast<uint64_t>(words.w) << 32;
}

// UniformDraws::Draw of draw k, or -1 where the host would draw again.
__device__ int64_t Candidate(const SamplingView& view, PhiloxKey key, int64_t longest, int64_t k) {
  const uint64_t range = static_cast<uint64_t>(view.lanes * longest);
  const uint64_t bits = Draw64(key, *view.round, k);
  const uint64_t low = bits * range;
  if (low < range && low < (0 - range) % range) return -1;
  const int64_t at = static_cast<int64_t>(__umul64hi(bits, range));
  const int64_t lane = at / longest, slot = lane * view.shape.lane_slots + at % longest;
  if (!IsTransition(view.kinds[slot])) return -1;
  if (view.skip_newest && slot == view.lane[lane].newest &&
      UsedSlots(view, lane) < view.shape.lane_slots) {
    return -1;
  }
  return slot;
}

// The next transition of a slot's lane on one side, or -1 at the end of the lane or episode.
__device__ int64_t Walk(const SamplingView& view, int64_t at, int64_t direction) {
  const SamplerSettings& rules = view.sampler;
  const int64_t lane = at / view.shape.lane_slots, first = lane * view.shape.lane_slots;
  const int64_t used = UsedSlots(view, lane);
  int64_t offset = at - first;
  for (int64_t steps = 0; steps < used; ++steps) {
    const SlotKind from = view.kinds[first + offset];
    if (rules.same_episode && direction > 0 && EndsEpisode(from)) return -1;
    offset += direction;
    if (offset < 0 || offset >= used) {
      if (!rules.wrap) return -1;
      offset = offset < 0 ? used - 1 : 0;
    }
    const SlotKind kind = view.kinds[first + offset];
    if (!IsTransition(kind)) continue;
    if (rules.same_episode && direction < 0 && EndsEpisode(kind)) return -1;
    return first + offset;
  }
  return -1;
}

// AppendNeighbors: calls `take` with the transitions around `slot` in ascending order.
template <typename Take>
__device__ void Neighbors(const SamplingView& view, int64_t slot, const Take& take) {
  const SamplerSettings& rules = view.sampler;
  int before = 0;
  int64_t at = slot;
  for (; before < rules.radius; ++before) {
    const int64_t found = Walk(view, at, -1);
    if (found < 0 || found == slot) break;
    at = found;
  }
  // `at` is the first of them; the way back meets the same slots in ascending order.
  for (int i = 0; i < before; ++i) {
    take(at);
    at = Walk(view, at, +1);
  }
  if (rules.include_center) take(slot);
  at = slot;
  for (int i = 0; i < rules.radius; ++i) {
    at = Walk(view, at, +1);
    if (at < 0 || at == slot) break;
    take(at);
  }
}

// The rows that a drawn slot stands for: itself, its neighbours, or the run that begins with it.
// Returns how many; the first `room` of them go to `out`.
__device__ int Window(const SamplingView& view, int64_t slot, int64_t* out, int room) {
  int count = 0;
  const auto take = [&](int64_t found) {
    if (count < room) out[count] = found;
    ++count;
  };
  switch (view.sampler.window) {
    case SamplerSettings::Window::kNone: break;
    case SamplerSettings::Window::kNeighbors: Neighbors(view, slot, take); break;
    case SamplerSettings::Window::kRun:
      for (int64_t at = slot; at >= 0 && count < view.sampler.length; at = Walk(view, at, +1)) {
        take(at);
      }
  }
  // A lone transition has no neighbours; it stands for itself, or the batch would never fill.
  if (count == 0) take(slot);
  return count;
}

// Fills the trainer's batch with the windows of draws 0, 1, ...; `draw` returns -1 where the host
// would draw again. The window that fills the batch is its last, whole or cut.
template <typename Draw>
__device__ void FillBatch(const SamplingView& view, int trainer, const Draw& draw) {
  int64_t* const out = view.slots + int64_t{trainer} * view.max_rows;
  int filled = 0;
  for (int64_t k = threadIdx.x; filled < view.batch; k += kDrawers) {
    const int64_t slot = draw(k);
    const int count = slot < 0 ? 0 : Window(view, slot, nullptr, 0);
    int total = 0;
    const int at = filled + BlockScan(count, total);
    if (count > 0 && at < view.batch) {
      Window(view, slot, out + at, view.max_rows - at);
      if (at + count >= view.batch) view.rows[trainer] = min(at + count, view.max_rows);
    }
    filled += total;
  }
}

// Whether the trainer's last batch serves this round, too: it is of the same rounds, and none of
// its transitions was dropped since. Otherwise the next one is noted to be of these rounds.
__device__ bool Reuses(const SamplingView& view, int trainer) {
  if (view.sampler.rounds <= 1) return false;
  const int64_t part = static_cast<int64_t>(*view.round) / view.sampler.rounds;
  bool lost = view.parts[trainer] != part;
  const int64_t base = int64_t{trainer} * view.max_rows;
  for (int r = threadIdx.x; !lost && r < view.rows[trainer]; r += kDrawers) {
    lost = !IsTransition(view.kinds[view.slots[base + r]]);
  }
  const bool reuses = __syncthreads_or(lost) == 0;
  if (threadIdx.x == 0) view.parts[trainer] = part;
  return reuses;
}

__global__ void __launch_bounds__(kDrawers) UniformKernel(SamplingView view, int first) {
  const int trainer = first + static_cast<int>(blockIdx.x);
  if (Reuses(view, trainer)) return;
  const PhiloxKey key = view.keys[trainer];
  __shared__ unsigned long long longest;
  if (threadIdx.x == 0) longest = 0;
  __syncthreads();
  for (int64_t l = threadIdx.x; l < view.lanes; l += kDrawers) {
    atomicMax(&longest, static_cast<unsigned long long>(UsedSlots(view, l)));
  }
  __syncthreads();
  FillBatch(view, trainer,
            [&](int64_t k) { return Candidate(view, key, static_cast<int64_t>(longest), k); });
  for (int i = threadIdx.x; i < view.max_rows; i += kDrawers) {
    view.row_weights[int64_t{trainer} * view.max_rows + i] = 1.0f;
  }
}

// ---- Prioritised -------------------------------------------------------------------------------

// Sums of children for `levels` levels above 1,024 consecutive nodes per block.
__global__ void __launch_bounds__(kDrawers) SumTreeKernel(double* tree, int64_t nodes) {
  __shared__ double sums[2 * kDrawers];
  const int64_t at = nodes + int64_t{blockIdx.x} * kDrawers + threadIdx.x;
  const int64_t width = min(nodes, int64_t{kDrawers});
  if (threadIdx.x < width) sums[threadIdx.x] = tree[at];
  __syncthreads();
  int64_t level = nodes;
  for (int64_t count = width / 2; count >= 1; count /= 2) {
    level /= 2;
    double sum = 0;
    if (threadIdx.x < count) sum = sums[2 * threadIdx.x] + sums[2 * threadIdx.x + 1];
    __syncthreads();
    if (threadIdx.x < count) {
      sums[threadIdx.x] = sum;
      tree[level + int64_t{blockIdx.x} * count + threadIdx.x] = sum;
    }
    __syncthreads();
  }
}

// SumTree::Find.
__device__ int64_t FindByMass(const SamplingView& view, double mass) {
  int64_t node = 1;
  while (node < view.leaves) {
    node *= 2;
    const double left = view.tree[node];
    if ((mass >= left && view.tree[node + 1] > 0) || left <= 0) {
      mass -= left;
      ++node;
    }
  }
  return node - view.leaves;
}

// Priority mass that leads to a slot: its own, or the mean of the references it is next to.
__device__ double Reach(const SamplingView& view, int64_t slot) {
  double mass = 0;
  bool alone = true;
  if (view.sampler.window == SamplerSettings::Window::kNeighbors) {
    Neighbors(view, slot, [&](int64_t reference) {
      mass += view.tree[view.leaves + reference];
      alone = false;
    });
  }
  return alone ? view.tree[view.leaves + slot] : max(mass / (2 * view.sampler.radius), 1e-12);
}

__global__ void __launch_bounds__(kDrawers) PrioritizedKernel(SamplingView view, int first) {
  const int trainer = first + static_cast<int>(blockIdx.x);
  if (Reuses(view, trainer)) return;
  const PhiloxKey key = view.keys[trainer];
  const double total = view.tree[1];
  double transitions = 0;
  for (int l = 0; l < view.lanes; ++l) transitions += static_cast<double>(view.lane[l].transitions);
  __shared__ unsigned int top;
  if (threadIdx.x == 0) top = 0;
  FillBatch(view, trainer, [&](int64_t k) {
    const double u = static_cast<double>(Draw64(key, *view.round, k) >> 11) * 0x1.0p-53;
    return FindByMass(view, u * total);
  });
  __syncthreads();  // slots of all threads are there
  const int64_t base = int64_t{trainer} * view.max_rows;
  for (int r = threadIdx.x; r < view.batch; r += kDrawers) {
    const double reach = Reach(view, view.slots[base + r]) / total;
    const float weight = static_cast<float>(pow(transitions * reach, -view.sampler.beta));
    view.row_weights[base + r] = weight;
    atomicMax(&top, __float_as_uint(weight));  // positive floats are ordered as their bits
  }
  __syncthreads();
  for (int r = threadIdx.x; r < view.batch; r += kDrawers) {
    view.row_weights[base + r] /= __uint_as_float(top);
  }
}

// Trainers in order, rows in order: of rows with the same slot the last one counts, as on the host.
__global__ void __launch_bounds__(kDrawers)
    PriorityKernel(SamplingView view, int first, int count, const float* errors) {
  for (int trainer = first; trainer < first + count; ++trainer) {
    const int64_t base = int64_t{trainer} * view.max_rows;
    for (int start = 0; start < view.rows[trainer]; start += kDrawers) {
      const int r = start + static_cast<int>(threadIdx.x);
      const bool valid = r < view.rows[trainer];
      __shared__ int64_t slots[kDrawers];
      slots[threadIdx.x] = valid ? view.slots[base + r] : -1;
      __syncthreads();
      bool last = valid;
      for (int other = threadIdx.x + 1; last && other < kDrawers; ++other) {
        last = slots[other] != slots[threadIdx.x];
      }
      if (last) {
        const double priority =
            pow(static_cast<double>(fabsf(errors[base + r])) + view.sampler.epsilon,
                view.sampler.alpha);
        view.tree[view.leaves + slots[threadIdx.x]] = priority;
        atomicMax(reinterpret_cast<unsigned long long*>(view.top),
                  static_cast<unsigned long long>(__double_as_longlong(priority)));
      }
      __syncthreads();
    }
  }
}

}  // namespace

cudaError_t LaunchSampling(const SamplingView& view, int first, int count, cudaStream_t stream) {
  if (!view.sampler.prioritized) {
    UniformKernel<<<count, kDrawers, 0, stream>>>(view, first);
    return cudaGetLastError();
  }
  for (int64_t nodes = view.leaves; nodes > 1; nodes /= kDrawers) {
    SumTreeKernel<<<static_cast<unsigned>(nodes > kDrawers ? nodes / kDrawers : 1), kDrawers, 0,
                    stream>>>(view.tree, nodes);
    if (nodes <= kDrawers) break;
  }
  PrioritizedKernel<<<count, kDrawers, 0, stream>>>(view, first);
  return cudaGetLastError();
}

cudaError_t LaunchPriorities(const SamplingView& view, int first, int count, const float* errors,
                             cudaStream_t stream) {
  if (!view.sampler.prioritized) return cudaSuccess;
  PriorityKernel<<<1, kDrawers, 0, stream>>>(view, first, count, errors);
  return cudaGetLastError();
}

}  // namespace tessera::cuda
