// The agents of DCOC: one for the hardware, one for scheduling (threads, order) and one for mapping
// (tiles). Walkers carry a joint state; at every step each agent may move one of its own knobs by
// one. Policies see their own knobs and the layer; the critic, one for all, sees everything.
#ifndef TESSERA_COOPT_DCOC_AGENTS_H_
#define TESSERA_COOPT_DCOC_AGENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/coopt/joint_walk.h"
#include "tessera/coopt/simulator.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/rl/on_policy.h"

namespace tessera::coopt {

// How the knobs are divided and who sees what.
enum class DcocAgentsKind : uint8_t {
  kCentral,      // three agents, one critic for all that sees everything
  kOne,          // one agent for all knobs
  kIndependent,  // three agents, each with a critic of its own observation
};

struct DcocAgentsOptions {
  DcocAgentsKind kind = DcocAgentsKind::kCentral;  // Default: kCentral.
  int64_t walkers = 64;                            // Default: 64.
  int64_t steps = 16;          // per walk, after which the agents learn. Default: 16.
  bool local_rewards = false;  // Default: false, all get the same.
  bool learn = true;           // Default: true. Otherwise they act by what they know.
  uint64_t seed = 1;
};

class DcocAgents {
 public:
  // The problem outlives the agents.
  DcocAgents(const CooptProblem& problem, const DcocAgentsOptions& options);

  // How good a state is: the hardware and the schedule, each from 0 to about 1.
  struct Worth {
    double hardware = 1;
    double schedule = 0;
  };
  using Score = std::function<Worth(const Request&)>;

  // Every walker goes its steps from its start; starts are repeated if they are fewer than walkers.
  // `visit` is told of every state. Moves to states without a program are not made and cost a
  // penalty. With `freeze_hardware` the hardware agent does not act. Agents learn from steps in
  // which they acted with an effect. The reward of reaching a state is the product of its worth for
  // all, or with local rewards each agent's own part.
  void Walk(std::span<const Request> starts, bool freeze_hardware, const Score& score,
            const std::function<void(const Request&)>& visit);

  // The networks of the agents and of their critic, for teams of the same kind on other networks.
  void Save(TensorWriter& writer) const;
  Result<void> Load(const TensorReader& reader);

  // What the critics expect of states.
  std::vector<float> Values(std::span<const Request> states);

 private:
  void Reward(const Worth& worth, bool moved, float* rewards) const;

  const DcocAgentsOptions options_;
  const JointWalk walk_;
  EnvSpec spec_;
  std::unique_ptr<OnPolicyLearner> learner_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_DCOC_AGENTS_H_
