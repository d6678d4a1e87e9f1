// IPPO: every agent learns by PPO on its own observation and reward.
#include "tessera/rl/on_policy.h"

namespace tessera {

extern const LearnerInfo kIppoLearner = {
    .name = "ippo",
    .summary = "a policy and a value function of its own observation for every agent",
    .parameters = [] { return Describe(PpoParameters()); },
    .presets =
        [] {
          return std::vector<Preset>{{"tessera", "the usual settings", {}}};
        },
    .make = [](const LearnerSetup& setup,
               const Assignments& assignments) -> Result<std::unique_ptr<Learner>> {
      const Result<PpoOptions> options =
          ReadOptions("algorithm ippo", PpoParameters(), assignments);
      if (!options) return options.error();
      return MakePpo(setup, *options, UnitKind::kIndependent);
    }};

}  // namespace tessera
