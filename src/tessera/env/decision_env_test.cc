// Problems as environments: rewards and observations are what the cost model says.
#include "tessera/env/decision_env.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/env.h"
#include "tessera/space.h"
#include "tessera/space/synthetic.h"

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

TEST(DecisionEnv, RewardsAreTheModels) {
  const auto problem = Problem(Objective::kEdp);
  const auto inverse = MakeDecisionEnv(problem, {}, 1, nullptr);
  const auto log = MakeDecisionEnv(problem, {.reward = CostReward::kLog}, 1, nullptr);
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

TEST(DecisionEnv, OneAgentDecidesByAVector) {
  const auto problem = Problem(Objective::kLatency);
  const auto each = MakeDecisionEnv(problem, {}, 1, nullptr);
  const auto one = MakeDecisionEnv(
      problem, {.agents = OneAgent(problem->space()), .form = ActionForm::kVector}, 1, nullptr);
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

// Any problem is an environment, and agents may decide groups of decisions.
TEST(DecisionEnv, GroupsActByVectors) {
  const auto problem = std::make_shared<SyntheticProblem>();
  const DecisionSpace& space = problem->space();
  const DecisionGroups groups = {{0, 2}, {1, 3, 5}, {4, 6}};
  const auto env = MakeDecisionEnv(
      problem, {.agents = groups, .form = ActionForm::kVector, .name = "synthetic"}, 1, nullptr);
  ASSERT_TRUE(env) << env.error();
  const EnvSpec& spec = (*env)->spec();
  ASSERT_EQ(spec.num_agents(), 3);
  EXPECT_EQ(spec.agents[0].name, "a_l2+a_l1");
  EXPECT_EQ(spec.action_size(), 7);
  const Point best = problem->Optimum();
  std::vector<float> actions;
  for (const std::vector<size_t>& group : groups) {
    for (const size_t i : group) {
      const auto size = static_cast<float>(space.decisions()[i].size());
      actions.push_back((static_cast<float>(best[i]) + 0.5f) / size * 2 - 1);
    }
  }
  const DecisionAgents agents(space, groups, ActionForm::kVector, "synthetic", 1);
  EXPECT_EQ(agents.Decode(actions), best);
  ASSERT_TRUE((*env)->Step(actions));
  EXPECT_GE((*env)->rewards()[0], 1.0f);
  EXPECT_EQ((*env)->rewards()[0], (*env)->rewards()[2]) << "the reward is shared";
}

// An order as picks reaches every order, and what is not a number is the middle.
TEST(DecisionEnv, PicksMakeOrders) {
  const SyntheticProblem problem;
  const DecisionSpace& space = problem.space();
  const DecisionAgents agents(space, OneAgent(space), ActionForm::kPicks, "synthetic", 1);
  CounterRng draws(3, 3);
  for (int i = 0; i < 20; ++i) {
    const Point drawn = space.Sample(draws, 4);
    EXPECT_EQ(agents.Decode(agents.Encode(drawn)), drawn);
  }
  ASSERT_EQ(agents.spec().num_agents(), 6 + 3) << "an order of four items is three picks";
  std::set<int32_t> orders;
  for (int pick = 0; pick < 4 * 3 * 2; ++pick) {
    std::vector<float> actions(9);
    actions[5] = static_cast<float>(pick % 4);
    actions[6] = static_cast<float>(pick / 4 % 3);
    actions[7] = static_cast<float>(pick / 12);
    orders.insert(agents.Decode(actions)[5]);
  }
  EXPECT_EQ(orders.size(), 24u);
  EXPECT_EQ(agents.Decode(std::vector<float>(9, NAN))[0], 6);
}

TEST(DecisionEnv, EpisodesEndAtTheHorizon) {
  const auto env = MakeDecisionEnv(Problem(Objective::kLatency), {.horizon = 3}, 2, nullptr);
  std::vector<float> actions(static_cast<size_t>(2 * (*env)->spec().action_size()));
  for (int step = 1; step <= 3; ++step) {
    ASSERT_TRUE((*env)->Step(actions));
    EXPECT_EQ((*env)->ends()[1], step == 3 ? EpisodeEnd::kTruncated : EpisodeEnd::kNone);
  }
  actions[0] = NAN;
  EXPECT_EQ((*env)->Step(actions).error().message,
            "environment 0: the action of agent order_l2 is not a number");
}

TEST(DecisionEnv, RefusesALayerThatDoesNotFit) {
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
  EXPECT_EQ(env.error().message.substr(0, 43), "none of 10000 random points is feasible; th");
}

}  // namespace
}  // namespace tessera
