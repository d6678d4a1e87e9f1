// The two large kernels of an update round. A block takes one trainer and a tile of its mini-batch
// from replay to gradients; nothing between the two touches device memory but weights.
#include "tessera/cuda/update.cuh"

#include <algorithm>

#include "tessera/cuda/launch.cuh"

namespace tessera::cuda {
namespace {

constexpr int kTargetTileHidden = 1;    // buffers of activations of the target actors' kernel
constexpr int kTileHidden = 3;          // buffers of activations of the critics' kernel: h1, h2, d2
constexpr int kActorTileHidden = 5;     // and of the actors': h1, h2 of both networks, d2
constexpr int kRowFloats = 4;           // further numbers of a row
constexpr uint8_t kTerminatedKind = 2;  // SlotKind::kTerminated
constexpr float kLogFloor = 1e-6f;      // inside the entropy's logarithm, as masac.cc
constexpr int kNoiseRows = 128;         // kBlockRows of nn/kernels.h: the order of noise

template <Precision P, int MT>
struct Context {
  using T = Tile<P, MT>;
  static constexpr int kRows = T::kRows, kBlock = T::kBlock;

  __device__ Context(const UpdateView& update, int trainer_index, const T& own_tile)
      : view(update),
        tile(own_tile),
        trainer(trainer_index),
        first_row(static_cast<int>(blockIdx.x) * kRows),
        count(update.rows[trainer_index]) {}

  __device__ int64_t SlotOf(int r) const {
    return view.slots[int64_t{trainer} * view.max_rows + first_row + r];
  }
  __device__ bool Valid(int r) const { return first_row + r < count; }

  // Starts to copy what the rows' records hold before the actions, this step's or the next one's.
  // Rows beyond the batch and columns that fill up blocks are zero.
  __device__ void LoadBase(bool next, int team = 0, int teams = 1) {
    ForRows([&](int r, int lane, float* to) {
      if (r % teams != team) return;
      if (!Valid(r)) {
        for (int f = lane; f < view.base_columns; f += 32) to[f] = 0;
        return;
      }
      const float* const from = Record(r, next);
      for (int f = lane; f < view.base; f += 32) CopyAsync4(to + f, from + f);
      for (int f = view.base + lane; f < view.base_columns; f += 32) to[f] = 0;
    });
  }

  // The same for the actions: those that were played, or what the target actors do next.
  __device__ void LoadActions(bool next) {
    ForRows([&](int r, int lane, float* to) {
      float* const actions = to + view.base_columns;
      const float* const from = next ? NextActions(r) : Record(r, false) + view.base;
      for (int f = lane; f < view.columns - view.base_columns; f += 32) {
        if (f < view.actions && Valid(r)) {
          CopyAsync4(actions + f, from + f);
        } else {
          actions[f] = 0;
        }
      }
    });
  }

  __device__ float* NextActions(int r) const {
    return view.next_actions + (int64_t{trainer} * view.max_rows + first_row + r) * view.actions;
  }

  // Noise of the tile's rows for `choices` logits, in FillGumbel's order.
  __device__ void FillNoise(PhiloxKey key, int choices) {
    const int start = first_row % 64;
    constexpr int kGroups = (kRows + 63) / 64;  // of 64 rows that share their words
    for (int i = T::Tid(); i < 16 * kGroups * choices; i += kBlock) {
      const int l = i % 16, part = i / 16 % kGroups, c = i / (16 * kGroups);
      const int64_t group = int64_t{first_row / kNoiseRows} * choices * (kNoiseRows / 64) +
                            c * (kNoiseRows / 64) + first_row % kNoiseRows / 64 + part;
      const uint4 words = Philox(key, *view.round, static_cast<uint64_t>(16 * group + l));
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const int r = 64 * part + l + 16 * w - start;
        if (r >= 0 && r < kRows) tile.noise[r * kMostOutputs + c] = GumbelOf(WordOf(words, w));
      }
    }
  }

  // softmax(out + noise) of every row: to columns of X, or as next actions.
  __device__ void SoftActions(int agent, bool next) {
    const int choices = view.choices[agent];
    const int r = T::Tid();
    if (r >= kRows || (next && !Valid(r))) return;
    float y[kMostOutputs];
    Softmax(choices, r, /*noisy=*/true, y);
    float* const to = (next ? NextActions(r) : tile.x + r * tile.x_row + view.base_columns) +
                      view.action_first[agent];
#pragma unroll
    for (int c = 0; c < kMostOutputs; ++c) {
      if (c < choices) to[c] = y[c];
    }
  }

