// Lanes of a learner as proposals.
#include "tessera/search/learner_searcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/result.h"
#include "tessera/search/log_cost.h"

namespace tessera {

void RunningScale::Add(double value) {
  ++count_;
  const double step = value - mean_;
  mean_ += step / count_;
  squares_ += step * (value - mean_);
}

double RunningScale::Standard(double value) const {
  const double deviation = count_ > 1 ? std::sqrt(squares_ / (count_ - 1)) : 0;
  return deviation > 1e-12 ? std::clamp((value - mean_) / deviation, -10.0, 10.0) : 0.0;
}

LearnerSearcher::LearnerSearcher(const SearchSetup& setup, const DecisionGroups& groups,
                                 ActionForm form, const LearnerSearchOptions& options,
                                 const MakeLearner& make)
    : options_(options), agents_(setup.space, groups, form, "mapping", /*horizon=*/1) {
  if (setup.space.open().empty()) return;
  const EnvSpec& spec = agents_.spec();
  observations_.resize(static_cast<size_t>(options.lanes * spec.observation_size()));
  actions_.resize(static_cast<size_t>(options.lanes * spec.action_size()));
  learner_ = make({.spec = &spec, .lanes = options.lanes, .seed = setup.seed});
}

std::vector<Point> LearnerSearcher::Propose(int64_t n) {
  const DecisionSpace& space = agents_.space();
  if (learner_ == nullptr) return {Point(space.size())};
  if (trials_.empty() && handed_ == 0) {
    learner_->Act(options_.lanes, observations_, ActMode::kExplore, actions_);
  }
  const int64_t count = std::min(n, options_.lanes - handed_);
  const auto width = static_cast<size_t>(agents_.spec().action_size());
  std::vector<Point> points;
  for (int64_t i = 0; i < count; ++i) {
    const auto lane = static_cast<size_t>(handed_ + i);
    Point point = agents_.Decode(std::span(actions_).subspan(lane * width, width));
    space.Repair(point);
    points.push_back(point);
  }
  handed_ += count;
  return points;
}

void LearnerSearcher::Observe(std::span<const Trial> trials) {
  if (learner_ == nullptr) return;
  trials_.insert(trials_.end(), trials.begin(), trials.end());
  if (std::ssize(trials_) < options_.lanes) return;
  Learn();
  trials_.clear();
  handed_ = 0;
}

void LearnerSearcher::Learn() {
  const size_t agents = agents_.spec().agents.size(), lanes = trials_.size();
  std::vector<float> rewards, next(observations_.size());
  for (const Trial& trial : trials_) {
    if (trial.outcome.feasible()) reward_.Add(RawReward(trial.outcome));
  }
  constexpr auto kWidth = static_cast<size_t>(kObservedCosts);
  for (size_t lane = 0; lane < lanes; ++lane) {
    const Outcome& outcome = trials_[lane].outcome;
    const double reward =
        outcome.feasible() ? reward_.Standard(RawReward(outcome)) : -options_.penalty;
    rewards.insert(rewards.end(), agents, static_cast<float>(reward));
    Show(outcome, std::span(next).subspan(lane * agents * kWidth, agents * kWidth));
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

double LearnerSearcher::RawReward(const Outcome& outcome) const {
  if (options_.log_reward) return -LogCost(outcome);
  return 1.0 / std::max(std::abs(outcome.value), 1e-30);
}

// The observation that all agents share: what the lane's last point cost, by logarithms.
void LearnerSearcher::Show(const Outcome& outcome, std::span<float> out) {
  const std::array<double, kObservedCosts> costs = ObservedCosts(outcome);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t which = i % costs.size();
    const double cost = std::log1p(std::max(0.0, costs[which]));
    if (outcome.feasible()) shown_[which].Add(cost);
    out[i] = static_cast<float>(outcome.feasible() ? shown_[which].Standard(cost) : 0.0);
  }
}

}  // namespace tessera
