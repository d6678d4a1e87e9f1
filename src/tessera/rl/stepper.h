// One step of environments and learner, as every loop around them takes it: act, step, observe.
#ifndef TESSERA_RL_STEPPER_H_
#define TESSERA_RL_STEPPER_H_

#include <functional>
#include <span>
#include <vector>

#include "tessera/env.h"
#include "tessera/result.h"
#include "tessera/rl/profiler.h"

namespace tessera {

class Stepper {
 public:
  // All must outlive the stepper; the profiler may be null.
  Stepper(Env& env, Learner& learner, Profiler* profiler);

  // Steps every environment with the learner's actions, or with those that `act` writes, and tells
  // the learner. Rewards and episode ends can be read from the environment until ResetFinished.
  using ActFunction = std::function<void(std::span<float> actions)>;
  Result<void> Step(const ActFunction& act = nullptr);

  // Starts the next episode wherever one has ended.
  void ResetFinished();

 private:
  Env& env_;
  Learner& learner_;
  Profiler* const profiler_;
  std::vector<float> observations_, states_, actions_;
};

}  // namespace tessera

#endif  // TESSERA_RL_STEPPER_H_