  __device__ void Softmax(int choices, int r, bool noisy, float (&y)[kMostOutputs]) const {
    float top = -INFINITY, sum = 0;
#pragma unroll
    for (int c = 0; c < kMostOutputs; ++c) {
      if (c >= choices) continue;
      y[c] = tile.out[r * kMostOutputs + c] + (noisy ? tile.noise[r * kMostOutputs + c] : 0.0f);
      top = fmaxf(top, y[c]);
    }
#pragma unroll
    for (int c = 0; c < kMostOutputs; ++c) {
      if (c >= choices) continue;
      y[c] = ExpOf(y[c] - top);
      sum += y[c];
    }
    const float scale = 1.0f / sum;
#pragma unroll
    for (int c = 0; c < kMostOutputs; ++c) {
      if (c < choices) y[c] *= scale;
    }
  }

  // kFp32: the way back of network `net` from d out in tile.noise; keeps what its gradient needs.
  __device__ void BackwardKeeping(int net, int outputs, const float* h1, float* h2, float* d2) {
    const KeptRows kept = KeptRows::Of(view.kept, view.max_rows, net, first_row);
    const int rows = min(kRows, count - first_row);
    tile.Keep(h1, rows, kept.h1);
    tile.Keep(h2, rows, kept.h2);
    for (int i = T::Tid(); i < rows * kMostOutputs; i += kBlock) kept.dout[i] = tile.noise[i];
    tile.Backward(outputs, h1, h2, d2, tile.noise, nullptr);
    tile.Keep(d2, rows, kept.d2);
    tile.Keep(h2, rows, kept.d1);
  }

  // Sum of one number per row, in the order of rows; thread 0 has it.
  __device__ double SumRows(const float* values) const {
    double sum = 0;
    if (T::Tid() == 0) {
      for (int r = 0; r < kRows; ++r) sum += double{values[r]};
    }
    return sum;
  }

  const UpdateView& view;
  T tile;
  const int trainer, first_row, count;

