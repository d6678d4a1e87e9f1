// Proximal policy optimisation with a single agent that decides everything at once: `ppo` as in the
// papers, a Gaussian over the normalised vector of all decisions, and `ppo-discrete`, one network
// with a categorical head for each decision. The learner is the engine's own (rl/on_policy.h); a
// step is a sample, and every step ends its episode, because mappings do not follow on each other.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/check.h"
#include "tessera/rl/on_policy.h"
#include "tessera/search/log_cost.h"
#include "tessera/search/method.h"

namespace tessera {
namespace {

struct PpoSearchOptions {
  int64_t lanes = 8;
  int64_t steps = 2;
  int64_t epochs = 16;
  int64_t minibatches = 2;
  int64_t hidden = 32;
  double rate = 3e-3;
  double entropy = 0.0;
  double clip = 0.2;
  double deviation = 1.0;
  double penalty = 1.0;
  std::string reward = "log";
};

constexpr int64_t kObservation = 4;  // latency, power, energy, area

// Running mean and deviation of a number.
class Running {
 public:
  void Add(double value) {
    ++count_;
    const double step = value - mean_;
    mean_ += step / count_;
    squares_ += step * (value - mean_);
  }
  double Standard(double value) const {
    const double deviation = count_ > 1 ? std::sqrt(squares_ / (count_ - 1)) : 0;
    return deviation > 1e-12 ? std::clamp((value - mean_) / deviation, -10.0, 10.0) : 0.0;
  }

 private:
  double count_ = 0, mean_ = 0, squares_ = 0;
};

class PpoSearcher : public Searcher {
 public:
  PpoSearcher(const SearchSetup& setup, const PpoSearchOptions& options, EnvSpec spec)
      : space_(setup.space),
        options_(options),
        spec_(std::move(spec)),
        observations_(static_cast<size_t>(options.lanes * spec_.observation_size())),
        actions_(static_cast<size_t>(options.lanes * spec_.action_size())) {
    if (space_.open().empty()) return;
    const PpoOptions learner{.hidden = options.hidden,
                             .steps = options.steps,
                             .epochs = options.epochs,
                             .minibatches = options.minibatches,
                             .clip = options.clip,
                             .entropy = options.entropy,
                             .actor_rate = options.rate,
                             .critic_rate = options.rate,
                             .initial_log_deviation = std::log(options.deviation)};
    Result<std::unique_ptr<Learner>> made = MakePpo(
        {.spec = &spec_, .lanes = options.lanes, .seed = setup.seed}, learner, UnitKind::kJoint);
    TESSERA_CHECK(made.ok());
    learner_ = *std::move(made);
  }

  std::vector<Point> Propose(int64_t n) final {
    if (learner_ == nullptr) return {Point(space_.size())};
    if (trials_.empty() && handed_ == 0) {
      learner_->Act(options_.lanes, observations_, ActMode::kExplore, actions_);
    }
    const int64_t count = std::min(n, options_.lanes - handed_);
    std::vector<Point> points;
    for (int64_t i = 0; i < count; ++i) {
      const size_t width = static_cast<size_t>(spec_.action_size());
      const size_t lane = static_cast<size_t>(handed_ + i);
      Point point = Decode(std::span(actions_).subspan(lane * width, width));
      space_.Repair(point);
      points.push_back(point);
    }
    handed_ += count;
    return points;
  }

  void Observe(std::span<const Trial> trials) final {
    if (learner_ == nullptr) return;
    trials_.insert(trials_.end(), trials.begin(), trials.end());
    if (std::ssize(trials_) < options_.lanes) return;
    Learn();
    trials_.clear();
    handed_ = 0;
  }

 protected:
  virtual Point Decode(std::span<const float> action) const = 0;
  const DecisionSpace& space() const { return space_; }

 private:
  void Learn() {
    const size_t agents = spec_.agents.size(), lanes = trials_.size();
    std::vector<float> rewards, next(observations_.size());
    for (const Trial& trial : trials_) {
      if (trial.outcome.feasible()) reward_.Add(RawReward(trial.outcome));
    }
    for (size_t lane = 0; lane < lanes; ++lane) {
      const Outcome& outcome = trials_[lane].outcome;
      const double reward =
          outcome.feasible() ? reward_.Standard(RawReward(outcome)) : -options_.penalty;
      rewards.insert(rewards.end(), agents, static_cast<float>(reward));
      Show(outcome, std::span(next).subspan(lane * agents * kObservation, agents * kObservation));
    }
    const std::vector<EpisodeEnd> ends(lanes, EpisodeEnd::kTerminated);
    const Result<void> observed = learner_->Observe({.observations = observations_,
                                                     .states = {},
                                                     .actions = actions_,
                                                     .rewards = rewards,
                                                     .next_observations = next,
                                                     .next_states = {},
                                                     .ends = ends});
    TESSERA_CHECK(observed.ok());
    observations_ = std::move(next);
    if (learner_->UpdateDue()) TESSERA_CHECK(learner_->Update().ok());
  }

  double RawReward(const Outcome& outcome) const {
    if (options_.reward == "log") return -LogCost(outcome);
    return 1.0 / std::max(std::abs(outcome.value), 1e-30);
  }

  // The observation that all agents share: what the lane's last point cost, by logarithms.
  void Show(const Outcome& outcome, std::span<float> out) {
    const std::array<double, kObservation> costs = {outcome.cycles, outcome.power_mw,
                                                    outcome.energy_pj, outcome.area_um2};
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t which = i % kObservation;
      const double cost = std::log1p(std::max(0.0, costs[which]));
      if (outcome.feasible()) shown_[which].Add(cost);
      out[i] = static_cast<float>(outcome.feasible() ? shown_[which].Standard(cost) : 0.0);
    }
  }

