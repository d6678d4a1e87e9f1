// The engine: what is where on the device, and the launches of rollouts and updates as graphs.
#include "tessera/cuda/on_policy_engine.h"

#include <algorithm>
#include <cstring>

#include "tessera/cuda/engine_nets.cuh"
#include "tessera/cuda/launch.cuh"
#include "tessera/cuda/policy.cuh"
#include "tessera/cuda/world_batch.cuh"
#include "tessera/part.h"

namespace tessera::cuda {
namespace {

constexpr int kBlocksPerProcessor = 4;  // of gradients: what adds up and what is kept grow with it

// All have acted and stepped that often; an update starts the next rollout.
__global__ void CountKernel(uint64_t* counters, uint64_t acts, uint64_t steps, bool updated) {
  counters[0] += acts;
  counters[1] = updated ? 0 : counters[1] + steps;
}

class Engine final : public OnPolicyEngine {
 public:
  explicit Engine(const OnPolicySpec& spec) : spec_(spec) {}

  ~Engine() override {
    graphs_.Clear();
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Result<void> Allocate(const DeviceInfo& device);

  Result<void> SetNet(int net, const NetImage& from) override {
    stale_ = true;
    if (Result<void> r = Wait(); !r) return r;
    return nets_.Set(net, from);
  }
  Result<void> GetNet(int net, const NetImage& to) override {
    if (Result<void> r = Wait(); !r) return r;
    return nets_.Get(net, to);
  }
  Result<void> SetRollout(const RolloutImage& from) override {
    if (Result<void> r = Wait(); !r) return r;
    const Result<void> steps[] = {
        observations_.Set(from.observations), next_observations_.Set(from.next_observations),
        chosen_.Set(from.chosen), rewards_.Set(from.rewards), ends_.Set(from.ends)};
    return FirstOf(steps);
  }
  Result<void> GetRollout(const RolloutImage& to) override {
    if (Result<void> r = Wait(); !r) return r;
    const Result<void> steps[] = {
        observations_.Get(to.observations), next_observations_.Get(to.next_observations),
        chosen_.Get(to.chosen), rewards_.Get(to.rewards), ends_.Get(to.ends)};
    return FirstOf(steps);
  }
  Result<void> SetCounters(int64_t acts, int64_t step) override {
    if (Result<void> r = Wait(); !r) return r;
    step_ = step;
    const uint64_t counters[] = {static_cast<uint64_t>(acts), static_cast<uint64_t>(step)};
    return counters_.Set(std::span<const uint64_t>(counters));
  }

  Result<void> Act(int64_t rows, std::span<const float> observations, bool explore,
                   std::span<float> actions) override;
  Result<void> Append(std::span<const float> now, std::span<const float> next,
                      std::span<const float> rewards, std::span<const uint8_t> ends) override;
  Result<void> PlaySteps(WorldBatch& worlds, int64_t steps,
                         std::span<const int32_t> order) override;
  Result<void> StartUpdate(std::span<const int32_t> order) override {
    if (Result<void> r = SendOrder(order); !r) return r;
    const auto launch = [&] {
      const cudaError_t errors[] = {LaunchUpdate(), Count(0, 0, /*updated=*/true)};
      return FirstError(errors);
    };
    step_ = 0;
    return Run({0, true}, launch, "updating");
  }
  Result<RoundLosses> Finish() override {
    if (Result<void> r = Wait(); !r) return r.error();
    double values[3];
    if (Result<void> r = losses_.Get(values); !r) return r.error();
    return RoundLosses{values[0], values[1], values[2]};
  }
  Result<double> MeasureUpdates(int64_t updates, std::span<const int32_t> order) override;

 private:
  static constexpr int kStaged = 32;  // host steps under way at once

  template <size_t N>
  static Result<void> FirstOf(const Result<void> (&results)[N]) {
    for (const Result<void>& r : results) {
      if (!r) return r;
    }
    return {};
  }
  Result<void> Wait() { return Check(cudaStreamSynchronize(stream_), "waiting for the device"); }
  Result<void> SendOrder(std::span<const int32_t> order);
  cudaError_t LaunchUpdate();
  cudaError_t Count(int64_t acts, int64_t steps, bool updated) {
    CountKernel<<<1, 1, 0, stream_>>>(counters_.data(), static_cast<uint64_t>(acts),
                                      static_cast<uint64_t>(steps), updated);
    return cudaGetLastError();
  }
  // First layers on features, if networks came from elsewhere.
  Result<void> Refresh() {
    if (!stale_) return {};
    stale_ = false;
    return Check(LaunchCollapse(nets_.views(), 0, 2 * spec_.units, nets_.sizes(), false, stream_),
                 "preparing networks");
  }
  Result<void> Run(Graphs::Key key, const auto& launch, const char* doing) {
    if (Result<void> r = Refresh(); !r) return r;
    return graphs_.Run(key, launch, stream_, doing);
  }
  int64_t batches() const { return std::min<int64_t>(spec_.minibatches, spec_.rows()); }

  const OnPolicySpec spec_;
  int tile_rows_ = 0;
  cudaStream_t stream_ = nullptr;
  std::vector<cudaEvent_t> events_;  // of the two orders that may be under way, and two to measure
  Graphs graphs_;
  const void* graph_worlds_ = nullptr;  // whose memory the graphs use
  PhiloxKey graph_seed_ = {};
  bool stale_ = true;
  int64_t step_ = 0, orders_ = 0, staged_floats_ = 0, staged_steps_ = 0;

  Nets nets_;
  DeviceArray<int32_t> basis_, head_first_, order_;
  DeviceArray<PolicyHeadSpec> heads_;
  DeviceArray<PhiloxKey> keys_;
  DeviceArray<float> observations_, next_observations_, x_, next_x_, chosen_, rewards_, log_p_,
      values_, next_values_, advantages_, returns_, act_observations_, act_actions_;
  DeviceArray<uint8_t> ends_;
  DeviceArray<double> moments_, sums_, losses_;
  DeviceArray<uint64_t> counters_;  // acts, step
  PinnedArray<float> host_observations_, host_actions_, host_staged_;
  PinnedArray<int32_t> host_order_;
  PolicyView view_ = {};
};

Result<void> Engine::Allocate(const DeviceInfo& device) {
  const int units = spec_.units;
  const int64_t rows = spec_.rows(), features = std::ssize(spec_.basis);
  if (rows > INT32_MAX) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "a rollout of " + std::to_string(rows) + " rows",
                 .hint =
                     "on the device it has at most 2147483647; lower 'steps' or the number of "
                     "environments"};
  }
  const Columns columns{static_cast<int>(features), 0};
  int most_outputs = 1, most_heads = 0;
  for (const NetSpec& net : spec_.nets) most_outputs = std::max(most_outputs, net.outputs);
  for (int u = 0; u < units; ++u) {
    const auto at = static_cast<size_t>(u);
    most_heads = std::max(most_heads, spec_.head_first[at + 1] - spec_.head_first[at]);
  }
  view_ = {.units = units,
           .lanes = spec_.lanes,
           .steps = spec_.steps,
           .rows = static_cast<int>(rows),
           .observed = spec_.observed,
           .features = static_cast<int>(features),
           .x_row = columns.all() + 4,
           .actions = spec_.actions,
           .heads = static_cast<int>(spec_.heads.size()),
           .most_heads = most_heads,
           .most_outputs = most_outputs};
  int shared = 0;
  cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  const int64_t batch_rows = (rows + batches() - 1) / batches();
  const int multiprocessors = static_cast<int>(device.multiprocessors);
  tile_rows_ = PolicyTileRows(view_, static_cast<int>(batch_rows), multiprocessors, shared);
  if (tile_rows_ == 0) {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .message = "policies of " + std::to_string(features) + " numbers with " +
                   std::to_string(most_outputs) + " outputs do not fit on the device",
        .hint = "take a policy for each agent (ippo, mappo), fewer agents or --device cpu"};
  }
  view_.parts =
      static_cast<int>(std::clamp<int64_t>(kBlocksPerProcessor * multiprocessors / (2 * units), 1,
                                           (batch_rows + tile_rows_ - 1) / tile_rows_));
  if (Result<void> r = OpenStream(&stream_); !r) return r;
  for (int i = 0; i < 4; ++i) {
    cudaEvent_t event = nullptr;
    if (Result<void> r = Check(cudaEventCreate(&event), "making events"); !r) return r;
    events_.push_back(event);
  }
  if (Result<void> r = nets_.Allocate(spec_.nets, columns, false, view_.parts); !r) return r;
  if (nets_.sizes().most_listed > kMostBlocks) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "a policy of " + std::to_string(8 * nets_.sizes().most_listed) +
                            " numbers; on the device they have at most " +
                            std::to_string(8 * kMostBlocks),
                 .hint = "take fewer agents or --device cpu"};
  }
  std::vector<PhiloxKey> keys;
  for (int u = 0; u < units; ++u) {
    keys.push_back(KeyOf(spec_.seed, StreamId("act", static_cast<uint64_t>(u))));
  }
  const int64_t lanes = spec_.lanes, lane_blocks = (lanes + 127) / 128;
  staged_floats_ = lanes * (2 * int64_t{spec_.observed} + units) + (lanes + 3) / 4;
  const Result<void> steps[] = {basis_.Allocate(spec_.basis, "layouts"),
                                head_first_.Allocate(spec_.head_first, "layouts"),
                                heads_.Allocate(spec_.heads, "layouts"),
                                keys_.Allocate(keys, "random streams"),
                                order_.Allocate(spec_.epochs * rows, "mini-batches"),
                                observations_.Allocate(rows * spec_.observed, "rollouts"),
                                next_observations_.Allocate(rows * spec_.observed, "rollouts"),
                                x_.Allocate(rows * features, "rollouts"),
                                next_x_.Allocate(rows * features, "rollouts"),
                                chosen_.Allocate(rows * view_.heads, "rollouts"),
                                rewards_.Allocate(rows * units, "rollouts"),
                                ends_.Allocate(rows, "rollouts"),
                                log_p_.Allocate(rows * units, "rollouts"),
                                values_.Allocate(rows * units, "rollouts"),
                                next_values_.Allocate(rows * units, "rollouts"),
                                advantages_.Allocate(rows * units, "rollouts"),
                                returns_.Allocate(rows * units, "rollouts"),
                                act_observations_.Allocate(lanes * spec_.observed, "observations"),
                                act_actions_.Allocate(lanes * spec_.actions, "actions"),
                                moments_.Allocate(2 * units * lane_blocks, "advantages"),
                                sums_.Allocate(4 * int64_t{units} * view_.parts, "losses"),
                                losses_.Allocate(3, "losses"),
                                counters_.Allocate(2, "counters"),
                                host_observations_.Allocate(lanes * spec_.observed),
                                host_actions_.Allocate(lanes * spec_.actions),
                                host_staged_.Allocate(kStaged * staged_floats_),
                                host_order_.Allocate(2 * spec_.epochs * rows)};
  if (Result<void> r = FirstOf(steps); !r) return r;
  view_.basis = basis_.data();
  view_.nets = nets_.views();
  view_.head = heads_.data();
  view_.head_first = head_first_.data();
  view_.keys = keys_.data();
  view_.acts = counters_.data();
  view_.step = counters_.data() + 1;
  view_.observations = observations_.data();
  view_.next_observations = next_observations_.data();
  view_.x = x_.data();
  view_.next_x = next_x_.data();
  view_.chosen = chosen_.data();
  view_.rewards = rewards_.data();
  view_.ends = ends_.data();
  view_.log_p = log_p_.data();
  view_.values = values_.data();
  view_.next_values = next_values_.data();
  view_.advantages = advantages_.data();
  view_.returns = returns_.data();
  view_.moments = moments_.data();
  view_.order = order_.data();
  view_.sums = sums_.data();
  view_.gamma = spec_.gamma;
  view_.lambda = spec_.lambda;
  view_.advantage_floor = spec_.advantage_floor;
  view_.normalize = spec_.normalize;
  view_.least_ratio = static_cast<float>(1 - spec_.clip);
  view_.most_ratio = static_cast<float>(1 + spec_.clip);
  view_.entropy = static_cast<float>(spec_.entropy);
  return {};
}

