// The training loop: a learner plays in a batch of environments and improves.
#ifndef TESSERA_RL_TRAINER_H_
#define TESSERA_RL_TRAINER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tessera/env.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/rl/profiler.h"
#include "tessera/rl/stepper.h"

namespace tessera {

struct TrainerOptions {
  // Episodes that TrainProgress looks back on. Default: 1'000.
  int64_t window = 1'000;
};

// Contract:
//   Threads      used by one thread; pools of environment and learner work inside.
//   Determinism  what happens depends on environment, learner and their seeds alone.
//   Data         observations, states and actions are handed on as they lie; rewards and episode
//                ends are read, and so are in this process's memory.
//   Resume       Load of what Save wrote continues bit for bit.
class Trainer {
 public:
  // All must outlive the trainer; the profiler may be null.
  Trainer(Env& env, Learner& learner, Profiler* profiler, const TrainerOptions& options = {});
  virtual ~Trainer() = default;

  // Starts the environment's first episodes.
  void Start(uint64_t seed);

  // One step of every environment and the updates that fall due. A reward or an action that is not
  // finite is an error.
  Result<void> Step();

  // Steps until `episodes` have finished since Start, or `keep_going` returns false, which is asked
  // after every step.
  virtual Result<void> Run(int64_t episodes, const std::function<bool()>& keep_going);

  TrainProgress progress() const;
  // Team returns of the episodes of the window, oldest first.
  std::vector<double> WindowReturns() const;

  // Brings everything to where Save reads it; before every Save.
  virtual Result<void> PrepareSave() { return learner_.PrepareSave(); }
  // Environment, learner and the loop itself.
  void Save(TensorWriter& writer) const;
  virtual Result<void> Load(const TensorReader& reader);

 protected:
  // What a loop that steps elsewhere keeps up to date.
  struct State {
    std::span<double> running, returns;
    int64_t &episodes, &env_steps, &updates;
    UpdateReport& losses;
  };
  State state() { return {running_, returns_, episodes_, env_steps_, updates_, losses_}; }
  Result<void> CheckLosses() const;

 private:
  void CountRewards();

  Env& env_;
  Learner& learner_;
  Profiler* const profiler_;
  const TrainerOptions options_;
  Stepper stepper_;
  std::vector<double> running_;  // team return of each environment's episode so far
  std::vector<double> returns_;  // ring of the last window's team returns
  int64_t episodes_ = 0, env_steps_ = 0, updates_ = 0;
  UpdateReport losses_;
};

}  // namespace tessera

#endif  // TESSERA_RL_TRAINER_H_
