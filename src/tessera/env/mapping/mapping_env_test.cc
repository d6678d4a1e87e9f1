// The mapping environment: rewards and observations are what the cost model says.
#include "tessera/env/mapping/mapping_env.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tessera/arch/format.h"
#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/env/registry.h"

namespace tessera {
namespace {

std::shared_ptr<const MappingProblem> Problem(Objective objective) {
  Layer layer;
  layer.k = 16, layer.c = 8, layer.y = layer.x = 14, layer.r = layer.s = 3;
  auto problem = MappingProblem::Make(layer, *LoadAccelerator("maestro-256"),
                                      *ChooseCostModel("maestro"), {.objective = objective});
  EXPECT_TRUE(problem) << problem.error();
  return *std::move(problem);
}

std::vector<float> RandomChoices(const EnvSpec& spec, uint64_t step) {
  CounterRng rng(3, 4, step);
  std::vector<float> actions;
  for (const AgentSpec& agent : spec.agents) {
    actions.push_back(static_cast<float>(rng.UniformInt(agent.action.size)));
  }
  return actions;
}

TEST(MappingEnv, RewardsAreTheModels) {
  const auto problem = Problem(Objective::kEdp);
  const auto inverse = MakeMappingEnv(problem, {}, 1, nullptr);
  const auto log = MakeMappingEnv(problem, {.reward = MappingReward::kLog}, 1, nullptr);
  ASSERT_TRUE(inverse && log);
  const MappingSpace& space = problem->space();
  ASSERT_EQ((*inverse)->spec().num_agents(), std::ssize(space.open()));
  int feasible = 0;
  double reference = 0;
  for (uint64_t step = 0; step < 200; ++step) {
    const std::vector<float> actions = RandomChoices((*inverse)->spec(), step);
    ASSERT_TRUE((*inverse)->Step(actions) && (*log)->Step(actions));
    Point point(space.size());
    for (size_t i = 0; i < actions.size(); ++i) {
      point[space.open()[i]] = static_cast<int32_t>(actions[i]);
    }
    space.Repair(point);
    const Outcome outcome = problem->Evaluate(point);
    const float reward = (*inverse)->rewards()[0];
    if (!outcome.feasible()) {
      EXPECT_EQ(reward, -1.0f);
      EXPECT_EQ((*inverse)->observations()[0], 0.0f);
      continue;
    }
    // reward * objective is the reference, whatever the mapping.
    const double found = static_cast<double>(reward) * outcome.value;
    if (feasible++ == 0) reference = found;
    EXPECT_NEAR(found / reference, 1, 1e-5);
    EXPECT_NEAR((*log)->rewards()[0], std::log10(reward), 1e-4);
    const std::span<const float> seen = (*inverse)->observations();
    EXPECT_NEAR(seen[0] + seen[2], -std::log10(reward), 1e-4) << "latency times energy is EDP";
  }
  EXPECT_GT(feasible, 10);
}

TEST(MappingEnv, OneAgentDecidesByAVector) {
  const auto problem = Problem(Objective::kLatency);
  const auto each = MakeMappingEnv(problem, {}, 1, nullptr);
  const auto one = MakeMappingEnv(problem, {.agents = MappingAgents::kOne}, 1, nullptr);
  ASSERT_TRUE(each && one);
  ASSERT_EQ((*one)->spec().num_agents(), 1);
  const EnvSpec& spec = (*each)->spec();
  for (uint64_t step = 0; step < 50; ++step) {
    const std::vector<float> choices = RandomChoices(spec, step);
    std::vector<float> vector;
    for (size_t i = 0; i < choices.size(); ++i) {
      const float size = static_cast<float>(spec.agents[i].action.size);
      vector.push_back((choices[i] + 0.5f) / size * 2 - 1);
    }
    ASSERT_TRUE((*each)->Step(choices) && (*one)->Step(vector));
    EXPECT_EQ((*each)->rewards()[0], (*one)->rewards()[0]);
  }
}

TEST(MappingEnv, EpisodesEndAtTheHorizon) {
  const auto env = MakeMappingEnv(Problem(Objective::kLatency), {.horizon = 3}, 2, nullptr);
  std::vector<float> actions(static_cast<size_t>(2 * (*env)->spec().action_size()));
  for (int step = 1; step <= 3; ++step) {
    ASSERT_TRUE((*env)->Step(actions));
    EXPECT_EQ((*env)->ends()[1], step == 3 ? EpisodeEnd::kTruncated : EpisodeEnd::kNone);
  }
  actions[0] = NAN;
  EXPECT_EQ((*env)->Step(actions).error().message,
            "environment 0: the action of agent order_l2 is not a number");
}

TEST(MappingEnv, RefusesALayerThatDoesNotFit) {
  const Result<const EnvInfo*> info = FindEnv("mapping");
  ASSERT_TRUE(info) << info.error();
  const TemporaryFolder folder;
  const std::string tiny = folder.File("tiny.yaml");
  ASSERT_TRUE(WriteFileAtomically(tiny,
                                  "format: tessera-accelerator-1\nname: tiny\n"
                                  "pe_array: {num_pes: 4, l1_elements: 2, l2_elements: 2, "
                                  "noc_elements_per_cycle: 1}\n"));
  const auto env = (*info)->make(
      {{"network", "alexnet-gamma"}, {"layer", "1"}, {"accelerator", tiny}}, 1, nullptr);
  ASSERT_FALSE(env);
  EXPECT_EQ(env.error().message.substr(0, 45), "none of 10000 random mappings is feasible; th");
}

}  // namespace
}  // namespace tessera