 private:
  // A warp per row.
  template <typename Body>
  __device__ void ForRows(Body body) {
    for (int r = T::Tid() / 32; r < kRows; r += kBlock / 32) {
      body(r, T::Tid() % 32, tile.x + r * tile.x_row);
    }
  }
  __device__ const float* Record(int r, bool next) const {
    int64_t slot = Valid(r) ? SlotOf(r) : 0;
    if (next) {
      const bool last = slot % view.lane_slots == view.lane_slots - 1;
      slot += last ? 1 - view.lane_slots : 1;
    }
    return view.records + slot * view.record;
  }
};

// -sum p log(p + 1e-6).
__device__ float EntropyOf(int choices, const float (&p)[kMostOutputs]) {
  float entropy = 0;
#pragma unroll
  for (int c = 0; c < kMostOutputs; ++c) {
    if (c < choices) entropy -= p[c] * LogOf(p[c] + kLogFloor);
  }
  return entropy;
}

// What the target actors blockIdx.y * at_once and following do in the next states. Teams of threads
// take the actors in turns: while one waits for weights, another computes.
template <Precision P, int MT, int kTeams>
__global__ void __launch_bounds__(256 * kTeams)
    TargetActionKernel(UpdateView view, int first_trainer, int at_once) {
  extern __shared__ __align__(16) float memory[];
  using T = Tile<P, MT>;
  const int trainer = first_trainer + static_cast<int>(blockIdx.z);
  const int team = static_cast<int>(threadIdx.x) / T::kBlock, x_row = view.base_columns + 4;
  Context<P, MT> context(
      view, trainer,
      T(memory, memory + T::kRows * x_row + team * OwnFloats(T::kRows, kTargetTileHidden), x_row,
        kTargetTileHidden));
  if (context.first_row >= context.count) return;
  auto& tile = context.tile;
  float* const h = tile.Hidden(0);  // of both layers: the second is written once the first is read
  const int first = static_cast<int>(blockIdx.y) * at_once + team;
  const int end = min(view.agents, first - team + at_once);
  context.LoadBase(/*next=*/true, team, kTeams);
  Weights actor = {};
  if (first < end) {
    actor = Weights::Of(view.actors[first], /*target=*/true);
    tile.Prefetch(actor);
  }
  WaitCopies();
  __syncthreads();  // X is there
  for (int a = first; a < end; a += kTeams) {
    const bool last = a + kTeams >= end;
    const Weights after = Weights::Of(view.actors[last ? a : a + kTeams], true);
    if (a > first) T::Sync();  // the last actions have read their noise
    context.FillNoise(view.target_keys[trainer * view.agents + a], view.choices[a]);
    tile.Forward(actor, h, h, last ? nullptr : &after);
    context.SoftActions(a, /*next=*/true);
    actor = after;
  }
}

// Target values, and the critics' gradients towards them.
template <Precision P, int MT>
__global__ void __launch_bounds__(kThreads) CriticKernel(UpdateView view, int first_trainer) {
  extern __shared__ __align__(16) float memory[];
  const int trainer = first_trainer + static_cast<int>(blockIdx.y);
  Context<P, MT> context(view, trainer, Tile<P, MT>(memory, view.x_row, kTileHidden));
  auto& tile = context.tile;
  constexpr int kRows = Context<P, MT>::kRows;
  if (context.first_row >= context.count) {
    // Sampling may give fewer rows than a batch can have; their gradients are zero.
    for (int c = 0; c < view.critics && P != Precision::kFp32; ++c) {
      const NetView& net = view.critic_nets[trainer * view.critics + c];
      float* const gradient = net.partial + int64_t{blockIdx.x} * net.gradient_size();
      for (int i = threadIdx.x; i < net.gradient_size(); i += kThreads) gradient[i] = 0;
    }
    if (threadIdx.x == 0) {
      view.q_losses[trainer * view.tiles + blockIdx.x] = 0;
      view.entropies[trainer * view.tiles + blockIdx.x] = 0;
    }
    return;
  }
  float *const h1 = tile.Hidden(0), *const h2 = tile.Hidden(1), *const d2 = tile.Hidden(2);
  float *const least = tile.rest(), *const y = least + kRows, *const loss = y + kRows;
  const int r = threadIdx.x;
  const bool valid = r < kRows && context.Valid(r);

  context.LoadBase(/*next=*/true);
  context.LoadActions(/*next=*/true);
  tile.Prefetch(view.term == ActorTerm::kEntropy
                    ? Weights::Of(view.actors[trainer], false)
                    : Weights::Of(view.critic_nets[trainer * view.critics], true));
  float bonus = 0;
  if (view.term == ActorTerm::kEntropy) {
    const Weights after = Weights::Of(view.critic_nets[trainer * view.critics], true);
    tile.Forward(Weights::Of(view.actors[trainer], false), h1, h2, &after);
    if (r < kRows) {
      float p[kMostOutputs];
      context.Softmax(view.choices[trainer], r, /*noisy=*/false, p);
      const float entropy = valid ? EntropyOf(view.choices[trainer], p) : 0.0f;
      loss[r] = entropy;
      bonus = static_cast<float>(view.penalty) * entropy;
    }
    __syncthreads();
    const double entropy = context.SumRows(loss);
    if (threadIdx.x == 0) view.entropies[trainer * view.tiles + blockIdx.x] = entropy;
  } else if (threadIdx.x == 0) {
    view.entropies[trainer * view.tiles + blockIdx.x] = 0;
  }
  for (int c = 0; c < view.critics; ++c) {
    const bool last = c + 1 == view.critics;
    const NetView* const nets = view.critic_nets + trainer * view.critics;
    const Weights after = last ? Weights::Of(nets[0], false) : Weights::Of(nets[c + 1], true);
    tile.Forward(Weights::Of(nets[c], true), h1, h2, &after);
    if (r < kRows) {
      const float value = tile.out[r * kMostOutputs];
      least[r] = c == 0 ? value : fminf(least[r], value);
    }
  }
  if (valid) {
    const int64_t slot = context.SlotOf(r);
    const float reward = view.records[slot * view.record + view.base + view.actions + trainer];
    const float live = view.ignore_done || view.kinds[slot] != kTerminatedKind ? 1.0f : 0.0f;
    y[r] = reward + view.gamma * live * (least[r] + bonus);
  }
  if (view.targets_only) {
    if (r < kRows && y[r] == INFINITY) view.errors[0] = y[r];  // or the compiler would leave it out
    WaitCopies();
    return;
  }
  context.LoadBase(/*next=*/false);
  context.LoadActions(/*next=*/false);
  double q_loss = 0;
  for (int c = 0; c < view.critics; ++c) {
    const NetView& net = view.critic_nets[trainer * view.critics + c];
    const Weights weights = Weights::Of(net, false);
    if (c > 0) {
      __syncthreads();
      tile.Prefetch(weights);
    }
    tile.Forward(weights, h1, h2, nullptr);
    if (r < kRows) {
      const float error = valid ? tile.out[r * kMostOutputs] - y[r] : 0.0f;
      const int64_t at = int64_t{trainer} * view.max_rows + context.first_row + r;
      const float weight = valid ? view.row_weights[at] : 0.0f;
      tile.noise[r * kMostOutputs] = 2.0f / static_cast<float>(context.count) * weight * error;
      loss[r] = weight * error * error;
      if (valid && c == 0) view.errors[at] = error;
    }
    __syncthreads();
    q_loss += context.SumRows(loss);
    if constexpr (P == Precision::kFp32) {
      context.BackwardKeeping(trainer * view.critics + c, 1, h1, h2, d2);
    } else {
      float* const gradient = net.partial + int64_t{blockIdx.x} * net.gradient_size();
      tile.Backward(1, h1, h2, d2, tile.noise, gradient + net.first_size());
      tile.FirstGradient(weights, h2, gradient);
    }
  }
  if (threadIdx.x == 0) {
    view.q_losses[trainer * view.tiles + blockIdx.x] =
        q_loss / (static_cast<double>(context.count) * view.critics);
  }
}

// The actor's gradient: a new own action, up the first critic.
template <Precision P, int MT>
__global__ void __launch_bounds__(kThreads) ActorKernel(UpdateView view, int first_trainer) {
  extern __shared__ __align__(16) float memory[];
  const int trainer = first_trainer + static_cast<int>(blockIdx.y);
  Context<P, MT> context(view, trainer, Tile<P, MT>(memory, view.x_row, kActorTileHidden));
  auto& tile = context.tile;
  constexpr int kRows = Context<P, MT>::kRows;
  const NetView& net = view.actors[trainer];
  float* const gradient = net.partial + int64_t{blockIdx.x} * net.gradient_size();
  if (context.first_row >= context.count) {
    for (int i = threadIdx.x; i < net.gradient_size() && P != Precision::kFp32; i += kThreads) {
      gradient[i] = 0;
    }
    if (threadIdx.x == 0) view.p_losses[trainer * view.tiles + blockIdx.x] = 0;
    return;
  }
  float *const h1 = tile.Hidden(0), *const h2 = tile.Hidden(1), *const q1 = tile.Hidden(2);
  float *const q2 = tile.Hidden(3), *const d2 = tile.Hidden(4);
  float* const logits = tile.rest();                  // [rows x 8]
  float* const loss = logits + kRows * kMostOutputs;  // [rows]
  const int choices = view.choices[trainer], r = threadIdx.x;
  const int column = view.base_columns + view.action_first[trainer];
  const bool valid = r < kRows && context.Valid(r);
  const Weights actor = Weights::Of(net, false);
  const Weights critic = Weights::Of(view.critic_nets[trainer * view.critics], false);

  context.LoadBase(/*next=*/false);
  context.LoadActions(/*next=*/false);
  tile.Prefetch(actor);
  context.FillNoise(view.policy_keys[trainer], choices);
  tile.Forward(actor, h1, h2, &critic);
  context.SoftActions(trainer, /*next=*/false);
  for (int i = threadIdx.x; i < kRows * kMostOutputs; i += kThreads) logits[i] = tile.out[i];
  tile.Forward(critic, q1, q2, nullptr);
  const float share = 1.0f / static_cast<float>(context.count);
  if (r < kRows) {
    loss[r] = valid ? -tile.out[r * kMostOutputs] : 0.0f;
    tile.noise[r * kMostOutputs] = valid ? -share : 0.0f;
  }
  __syncthreads();
  tile.Backward(1, q1, q2, d2, tile.noise, nullptr);
  // d value / d action: rows of the critic's first layer that the own action enters.
  for (int i = threadIdx.x; i < kRows * choices; i += kThreads) {
    const int row = i / choices, c = i % choices;
    const float4* const w = reinterpret_cast<const float4*>(critic.first + (column + c) * kHidden);
    const float* const d1 = q2 + row * kHiddenRow;
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < kHidden / 4; ++k) {
      const float4 value = __ldg(w + k);
      sum = fmaf(d1[4 * k], value.x, sum);
      sum = fmaf(d1[4 * k + 1], value.y, sum);
      sum = fmaf(d1[4 * k + 2], value.z, sum);
      sum = fmaf(d1[4 * k + 3], value.w, sum);
    }
    tile.out[row * kMostOutputs + c] = sum;
  }
  // The actor's W2 and W3 once more, for its way back.
  tile.Prefetch(actor.tail + Tail::kW2, 64);
  __syncthreads();
  for (int i = threadIdx.x; i < 64 * kMostOutputs; i += kThreads) {
    const int k = i / kMostOutputs, o = i % kMostOutputs;
    tile.w3[i] = o < choices ? __ldg(actor.tail + Tail::kW3 + k * choices + o) : 0.0f;
  }
  if (r < kRows) {
    const float* const own = tile.x + r * tile.x_row + column;
    float* const da = tile.out + r * kMostOutputs;
    float* const dl = tile.noise + r * kMostOutputs;
    const float* const logit = logits + r * kMostOutputs;
    float dot = 0;
    for (int c = 0; c < choices; ++c) dot += own[c] * da[c];
    for (int c = 0; c < choices; ++c) dl[c] = valid ? own[c] * (da[c] - dot) : 0.0f;
    if (valid && view.term == ActorTerm::kLogitPenalty) {
      const double factor = view.penalty / choices;
      const float scale = static_cast<float>(2 * factor / context.count);
      float squares = 0;
      for (int c = 0; c < choices; ++c) {
        dl[c] += scale * logit[c];
        squares += logit[c] * logit[c];
      }
      loss[r] += static_cast<float>(factor) * squares;
    } else if (valid) {
      for (int c = 0; c < choices; ++c) da[c] = logit[c];
      float p[kMostOutputs], mean = 0;
      context.Softmax(choices, r, /*noisy=*/false, p);
      loss[r] -= static_cast<float>(view.penalty) * EntropyOf(choices, p);
      // d(-entropy)/dp = log(p + e) + p/(p + e), through the soft-max.
      const auto slope = [&](int c) { return LogOf(p[c] + kLogFloor) + p[c] / (p[c] + kLogFloor); };
#pragma unroll
      for (int c = 0; c < kMostOutputs; ++c) {
        if (c < choices) mean += p[c] * slope(c);
      }
      const float scale = static_cast<float>(view.penalty / context.count);
#pragma unroll
      for (int c = 0; c < kMostOutputs; ++c) {
        if (c < choices) dl[c] += scale * p[c] * (slope(c) - mean);
      }
    }
  }
  tile.Arrive();
  const double p_loss = context.SumRows(loss);
  if (threadIdx.x == 0) {
    view.p_losses[trainer * view.tiles + blockIdx.x] = p_loss / static_cast<double>(context.count);
  }
  if constexpr (P == Precision::kFp32) {
    context.BackwardKeeping(view.agents * view.critics + trainer, choices, h1, h2, d2);
  } else {
    tile.Backward(choices, h1, h2, d2, tile.noise, gradient + net.first_size());
    tile.FirstGradient(actor, h2, gradient);
  }
}

