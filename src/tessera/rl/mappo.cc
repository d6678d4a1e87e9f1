// MAPPO (Yu et al., 2022): decentralised policies, value functions that see all observations.
#include "tessera/rl/on_policy.h"

namespace tessera {

extern const LearnerInfo kMappoLearner = DeclarePpo<UnitKind::kCentral>(
    "a policy for every agent, value functions that see all observations");

}  // namespace tessera
