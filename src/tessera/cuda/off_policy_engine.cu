// The engine: what is where on the device, and the launches of a round as one graph.
#include "tessera/cuda/off_policy_engine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "tessera/cuda/act.cuh"
#include "tessera/cuda/engine_nets.cuh"
#include "tessera/cuda/launch.cuh"
#include "tessera/cuda/rollout.cuh"
#include "tessera/cuda/sampling.cuh"
#include "tessera/cuda/update.cuh"
#include "tessera/cuda/world_batch.cuh"
#include "tessera/part.h"

namespace tessera::cuda {
namespace {

__global__ void AddKernel(uint64_t* counter, uint64_t count) { *counter += count; }

// Means over trainers of what the tiles found; the round is over.
__global__ void LossKernel(UpdateView view, double* losses, uint64_t* round) {
  __shared__ double sums[3][256];
  double q = 0, p = 0, entropy = 0;
  for (int a = threadIdx.x; a < view.agents; a += blockDim.x) {
    double own = 0;
    for (int t = 0; t < view.tiles; ++t) {
      q += view.q_losses[a * view.tiles + t];
      p += view.p_losses[a * view.tiles + t];
      own += view.entropies[a * view.tiles + t];
    }
    entropy += own / view.rows[a];
  }
  sums[0][threadIdx.x] = q;
  sums[1][threadIdx.x] = p;
  sums[2][threadIdx.x] = entropy;
  __syncthreads();
  if (threadIdx.x >= 3) return;
  double sum = 0;
  for (int i = 0; i < static_cast<int>(blockDim.x); ++i) sum += sums[threadIdx.x][i];
  losses[threadIdx.x] = sum / view.agents;
  if (threadIdx.x == 0) ++*round;
}

// A step of every lane from the host, a warp per lane.
struct HostStep {
  const float *now, *actions, *rewards, *next;
  const SlotKind* kinds;
};

__global__ void AppendKernel(ReplayView replay, HostStep step, int lanes, int actions, int agents) {
  const int lane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (lane >= lanes) return;
  RingStep slots = {};
  if (threadIdx.x % 32 == 0) {
    slots = AppendStep(replay.shape, lane, step.kinds[lane], replay.lanes[lane], replay.kinds,
                       [&](int64_t slot) {
                         if (replay.tree != nullptr) replay.tree[replay.leaves + slot] = 0;
                       });
    if (replay.tree != nullptr) replay.tree[replay.leaves + slots.slot] = *replay.top;
  }
  slots.start = __shfl_sync(~0u, slots.start, 0);
  slots.slot = __shfl_sync(~0u, slots.slot, 0);
  slots.next = __shfl_sync(~0u, slots.next, 0);
  const auto copy = [&](int64_t slot, int at, const float* from, int count) {
    if (slot < 0) return;
    float* const to = replay.records + slot * replay.record + at;
    for (int i = threadIdx.x % 32; i < count; i += 32) to[i] = from[int64_t{lane} * count + i];
  };
  copy(slots.start, 0, step.now, replay.base);
  copy(slots.slot, replay.base, step.actions, actions);
  copy(slots.slot, replay.base + actions, step.rewards, agents);
  copy(slots.next, 0, step.next, replay.base);
}

class Engine final : public OffPolicyEngine {
 public:
  explicit Engine(const EngineSpec& spec)
      : spec_(spec), columns_{spec.base, spec.actions}, max_rows_(spec.batch + spec.surplus) {}