// Two orders may be under way: the host makes the next one while the device learns from the last.
Result<void> Engine::SendOrder(std::span<const int32_t> order) {
  const size_t slot = static_cast<size_t>(orders_ % 2);
  if (orders_++ >= 2) {
    if (Result<void> r = Check(cudaEventSynchronize(events_[slot]), "updating"); !r) return r;
  }
  int32_t* const from = host_order_.data() + slot * order.size();
  std::memcpy(from, order.data(), order.size_bytes());
  if (Result<void> r = Check(
          cudaMemcpyAsync(order_.data(), from, order.size_bytes(), cudaMemcpyHostToDevice, stream_),
          "updating");
      !r) {
    return r;
  }
  return Check(cudaEventRecord(events_[slot], stream_), "updating");
}

cudaError_t Engine::LaunchUpdate() {
  const cudaError_t begun[] = {
      cudaMemsetAsync(sums_.data(), 0, sizeof(double) * static_cast<size_t>(sums_.size()), stream_),
      LaunchPrepare(view_, tile_rows_, spec_.precision, stream_)};
  if (const cudaError_t error = FirstError(begun); error != cudaSuccess) return error;
  const AdamView adam{.beta1 = 0.9,
                      .beta2 = 0.999,
                      .epsilon = spec_.epsilon,
                      .clip_norm = spec_.clip_norm,
                      .tensorflow = false,
                      .clip = 2,
                      .tau = 0};
  const int64_t rows = spec_.rows();
  for (int64_t epoch = 0; epoch < spec_.epochs; ++epoch) {
    for (int64_t m = 0; m < batches(); ++m) {
      const int64_t first = m * rows / batches(), end = (m + 1) * rows / batches();
      const int count = static_cast<int>(end - first);
      const int blocks = std::min(view_.parts, (count + tile_rows_ - 1) / tile_rows_);
      const cudaError_t errors[] = {
          LaunchPolicyGradients(view_, {order_.data() + epoch * rows + first, count, blocks},
                                tile_rows_, spec_.precision, stream_),
          LaunchOptimizer(nets_.views(), 0, 2 * spec_.units, nets_.sizes(), blocks, adam, stream_)};
      if (const cudaError_t error = FirstError(errors); error != cudaSuccess) return error;
    }
  }
  return LaunchPolicyLosses(view_, static_cast<int>(spec_.epochs * batches()), losses_.data(),
                            stream_);
}

