// Fill, warm up, measure.
#include "tessera/rl/profile_run.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/rng.h"

namespace tessera {
namespace {

// What a training loop does, with random actions while replay is filled.
class Player {
 public:
  Player(Env& env, Learner& learner, Profiler& profiler, uint64_t seed)
      : env_(env),
        learner_(learner),
        profiler_(profiler),
        seed_(seed),
        observations_(env.observations().size()),
        states_(env.states().size()),
        actions_(static_cast<size_t>(env.batch() * env.spec().action_size())) {
    env_.Reset(seed);
  }

  Result<void> Step(bool random) {
    std::copy(env_.observations().begin(), env_.observations().end(), observations_.begin());
    std::copy(env_.states().begin(), env_.states().end(), states_.begin());
    if (random) {
      DrawActions();
    } else {
      learner_.Act(env_.batch(), observations_, ActMode::kExplore, actions_);
    }
    {
      const PhaseScope scope(&profiler_, Phase::kEnvironment);
      if (Result<void> stepped = env_.Step(actions_); !stepped) return stepped;
    }
    if (Result<void> observed = learner_.Observe({.observations = observations_,
                                                  .states = states_,
                                                  .actions = actions_,
                                                  .rewards = env_.rewards(),
                                                  .next_observations = env_.observations(),
                                                  .next_states = env_.states(),
                                                  .ends = env_.ends()});
        !observed) {
      return observed;
    }
    const PhaseScope scope(&profiler_, Phase::kEnvironment);
    env_.ResetFinished();
    return {};
  }

 private:
  // Weights that sum to one, as soft choices do.
  void DrawActions() {
    CounterRng rng(seed_, StreamId("profile"), steps_++);
    size_t at = 0;
    for (int64_t e = 0; e < env_.batch(); ++e) {
      for (const AgentSpec& agent : env_.spec().agents) {
        float sum = 0;
        const size_t width = static_cast<size_t>(agent.action.width());
        for (size_t i = 0; i < width; ++i)
          sum += actions_[at + i] = 0.01f + 1e-9f * static_cast<float>(rng.Bits32());
        for (size_t i = 0; i < width; ++i) actions_[at + i] /= sum;
        at += width;
      }
    }
  }

  Env& env_;
  Learner& learner_;
  Profiler& profiler_;
  const uint64_t seed_;
  uint64_t steps_ = 0;
  std::vector<float> observations_, states_, actions_;
};

}  // namespace

Result<void> ProfileRun(Env& env, Learner& learner, Profiler& profiler,
                        const ProfileOptions& options) {
  Player player(env, learner, profiler, options.seed);
  for (int64_t filled = 0; filled < options.fill; filled += env.batch()) {
    if (Result<void> stepped = player.Step(/*random=*/true); !stepped) return stepped;
  }
  AllPhases fastest = {};
  for (int64_t round = -1; round < options.rounds; ++round) {
    profiler.Clear();
    for (int64_t step = 0; step < kProfileStepsPerRound; step += env.batch()) {
      if (Result<void> stepped = player.Step(/*random=*/false); !stepped) return stepped;
    }
    if (Result<UpdateReport> report = learner.Update(); !report) return report.error();
    for (size_t p = 0; p < kNumPhases; ++p) {
      const PhaseTotals& totals = profiler.all()[p];
      if (round <= 0 || totals.seconds < fastest[p].seconds) fastest[p] = totals;
    }
  }
  profiler.set_all(fastest);
  return {};
}

}  // namespace tessera
