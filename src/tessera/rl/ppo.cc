// PPO (Schulman et al., 2017): one policy sees all observations and acts for all agents.
#include "tessera/rl/on_policy.h"

namespace tessera {

extern const LearnerInfo kPpoLearner =
    DeclarePpo<UnitKind::kJoint>("one policy that sees everything and acts for all agents");

}  // namespace tessera