Result<void> Engine::Act(int64_t rows, std::span<const float> observations, bool explore,
                         std::span<float> actions) {
  if (Result<void> r = Refresh(); !r) return r;
  const size_t in = sizeof(float) * static_cast<size_t>(rows * spec_.observed);
  const size_t out = sizeof(float) * static_cast<size_t>(rows * spec_.actions);
  std::memcpy(host_observations_.data(), observations.data(), in);
  const PolicyActs acts{.observations = act_observations_.data(),
                        .out = act_actions_.data(),
                        .rows = static_cast<int>(rows),
                        .explore = explore,
                        .keep = explore && step_ < spec_.steps,
                        .offset = 0};
  const auto copied = [&](void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, bytes, kind, stream_);
  };
  // In this order: each waits for the one before it.
  const cudaError_t errors[] = {
      copied(act_observations_.data(), host_observations_.data(), in, cudaMemcpyHostToDevice),
      LaunchPolicyAct(view_, acts, spec_.precision, stream_),
      explore ? Count(1, 0, /*updated=*/false) : cudaSuccess,
      copied(host_actions_.data(), act_actions_.data(), out, cudaMemcpyDeviceToHost),
      cudaStreamSynchronize(stream_)};
  if (Result<void> r = Check(FirstError(errors), "acting"); !r) return r;
  std::memcpy(actions.data(), host_actions_.data(), out);
  return {};
}

