// Neighbor sampling (Algorithm 1 of "Towards Efficient Multi-Agent Learning Systems"): reference
// indices are drawn uniformly, and the transitions around each are taken instead of it. Fewer,
// longer reads, and about rows / (2 radius) independent windows instead of independent rows.
#include <algorithm>

#include "tessera/rl/replay/sampler.h"

namespace tessera {
namespace {

struct NeighborOptions {
  int64_t radius = 3;
  bool include_center = false;
  bool wrap = false;
  bool same_episode = false;
  bool truncate = false;
};

class NeighborSampler final : public Sampler {
 public:
  explicit NeighborSampler(const NeighborOptions& options)
      : rules_{.radius = options.radius,
               .include_center = options.include_center,
               .wrap = options.wrap,
               .same_episode = options.same_episode},
        truncate_(options.truncate) {}

  void Sample(const ReplayBuffer& buffer, const SampleRequest& request, std::vector<int64_t>& slots,
              std::vector<float>& weights) override {
    CounterRng rng(request.seed, StreamId("sampler", request.trainer), request.round);
    const UniformDraws draws(buffer, request.skip_newest);
    slots.clear();
    while (std::ssize(slots) < request.rows) {
      const size_t before = slots.size();
      const int64_t reference = draws.Draw(rng);
      AppendNeighbors(buffer, reference, rules_, slots);
      // A lone transition has no neighbours; it stands for itself, or the batch would never fill.
      if (slots.size() == before) slots.push_back(reference);
    }
    if (truncate_) slots.resize(static_cast<size_t>(request.rows));
    weights.assign(slots.size(), 1.0f);
  }

  int64_t surplus() const override {
    return truncate_ ? 0 : 2 * rules_.radius + (rules_.include_center ? 1 : 0);
  }

  cuda::SamplerSettings settings() const override {
    return {.window = cuda::SamplerSettings::Window::kNeighbors,
            .radius = static_cast<int>(rules_.radius),
            .include_center = rules_.include_center,
            .wrap = rules_.wrap,
            .same_episode = rules_.same_episode};
  }

 private:
  const NeighborRules rules_;
  const bool truncate_;
};

const ParameterList<NeighborOptions>& Settings() {
  using O = NeighborOptions;
  static const ParameterList<O> parameters = {
      {"radius", &O::radius, Range{1, 64}, "neighbours on either side (the paper's micro-batch)"},
      {"include_center", &O::include_center, "take the reference itself, too"},
      {"wrap", &O::wrap, "the buffer's two ends are neighbours"},
      {"same_episode", &O::same_episode, "stop at the ends of the reference's episode"},
      {"truncate", &O::truncate, "cut the last window at the batch size (else 1026 rows)"}};
  return parameters;
}

}  // namespace

extern const SamplerInfo kNeighborSampler = {
    .name = "neighbor",
    .summary = "the transitions around uniformly drawn references (Algorithm 1 of the paper)",
    .distribution =
        "nearly uniform for each row, but rows of a window are consecutive: a batch has "
        "about rows / (2 radius) independent parts, so gradients vary more",
    .changes_distribution = true,
    .parameters = [] { return Describe(Settings()); },
    .make = [](const Assignments& assignments,
               int64_t /*slots*/) -> Result<std::unique_ptr<Sampler>> {
      const Result<NeighborOptions> options =
          ReadOptions("sampler neighbor", Settings(), assignments);
      if (!options) return options.error();
      return std::unique_ptr<Sampler>(std::make_unique<NeighborSampler>(*options));
    }};

}  // namespace tessera
