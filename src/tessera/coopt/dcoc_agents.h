// The agents of DCOC: one for the hardware, one for scheduling (threads, order) and one for mapping
// (tiles). Walkers carry a joint state; at every step each agent may move one of its own knobs by
// one. Policies see their own knobs and the layer; critics see everything (MAPPO).
#ifndef TESSERA_COOPT_DCOC_AGENTS_H_
#define TESSERA_COOPT_DCOC_AGENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/coopt/joint_walk.h"
#include "tessera/coopt/simulator.h"
#include "tessera/rl/on_policy.h"

namespace tessera::coopt {

// How the knobs are divided and who sees what.
enum class DcocAgentsKind : uint8_t {
  kCentral,      // three agents, critics that see everything
  kOne,          // one agent for all knobs
  kIndependent,  // three agents, each with a critic of its own observation
};

struct DcocAgentsOptions {
  DcocAgentsKind kind = DcocAgentsKind::kCentral;  // Default: kCentral.
  int64_t walkers = 64;                            // Default: 64.
  int64_t steps = 16;  // per walk, after which the agents learn. Default: 16.
  uint64_t seed = 1;
};

class DcocAgents {
 public:
  // The problem outlives the agents.
  DcocAgents(const CooptProblem& problem, const DcocAgentsOptions& options);

  // How good a state is, from 0 to about 1; the reward of reaching it.
  using Score = std::function<double(const Request&)>;

  // Every walker goes its steps from its start; starts are repeated if they are fewer than walkers.
  // `visit` is told of every state. Moves to states without a program are not made and cost a
  // penalty. With `freeze_hardware` the hardware agent's choices have no effect.
  void Walk(std::span<const Request> starts, bool freeze_hardware, const Score& score,
            const std::function<void(const Request&)>& visit);

  // What the critics expect of states.
  std::vector<float> Values(std::span<const Request> states);

 private:
  const DcocAgentsOptions options_;
  const JointWalk walk_;
  EnvSpec spec_;
  std::unique_ptr<OnPolicyLearner> learner_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_DCOC_AGENTS_H_
