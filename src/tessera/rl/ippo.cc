// IPPO: every agent learns by PPO on its own observation and reward.
#include "tessera/rl/on_policy.h"

namespace tessera {

extern const LearnerInfo kIppoLearner = DeclarePpo<UnitKind::kIndependent>(
    "a policy and a value function of its own observation for every agent");

}  // namespace tessera