constexpr int kMostTeams = 2;

int TeamBytes(int rows, int base_columns, int teams) {
  return 4 * (rows * (base_columns + 4) + teams * OwnFloats(rows, kTargetTileHidden));
}
int TargetBytes(int rows, int base_columns) { return TeamBytes(rows, base_columns, kMostTeams); }
int CriticBytes(int rows, int x_row) {
  return 4 * (TileFloats(rows, x_row, kTileHidden) + kRowFloats * rows);
}
int ActorBytes(int rows, int x_row) {
  return 4 * (TileFloats(rows, x_row, kActorTileHidden) + (kMostOutputs + kRowFloats) * rows);
}

unsigned TilesOf(const UpdateView& view, int rows) {
  return static_cast<unsigned>((view.max_rows + rows - 1) / rows);
}

template <Precision P, int MT>
cudaError_t LaunchTargetsAs(const UpdateView& view, Group group, int multiprocessors,
                            cudaStream_t stream) {
  constexpr int kRows = 32 * MT;
  // As many actors per block as leave several blocks for every multiprocessor.
  const int tiles = static_cast<int>(TilesOf(view, kRows)) * group.count;
  const int parts = std::clamp(4 * multiprocessors / tiles, 1, view.agents);
  const int at_once = (view.agents + parts - 1) / parts;
  const dim3 grid(TilesOf(view, kRows),
                  static_cast<unsigned>((view.agents + at_once - 1) / at_once),
                  static_cast<unsigned>(group.count));
  if (at_once == 1) {
    return Launch(TargetActionKernel<P, MT, 1>, TeamBytes(kRows, view.base_columns, 1), grid,
                  kThreads, stream, view, group.first, at_once);
  }
  return Launch(TargetActionKernel<P, MT, kMostTeams>, TargetBytes(kRows, view.base_columns), grid,
                kMostTeams * kThreads, stream, view, group.first, at_once);
}

