// Lanes of a learner as points.
#include "tessera/search/learner_lanes.h"

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

void CostScale::Add(std::span<const Trial> trials) {
  bool any = false;
  for (const Trial& trial : trials) {
    const Outcome& outcome = trial.outcome;
    if (!outcome.feasible()) {
      if (outcome.excess > 0) excess_.Add(std::log1p(outcome.excess));
      continue;
    }
    const double cost = LogCost(outcome);
    if (!first_) first_ = cost;
    best_ = std::min(best_.value_or(cost), cost);
    const std::array<double, kObservedCosts> costs = ObservedCosts(outcome);
    for (size_t i = 0; i < costs.size(); ++i) shown_[i].Add(std::log1p(std::max(0.0, costs[i])));
  }
  for (const Trial& trial : trials) {
    if (!trial.outcome.feasible()) continue;
    const double reward = Feasible(trial.outcome);
    worst_ = any ? std::min(worst_, reward) : reward;
    any = true;
  }
}

double CostScale::Reward(const Outcome& outcome) const {
  if (outcome.feasible()) return Feasible(outcome);
  if (!first_ && outcome.excess > 0) return -excess_.Standard(std::log1p(outcome.excess));
  return log_reward_ ? worst_ - penalty_ : -penalty_;
}

double CostScale::Feasible(const Outcome& outcome) const {
  const double cost = LogCost(outcome);
  return log_reward_ ? *first_ - cost : std::exp(*best_ - cost);
}

std::array<float, kObservedCosts> CostScale::Observation(const Outcome& outcome) const {
  std::array<float, kObservedCosts> seen{};
  if (!outcome.feasible()) return seen;
  const std::array<double, kObservedCosts> costs = ObservedCosts(outcome);
  for (size_t i = 0; i < costs.size(); ++i) {
    seen[i] = static_cast<float>(shown_[i].Standard(std::log1p(std::max(0.0, costs[i]))));
  }
  return seen;
}

LearnerLanes::LearnerLanes(const DecisionSpace& space, const DecisionGroups& groups,
                           ActionForm form, int64_t lanes, uint64_t seed, const PpoOptions& options,
                           UnitKind kind)
    : agents_(space, groups, form, "mapping", /*horizon=*/1), lanes_(lanes) {
  const EnvSpec& spec = agents_.spec();
  observations_.resize(static_cast<size_t>(lanes * spec.observation_size()));
  actions_.resize(static_cast<size_t>(lanes * spec.action_size()));
  learner_ = MakeOnPolicy({.spec = &spec, .lanes = lanes, .seed = seed}, options, kind);
}

void LearnerLanes::Prefer(std::span<const Point> points, std::span<const double> weights,
                          std::span<const double> unsure) {
  const std::vector<AgentSpec>& agents = agents_.spec().agents;
  std::vector<double> unsure_of;  // each choice
  std::vector<std::vector<double>> chances;
  size_t groups = 0;
  for (const AgentSpec& agent : agents) {
    if (!agent.with_previous) ++groups;
    const auto size = static_cast<size_t>(agent.action.size);
    unsure_of.push_back(unsure[groups - 1]);
    chances.emplace_back(size, unsure_of.back() / static_cast<double>(size));
  }
  TESSERA_CHECK(groups == unsure.size());
  double total = 0;
  for (const double weight : weights) total += weight;
  for (size_t i = 0; i < points.size(); ++i) {
    const std::vector<float> actions = agents_.Encode(points[i]);
    for (size_t a = 0; a < agents.size(); ++a) {
      chances[a][static_cast<size_t>(actions[a])] += (1 - unsure_of[a]) * weights[i] / total;
    }
  }
  for (size_t a = 0; a < agents.size(); ++a) {
    std::vector<float> logarithms;
    for (const double chance : chances[a]) {
      logarithms.push_back(static_cast<float>(std::log(chance)));
    }
    learner_->Prefer(static_cast<int64_t>(a), logarithms);
  }
}

void LearnerLanes::Smooth(double part) {
  for (int64_t agent = 0; agent < choices(); ++agent) {
    if (agents_.ordered()[static_cast<size_t>(agent)]) learner_->Smooth(agent, part);
  }
}

void LearnerLanes::Imitate(std::span<const Elites::Entry> elites, double weight) {
  std::vector<float> rows;
  for (const Elites::Entry& elite : elites) {
    const std::vector<float> actions = agents_.Encode(elite.point);
    rows.insert(rows.end(), actions.begin(), actions.end());
  }
  learner_->Imitate(rows, weight);
}

std::vector<Point> LearnerLanes::Draw() {
  learner_->Act(lanes_, observations_, ActMode::kExplore, actions_);
  const auto width = static_cast<size_t>(agents_.spec().action_size());
  std::vector<Point> points;
  for (size_t lane = 0; lane < static_cast<size_t>(lanes_); ++lane) {
    points.push_back(agents_.Decode(std::span(actions_).subspan(lane * width, width)));
    agents_.space().Repair(points.back());
  }
  return points;
}

void LearnerLanes::Learn(std::span<const Trial> trials, const CostScale& scale) {
  const size_t agents = agents_.spec().agents.size();
  std::vector<float> rewards, next;
  for (const Trial& trial : trials) {
    rewards.insert(rewards.end(), agents, static_cast<float>(scale.Reward(trial.outcome)));
    const std::array<float, kObservedCosts> seen = scale.Observation(trial.outcome);
    for (const AgentSpec& agent : agents_.spec().agents) {
      next.insert(next.end(), seen.begin(), seen.begin() + agent.observation_size);
    }
  }
  const std::vector<EpisodeEnd> ends(trials.size(), EpisodeEnd::kTerminated);
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

void Round::Begin(std::vector<Point> points) {
  points_ = std::move(points);
  trials_.clear();
}

std::vector<Point> Round::Take(int64_t n) {
  const auto first = points_.begin() + std::ssize(trials_);
  return {first, first + std::min(n, points_.end() - first)};
}

bool Round::Add(std::span<const Trial> trials) {
  trials_.insert(trials_.end(), trials.begin(), trials.end());
  return done();
}

}  // namespace tessera