  ~Engine() override {
    graphs_.Clear();
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Result<void> Allocate(const DeviceInfo& device);

  Result<void> SetNet(int agent, int net, const NetImage& from) override {
    stale_ = true;
    if (Result<void> r = Wait(); !r) return r;
    return net == 0 ? actors_.Set(agent, from)
                    : critics_.Set(agent * spec_.critics + net - 1, from);
  }
  Result<void> GetNet(int agent, int net, const NetImage& to) override {
    if (Result<void> r = Wait(); !r) return r;
    return net == 0 ? actors_.Get(agent, to) : critics_.Get(agent * spec_.critics + net - 1, to);
  }

  Result<void> SetReplay(std::span<const ReplayLane> lanes, std::span<const SlotKind> kinds,
                         std::span<const float> records) override {
    if (Result<void> r = Wait(); !r) return r;
    if (Result<void> r = lanes_.Set(lanes); !r) return r;
    if (Result<void> r = kinds_.Set(kinds); !r) return r;
    // Only what has been used: the host's pages of the rest are untouched.
    for (size_t l = 0; l < lanes.size(); ++l) {
      const int64_t first = static_cast<int64_t>(l) * spec_.ring.lane_slots;
      const int64_t used = lanes[l].wrapped ? spec_.ring.lane_slots
                                            : std::min(lanes[l].head + 1, spec_.ring.lane_slots);
      if (Result<void> r = records_.Set(records.subspan(static_cast<size_t>(first * spec_.record),
                                                        static_cast<size_t>(used * spec_.record)),
                                        first * spec_.record);
          !r) {
        return r;
      }
    }
    return {};
  }
  Result<void> GetRecords(int64_t first_slot, std::span<float> records) override {
    if (Result<void> r = Wait(); !r) return r;
    return records_.Get(records, first_slot * spec_.record);
  }
  Result<void> SetPriorities(std::span<const double> leaves, double top) override {
    if (Result<void> r = Wait(); !r) return r;
    if (Result<void> r = tree_.Set(leaves, leaves_); !r) return r;
    return top_.Set(std::span<const double>(&top, 1));
  }
  Result<void> GetPriorities(std::span<double> leaves, double* top) override {
    if (Result<void> r = Wait(); !r) return r;
    if (Result<void> r = tree_.Get(leaves, leaves_); !r) return r;
    return top_.Get(std::span(top, 1));
  }
  Result<void> SetBatch(int trainer, int64_t part, std::span<const int64_t> slots,
                        std::span<const float> weights) override {
    if (Result<void> r = Wait(); !r) return r;
    // Of another size than this engine's it is drawn anew.
    const auto count = static_cast<int64_t>(slots.size());
    if (count < spec_.batch || count > max_rows_) part = -1;
    if (Result<void> r = parts_.Set(std::span<const int64_t>(&part, 1), trainer); !r) return r;
    if (part < 0) return {};
    const int rows = static_cast<int>(count);
    if (Result<void> r = rows_.Set(std::span<const int>(&rows, 1), trainer); !r) return r;
    const int64_t first = int64_t{trainer} * max_rows_;
    if (Result<void> r = slots_.Set(slots, first); !r) return r;
    return row_weights_.Set(weights, first);
  }
  Result<void> GetBatch(int trainer, int64_t* part, std::vector<int64_t>& slots,
                        std::vector<float>& weights) override {
    if (Result<void> r = Wait(); !r) return r;
    if (Result<void> r = parts_.Get(std::span(part, 1), trainer); !r) return r;
    int rows = 0;
    if (Result<void> r = rows_.Get(std::span(&rows, 1), trainer); !r) return r;
    slots.resize(static_cast<size_t>(*part < 0 ? 0 : rows));
    weights.resize(slots.size());
    const int64_t first = int64_t{trainer} * max_rows_;
    if (Result<void> r = slots_.Get(std::span(slots), first); !r) return r;
    return row_weights_.Get(std::span(weights), first);
  }
  Result<void> SetCounters(int64_t round, int64_t acts) override {
    if (Result<void> r = Wait(); !r) return r;
    const uint64_t counters[] = {static_cast<uint64_t>(round), static_cast<uint64_t>(acts)};
    return counters_.Set(std::span<const uint64_t>(counters));
  }

  Result<void> Act(int64_t rows, std::span<const float> observations, bool explore,
                   std::span<float> actions) override;
  Result<void> Append(std::span<const float> now, std::span<const float> actions,
                      std::span<const float> rewards, std::span<const float> next,
                      std::span<const SlotKind> kinds) override;
  Result<void> PlaySteps(WorldBatch& worlds, int64_t steps, bool update) override;

  Result<void> StartRound() override {
    return Run(
        {0, 1}, [&] { return LaunchRound(); }, "updating");
  }
  Result<RoundLosses> Finish() override {
    if (Result<void> r = Wait(); !r) return r.error();
    double values[3];
    if (Result<void> r = losses_.Get(values); !r) return r.error();
    return RoundLosses{values[0], values[1], values[2]};
  }

  Result<Phases> MeasureRound() override { return Measure(nullptr); }
  Result<Phases> MeasureHostRound(const HostReplay& replay) override { return Measure(&replay); }
  Result<double> MeasureRounds(int64_t rounds) override;

 private:
  static constexpr int kStaged = 32;  // host steps under way at once

  Result<Phases> Measure(const HostReplay* replay);
  Result<void> MakeGathered();
  double Gather(const HostReplay& replay, Group group);
  cudaError_t CopyGathered(Group group);

  Result<void> Wait() { return Check(cudaStreamSynchronize(stream_), "waiting for the device"); }
  Result<void> Refresh();
  cudaError_t LaunchRound();
  // Of `exact` gradients come from the rows that the kernels before kept.
  cudaError_t LaunchCriticStep(const UpdateView& view, Group group) {
    if (exact()) {
      const cudaError_t error =
          LaunchExactGradients(view, group, /*actors=*/false, critics_.sizes(), stream_);
      if (error != cudaSuccess) return error;
    }
    return LaunchOptimizer(critics_.views(), group.first * spec_.critics,
                           group.count * spec_.critics, critics_.sizes(), critic_tiles_,
                           Optimizer(), stream_);
  }
  cudaError_t LaunchActorStep(const UpdateView& view, Group group) {
    if (exact()) {
      const cudaError_t error =
          LaunchExactGradients(view, group, /*actors=*/true, actors_.sizes(), stream_);
      if (error != cudaSuccess) return error;
    }
    return LaunchOptimizer(actors_.views(), group.first, group.count, actors_.sizes(), actor_tiles_,
                           Optimizer(), stream_);
  }
  template <typename LaunchAll>
  Result<void> Run(Graphs::Key key, const LaunchAll& launch, const char* doing) {
    if (Result<void> r = Refresh(); !r) return r;
    return graphs_.Run(key, launch, stream_, doing);
  }
  bool exact() const { return spec_.precision == Precision::kFp32; }
  AdamView Optimizer() const {
    return {.beta1 = 0.9,
            .beta2 = 0.999,
            .epsilon = spec_.epsilon,
            .clip_norm = spec_.clip_norm,
            .tensorflow = spec_.tensorflow,
            .clip = spec_.clip,
            .tau = static_cast<float>(spec_.tau),
            .exact = exact()};
  }
  ActView ActOn(const float* observations, float* actions, int64_t rows, bool explore) const {
    ActView view = act_view_;
    view.observations = observations;
    view.out = actions;
    view.rows = static_cast<int>(rows);
    view.explore = explore;
    view.exact = exact();
    return view;
  }

  const EngineSpec spec_;
  const Columns columns_;
  const int max_rows_;
  TileRows tile_rows_;
  int multiprocessors_ = 0, shared_ = 0, critic_tiles_ = 0, actor_tiles_ = 0;
  int64_t leaves_ = 0;
  cudaStream_t stream_ = nullptr;
  std::vector<cudaEvent_t> events_;
  Graphs graphs_;
  const void* graph_worlds_ = nullptr;  // whose memory the graphs use
  PhiloxKey graph_seed_ = {};
  bool stale_ = true;  // the first layers on compact states have to be made

  Nets actors_, critics_;
  DeviceArray<ReplayLane> lanes_;
  DeviceArray<SlotKind> kinds_;
  DeviceArray<float> records_, row_weights_, errors_, next_actions_, kept_, observations_, actions_,
      staged_;
  DeviceArray<int64_t> slots_, parts_;
  DeviceArray<int> rows_, layout_;
  DeviceArray<PhiloxKey> sampler_keys_, target_keys_, policy_keys_;
  DeviceArray<double> q_losses_, p_losses_, entropies_, losses_, tree_, top_;
  DeviceArray<uint64_t> counters_;  // round, acts
  PinnedArray<float> host_observations_, host_actions_, host_staged_;
  int64_t staged_floats_ = 0, staged_steps_ = 0;
  // Mini-batches from the host: pairs of a record and the next one, trainer by trainer.
  DeviceArray<float> gathered_;
  DeviceArray<SlotKind> gathered_kinds_;
  DeviceArray<int64_t> gathered_slots_;
  PinnedArray<float> host_gathered_;
  PinnedArray<SlotKind> host_kinds_;
  PinnedArray<int> host_rows_;
  UpdateView view_ = {};
  SamplingView sampling_ = {};
  ReplayView replay_ = {};
  ActView act_view_ = {};
};

Result<void> Engine::Allocate(const DeviceInfo& device) {
  const int n = spec_.agents, x_row = columns_.all() + 4;
  cudaDeviceGetAttribute(&shared_, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  const int group = spec_.together ? n : 1;
  multiprocessors_ = static_cast<int>(device.multiprocessors);
  tile_rows_ = ChooseTileRows(n, group, max_rows_, columns_.base_columns(), x_row, multiprocessors_,
                              shared_);
  int widest = 0, observed = 0;
  for (const int size : spec_.observation_size) {
    widest = std::max(widest, (size + 7) / 8 * 8);
    observed += size;
  }
  if (tile_rows_.target == 0 || tile_rows_.critic == 0 || tile_rows_.actor == 0 ||
      ActBytes(widest + 4) > shared_) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "a critic of " + std::to_string(columns_.all()) +
                            " numbers per transition does not fit on the device",
                 .hint = "take replay=compact, fewer agents or --device cpu"};
  }
  critic_tiles_ = (max_rows_ + tile_rows_.critic - 1) / tile_rows_.critic;
  actor_tiles_ = (max_rows_ + tile_rows_.actor - 1) / tile_rows_.actor;
  const int tiles = std::max(critic_tiles_, actor_tiles_);
  if (Result<void> r = OpenStream(&stream_); !r) return r;
  for (int i = 0; i < 8; ++i) {
    cudaEvent_t event = nullptr;
    if (Result<void> r = Check(cudaEventCreate(&event), "making events"); !r) return r;
    events_.push_back(event);
  }
  // Gradients of tiles, where they are added up.
  const int actor_parts = exact() ? 0 : actor_tiles_, critic_parts = exact() ? 0 : critic_tiles_;
  if (Result<void> r = actors_.Allocate(spec_.actors, columns_, false, actor_parts); !r) return r;
  if (actors_.sizes().most_listed > kMostBlocks) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "an actor of " + std::to_string(8 * actors_.sizes().most_listed) +
                            " numbers; on the device they have at most " +
                            std::to_string(8 * kMostBlocks),
                 .hint = "take fewer agents or --device cpu"};
  }
  const std::vector<NetSpec> critics(static_cast<size_t>(n * spec_.critics), spec_.critic);
  if (Result<void> r = critics_.Allocate(critics, columns_, true, critic_parts); !r) return r;