template <Precision P, int MT>
cudaError_t LaunchCriticsAs(const UpdateView& view, Group group, cudaStream_t stream) {
  return Launch(CriticKernel<P, MT>, CriticBytes(32 * MT, view.x_row),
                dim3(TilesOf(view, 32 * MT), static_cast<unsigned>(group.count)), kThreads, stream,
                view, group.first);
}

template <Precision P, int MT>
cudaError_t LaunchActorsAs(const UpdateView& view, Group group, cudaStream_t stream) {
  return Launch(ActorKernel<P, MT>, ActorBytes(32 * MT, view.x_row),
                dim3(TilesOf(view, 32 * MT), static_cast<unsigned>(group.count)), kThreads, stream,
                view, group.first);
}

}  // namespace

TileRows ChooseTileRows(int agents, int group, int rows, int base_columns, int x_row,
                        int multiprocessors, int shared_bytes) {
  const auto choose = [&](int wide, bool enough, int (*bytes)(int, int), int columns) {
    if (enough && bytes(wide, columns) <= shared_bytes) return wide;
    return bytes(32, columns) <= shared_bytes ? 32 : 0;
  };
  const bool enough = group * ((rows + 63) / 64) >= multiprocessors;
  const bool enough_targets = group * agents * ((rows + 63) / 64) >= 4 * multiprocessors;
  return {choose(64, enough_targets, TargetBytes, base_columns),
          choose(64, enough, CriticBytes, x_row), choose(64, enough, ActorBytes, x_row)};
}

