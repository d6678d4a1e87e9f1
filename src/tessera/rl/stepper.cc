// The environment overwrites what it shows, so both sides of a step are kept.
#include "tessera/rl/stepper.h"
#include "tessera/rl/profiler.h"

#include <algorithm>

namespace tessera {

Stepper::Stepper(Env& env, Learner& learner, Profiler* profiler)
    : env_(env),
      learner_(learner),
      profiler_(profiler),
      observations_(env.observations().size()),
      states_(env.states().size()),
      actions_(static_cast<size_t>(env.batch() * env.spec().action_size())) {}

Result<void> Stepper::Step(const ActFunction& act) {
  {
    const PhaseScope scope(profiler_, Phase::kOther);
    std::copy(env_.observations().begin(), env_.observations().end(), observations_.begin());
    std::copy(env_.states().begin(), env_.states().end(), states_.begin());
  }
  if (act != nullptr) {
    act(actions_);
  } else {
    learner_.Act(env_.batch(), observations_, ActMode::kExplore, actions_);
  }
  {
    const PhaseScope scope(profiler_, Phase::kEnvironment);
    if (Result<void> stepped = env_.Step(actions_); !stepped) return stepped;
  }
  return learner_.Observe({.observations = observations_,
                           .states = states_,
                           .actions = actions_,
                           .rewards = env_.rewards(),
                           .next_observations = env_.observations(),
                           .next_states = env_.states(),
                           .ends = env_.ends()});
}

void Stepper::ResetFinished() {
  const PhaseScope scope(profiler_, Phase::kEnvironment);
  env_.ResetFinished();
}

}  // namespace tessera
