// Walkers move every number of a machine by one value at a time, as the hardware agent of DCOC does
// (coopt/dcoc_agents.h); the policy learns by PPO from what states are worth. States that were
// mapped are worth what they cost, others what the nearest mapped ones let expect. What the critic
// expects of the states that walkers came by decides, by Confidence Sampling, which are mapped.
#include "tessera/explore/hardware_agent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/coopt/confidence_sampling.h"
#include "tessera/result.h"
#include "tessera/rl/on_policy.h"

namespace tessera {
namespace {

struct AgentOptions {
  int64_t walkers = 16;
  int64_t steps = 8;
  double temperature = 0.05;
};

constexpr int32_t kMostValues = 256;  // that Confidence Sampling counts

class HardwareAgent final : public Searcher {
 public:
  static Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup,
                                                const AgentOptions& options) {
    for (const Decision& decision : setup.space.decisions()) {
      if (decision.size() <= kMostValues) continue;
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = "method dcoc takes up to 256 values of " + decision.name(),
                   .hint = "use --method exhaustive, random, ga or bo"};
    }
    if (setup.space.size() > std::tuple_size_v<coopt::MachinePoint>) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = "method dcoc takes up to 64 choices",
                   .hint = "use --method exhaustive, random, ga or bo"};
    }
    return std::unique_ptr<Searcher>(new HardwareAgent(setup, options));
  }

  std::vector<Point> Propose(int64_t n) override {
    CounterRng rng(seed_, StreamId("explore.dcoc"), calls_++);
    if (worths_.empty()) {
      std::vector<Point> points;
      for (int64_t i = 0; i < n; ++i) points.push_back(space_.Sample(rng, kRedraws));
      return points;
    }
    const std::vector<coopt::MachinePoint> visited = Walk(rng);
    std::vector<coopt::MachinePoint> fresh;
    for (const coopt::MachinePoint& state : visited) {
      if (!Known(state) && std::ranges::find(fresh, state) == fresh.end()) fresh.push_back(state);
    }
    for (int64_t i = 0; i < n && std::ssize(fresh) < n; ++i) {
      const coopt::MachinePoint state = StateOf(space_.Sample(rng, kRedraws));
      if (!Known(state) && std::ranges::find(fresh, state) == fresh.end()) fresh.push_back(state);
    }
    if (fresh.empty()) return {};  // Nearly everything is known.
    const std::vector<double> values = Values(fresh);
    const auto acceptable = [&](const coopt::MachinePoint& state) {
      return space_.Check(PointOf(state)).ok() && !Known(state);
    };
    const auto value = [&](const coopt::MachinePoint& state) { return Values({state}).front(); };
    const std::vector<coopt::MachinePoint> chosen = coopt::ConfidenceSample<coopt::MachinePoint>(
        sizes_, fresh, values, {.count = n, .temperature = temperature_}, acceptable, value, rng);
    std::vector<Point> points;
    for (const coopt::MachinePoint& state : chosen) points.push_back(PointOf(state));
    return points;
  }

  void Observe(std::span<const Trial> trials) override {
    for (const Trial& trial : trials) {
      const bool feasible = trial.outcome.feasible();
      worths_.push_back({StateOf(trial.point), feasible ? trial.outcome.value : 0});
      known_.insert(worths_.back().state);
      if (feasible && (best_ == 0 || trial.outcome.value < best_)) {
        best_ = trial.outcome.value;
        best_state_ = worths_.back().state;
      }
    }
  }

 private:
  static constexpr int64_t kRedraws = 64;

  struct Worth {
    coopt::MachinePoint state = {};
    double cost = 0;  // 0: it has no mapping
  };

  HardwareAgent(const SearchSetup& setup, const AgentOptions& options)
      : space_(setup.space),
        seed_(setup.seed),
        steps_(options.steps),
        temperature_(options.temperature),
        walkers_(static_cast<size_t>(options.walkers)) {
    spec_.name = "machine";
    for (const Decision& decision : space_.decisions()) {
      sizes_.push_back(decision.size());
      spec_.agents.push_back({.name = decision.name(),
                              .observation_size = 1,
                              .action = {.kind = ActionKind::kChoice, .size = 3}});
    }
    learner_ = MakeOnPolicy({.spec = &spec_, .lanes = options.walkers, .seed = seed_},
                            {.hidden = 64,
                             .steps = options.steps,
                             .epochs = 4,
                             .minibatches = 2,
                             .gamma = 0.9,
                             .actor_rate = 1e-3},
                            UnitKind::kJoint);
  }

  coopt::MachinePoint StateOf(const Point& point) const {
    coopt::MachinePoint state = {};
    for (size_t i = 0; i < space_.size(); ++i) state[i] = static_cast<uint8_t>(point[i]);
    return state;
  }
  Point PointOf(const coopt::MachinePoint& state) const {
    Point point(space_.size());
    for (size_t i = 0; i < space_.size(); ++i) point[i] = state[i];
    return point;
  }
  bool Known(const coopt::MachinePoint& state) const { return known_.contains(state); }

  // From 0 to 1: best / cost of the nearest machines that were mapped, the nearer the more.
  double WorthOf(const coopt::MachinePoint& state) const {
    double sum = 0, weights = 0;
    for (const Worth& worth : worths_) {
      double steps = 0;
      for (size_t i = 0; i < sizes_.size(); ++i) steps += std::abs(state[i] - worth.state[i]);
      const double weight = 1 / (1e-3 + steps * steps);
      weights += weight;
      sum += worth.cost > 0 ? weight * best_ / worth.cost : 0;
    }
    return weights > 0 ? sum / weights : 0;
  }

  void Look(std::span<const coopt::MachinePoint> states, std::vector<float>& seen) const {
    seen.clear();
    for (const coopt::MachinePoint& state : states) {
      for (size_t i = 0; i < sizes_.size(); ++i) {
        seen.push_back(static_cast<float>(state[i]) / static_cast<float>(sizes_[i]));
      }
    }
  }

  // What the critic and the nearest machines let expect.
  std::vector<double> Values(const std::vector<coopt::MachinePoint>& states) {
    std::vector<double> values;
    std::vector<float> seen, expected(1);
    for (const coopt::MachinePoint& state : states) {
      Look(std::span(&state, 1), seen);
      learner_->Values(1, seen, expected);
      // A walk of discount 0.9 that stays collects ten times what a state is worth.
      constexpr double kStay = 0.1;
      values.push_back((WorthOf(state) + kStay * static_cast<double>(expected[0])) / 2);
    }
    return values;
  }

  // Half of the walkers start at the best machine, the others anywhere; all states that they see.
  std::vector<coopt::MachinePoint> Walk(CounterRng& rng) {
    std::vector<coopt::MachinePoint> visited;
    for (size_t w = 0; w < walkers_.size(); ++w) {
      walkers_[w] = w % 2 == 0 && best_ > 0 ? best_state_ : StateOf(space_.Sample(rng, kRedraws));
    }
    std::vector<float> before, after, actions(walkers_.size() * sizes_.size()),
        rewards(walkers_.size() * sizes_.size());
    std::vector<EpisodeEnd> ends(walkers_.size());
    for (int64_t step = 0; step < steps_; ++step) {
      Look(walkers_, before);
      learner_->Act(std::ssize(walkers_), before, ActMode::kExplore, actions);
      for (size_t w = 0; w < walkers_.size(); ++w) {
        coopt::MachinePoint next = walkers_[w];
        for (size_t i = 0; i < sizes_.size(); ++i) {
          const int64_t to = next[i] + static_cast<int64_t>(actions[w * sizes_.size() + i]) - 1;
          if (to >= 0 && to < sizes_[i]) next[i] = static_cast<uint8_t>(to);
        }
        const bool legal = space_.Check(PointOf(next)).ok();
        if (legal) walkers_[w] = next;
        visited.push_back(walkers_[w]);
        constexpr float kPenalty = 0.1f;
        const float reward = static_cast<float>(WorthOf(walkers_[w])) - (legal ? 0.0f : kPenalty);
        std::fill_n(rewards.begin() + static_cast<ptrdiff_t>(w * sizes_.size()), sizes_.size(),
                    reward);
        ends[w] = step + 1 == steps_ ? EpisodeEnd::kTruncated : EpisodeEnd::kNone;
      }
      Look(walkers_, after);
      const Result<void> taken = learner_->Observe({.observations = before,
                                                    .states = {},
                                                    .actions = actions,
                                                    .rewards = rewards,
                                                    .next_observations = after,
                                                    .next_states = {},
                                                    .ends = ends});
      TESSERA_CHECK(taken.ok());
      if (learner_->UpdateDue()) TESSERA_CHECK(learner_->Update().ok());
    }
    return visited;
  }

  const DecisionSpace& space_;
  const uint64_t seed_;
  const int64_t steps_;
  const double temperature_;
  std::vector<int64_t> sizes_;
  EnvSpec spec_;
  std::unique_ptr<OnPolicyLearner> learner_;
  std::vector<coopt::MachinePoint> walkers_;
  std::vector<Worth> worths_;
  std::set<coopt::MachinePoint> known_;
  double best_ = 0;
  coopt::MachinePoint best_state_ = {};
  uint64_t calls_ = 0;
};

}  // namespace

MethodInfo HardwareAgentMethod() {
  using O = AgentOptions;
  return DeclareMethod<HardwareAgent, O>(
      {.name = "dcoc",
       .summary = "the hardware agent proposes machines, Confidence Sampling chooses among them"},
      {{"walkers", &O::walkers, Range{1, 1'000}, "machines that move at once"},
       {"steps", &O::steps, Range{1, 1'000}, "of a walk, after which the agent learns"},
       {"temperature", &O::temperature, Range{1e-6, 1e3}, "of the draws: small is greedy"}});
}

}  // namespace tessera
