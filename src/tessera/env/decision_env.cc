// Batches of environments that price points.
#include "tessera/env/decision_env.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

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
        steps_(static_cast<size_t>(batch)) {
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
  }

  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    if (Result<void> read = reader.Read(prefix + "steps", std::span(steps_)); !read) return read;
    std::fill(ends_.begin(), ends_.end(), EpisodeEnd::kNone);
    std::fill(rewards_.begin(), rewards_.end(), 0.0f);
    return reader.Read(prefix + "observations", std::span(observations_));
  }

 private:
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
    int64_t& steps = steps_[static_cast<size_t>(e)];
    ends_[static_cast<size_t>(e)] =
        ++steps >= options_.horizon ? EpisodeEnd::kTruncated : EpisodeEnd::kNone;
    Show(e, seen, reward);
  }

  // All agents see and get the same.
  void Show(int64_t e, const std::array<double, kObservedCosts>& seen, double reward) {
    const int64_t agents = spec_.num_agents();
    for (int64_t a = 0; a < agents; ++a) {
      rewards_[static_cast<size_t>(e * agents + a)] = static_cast<float>(reward);
      for (int64_t i = 0; i < kObservedCosts; ++i) {
        observations_[static_cast<size_t>((e * agents + a) * kObservedCosts + i)] =
            static_cast<float>(seen[static_cast<size_t>(i)]);
      }
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
};

}  // namespace

Result<std::unique_ptr<Env>> MakeDecisionEnv(std::shared_ptr<const Problem> problem,
                                             const DecisionEnvOptions& options, int64_t batch,
                                             ThreadPool* pool) {
  if (problem->space().open().empty()) {
    return Error{.kind = ErrorKind::kBadValue, .message = "the space has nothing to decide"};
  }
  constexpr uint64_t kTries = 10'000;
  const auto workspace = problem->MakeWorkspace();
  std::string why;
  for (uint64_t step = 0; step < kTries; ++step) {
    CounterRng rng(1, StreamId("env.mapping.reference"), step);
    Outcome outcome = problem->Evaluate(problem->space().Sample(rng, 64), *workspace);
    if (outcome.feasible() && std::isfinite(outcome.value) && outcome.value > 0) {
      return std::unique_ptr<Env>(
          std::make_unique<DecisionEnv>(std::move(problem), options, outcome, batch, pool));
    }
    why = outcome.why;
  }
  return Error{.kind = ErrorKind::kInfeasible,
               .message = fmt::format("none of {} random points is feasible; the last one: {}",
                                      kTries, why)};
}

}  // namespace tessera
