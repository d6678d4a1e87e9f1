// Batches of environments that price points.
#include "tessera/env/decision_env.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/env/found_mapping.h"

namespace tessera {
namespace {

// log10(value / reference); 0 where a model has no such cost.
double Decades(double value, double reference) {
  return value > 0 && reference > 0 ? std::log10(value / reference) : 0;
}

DecisionGroups GroupsOf(const DecisionSpace& space, const DecisionEnvOptions& options) {
  return options.agents.empty() ? AgentForEach(space) : options.agents;
}

class DecisionEnv final : public Env {
 public:
  DecisionEnv(std::shared_ptr<const Problem> problem, const DecisionEnvOptions& options,
              const Outcome& reference, int64_t batch, ThreadPool* pool)
      : problem_(std::move(problem)),
        options_(options),
        reference_(reference),
        batch_(batch),
        pool_(pool),
        agents_(problem_->space(), GroupsOf(problem_->space(), options), options.form, options.name,
                options.horizon),
        spec_(agents_.spec()),
        observations_(static_cast<size_t>(batch * spec_.observation_size())),
        rewards_(static_cast<size_t>(batch * spec_.num_agents())),
        ends_(static_cast<size_t>(batch)),
        steps_(static_cast<size_t>(batch)),
        played_(static_cast<size_t>(batch)),
        best_step_(static_cast<size_t>(batch)),
        best_point_(static_cast<size_t>(batch) * problem_->space().size()),
        best_value_(static_cast<size_t>(batch), std::numeric_limits<double>::infinity()) {
    const int threads = pool == nullptr ? 1 : pool->threads();
    for (int i = 0; i < threads; ++i) workspaces_.push_back(problem_->MakeWorkspace());
    Reset(0);
  }

  const EnvSpec& spec() const override { return spec_; }
  int64_t batch() const override { return batch_; }

  // Nothing here is random: every episode starts with zeros.
  void Reset(uint64_t /*seed*/) override {
    for (int64_t e = 0; e < batch_; ++e) Begin(e);
  }

  Result<void> Step(std::span<const float> actions) override {
    const int64_t width = spec_.action_size();
    for (int64_t i = 0; i < batch_ * width; ++i) {
      if (!std::isnan(actions[static_cast<size_t>(i)])) continue;
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("environment {}: the action of agent {} is not a number",
                                          i / width, AgentAt(i % width).name)};
    }
    const auto play = [&](int64_t begin, int64_t end, int worker) {
      for (int64_t e = begin; e < end; ++e) {
        Play(e, actions.data() + e * width, *workspaces_[static_cast<size_t>(worker)]);
      }
    };
    constexpr int64_t kChunk = 4;
    if (pool_ == nullptr) {
      play(0, batch_, 0);
    } else {
      pool_->ParallelFor(batch_, kChunk, play);
    }
    return {};
  }

  void ResetFinished() override {
    for (int64_t e = 0; e < batch_; ++e) {
      if (ends_[static_cast<size_t>(e)] != EpisodeEnd::kNone) Begin(e);
    }
  }

