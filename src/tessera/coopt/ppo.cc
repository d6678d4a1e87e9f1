// Single-agent PPO without a cost model: every step of every walker is measured, and its speed is
// the reward.
#include <algorithm>

#include "tessera/coopt/knob_policy.h"
#include "tessera/search.h"

namespace tessera::coopt {
namespace {

struct PpoMethodOptions {
  int64_t walkers = 16;
  int64_t steps = 4;
  int64_t episode = 32;
};

class PpoTuner final : public GroupTuner {
 public:
  PpoTuner(const Group& group, const PpoMethodOptions& options)
      : group_(group),
        options_(options),
        policy_(group, options.walkers,
                {.hidden = 64,
                 .steps = options.steps,
                 .epochs = 4,
                 .minibatches = 2,
                 .gamma = 0.9,
                 .actor_rate = 1e-3},
                group.setup().seed),
        ends_(static_cast<size_t>(options.walkers), true) {}

  std::vector<Configuration> Propose() override {
    CounterRng rng(group_.setup().seed, StreamId("coopt.ppo"), steps_++);
    std::vector<Configuration> configurations;
    for (int64_t walker = 0; walker < options_.walkers; ++walker) {
      if (ends_[static_cast<size_t>(walker)]) policy_.Restart(walker, group_.Sample(rng));
    }
    std::vector<bool> settled;
    policy_.Move(rng, settled);
    for (int64_t walker = 0; walker < options_.walkers; ++walker) {
      configurations.push_back(policy_.at(walker));
    }
    const bool last = static_cast<int64_t>(steps_) % options_.episode == 0;
    ends_.assign(static_cast<size_t>(options_.walkers), last);
    return configurations;
  }

  void Observe(std::span<const ConfigurationOutcome> outcomes) override {
    for (const ConfigurationOutcome& outcome : outcomes) {
      if (outcome.valid() && (best_ == 0 || outcome.value() < best_)) best_ = outcome.value();
    }
    std::vector<float> rewards;
    for (int64_t walker = 0; walker < options_.walkers; ++walker) {
      const auto found = std::find_if(
          outcomes.begin(), outcomes.end(),
          [&](const ConfigurationOutcome& o) { return o.configuration == policy_.at(walker); });
      const bool ran = found != outcomes.end() && found->valid();
      rewards.push_back(ran ? static_cast<float>(best_ / found->value()) : 0.0f);
    }
    policy_.Reward(rewards, ends_);
  }

 private:
  const Group& group_;
  const PpoMethodOptions options_;
  KnobPolicy policy_;
  std::vector<bool> ends_;
  uint64_t steps_ = 0;
  double best_ = 0;
};

class PpoSearcher final : public GroupSearcher {
 public:
  PpoSearcher(const JointSetup& setup, const PpoMethodOptions& options) : GroupSearcher(setup) {
    AddTuners([&](const Group& group) { return std::make_unique<PpoTuner>(group, options); });
  }
};

}  // namespace

MethodInfo JointPpoMethod() {
  using O = PpoMethodOptions;
  return DeclareMethod<PpoSearcher, O>(
      {.name = "ppo-joint",
       .summary = "ppo for hardware and all schedules together: one agent moves all knobs",
       .joint_version_of = "ppo"},
      {{"walkers", &O::walkers, Range{1, 1'000}, "configurations that move at once"},
       {"steps", &O::steps, Range{1, 1'000}, "steps between updates"},
       {"episode", &O::episode, Range{1, 10'000}, "steps until a walker starts anew"}});
}

}  // namespace tessera::coopt
