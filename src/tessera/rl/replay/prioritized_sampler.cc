// Prioritised sampling (Schaul et al.) of joint transitions, alone or as references of neighbor
// sampling. A transition's priority is the temporal-difference error that a trainer last saw on it;
// importance weights correct for the probability with which a row was reached.
#include <algorithm>
#include <cmath>

#include "tessera/rl/replay/sampler.h"
#include "tessera/rl/replay/sum_tree.h"

namespace tessera {
namespace {

struct PrioritizedOptions {
  double alpha = 0.6;
  double beta = 0.5;
  double epsilon = 1e-6;
  int64_t radius = 3;
};

class PrioritizedSampler final : public Sampler {
 public:
  PrioritizedSampler(const PrioritizedOptions& options, bool neighbors, int64_t slots)
      : options_(options), neighbors_(neighbors), rules_{.radius = options.radius}, tree_(slots) {}

  void Sample(const ReplayBuffer& buffer, const SampleRequest& request, std::vector<int64_t>& slots,
              std::vector<float>& weights) override {
    CounterRng rng(request.seed, StreamId("sampler", request.trainer), request.round);
    slots.clear();
    while (std::ssize(slots) < request.rows) {
      const int64_t slot = tree_.Find(rng.Uniform() * tree_.total());
      const size_t before = slots.size();
      if (neighbors_) AppendNeighbors(buffer, slot, rules_, slots);
      if (slots.size() == before) slots.push_back(slot);
    }
    slots.resize(static_cast<size_t>(request.rows));
    const double count = static_cast<double>(buffer.size());
    weights.clear();
    float top = 0;
    for (const int64_t slot : slots) {
      const double probability = Reach(buffer, slot) / tree_.total();
      weights.push_back(static_cast<float>(std::pow(count * probability, -options_.beta)));
      top = std::max(top, weights.back());
    }
    for (float& weight : weights) weight /= top;
  }

  void Added(int64_t slot) override { tree_.Set(slot, top_priority_); }
  void Dropped(std::span<const int64_t> slots) override {
    for (const int64_t slot : slots) tree_.Set(slot, 0);
  }
  bool wants_errors() const override { return true; }
  void Observe(std::span<const int64_t> slots, std::span<const float> errors) override {
    for (size_t i = 0; i < slots.size(); ++i) {
      const double priority = std::pow(std::abs(errors[i]) + options_.epsilon, options_.alpha);
      tree_.Set(slots[i], priority);
      top_priority_ = std::max(top_priority_, priority);
    }
  }

  cuda::SamplerSettings settings() const override {
    using Window = cuda::SamplerSettings::Window;
    return {.prioritized = true,
            .alpha = options_.alpha,
            .beta = options_.beta,
            .epsilon = options_.epsilon,
            .window = neighbors_ ? Window::kNeighbors : Window::kNone,
            .radius = static_cast<int>(rules_.radius)};
  }
  std::span<double> priorities() override { return tree_.leaves(); }
  double* top_priority() override { return &top_priority_; }
  void ChangedPriorities() override { tree_.Rebuild(); }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    writer.Add(prefix + "priorities", tree_.leaves());
    writer.AddDouble(prefix + "top_priority", top_priority_);
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    constexpr double kMost = 1e30;  // sums of priorities stay finite
    if (Result<void> read = reader.ReadWithin(prefix + "priorities", tree_.leaves(), 0.0, kMost);
        !read) {
      return read;
    }
    tree_.Rebuild();
    return reader.ReadWithin(prefix + "top_priority", std::span(&top_priority_, 1), 0.0, kMost);
  }

 private:
  // Priority mass that leads to a slot: its own, or the mean of the references it is next to.
  double Reach(const ReplayBuffer& buffer, int64_t slot) {
    if (!neighbors_) return tree_.Get(slot);
    around_.clear();
    AppendNeighbors(buffer, slot, rules_, around_);
    if (around_.empty()) return tree_.Get(slot);
    double mass = 0;
    for (const int64_t reference : around_) mass += tree_.Get(reference);
    return std::max(mass / static_cast<double>(2 * rules_.radius), 1e-12);
  }

  const PrioritizedOptions options_;
  const bool neighbors_;
  const NeighborRules rules_;
  SumTree tree_;
  double top_priority_ = 1;
  std::vector<int64_t> around_;
};

const ParameterList<PrioritizedOptions>& Settings() {
  using O = PrioritizedOptions;
  static const ParameterList<O> parameters = {
      {"alpha", &O::alpha, Range{0, 1}, "how much priorities matter; 0: uniform"},
      {"beta", &O::beta, Range{0, 1}, "how much of the bias the weights correct; 1: all"},
      {"epsilon", &O::epsilon, Range{1e-12, 1}, "added to errors, so that none is never seen"},
      {"radius", &O::radius, Range{1, 64}, "prioritized-neighbor: neighbours on either side"}};
  return parameters;
}

Result<std::unique_ptr<Sampler>> Make(const Assignments& assignments, int64_t slots,
                                      bool neighbors) {
  const Result<PrioritizedOptions> options = ReadOptions(
      neighbors ? "sampler prioritized-neighbor" : "sampler prioritized", Settings(), assignments);
  if (!options) return options.error();
  return std::unique_ptr<Sampler>(std::make_unique<PrioritizedSampler>(*options, neighbors, slots));
}

}  // namespace

extern const SamplerInfo kPrioritizedSampler = {
    .name = "prioritized",
    .summary = "transitions with large errors more often",
    .distribution = "proportional to |error|^alpha; weights correct the bias up to beta",
    .changes_distribution = true,
    .parameters = [] { return Describe(Settings()); },
    .make = [](const Assignments& assignments,
               int64_t slots) { return Make(assignments, slots, /*neighbors=*/false); }};

extern const SamplerInfo kPrioritizedNeighborSampler = {
    .name = "prioritized-neighbor",
    .summary = "the transitions around references with large errors",
    .distribution =
        "proportional to the priorities nearby; weights correct the bias up to beta; "
        "rows of a window are consecutive",
    .changes_distribution = true,
    .parameters = [] { return Describe(Settings()); },
    .make = [](const Assignments& assignments,
               int64_t slots) { return Make(assignments, slots, /*neighbors=*/true); }};

}  // namespace tessera
