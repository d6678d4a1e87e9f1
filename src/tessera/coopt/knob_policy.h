// One policy that moves all knobs of a group by -1, 0 or +1 at a time, trained with PPO: what
// CHAMELEON explores with, and the single-agent baseline.
#ifndef TESSERA_COOPT_KNOB_POLICY_H_
#define TESSERA_COOPT_KNOB_POLICY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/coopt/group.h"
#include "tessera/rl/on_policy.h"

namespace tessera::coopt {

// The walkers step together. Used in turns: Move, then Reward.
class KnobPolicy {
 public:
  // The group outlives the policy.
  KnobPolicy(const Group& group, int64_t walkers, const PpoOptions& options, uint64_t seed);

  const Configuration& at(int64_t walker) const { return walkers_[static_cast<size_t>(walker)]; }
  void Restart(int64_t walker, Configuration configuration);

  // Every walker takes a step; `settled` tells of each whether at least three quarters of its knobs
  // stayed or wanted to leave their range.
  void Move(CounterRng& rng, std::vector<bool>& settled);

  // Tells what the step was worth and which walkers end here; learns when enough has come together.
  void Reward(const std::vector<float>& rewards, const std::vector<bool>& ends);

 private:
  void Observe(std::vector<float>& observations) const;

  const Group& group_;
  EnvSpec spec_;
  std::unique_ptr<Learner> learner_;
  std::vector<Configuration> walkers_;
  std::vector<float> before_, after_, actions_, rewards_;
  std::vector<EpisodeEnd> ends_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_KNOB_POLICY_H_