Result<void> Engine::Append(std::span<const float> now, std::span<const float> next,
                            std::span<const float> rewards, std::span<const uint8_t> ends) {
  // Staging is reused only after everything that read it is done.
  if (staged_steps_ % kStaged == 0) {
    if (Result<void> r = Wait(); !r) return r;
  }
  float* at = host_staged_.data() + staged_steps_++ % kStaged * staged_floats_;
  const auto send = [&](auto* to, const auto& from) {
    std::memcpy(at, from.data(), from.size_bytes());
    const cudaError_t error =
        cudaMemcpyAsync(to, at, from.size_bytes(), cudaMemcpyHostToDevice, stream_);
    at += (from.size_bytes() + 3) / 4;
    return error;
  };
  const int64_t row = step_++ * spec_.lanes;
  const cudaError_t errors[] = {send(observations_.data() + row * spec_.observed, now),
                                send(next_observations_.data() + row * spec_.observed, next),
                                send(rewards_.data() + row * spec_.units, rewards),
                                send(ends_.data() + row, ends), Count(0, 1, /*updated=*/false)};
  return Check(FirstError(errors), "storing steps");
}

Result<void> Engine::PlaySteps(WorldBatch& worlds, int64_t steps, std::span<const int32_t> order) {
  auto& batch = static_cast<WorldBatchImpl&>(worlds);
  const PhiloxKey seed = batch.view().seed;
  if (graph_worlds_ != &worlds || seed.a != graph_seed_.a || seed.b != graph_seed_.b) {
    graphs_.Clear();
    graph_worlds_ = &worlds;
    graph_seed_ = seed;
  }
  const bool update = !order.empty();
  if (update) {
    if (Result<void> r = SendOrder(order); !r) return r;
  }
  const auto launch = [&]() -> cudaError_t {
    WorldView world = batch.view();
    world.states = nullptr;  // nobody reads them
    ReplayView kept = {};
    kept.rollout = {.now = observations_.data(),
                    .next = next_observations_.data(),
                    .rewards = rewards_.data(),
                    .ends = ends_.data(),
                    .units = spec_.units,
                    .member_first = head_first_.data(),
                    .step = view_.step};
    kept.running = batch.running();
    kept.ring = batch.ring();
    kept.window = batch.window();
    PolicyActs acts{.observations = world.observations,
                    .out = batch.actions(),
                    .rows = spec_.lanes,
                    .explore = true,
                    .keep = true};
    for (int i = 0; i < static_cast<int>(steps); ++i) {
      acts.offset = kept.rollout.offset = i;
      const cudaError_t errors[] = {LaunchPolicyAct(view_, acts, spec_.precision, stream_),
                                    LaunchStep(world, {.vectors = batch.actions()}, kept, stream_)};
      if (const cudaError_t error = FirstError(errors); error != cudaSuccess) return error;
    }
    const cudaError_t rest[] = {update ? LaunchUpdate() : cudaSuccess, Count(steps, steps, update)};
    return FirstError(rest);
  };
  step_ = update ? 0 : step_ + steps;
  return Run({steps, update}, launch, "playing");
}

Result<double> Engine::MeasureUpdates(int64_t updates, std::span<const int32_t> order) {
  if (Result<void> r = StartUpdate(order); !r) return r.error();
  if (Result<void> r = Wait(); !r) return r.error();
  cudaEventRecord(events_[2], stream_);
  for (int64_t i = 0; i < updates; ++i) {
    if (Result<void> r = StartUpdate(order); !r) return r.error();
  }
  cudaEventRecord(events_[3], stream_);
  if (Result<void> r = Wait(); !r) return r.error();
  float ms = 0;
  cudaEventElapsedTime(&ms, events_[2], events_[3]);
  return 1e-3 * double{ms} / static_cast<double>(updates);
}

}  // namespace

Result<std::unique_ptr<OnPolicyEngine>> OnPolicyEngine::Make(const OnPolicySpec& spec) {
  const Result<DeviceInfo> device = FindDevice();
  if (!device) return device.error();
  auto engine = std::make_unique<Engine>(spec);
  if (Result<void> r = engine->Allocate(*device); !r) return r.error();
  return std::unique_ptr<OnPolicyEngine>(std::move(engine));
}

}  // namespace tessera::cuda
