// Memory of worlds on the device, and their way there and back.
#include "tessera/cuda/world_batch.cuh"

#include <algorithm>

namespace tessera::cuda {
namespace {

// Word w of world e, on the host [worlds x words] and on the device [words x worlds].
std::vector<uint32_t> Turned(std::span<const uint32_t> from, int64_t rows, int64_t columns) {
  std::vector<uint32_t> to(from.size());
  if (from.empty()) return to;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
    }
  }
  return to;
}

}  // namespace

Result<std::unique_ptr<WorldBatch>> WorldBatch::Make(const WorldSpec& spec) {
  return WorldBatchImpl::Make(spec);
}

Result<std::unique_ptr<WorldBatch>> WorldBatchImpl::Make(const WorldSpec& spec) {
  if (const Result<DeviceInfo> device = FindDevice(); !device) return device.error();
  if (spec.agents() > kMostWorldAgents) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "worlds of " + std::to_string(spec.agents()) +
                            " agents and prey; on the device they have at most " +
                            std::to_string(kMostWorldAgents),
                 .hint = "take --device cpu"};
  }
  std::unique_ptr<WorldBatchImpl> batch(new WorldBatchImpl(spec));
  if (Result<void> r = batch->Allocate(); !r) return r.error();
  return std::unique_ptr<WorldBatch>(std::move(batch));
}

WorldBatchImpl::~WorldBatchImpl() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Result<void> WorldBatchImpl::Allocate() {
  const int64_t n = spec_.worlds, observed = static_cast<int64_t>(spec_.observed.size());
  if (Result<void> r = Check(cudaStreamCreate(&stream_), "opening a stream"); !r) return r;
  const Result<void> steps[] = {
      observed_.Allocate(spec_.observed, "maps of observations"),
      state_.Allocate(n * spec_.size(), "worlds"),
      steps_.Allocate(n, "worlds"),
      clocks_.Allocate(n, "worlds"),
      generators_.Allocate(spec_.mpe2 ? 0 : n * kGeneratorWords, "random numbers of worlds"),
      pcg_.Allocate(spec_.mpe2 ? n : 0, "random numbers of worlds"),
      observations_.Allocate(n * observed, "observations"),
      states_.Allocate(n * spec_.size(), "states"),
      rewards_.Allocate(n * spec_.actors, "rewards"),
      actions_.Allocate(n * spec_.actors * 5, "actions")};
  for (const Result<void>& r : steps) {
    if (!r) return r;
  }
  view_ = {.navigation = spec_.navigation,
           .mpe2 = spec_.mpe2,
           .prey_at_random = spec_.prey_motion == PreyMotion::kRandom,
           .predators = spec_.predators,
           .agents = spec_.agents(),
           .landmarks = spec_.landmarks,
           .actors = spec_.actors,
           .size = spec_.size(),
           .observed = static_cast<int>(observed),
           .local_ratio = spec_.local_ratio,
           .horizon = spec_.horizon,
           .worlds = n,
           .observed_numbers = observed_.data(),
           .state = state_.data(),
           .steps = steps_.data(),
           .clocks = clocks_.data(),
           .generators = generators_.data(),
           .pcg = pcg_.data(),
           .observations = observations_.data(),
           .states = states_.data(),
           .rewards = rewards_.data(),
           .seed = {}};
  return {};
}

Result<void> WorldBatchImpl::Set(const WorldImage& from, uint64_t seed) {
  view_.seed = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  std::vector<PcgWords> pcg(from.pcg.size() / 4);
  for (size_t i = 0; i < pcg.size(); ++i) {
    pcg[i] = {from.pcg[4 * i], from.pcg[4 * i + 1], from.pcg[4 * i + 2], from.pcg[4 * i + 3]};
  }
  const std::vector<uint32_t> words = Turned(from.generators, spec_.worlds, kGeneratorWords);
  const Result<void> steps[] = {
      state_.Set(from.worlds), steps_.Set(from.steps), clocks_.Set(from.clocks),
      generators_.Set(std::span<const uint32_t>(words)), pcg_.Set(std::span<const PcgWords>(pcg))};
  for (const Result<void>& r : steps) {
    if (!r) return r;
  }
  if (Result<void> r = Check(LaunchShow(view_, stream_), "showing worlds"); !r) return r;
  return Wait();
}