  const int64_t slots = spec_.lanes * spec_.ring.lane_slots, rows = int64_t{n} * max_rows_;
  const bool prioritized = spec_.sampler.prioritized;
  for (leaves_ = 1; leaves_ < slots;) leaves_ *= 2;
  std::vector<PhiloxKey> sampler_keys, target_keys, policy_keys;
  std::vector<int> layout[4];
  int observation_first = 0, action_first = 0;
  for (int a = 0; a < n; ++a) {
    const uint64_t agent = static_cast<uint64_t>(a);
    sampler_keys.push_back(KeyOf(spec_.seed, StreamId("sampler", agent)));
    policy_keys.push_back(KeyOf(spec_.seed, StreamId("policy", agent)));
    for (int b = 0; b < n; ++b) {
      target_keys.push_back(
          KeyOf(spec_.seed, StreamId("target", static_cast<uint64_t>(a * n + b))));
    }
    layout[0].push_back(observation_first);
    layout[1].push_back(spec_.observation_size[static_cast<size_t>(a)]);
    layout[2].push_back(action_first);
    layout[3].push_back(spec_.choices[static_cast<size_t>(a)]);
    observation_first += layout[1].back();
    action_first += layout[3].back();
  }
  std::vector<int> all;
  for (const std::vector<int>& part : layout) all.insert(all.end(), part.begin(), part.end());
  staged_floats_ =
      int64_t{spec_.lanes} * (2 * spec_.base + spec_.actions + n) + (spec_.lanes + 3) / 4 + 4;
  const Result<void> steps[] = {
      lanes_.Allocate(std::vector<ReplayLane>(static_cast<size_t>(spec_.lanes)), "replay"),
      kinds_.Allocate(slots, "replay"),
      records_.Allocate(slots * spec_.record, "replay"),
      row_weights_.Allocate(rows, "mini-batches"),
      errors_.Allocate(rows, "mini-batches"),
      next_actions_.Allocate(rows * spec_.actions, "mini-batches"),
      kept_.Allocate(exact() ? n * (spec_.critics + 1) * KeptRows::Floats(max_rows_) : 0,
                     "mini-batches"),
      slots_.Allocate(rows, "mini-batches"),
      parts_.Allocate(std::vector<int64_t>(static_cast<size_t>(n), -1), "mini-batches"),
      rows_.Allocate(std::vector<int>(static_cast<size_t>(n), spec_.batch), "mini-batches"),
      observations_.Allocate(int64_t{spec_.lanes} * observed, "observations"),
      actions_.Allocate(int64_t{spec_.lanes} * spec_.actions, "actions"),
      staged_.Allocate(kStaged * staged_floats_, "steps"),
      layout_.Allocate(all, "layouts"),
      sampler_keys_.Allocate(sampler_keys, "random streams"),
      target_keys_.Allocate(target_keys, "random streams"),
      policy_keys_.Allocate(policy_keys, "random streams"),
      q_losses_.Allocate(int64_t{n} * tiles, "losses"),
      p_losses_.Allocate(int64_t{n} * tiles, "losses"),
      entropies_.Allocate(int64_t{n} * tiles, "losses"),
      losses_.Allocate(3, "losses"),
      tree_.Allocate(prioritized ? 2 * leaves_ : 0, "priorities"),
      top_.Allocate(std::vector<double>{1.0}, "priorities"),
      counters_.Allocate(2, "counters"),
      host_observations_.Allocate(int64_t{spec_.lanes} * observed),
      host_actions_.Allocate(int64_t{spec_.lanes} * spec_.actions),
      host_staged_.Allocate(kStaged * staged_floats_)};
  for (const Result<void>& r : steps) {
    if (!r) return r;
  }
  view_ = {.agents = n,
           .critics = spec_.critics,
           .base = spec_.base,
           .base_columns = columns_.base_columns(),
           .actions = spec_.actions,
           .columns = columns_.all(),
           .x_row = x_row,
           .record = spec_.record,
           .lane_slots = spec_.ring.lane_slots,
           .records = records_.data(),
           .kinds = reinterpret_cast<const uint8_t*>(kinds_.data()),
           .max_rows = max_rows_,
           .slots = slots_.data(),
           .row_weights = row_weights_.data(),
           .rows = rows_.data(),
           .errors = errors_.data(),
           .next_actions = next_actions_.data(),
           .kept = kept_.data(),
           .actors = actors_.views(),
           .critic_nets = critics_.views(),
           .action_first = layout_.data() + 2 * n,
           .choices = layout_.data() + 3 * n,
           .target_keys = target_keys_.data(),
           .policy_keys = policy_keys_.data(),
           .round = counters_.data(),
           .q_losses = q_losses_.data(),
           .p_losses = p_losses_.data(),
           .entropies = entropies_.data(),
           .tiles = tiles,
           .gamma = static_cast<float>(spec_.gamma),
           .ignore_done = spec_.ignore_done,
           .term = spec_.entropy ? ActorTerm::kEntropy : ActorTerm::kLogitPenalty,
           .penalty = spec_.term_weight};
  sampling_ = {.shape = spec_.ring,
               .lanes = spec_.lanes,
               .lane = lanes_.data(),
               .kinds = kinds_.data(),
               .batch = spec_.batch,
               .max_rows = max_rows_,
               .slots = slots_.data(),
               .row_weights = row_weights_.data(),
               .rows = rows_.data(),
               .keys = sampler_keys_.data(),
               .round = counters_.data(),
               .skip_newest = spec_.skip_newest,
               .sampler = spec_.sampler,
               .parts = parts_.data(),
               .tree = tree_.data(),
               .leaves = leaves_,
               .top = top_.data()};
  replay_ = {.keep = true,
             .shape = spec_.ring,
             .lanes = lanes_.data(),
             .kinds = kinds_.data(),
             .records = records_.data(),
             .record = spec_.record,
             .base = spec_.base,
             .tree = prioritized ? tree_.data() : nullptr,
             .leaves = leaves_,
             .top = top_.data(),
             .acts = counters_.data() + 1};
  act_view_ = {.agents = n,
               .lanes = spec_.lanes,
               .observed = observed,
               .actions = spec_.actions,
               .x_row = widest + 4,
               .observation_first = layout_.data(),
               .observation_size = layout_.data() + n,
               .action_first = layout_.data() + 2 * n,
               .choices = layout_.data() + 3 * n,
               .actors = actors_.views(),
               .target = spec_.act_with_target,
               .key = KeyOf(spec_.seed, StreamId("act")),
               .acts = counters_.data() + 1};
  return {};
}

