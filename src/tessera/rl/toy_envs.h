// Small tasks with a known optimum, for tests of learners.
#ifndef TESSERA_RL_TOY_ENVS_H_
#define TESSERA_RL_TOY_ENVS_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/env.h"
#include "tessera/part.h"

namespace tessera {

// What the toys share: buffers, clocks, episodes of at most `horizon` steps.
class ToyEnv : public Env {
 public:
  ToyEnv(EnvSpec spec, int64_t batch)
      : spec_(std::move(spec)),
        batch_(batch),
        observations_(Size(spec_.observation_size())),
        rewards_(Size(spec_.num_agents())),
        ends_(Size(1)),
        clocks_(Size(1)),
        steps_(Size(1)) {}

  const EnvSpec& spec() const override { return spec_; }
  int64_t batch() const override { return batch_; }
  void Reset(uint64_t seed) override {
    seed_ = seed;
    std::fill(clocks_.begin(), clocks_.end(), 0);
    for (int64_t e = 0; e < batch_; ++e) Begin(e);
  }
  Result<void> Step(std::span<const float> actions) override {
    for (const float action : actions) {
      if (std::isnan(action)) return Error{.kind = ErrorKind::kBadValue, .message = "nan"};
    }
    for (int64_t e = 0; e < batch_; ++e) {
      const size_t at = static_cast<size_t>(e);
      ++clocks_[at];
      ++steps_[at];
      ends_[at] = Play(e, actions.data() + e * spec_.action_size());
      if (ends_[at] == EpisodeEnd::kNone && steps_[at] >= spec_.horizon) {
        ends_[at] = EpisodeEnd::kTruncated;
      }
      Show(e);
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
    writer.Add(prefix + "clocks", std::span(clocks_));
    writer.Add(prefix + "steps", std::span(steps_));
    writer.Add(prefix + "world", std::span(world_));
    writer.AddInt(prefix + "seed", static_cast<int64_t>(seed_));
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    if (Result<void> read = reader.Read(prefix + "clocks", std::span(clocks_)); !read) return read;
    if (Result<void> read = reader.Read(prefix + "steps", std::span(steps_)); !read) return read;
    if (Result<void> read = reader.Read(prefix + "world", std::span(world_)); !read) return read;
    const Result<int64_t> seed = reader.ReadInt(prefix + "seed");
    if (!seed) return seed.error();
    seed_ = static_cast<uint64_t>(*seed);
    std::fill(ends_.begin(), ends_.end(), EpisodeEnd::kNone);
    std::fill(rewards_.begin(), rewards_.end(), 0.0f);
    for (int64_t e = 0; e < batch_; ++e) Show(e);
    return {};
  }

 protected:
  // Moves the world of environment e, writes its rewards, and says whether it terminated.
  virtual EpisodeEnd Play(int64_t e, const float* actions) = 0;
  virtual void Draw(int64_t e, CounterRng& rng) = 0;  // a new world
  virtual void Show(int64_t e) = 0;                   // writes observations

  size_t Size(int64_t per_env) const { return static_cast<size_t>(batch_ * per_env); }
  CounterRng Rng(int64_t e) const {
    return CounterRng(seed_, StreamId("toy", static_cast<uint64_t>(e)),
                      static_cast<uint64_t>(clocks_[static_cast<size_t>(e)]));
  }
  void Begin(int64_t e) {
    const size_t at = static_cast<size_t>(e);
    steps_[at] = 0;
    ends_[at] = EpisodeEnd::kNone;
    CounterRng rng = Rng(e);
    Draw(e, rng);
    const int64_t agents = spec_.num_agents();
    std::fill_n(rewards_.begin() + e * agents, agents, 0.0f);
    Show(e);
  }

  const EnvSpec spec_;
  const int64_t batch_;
  uint64_t seed_ = 0;
  std::vector<float> observations_, rewards_, world_;
  std::vector<EpisodeEnd> ends_;
  std::vector<int64_t> clocks_, steps_;
};

// Every agent sees a number and should choose it; the team's reward is the share of agents that do
// (or the weight they put on it). The optimum is 1 per step.
class MatchEnv : public ToyEnv {
 public:
  MatchEnv(int64_t agents, int64_t choices, ActionKind kind, int64_t batch)
      : ToyEnv(MakeSpec(agents, choices, kind), batch), choices_(choices) {
    world_.resize(Size(agents));
    Reset(0);
  }