Result<void> WorldBatchImpl::Get(const WorldImage& to) {
  std::vector<uint32_t> words(to.generators.size());
  std::vector<PcgWords> pcg(to.pcg.size() / 4);
  const Result<void> steps[] = {state_.Get(to.worlds), steps_.Get(to.steps), clocks_.Get(to.clocks),
                                generators_.Get(std::span(words)), pcg_.Get(std::span(pcg))};
  for (const Result<void>& r : steps) {
    if (!r) return r;
  }
  words = Turned(words, kGeneratorWords, spec_.worlds);
  std::copy(words.begin(), words.end(), to.generators.begin());
  for (size_t i = 0; i < pcg.size(); ++i) {
    to.pcg[4 * i] = pcg[i].state_low;
    to.pcg[4 * i + 1] = pcg[i].state_high;
    to.pcg[4 * i + 2] = pcg[i].increment_low;
    to.pcg[4 * i + 3] = pcg[i].increment_high;
  }
  return {};
}

Result<void> WorldBatchImpl::SetAlike(const WorldImage& from, uint64_t seed) {
  const auto repeat = [&]<typename T>(std::span<T> values, int64_t per_world) {
    std::vector<T> all(static_cast<size_t>(spec_.worlds * per_world));
    for (size_t i = 0; i < all.size(); ++i) all[i] = values[i % values.size()];
    return all;
  };
  std::vector<double> worlds = repeat(from.worlds, spec_.size());
  std::vector<int64_t> steps = repeat(from.steps, 1), clocks = repeat(from.clocks, 1);
  std::vector<uint32_t> generators;
  std::vector<uint64_t> pcg;
  if (!from.generators.empty()) generators = repeat(from.generators, kGeneratorWords);
  if (!from.pcg.empty()) pcg = repeat(from.pcg, 4);
  return Set({worlds, steps, clocks, generators, pcg}, seed);
}

Result<void> WorldBatchImpl::Step(std::span<const float> actions) {
  if (Result<void> r = actions_.Set(actions); !r) return r;
  const ActionSource source{.vectors = actions_.data()};
  if (Result<void> r = Check(LaunchStep(view_, source, {}, stream_), "stepping worlds"); !r) {
    return r;
  }
  return Wait();
}

Result<void> WorldBatchImpl::StepAtRandom(int64_t steps, uint64_t seed) {
  WorldView view = view_;
  view.states = nullptr;  // for learners only
  for (int64_t i = 0; i < steps; ++i) {
    const ActionSource source{
        .key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        .step = random_steps_++};
    if (Result<void> r = Check(LaunchStep(view, source, {}, stream_), "stepping worlds"); !r) {
      return r;
    }
  }
  return {};
}

Result<void> WorldBatchImpl::Wait() {
  return Check(cudaStreamSynchronize(stream_), "stepping worlds");
}

Result<void> WorldBatchImpl::SetReturns(std::span<const double> running,
                                        std::span<const double> ring) {
  if (ring_.size() == 0) {
    if (Result<void> r = running_.Allocate(spec_.worlds, "returns"); !r) return r;
    if (Result<void> r = ring_.Allocate(std::ssize(ring), "returns"); !r) return r;
  }
  if (Result<void> r = running_.Set(running); !r) return r;
  return ring_.Set(ring);
}

Result<void> WorldBatchImpl::GetReturns(std::span<double> running, std::span<double> ring) {
  if (Result<void> r = running_.Get(running); !r) return r;
  return ring_.Get(ring);
}

}  // namespace tessera::cuda