Result<void> Engine::Refresh() {
  if (!stale_) return {};
  stale_ = false;
  if (Result<void> r =
          Check(LaunchCollapse(actors_.views(), 0, spec_.agents, actors_.sizes(), false, stream_),
                "preparing networks");
      !r) {
    return r;
  }
  return Check(LaunchCollapse(critics_.views(), 0, spec_.agents * spec_.critics, critics_.sizes(),
                              false, stream_),
               "preparing networks");
}

cudaError_t Engine::LaunchRound() {
  const int at_once = spec_.together ? spec_.agents : 1;
  for (int first = 0; first < spec_.agents; first += at_once) {
    const Group group{first, at_once};
    const cudaError_t errors[] = {
        LaunchSampling(sampling_, first, at_once, stream_),
        LaunchTargets(view_, group, tile_rows_.target, spec_.precision, multiprocessors_, stream_),
        LaunchCritics(view_, group, tile_rows_.critic, spec_.precision, stream_),
        LaunchCriticStep(view_, group),
        LaunchPriorities(sampling_, first, at_once, errors_.data(), stream_),
        LaunchActors(view_, group, tile_rows_.actor, spec_.precision, stream_),
        LaunchActorStep(view_, group)};
    if (const cudaError_t error = FirstError(errors); error != cudaSuccess) return error;
  }
  LossKernel<<<1, 256, 0, stream_>>>(view_, losses_.data(), counters_.data());
  return cudaGetLastError();
}