  const DecisionSpace& space_;
  const PpoSearchOptions options_;
  const EnvSpec spec_;
  std::unique_ptr<Learner> learner_;
  std::vector<float> observations_, actions_;
  std::vector<Trial> trials_;  // of the lanes so far
  int64_t handed_ = 0;         // lanes whose points were proposed
  Running reward_;
  std::array<Running, kObservation> shown_;
};

// One agent with a real number for each decision; -1 .. 1 covers the values in their order.
class GaussianPpo final : public PpoSearcher {
 public:
  GaussianPpo(const SearchSetup& setup, const PpoSearchOptions& options)
      : PpoSearcher(
            setup, options,
            {.name = "mapping",
             .agents = {{.name = "mapper",
                         .observation_size = kObservation,
                         .action = {.kind = ActionKind::kBox,
                                    .size = std::max<int64_t>(1, std::ssize(setup.space.open()))}}},
             .horizon = 1}) {}

 private:
  Point Decode(std::span<const float> action) const override {
    Point point(space().size());
    for (size_t i = 0; i < space().open().size(); ++i) {
      const size_t decision = space().open()[i];
      const int32_t values = space().decisions()[decision].size();
      const double place = (static_cast<double>(action[i]) + 1) / 2 * values;
      // A policy that has diverged draws what is not a number: the middle, then.
      const double safe = std::isfinite(place) ? place : values / 2.0;
      point[decision] = static_cast<int32_t>(std::clamp(safe, 0.0, values - 1.0));
    }
    return point;
  }
};

// One network whose outputs are a choice for each decision. A loop order is a choice for each of
// its places among the items that are left: fewer outputs than one for every order.
class DiscretePpo final : public PpoSearcher {
 public:
  DiscretePpo(const SearchSetup& setup, const PpoSearchOptions& options)
      : PpoSearcher(setup, options, Spec(setup.space)) {}

 private:
  static EnvSpec Spec(const DecisionSpace& space) {
    EnvSpec spec{.name = "mapping", .horizon = 1};
    const auto add = [&](const Decision& decision, int64_t choices) {
      spec.agents.push_back({.name = decision.name(),
                             .observation_size = kObservation,
                             .action = {.kind = ActionKind::kChoice, .size = choices}});
    };
    for (const size_t i : space.open()) {
      const Decision& decision = space.decisions()[i];
      if (decision.kind() != DecisionKind::kPermutation) {
        add(decision, decision.size());
        continue;
      }
      for (int64_t left = std::ssize(decision.labels()); left > 1; --left) add(decision, left);
    }
    return spec;
  }

  Point Decode(std::span<const float> action) const override {
    Point point(space().size());
    size_t at = 0;
    for (const size_t i : space().open()) {
      const Decision& decision = space().decisions()[i];
      if (decision.kind() == DecisionKind::kPermutation) {
        point[i] = DecodeOrder(decision, action.subspan(at, decision.labels().size() - 1));
        at += decision.labels().size() - 1;
      } else {
        point[i] = static_cast<int32_t>(action[at++]);
      }
    }
    return point;
  }

  static int32_t DecodeOrder(const Decision& decision, std::span<const float> picks) {
    std::vector<uint8_t> left(decision.labels().size());
    std::iota(left.begin(), left.end(), uint8_t{0});
    Permutation order{.size = left.size()};
    for (size_t place = 0; place < order.size; ++place) {
      const size_t pick = place < picks.size() ? static_cast<size_t>(picks[place]) : 0;
      order.items[place] = left[pick];
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    return decision.IndexOfOrder(order);
  }
};

const ParameterList<PpoSearchOptions>& Parameters() {
  using O = PpoSearchOptions;
  static const ParameterList<O> kParameters = {
      {"lanes", &O::lanes, Range{1, 4096}, "points drawn with one policy"},
      {"steps", &O::steps, Range{1, 4096}, "rounds of lanes per update"},
      {"epochs", &O::epochs, Range{1, 100}, "passes over the samples of an update"},
      {"minibatches", &O::minibatches, Range{1, 64}, "parts of a pass"},
      {"hidden", &O::hidden, Range{1, 1024}, "width of the two hidden layers"},
      {"rate", &O::rate, Range{1e-7, 1}, "learning rate of policy and value"},
      {"entropy", &O::entropy, Range{0, 10}, "weight of the policy's entropy"},
      {"clip", &O::clip, Range{0.01, 1}, "largest change of a probability ratio"},
      {"deviation", &O::deviation, Range{0.01, 10}, "first deviation of a Gaussian policy"},
      {"penalty", &O::penalty, Range{0, 100}, "reward of an infeasible point, negated"},
      {"reward", &O::reward, Choices{"log", "inverse"}, "-log objective, or 1 / objective"}};
  return kParameters;
}

}  // namespace

MethodInfo PpoMethod() {
  return DeclareMethod<GaussianPpo, PpoSearchOptions>(
      {.name = "ppo",
       .summary = "single-agent PPO, a Gaussian over the normalised vector of decisions"},
      Parameters());
}

MethodInfo PpoDiscreteMethod() {
  return DeclareMethod<DiscretePpo, PpoSearchOptions>(
      {.name = "ppo-discrete",
       .summary = "single-agent PPO, one network with a categorical head per decision"},
      Parameters());
}

}  // namespace tessera
