// Batches of mapping environments.
#include "tessera/env/mapping/mapping_env.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr int64_t kCosts = 4;  // latency, power, energy, area

std::array<double, kCosts> CostsOf(const Outcome& outcome) {
  return {outcome.cycles, outcome.power_mw, outcome.energy_pj, outcome.area_um2};
}

// log10(value / reference); 0 where a model has no such cost.
double Decades(double value, double reference) {
  return value > 0 && reference > 0 ? std::log10(value / reference) : 0;
}

EnvSpec SpecOf(const MappingSpace& space, const MappingEnvOptions& options) {
  EnvSpec spec{.name = "mapping", .horizon = options.horizon};
  const std::span<const size_t> open = space.open();
  if (options.agents == MappingAgents::kOne) {
    spec.agents.push_back(
        {.name = "mapper",
         .observation_size = kCosts,
         .action = {.kind = ActionKind::kBox, .size = static_cast<int64_t>(open.size())}});
    return spec;
  }
  for (const size_t decision : open) {
    spec.agents.push_back(
        {.name = space.decisions()[decision].name(),
         .observation_size = kCosts,
         .action = {.kind = ActionKind::kChoice, .size = space.decisions()[decision].size()}});
  }
  return spec;
}

class MappingEnv final : public Env {
 public:
  MappingEnv(std::shared_ptr<const MappingProblem> problem, const MappingEnvOptions& options,
             const Outcome& reference, int64_t batch, ThreadPool* pool)
      : problem_(std::move(problem)),
        options_(options),
        reference_(reference),
        batch_(batch),
        pool_(pool),
        spec_(SpecOf(problem_->space(), options)),
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
      const size_t agent = spec_.num_agents() == 1 ? 0 : static_cast<size_t>(i % width);
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("environment {}: the action of agent {} is not a number",
                                          i / width, spec_.agents[agent].name)};
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
  void Begin(int64_t e) {
    steps_[static_cast<size_t>(e)] = 0;
    ends_[static_cast<size_t>(e)] = EpisodeEnd::kNone;
    Show(e, {}, 0);
  }

  void Play(int64_t e, const float* actions, Problem::Workspace& workspace) {
    const MappingSpace& space = problem_->space();
    Point point(space.size());
    for (size_t i = 0; i < space.open().size(); ++i) {
      const int32_t size = space.decisions()[space.open()[i]].size();
      const double place = options_.agents == MappingAgents::kOne
                               ? std::floor((static_cast<double>(actions[i]) + 1) / 2 * size)
                               : std::round(static_cast<double>(actions[i]));
      point[space.open()[i]] = static_cast<int32_t>(std::clamp(place, 0.0, size - 1.0));
    }
    if (options_.repair) space.Repair(point);
    const Outcome outcome = problem_->Evaluate(point, workspace);
    std::array<double, kCosts> seen{};
    double reward = options_.penalty;
    if (outcome.feasible() && std::isfinite(outcome.value)) {
      const std::array<double, kCosts> costs = CostsOf(outcome), base = CostsOf(reference_);
      for (size_t i = 0; i < seen.size(); ++i) seen[i] = Decades(costs[i], base[i]);
      reward = options_.reward == MappingReward::kLog ? -Decades(outcome.value, reference_.value)
                                                      : reference_.value / outcome.value;
    }
    int64_t& steps = steps_[static_cast<size_t>(e)];
    ends_[static_cast<size_t>(e)] =
        ++steps >= options_.horizon ? EpisodeEnd::kTruncated : EpisodeEnd::kNone;
    Show(e, seen, reward);
  }

  // All agents see and get the same.
  void Show(int64_t e, const std::array<double, kCosts>& seen, double reward) {
    const int64_t agents = spec_.num_agents();
    for (int64_t a = 0; a < agents; ++a) {
      rewards_[static_cast<size_t>(e * agents + a)] = static_cast<float>(reward);
      for (int64_t i = 0; i < kCosts; ++i) {
        observations_[static_cast<size_t>((e * agents + a) * kCosts + i)] =
            static_cast<float>(seen[static_cast<size_t>(i)]);
      }
    }
  }

  const std::shared_ptr<const MappingProblem> problem_;
  const MappingEnvOptions options_;
  const Outcome reference_;
  const int64_t batch_;
  ThreadPool* const pool_;
  const EnvSpec spec_;
  std::vector<std::unique_ptr<Problem::Workspace>> workspaces_;
  std::vector<float> observations_, rewards_;
  std::vector<EpisodeEnd> ends_;
  std::vector<int64_t> steps_;
};

}  // namespace

Result<std::unique_ptr<Env>> MakeMappingEnv(std::shared_ptr<const MappingProblem> problem,
                                            const MappingEnvOptions& options, int64_t batch,
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
          std::make_unique<MappingEnv>(std::move(problem), options, outcome, batch, pool));
    }
    why = outcome.why;
  }
  return Error{.kind = ErrorKind::kInfeasible,
               .message = fmt::format("none of {} random mappings is feasible; the last one: {}",
                                      kTries, why)};
}

}  // namespace tessera