Result<void> Engine::Act(int64_t rows, std::span<const float> observations, bool explore,
                         std::span<float> actions) {
  if (Result<void> r = Refresh(); !r) return r;
  const size_t in = sizeof(float) * static_cast<size_t>(rows * act_view_.observed);
  const size_t out = sizeof(float) * static_cast<size_t>(rows * spec_.actions);
  std::memcpy(host_observations_.data(), observations.data(), in);
  const auto go = [&]() -> cudaError_t {
    if (cudaError_t e = cudaMemcpyAsync(observations_.data(), host_observations_.data(), in,
                                        cudaMemcpyHostToDevice, stream_);
        e != cudaSuccess) {
      return e;
    }
    if (cudaError_t e = LaunchAct(ActOn(observations_.data(), actions_.data(), rows, explore),
                                  spec_.precision, stream_);
        e != cudaSuccess) {
      return e;
    }
    if (explore) AddKernel<<<1, 1, 0, stream_>>>(counters_.data() + 1, 1);
    if (cudaError_t e = cudaMemcpyAsync(host_actions_.data(), actions_.data(), out,
                                        cudaMemcpyDeviceToHost, stream_);
        e != cudaSuccess) {
      return e;
    }
    return cudaStreamSynchronize(stream_);
  };
  if (Result<void> r = Check(go(), "acting"); !r) return r;
  std::memcpy(actions.data(), host_actions_.data(), out);
  return {};
}

