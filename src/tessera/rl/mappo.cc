// MAPPO (Yu et al., 2022): decentralised policies, value functions that see all observations.
#include "tessera/rl/on_policy.h"

namespace tessera {

extern const LearnerInfo kMappoLearner = {
    .name = "mappo",
    .summary = "a policy for every agent, value functions that see all observations",
    .parameters = [] { return Describe(PpoParameters()); },
    .presets =
        [] {
          return std::vector<Preset>{{"tessera", "the usual settings", {}}};
        },
    .make = [](const LearnerSetup& setup,
               const Assignments& assignments) -> Result<std::unique_ptr<Learner>> {
      const Result<PpoOptions> options =
          ReadOptions("algorithm mappo", PpoParameters(), assignments);
      if (!options) return options.error();
      return MakePpo(setup, *options, UnitKind::kCentral);
    }};

}  // namespace tessera
