// PPO (Schulman et al., 2017): one policy sees all observations and acts for all agents.
#include "tessera/rl/on_policy.h"

namespace tessera {

extern const LearnerInfo kPpoLearner = {
    .name = "ppo",
    .summary = "one policy that sees everything and acts for all agents",
    .parameters = [] { return Describe(PpoParameters()); },
    .presets =
        [] {
          return std::vector<Preset>{{"tessera", "the usual settings", {}}};
        },
    .make = [](const LearnerSetup& setup,
               const Assignments& assignments) -> Result<std::unique_ptr<Learner>> {
      const Result<PpoOptions> options = ReadOptions("algorithm ppo", PpoParameters(), assignments);
      if (!options) return options.error();
      return MakePpo(setup, *options, UnitKind::kJoint);
    }};

}  // namespace tessera