Result<void> Engine::Append(std::span<const float> now, std::span<const float> actions,
                            std::span<const float> rewards, std::span<const float> next,
                            std::span<const SlotKind> kinds) {
  // Staging is reused only after everything that read it is done.
  if (staged_steps_ % kStaged == 0) {
    if (Result<void> r = Wait(); !r) return r;
  }
  const int64_t offset = staged_steps_++ % kStaged * staged_floats_;
  float* const to = host_staged_.data() + offset;
  float* const there = staged_.data() + offset;
  HostStep step = {};
  int64_t at = 0;
  const auto put = [&](const void* from, size_t bytes) {
    std::memcpy(to + at, from, bytes);
    const float* const place = there + at;
    at += static_cast<int64_t>((bytes + 3) / 4);
    return place;
  };
  step.now = put(now.data(), now.size_bytes());
  step.actions = put(actions.data(), actions.size_bytes());
  step.rewards = put(rewards.data(), rewards.size_bytes());
  step.next = put(next.data(), next.size_bytes());
  step.kinds = reinterpret_cast<const SlotKind*>(put(kinds.data(), kinds.size_bytes()));
  if (Result<void> r = Check(cudaMemcpyAsync(there, to, sizeof(float) * static_cast<size_t>(at),
                                             cudaMemcpyHostToDevice, stream_),
                             "storing steps");
      !r) {
    return r;
  }
  AppendKernel<<<(spec_.lanes + 3) / 4, 128, 0, stream_>>>(replay_, step, spec_.lanes,
                                                           spec_.actions, spec_.agents);
  return Check(cudaGetLastError(), "storing steps");
}

