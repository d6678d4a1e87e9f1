// Runs: a uniformly drawn transition and those that follow it. On joint records the next
// observation of one row is the observation of the following one, so long runs read memory once.
#include <algorithm>

#include "tessera/rl/replay/sampler.h"

namespace tessera {
namespace {

struct RunsOptions {
  int64_t length = 8;
  bool same_episode = false;
};

class RunsSampler final : public Sampler {
 public:
  explicit RunsSampler(const RunsOptions& options) : options_(options) {}

  void Sample(const ReplayBuffer& buffer, const SampleRequest& request, std::vector<int64_t>& slots,
              std::vector<float>& weights) override {
    CounterRng rng(request.seed, StreamId("sampler", request.trainer), request.round);
    const NeighborRules one{.radius = 1, .same_episode = options_.same_episode};
    const UniformDraws draws(buffer, request.skip_newest);
    slots.clear();
    while (std::ssize(slots) < request.rows) {
      int64_t at = draws.Draw(rng);
      for (int64_t i = 0; i < options_.length && std::ssize(slots) < request.rows; ++i) {
        slots.push_back(at);
        around_.clear();
        AppendNeighbors(buffer, at, one, around_);
        if (around_.empty() || around_.back() < at) break;  // nothing follows
        at = around_.back();
      }
    }
    weights.assign(slots.size(), 1.0f);
  }

  cuda::SamplerSettings settings() const override {
    return {.window = cuda::SamplerSettings::Window::kRun,
            .same_episode = options_.same_episode,
            .length = static_cast<int>(options_.length)};
  }

 private:
  const RunsOptions options_;
  std::vector<int64_t> around_;
};

const ParameterList<RunsOptions>& Settings() {
  using O = RunsOptions;
  static const ParameterList<O> parameters = {
      {"length", &O::length, Range{1, 1024}, "consecutive transitions of a run"},
      {"same_episode", &O::same_episode, "a run stops where its episode ends"}};
  return parameters;
}

}  // namespace

extern const SamplerInfo kRunsSampler = {
    .name = "runs",
    .summary = "uniformly drawn transitions, each with those that follow it",
    .distribution =
        "nearly uniform for each row, but rows of a run are consecutive: a batch has "
        "about rows / length independent parts, so gradients vary more",
    .changes_distribution = true,
    .parameters = [] { return Describe(Settings()); },
    .make = [](const Assignments& assignments,
               int64_t /*slots*/) -> Result<std::unique_ptr<Sampler>> {
      const Result<RunsOptions> options = ReadOptions("sampler runs", Settings(), assignments);
      if (!options) return options.error();
      return std::unique_ptr<Sampler>(std::make_unique<RunsSampler>(*options));
    }};

}  // namespace tessera