  std::span<const float> observations() const override { return observations_; }
  std::span<const float> states() const override { return {}; }
  std::span<const float> rewards() const override { return rewards_; }
  std::span<const EpisodeEnd> ends() const override { return ends_; }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    writer.Add(prefix + "steps", std::span(steps_));
    writer.Add(prefix + "observations", std::span(observations_));
    writer.Add(prefix + "played", std::span(played_));
    writer.Add(prefix + "best_step", std::span(best_step_));
    writer.Add(prefix + "best_point", std::span(best_point_));
  }

  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    if (Result<void> read =
            reader.ReadWithin(prefix + "steps", std::span(steps_), int64_t{0}, options_.horizon);
        !read) {
      return read;
    }
    std::fill(ends_.begin(), ends_.end(), EpisodeEnd::kNone);
    std::fill(rewards_.begin(), rewards_.end(), 0.0f);
    if (Result<void> read = reader.Read(prefix + "observations", std::span(observations_)); !read) {
      return read;
    }
    for (const auto& [name, steps] : {std::pair("played", &played_), {"best_step", &best_step_}}) {
      Result<void> read = reader.ReadWithin(prefix + name, std::span(*steps), int64_t{0},
                                            TensorReader::kMostCounted);
      if (!read) return read;
    }
    return LoadBest(prefix + "best_point", reader);
  }

  std::shared_ptr<const FoundMapping> Found() const override {
    const auto best = std::min_element(best_value_.begin(), best_value_.end());
    if (!options_.describe || !std::isfinite(*best)) return nullptr;
    const auto e = static_cast<size_t>(best - best_value_.begin());
    const Trial trial = {BestPoint(e), problem_->Evaluate(BestPoint(e), *workspaces_.front())};
    return options_.describe(trial, best_step_[e]);
  }

 private:
  Point BestPoint(size_t e) const {
    Point point(problem_->space().size());
    for (size_t i = 0; i < point.size(); ++i) {
      point[i] = static_cast<int32_t>(best_point_[e * point.size() + i]);
    }
    return point;
  }

  // What the points are worth follows from them.
  Result<void> LoadBest(const std::string& name, const TensorReader& reader) {
    if (Result<void> read = reader.Read(name, std::span(best_point_)); !read) return read;
    const std::span<const Decision> decisions = problem_->space().decisions();
    for (size_t i = 0; i < best_point_.size(); ++i) {
      const int64_t value = best_point_[i];
      if (value >= 0 && value < decisions[i % decisions.size()].size()) continue;
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("array '{}' has the value {} of {}", name, value,
                                          decisions[i % decisions.size()].size()),
                   .hint = "the file is damaged, or belongs to other settings"};
    }
    for (size_t e = 0; e < best_value_.size(); ++e) {
      best_value_[e] = std::numeric_limits<double>::infinity();
      if (best_step_[e] == 0) continue;
      const Point point = BestPoint(e);
      const bool legal = problem_->space().Check(point).ok();
      const Outcome outcome = legal ? problem_->Evaluate(point, *workspaces_.front()) : Outcome{};
      if (legal && outcome.feasible()) best_value_[e] = outcome.value;
    }
    return {};
  }

  // The agent that a number of a row of actions belongs to.
  const AgentSpec& AgentAt(int64_t number) const {
    size_t agent = 0;
    for (; number >= spec_.agents[agent].action.width(); ++agent) {
      number -= spec_.agents[agent].action.width();
    }
    return spec_.agents[agent];
  }

  void Begin(int64_t e) {
    steps_[static_cast<size_t>(e)] = 0;
    ends_[static_cast<size_t>(e)] = EpisodeEnd::kNone;
    Show(e, {}, 0);
  }

  void Play(int64_t e, const float* actions, Problem::Workspace& workspace) {
    const auto width = static_cast<size_t>(spec_.action_size());
    Point point = agents_.Decode({actions, width});
    if (options_.repair) problem_->space().Repair(point);
    const Outcome outcome = problem_->Evaluate(point, workspace);
    std::array<double, kObservedCosts> seen{};
    double reward = options_.penalty;
    if (outcome.feasible() && std::isfinite(outcome.value)) {
      const std::array<double, kObservedCosts> costs = ObservedCosts(outcome),
                                               base = ObservedCosts(reference_);
      for (size_t i = 0; i < seen.size(); ++i) seen[i] = Decades(costs[i], base[i]);
      reward = options_.reward == CostReward::kLog ? -Decades(outcome.value, reference_.value)
                                                   : reference_.value / outcome.value;
    }
    const auto own = static_cast<size_t>(e);
    ++played_[own];
    if (outcome.feasible() && outcome.value < best_value_[own]) {
      best_value_[own] = outcome.value;
      best_step_[own] = played_[own];
      std::ranges::copy(point.indices(), best_point_.begin() + e * std::ssize(point.indices()));
    }
    int64_t& steps = steps_[static_cast<size_t>(e)];
    ends_[static_cast<size_t>(e)] =
        ++steps >= options_.horizon ? EpisodeEnd::kTruncated : EpisodeEnd::kNone;
    Show(e, seen, reward);
  }

  // All agents see and get the same.
  void Show(int64_t e, const std::array<double, kObservedCosts>& seen, double reward) {
    const int64_t agents = spec_.num_agents();
    std::fill_n(rewards_.begin() + e * agents, agents, static_cast<float>(reward));
    auto out = observations_.begin() + e * spec_.observation_size();
    for (const AgentSpec& agent : spec_.agents) {
      out = std::transform(seen.begin(), seen.begin() + agent.observation_size, out,
                           [](double cost) { return static_cast<float>(cost); });
    }
  }

  const std::shared_ptr<const Problem> problem_;
  const DecisionEnvOptions options_;
  const Outcome reference_;
  const int64_t batch_;
  ThreadPool* const pool_;
  const DecisionAgents agents_;
  const EnvSpec& spec_;
  std::vector<std::unique_ptr<Problem::Workspace>> workspaces_;
  std::vector<float> observations_, rewards_;
  std::vector<EpisodeEnd> ends_;
  std::vector<int64_t> steps_;
  // Per environment: steps in all, and the first of the best points, the step at which it came.
  std::vector<int64_t> played_, best_step_;
  std::vector<int64_t> best_point_;
  std::vector<double> best_value_;
};

}  // namespace

Result<Outcome> FindReference(const Problem& problem, int64_t tries) {
  const auto workspace = problem.MakeWorkspace();
  std::string why;
  for (int64_t step = 0; step < tries; ++step) {
    CounterRng rng(1, StreamId("env.mapping.reference"), static_cast<uint64_t>(step));
    Outcome outcome = problem.Evaluate(problem.space().Sample(rng, 64), *workspace);
    if (outcome.feasible() && std::isfinite(outcome.value) && outcome.value > 0) return outcome;
    why = outcome.why;
    if (outcome.kind == OutcomeKind::kFailed) {
      return Error{.kind = ErrorKind::kIo, .message = "an evaluation failed: " + why};
    }
  }
  return Error{
      .kind = ErrorKind::kInfeasible,
      .message = fmt::format("none of {} random points is feasible; the last one: {}", tries, why)};
}

Result<std::unique_ptr<Env>> MakeDecisionEnv(std::shared_ptr<const Problem> problem,
                                             const DecisionEnvOptions& options, int64_t batch,
                                             ThreadPool* pool) {
  if (problem->space().open().empty()) {
    return Error{.kind = ErrorKind::kBadValue, .message = "the space has nothing to decide"};
  }
  Result<Outcome> reference = FindReference(*problem);
  if (!reference) return reference.error();
  return std::unique_ptr<Env>(
      std::make_unique<DecisionEnv>(std::move(problem), options, *reference, batch, pool));
}

}  // namespace tessera