Result<void> Engine::PlaySteps(WorldBatch& worlds, int64_t steps, bool update) {
  auto& batch = static_cast<WorldBatchImpl&>(worlds);
  const PhiloxKey seed = batch.view().seed;
  if (graph_worlds_ != &worlds || seed.a != graph_seed_.a || seed.b != graph_seed_.b) {
    graphs_.Clear();
    graph_worlds_ = &worlds;
    graph_seed_ = seed;
  }
  const auto launch = [&]() -> cudaError_t {
    ReplayView replay = replay_;
    replay.compact = spec_.base == batch.spec().size();
    replay.running = batch.running();
    replay.ring = batch.ring();
    replay.window = batch.window();
    const ActView act = ActOn(batch.view().observations, batch.actions(), spec_.lanes, true);
    const ActionSource source{.vectors = batch.actions()};
    const bool at_once = RolloutSuits(batch.view());
    if (at_once) {
      if (cudaError_t e =
              LaunchRollout(batch.view(), act, replay, static_cast<int>(steps), shared_, stream_);
          e != cudaSuccess) {
        return e;
      }
      AddKernel<<<1, 1, 0, stream_>>>(counters_.data() + 1, static_cast<uint64_t>(steps));
    }
    for (int64_t i = 0; i < steps && !at_once; ++i) {
      if (cudaError_t e = LaunchAct(act, spec_.precision, stream_); e != cudaSuccess) return e;
      if (cudaError_t e = LaunchStep(batch.view(), source, replay, stream_); e != cudaSuccess) {
        return e;
      }
    }
    return update ? LaunchRound() : cudaSuccess;
  };
  return Run({steps, update}, launch, "playing");
}

Result<void> Engine::MakeGathered() {
  if (gathered_.data() != nullptr) return {};
  const int64_t rows = int64_t{spec_.agents} * max_rows_;
  std::vector<int64_t> slots(static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r) slots[static_cast<size_t>(r)] = 2 * r;
  const Result<void> steps[] = {gathered_.Allocate(2 * rows * spec_.record, "mini-batches"),
                                gathered_kinds_.Allocate(2 * rows, "mini-batches"),
                                gathered_slots_.Allocate(slots, "mini-batches"),
                                host_gathered_.Allocate(2 * rows * spec_.record),
                                host_kinds_.Allocate(2 * rows),
                                host_rows_.Allocate(spec_.agents)};
  for (const Result<void>& r : steps) {
    if (!r) return r;
  }
  // Of samplers without priorities all rows weigh the same; the device's would have written it.
  const std::vector<float> ones(static_cast<size_t>(rows), 1.0f);
  return row_weights_.Set(std::span<const float>(ones));
}