 protected:
  EpisodeEnd Play(int64_t e, const float* actions) override {
    const int64_t agents = spec_.num_agents();
    float reward = 0;
    for (int64_t a = 0; a < agents; ++a) {
      const float target = world_[static_cast<size_t>(e * agents + a)];
      const float* const action = actions + spec_.action_offset(a);
      const bool soft = spec_.agents[0].action.kind == ActionKind::kSoftChoice;
      reward += soft ? action[static_cast<size_t>(target)] : action[0] == target ? 1.0f : 0.0f;
    }
    for (int64_t a = 0; a < agents; ++a) {
      rewards_[static_cast<size_t>(e * agents + a)] = reward / static_cast<float>(agents);
    }
    CounterRng rng = Rng(e);
    Draw(e, rng);
    return EpisodeEnd::kNone;
  }
  void Draw(int64_t e, CounterRng& rng) override {
    for (int64_t a = 0; a < spec_.num_agents(); ++a) {
      world_[static_cast<size_t>(e * spec_.num_agents() + a)] =
          static_cast<float>(rng.UniformInt(choices_));
    }
  }
  void Show(int64_t e) override {
    for (int64_t a = 0; a < spec_.num_agents(); ++a) {
      for (int64_t c = 0; c < choices_; ++c) {
        const bool hot =
            world_[static_cast<size_t>(e * spec_.num_agents() + a)] == static_cast<float>(c);
        observations_[static_cast<size_t>((e * spec_.num_agents() + a) * choices_ + c)] = hot;
      }
    }
  }

 private:
  static EnvSpec MakeSpec(int64_t agents, int64_t choices, ActionKind kind) {
    EnvSpec spec;
    spec.name = "match";
    spec.horizon = 10;
    for (int64_t a = 0; a < agents; ++a) {
      spec.agents.push_back({"agent_" + std::to_string(a), choices, {kind, choices}});
    }
    return spec;
  }
  const int64_t choices_;
};

// One agent in a corridor of six cells, starting in the first; right is +1. The last cell ends the
// episode with a reward of 1, every other step costs 0.05: the optimum is 1 - 4 * 0.05 = 0.8.
class CorridorEnv final : public ToyEnv {
 public:
  explicit CorridorEnv(int64_t batch) : ToyEnv(MakeSpec(), batch) {
    world_.resize(Size(1));
    Reset(0);
  }

 protected:
  EpisodeEnd Play(int64_t e, const float* actions) override {
    float& cell = world_[static_cast<size_t>(e)];
    cell = std::clamp(cell + (actions[0] == 1.0f ? 1.0f : -1.0f), 0.0f, kLast);
    rewards_[static_cast<size_t>(e)] = cell == kLast ? 1.0f : -0.05f;
    return cell == kLast ? EpisodeEnd::kTerminated : EpisodeEnd::kNone;
  }
  void Draw(int64_t e, CounterRng& /*rng*/) override { world_[static_cast<size_t>(e)] = 0; }
  void Show(int64_t e) override {
    for (int64_t c = 0; c < 6; ++c) {
      observations_[static_cast<size_t>(e * 6 + c)] =
          world_[static_cast<size_t>(e)] == static_cast<float>(c);
    }
  }

 private:
  static constexpr float kLast = 5;
  static EnvSpec MakeSpec() {
    EnvSpec spec;
    spec.name = "corridor";
    spec.horizon = 30;
    spec.agents.push_back({"walker", 6, {ActionKind::kChoice, 2}});
    return spec;
  }
};

// One agent sees x in -1..1 and should answer with x/2 in both coordinates; the reward is minus the
// squared distance, at best 0.
class AimEnv final : public ToyEnv {
 public:
  explicit AimEnv(int64_t batch) : ToyEnv(MakeSpec(), batch) {
    world_.resize(Size(1));
    Reset(0);
  }

 protected:
  EpisodeEnd Play(int64_t e, const float* actions) override {
    const float target = world_[static_cast<size_t>(e)] / 2;
    rewards_[static_cast<size_t>(e)] = -(actions[0] - target) * (actions[0] - target) -
                                       (actions[1] - target) * (actions[1] - target);
    CounterRng rng = Rng(e);
    Draw(e, rng);
    return EpisodeEnd::kNone;
  }
  void Draw(int64_t e, CounterRng& rng) override {
    world_[static_cast<size_t>(e)] = static_cast<float>(2 * rng.Uniform() - 1);
  }
  void Show(int64_t e) override {
    observations_[static_cast<size_t>(e)] = world_[static_cast<size_t>(e)];
  }

 private:
  static EnvSpec MakeSpec() {
    EnvSpec spec;
    spec.name = "aim";
    spec.horizon = 10;
    spec.agents.push_back({"archer", 1, {ActionKind::kBox, 2}});
    return spec;
  }
};

}  // namespace tessera

#endif  // TESSERA_RL_TOY_ENVS_H_
