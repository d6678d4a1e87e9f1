// The mapping environment by name, with the choices of `tessera map` as its parameters.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/env.h"
#include "tessera/env/decision_env.h"
#include "tessera/network.h"
#include "tessera/space.h"

namespace tessera {
namespace {

struct Options {
  std::string network = "resnet18-gamma";
  std::string layer = "2";
  std::string accelerator = "maestro-256";
  std::string objective = "latency";
  std::string reward = "inverse";
  std::string agents = "each";
  double penalty = -1;
  bool repair = true;
  int64_t horizon = 100;
};

ParameterList<Options> Parameters() {
  return {{"network", &Options::network, Choices{}, "zoo network or file"},
          {"layer", &Options::layer, Choices{}, "a layer of it, by name or number"},
          {"accelerator", &Options::accelerator, Choices{},
           "preset or file; its model is loopnest if it has a hierarchy, otherwise maestro"},
          {"objective", &Options::objective,
           Choices(kObjectiveNames.begin(), kObjectiveNames.end()), "what is to be small"},
          {"reward", &Options::reward, Choices{"inverse", "log"},
           "reference / objective, or its logarithm"},
          {"agents", &Options::agents, Choices{"each", "one"},
           "an agent per decision with a choice, or one with a vector"},
          {"penalty", &Options::penalty, Range{-1e6, 1e6}, "reward of refused mappings"},
          {"repair", &Options::repair, "whether illegal combinations are repaired"},
          {"horizon", &Options::horizon, Range{1, 1e9}, "steps of an episode"}};
}

Result<std::unique_ptr<Env>> Make(const Assignments& assignments, int64_t batch, ThreadPool* pool) {
  const Result<Options> options = ReadOptions("environment mapping", Parameters(), assignments);
  if (!options) return options.error();
  const Result<Network> network = LoadNetwork(options->network);
  if (!network) return network.error();
  const Result<const NetworkLayer*> layer = FindLayer(*network, options->layer);
  if (!layer) return layer.error();
  const Result<Accelerator> accelerator = LoadAccelerator(options->accelerator);
  if (!accelerator) return accelerator.error();
  const Result<Objective> objective = FindObjective(options->objective);
  if (!objective) return objective.error();
  const Result<CostModelChoice> model = CostModelChoice::Make(DefaultCostModel(*accelerator));
  if (!model) return model.error();
  Result<std::unique_ptr<MappingProblem>> problem =
      MappingProblem::Make((*layer)->layer, *accelerator, *model, {.objective = *objective});
  if (!problem) return problem.error();
  // One agent decides by a vector.
  const bool one = options->agents == "one";
  const DecisionGroups agents = one ? OneAgent((*problem)->space()) : DecisionGroups{};
  return MakeDecisionEnv(
      *std::move(problem),
      {.reward = options->reward == "log" ? CostReward::kLog : CostReward::kInverse,
       .agents = agents,
       .form = one ? ActionForm::kVector : ActionForm::kChoice,
       .penalty = options->penalty,
       .repair = options->repair,
       .horizon = options->horizon},
      batch, pool);
}

}  // namespace

extern const EnvInfo kMappingEnv = {
    .name = "mapping",
    .summary = "mapping a layer: an action is a mapping, the reward is high where it costs little",
    .parameters = [] { return Describe(Parameters()); },
    .make = Make};

}  // namespace tessera