// Draws and gathers the mini-batches of a group; returns the seconds that took.
double Engine::Gather(const HostReplay& replay, Group group) {
  const auto begin = std::chrono::steady_clock::now();
  const auto record = static_cast<size_t>(spec_.record);
  std::vector<int64_t> slots;
  for (int trainer = group.first; trainer < group.first + group.count; ++trainer) {
    replay.draw(trainer, slots);
    const int64_t rows = std::min(static_cast<int64_t>(slots.size()), int64_t{max_rows_});
    host_rows_.data()[trainer] = static_cast<int>(rows);
    const int64_t first = 2 * int64_t{trainer} * max_rows_;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t slot = slots[static_cast<size_t>(r)];
      const bool last = slot % spec_.ring.lane_slots == spec_.ring.lane_slots - 1;
      const int64_t next = last ? slot + 1 - spec_.ring.lane_slots : slot + 1;
      float* const to = host_gathered_.data() + (first + 2 * r) * spec_.record;
      std::memcpy(to, replay.records.data() + static_cast<size_t>(slot) * record, 4 * record);
      std::memcpy(to + record, replay.records.data() + static_cast<size_t>(next) * record,
                  4 * record);
      host_kinds_.data()[first + 2 * r] = replay.kinds[static_cast<size_t>(slot)];
    }
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

cudaError_t Engine::CopyGathered(Group group) {
  const int64_t first = 2 * int64_t{group.first} * max_rows_;
  const auto rows = static_cast<size_t>(2 * int64_t{group.count} * max_rows_);
  const auto copy = [&](auto* to, const auto* from, size_t count) {
    return cudaMemcpyAsync(to, from, sizeof(*to) * count, cudaMemcpyHostToDevice, stream_);
  };
  if (cudaError_t e = copy(gathered_.data() + first * spec_.record,
                           host_gathered_.data() + first * spec_.record,
                           rows * static_cast<size_t>(spec_.record));
      e != cudaSuccess) {
    return e;
  }
  if (cudaError_t e = copy(gathered_kinds_.data() + first, host_kinds_.data() + first, rows);
      e != cudaSuccess) {
    return e;
  }
  return copy(rows_.data() + group.first, host_rows_.data() + group.first,
              static_cast<size_t>(group.count));
}

// `replay`: where mini-batches come from; null: from the device.
Result<OffPolicyEngine::Phases> Engine::Measure(const HostReplay* replay) {
  if (Result<void> r = Refresh(); !r) return r.error();
  Phases phases;
  UpdateView view = view_;
  if (replay != nullptr) {
    if (Result<void> r = MakeGathered(); !r) return r.error();
    view.records = gathered_.data();
    view.kinds = reinterpret_cast<const uint8_t*>(gathered_kinds_.data());
    view.slots = gathered_slots_.data();
    view.lane_slots = 2 * int64_t{spec_.agents} * max_rows_;
  }
  UpdateView targets_only = view;
  targets_only.targets_only = true;
  const int at_once = spec_.together ? spec_.agents : 1;
  for (int first = 0; first < spec_.agents; first += at_once) {
    const Group group{first, at_once};
    const double gathering = replay != nullptr ? Gather(*replay, group) : 0;
    const auto mark = [&](size_t i) { return cudaEventRecord(events_[i], stream_); };
    const cudaError_t errors[] = {
        mark(0),
        replay != nullptr ? CopyGathered(group)
                          : LaunchSampling(sampling_, first, at_once, stream_),
        mark(1),
        LaunchTargets(view, group, tile_rows_.target, spec_.precision, multiprocessors_, stream_),
        mark(7),
        LaunchCritics(targets_only, group, tile_rows_.critic, spec_.precision, stream_),
        mark(6),
        LaunchCritics(view, group, tile_rows_.critic, spec_.precision, stream_),
        mark(2),
        LaunchCriticStep(view, group),
        LaunchPriorities(sampling_, first, at_once, errors_.data(), stream_),
        mark(3),
        LaunchActors(view, group, tile_rows_.actor, spec_.precision, stream_),
        mark(4),
        LaunchActorStep(view, group),
        mark(5),
        cudaStreamSynchronize(stream_)};
    for (const cudaError_t error : errors) {
      if (Result<void> r = Check(error, "measuring"); !r) return r.error();
    }
    const auto seconds = [&](size_t from, size_t to) {
      float ms = 0;
      cudaEventElapsedTime(&ms, events_[from], events_[to]);
      return 1e-3 * double{ms};
    };
    const double values = seconds(7, 6), critics = seconds(6, 2);
    phases.sampling += replay != nullptr ? gathering : seconds(0, 1);
    phases.copies += replay != nullptr ? seconds(0, 1) : 0;
    phases.targets += seconds(1, 7) + values;
    phases.critics += std::max(0.0, critics - values);
    phases.critic_steps += seconds(2, 3);
    phases.actors += seconds(3, 4);
    phases.actor_steps += seconds(4, 5);
    phases.all += gathering + seconds(0, 5) - values;
  }
  LossKernel<<<1, 256, 0, stream_>>>(view_, losses_.data(), counters_.data());
  if (Result<void> r = Check(cudaGetLastError(), "measuring"); !r) return r.error();
  return phases;
}

Result<double> Engine::MeasureRounds(int64_t rounds) {
  if (Result<void> r = StartRound(); !r) return r.error();
  if (Result<void> r = Wait(); !r) return r.error();
  cudaEventRecord(events_[0], stream_);
  for (int64_t i = 0; i < rounds; ++i) {
    if (Result<void> r = StartRound(); !r) return r.error();
  }
  cudaEventRecord(events_[1], stream_);
  if (Result<void> r = Wait(); !r) return r.error();
  float ms = 0;
  cudaEventElapsedTime(&ms, events_[0], events_[1]);
  return 1e-3 * double{ms} / static_cast<double>(rounds);
}

}  // namespace

Result<std::unique_ptr<OffPolicyEngine>> OffPolicyEngine::Make(const EngineSpec& spec) {
  const Result<DeviceInfo> device = FindDevice();
  if (!device) return device.error();
  auto engine = std::make_unique<Engine>(spec);
  if (Result<void> r = engine->Allocate(*device); !r) return r.error();
  return std::unique_ptr<OffPolicyEngine>(std::move(engine));
}

}  // namespace tessera::cuda