#define TESSERA_BY_PRECISION(LAUNCH, ...)                                       \
  switch (precision) {                                                          \
    case Precision::kFp32:                                                      \
      return rows > 32 ? LAUNCH<Precision::kFp32, 2>(view, group, __VA_ARGS__)  \
                       : LAUNCH<Precision::kFp32, 1>(view, group, __VA_ARGS__); \
    case Precision::kTf32:                                                      \
      return rows > 32 ? LAUNCH<Precision::kTf32, 2>(view, group, __VA_ARGS__)  \
                       : LAUNCH<Precision::kTf32, 1>(view, group, __VA_ARGS__); \
    case Precision::kBf16:                                                      \
      return rows > 32 ? LAUNCH<Precision::kBf16, 2>(view, group, __VA_ARGS__)  \
                       : LAUNCH<Precision::kBf16, 1>(view, group, __VA_ARGS__); \
  }                                                                             \
  return cudaErrorInvalidValue

cudaError_t LaunchTargets(const UpdateView& view, Group group, int rows, Precision precision,
                          int multiprocessors, cudaStream_t stream) {
  TESSERA_BY_PRECISION(LaunchTargetsAs, multiprocessors, stream);
}

cudaError_t LaunchCritics(const UpdateView& view, Group group, int rows, Precision precision,
                          cudaStream_t stream) {
  TESSERA_BY_PRECISION(LaunchCriticsAs, stream);
}

cudaError_t LaunchActors(const UpdateView& view, Group group, int rows, Precision precision,
                         cudaStream_t stream) {
  TESSERA_BY_PRECISION(LaunchActorsAs, stream);
}

}  // namespace tessera::cuda
