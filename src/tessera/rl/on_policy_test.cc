// Agents that share a policy or a critic, and actions without an effect.
#include "tessera/rl/on_policy.h"

#include <gtest/gtest.h>

#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

constexpr int64_t kLanes = 16, kChoices = 4;

EnvSpec Spec(bool together) {
  EnvSpec spec{.name = "bandit"};
  for (const char* const name : {"a", "b"}) {
    const bool joins = together && !spec.agents.empty();
    spec.agents.push_back({.name = name,
                           .observation_size = joins ? 0 : 2,
                           .action = {.kind = ActionKind::kChoice, .size = kChoices},
                           .with_previous = joins});
  }
  return spec;
}

// Agents begin with what they are told to prefer, and networks come back for any number of lanes.
TEST(OnPolicy, PreferencesAndNetworksCarryOver) {
  const EnvSpec spec = Spec(/*together=*/false);
  const auto make = [&](int64_t lanes) {
    return MakeOnPolicy({.spec = &spec, .lanes = lanes, .seed = 7}, {.hidden = 16, .steps = 2},
                        UnitKind::kShared);
  };
  const auto first = make(kLanes), second = make(4);
  const std::vector<float> sure = {-20, -20, 0, -20};
  first->Prefer(/*agent=*/1, sure);
  const TemporaryFolder folder;
  TensorWriter writer;
  first->SaveNetworks("x.", writer);
  ASSERT_TRUE(writer.Write(folder.File("networks")));
  const Result<void> loaded =
      second->LoadNetworks("x.", *TensorReader::Open(folder.File("networks")));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const std::vector<float> observations(4 * 4, 0.5f);
  std::vector<float> actions(4 * 2);
  double others = 0;
  for (int i = 0; i < 20; ++i) {
    second->Act(4, observations, ActMode::kExplore, actions);
    for (size_t lane = 0; lane < 4; ++lane) {
      EXPECT_EQ(actions[2 * lane + 1], 2);
      others += actions[2 * lane] == 2 ? 0 : 1;
    }
  }
  EXPECT_GT(others, 20);  // The other agent was told nothing.
}

struct Lesson {
  // The reward of an agent for its action.
  std::function<float(size_t agent, float action)> reward;
  // Whether its actions have an effect; empty: all have.
  std::vector<uint8_t> acted = {};
  // What is done with the learner first.
  std::function<void(OnPolicyLearner&)> prepare = {};
};

// The actions of both agents in every lane after some updates.
std::vector<float> ActionsAfter(const EnvSpec& spec, UnitKind kind, const Lesson& lesson,
                                int updates) {
  const auto learner = MakeOnPolicy({.spec = &spec, .lanes = kLanes, .seed = 7},
                                    {.hidden = 16,
                                     .steps = 2,
                                     .epochs = 8,
                                     .minibatches = 1,
                                     .entropy = 0,
                                     .actor_rate = 0.02,
                                     .critic_rate = 0.02},
                                    kind);
  if (lesson.prepare) lesson.prepare(*learner);
  const auto seen = static_cast<size_t>(kLanes * spec.observation_size());
  const std::vector<float> observations(seen, 0.5f);
  std::vector<float> actions(kLanes * 2), rewards(kLanes * 2);
  std::vector<uint8_t> acted;
  for (int64_t lane = 0; !lesson.acted.empty() && lane < kLanes; ++lane) {
    acted.insert(acted.end(), lesson.acted.begin(), lesson.acted.end());
  }
  const std::vector<EpisodeEnd> ends(kLanes, EpisodeEnd::kTerminated);
  for (int done = 0; done < updates;) {
    learner->Act(kLanes, observations, ActMode::kExplore, actions);
    for (size_t i = 0; i < actions.size(); ++i) rewards[i] = lesson.reward(i % 2, actions[i]);
    EXPECT_TRUE(learner->Observe({.observations = observations,
                                  .states = {},
                                  .actions = actions,
                                  .rewards = rewards,
                                  .next_observations = observations,
                                  .next_states = {},
                                  .ends = ends,
                                  .acted = acted}));
    if (!learner->UpdateDue()) continue;
    EXPECT_TRUE(learner->Update());
    ++done;
  }
  learner->Act(kLanes, observations, ActMode::kExplore, actions);
  return actions;
}

int64_t Hits(const std::vector<float>& actions, size_t agent, float wanted) {
  int64_t hits = 0;
  for (size_t i = agent; i < actions.size(); i += 2) hits += actions[i] == wanted;
  return hits;
}

// Agent a is to choose 1, agent b 3.
float WantOneAndThree(size_t agent, float action) {
  return action == (agent == 0 ? 1.0f : 3.0f) ? 1.0f : 0.0f;
}

TEST(OnPolicy, EveryKindLearnsWhoeverSharesWhat) {
  for (const UnitKind kind :
       {UnitKind::kJoint, UnitKind::kIndependent, UnitKind::kCentral, UnitKind::kShared}) {
    for (const bool together : {false, true}) {
      const std::vector<float> actions =
          ActionsAfter(Spec(together), kind, {.reward = WantOneAndThree}, 60);
      EXPECT_GE(Hits(actions, 0, 1) + Hits(actions, 1, 3), 2 * kLanes - 4)
          << static_cast<int>(kind) << together;
    }
  }
}

// A part of the choices is uniform, whatever the network prefers.
TEST(OnPolicy, SomeChoicesAreUniform) {
  const EnvSpec spec = Spec(/*together=*/false);
  const auto learner = MakeOnPolicy({.spec = &spec, .lanes = kLanes, .seed = 7}, {.hidden = 16},
                                    UnitKind::kIndependent);
  const std::vector<float> sure = {-20, -20, 0, -20};
  for (const int64_t agent : {0, 1}) learner->Prefer(agent, sure);
  learner->Explore(0.5);
  const std::vector<float> observations(kLanes * 4, 0.5f);
  std::vector<float> actions(kLanes * 2);
  int64_t preferred = 0;
  for (int i = 0; i < 50; ++i) {
    learner->Act(kLanes, observations, ActMode::kExplore, actions);
    preferred += Hits(actions, 0, 2) + Hits(actions, 1, 2);
  }
  EXPECT_NEAR(static_cast<double>(preferred) / (50 * kLanes * 2), 0.5 + 0.5 / kChoices, 0.04);
  learner->Act(kLanes, observations, ActMode::kGreedy, actions);
  EXPECT_EQ(Hits(actions, 0, 2) + Hits(actions, 1, 2), 2 * kLanes);
}

TEST(OnPolicy, AgentsThatExploreLearnAllTheSame) {
  const auto explore = [](OnPolicyLearner& learner) { learner.Explore(0.2); };
  for (const bool together : {false, true}) {
    const std::vector<float> actions =
        ActionsAfter(Spec(together), UnitKind::kIndependent,
                     {.reward = WantOneAndThree, .prepare = explore}, 60);
    EXPECT_GE(Hits(actions, 0, 1) + Hits(actions, 1, 3), 2 * kLanes * 7 / 10) << together;
  }
}

// Nothing is rewarded: what agents imitate is all that they learn.
TEST(OnPolicy, WhatIsImitatedBecomesLikely) {
  const auto nothing = [](size_t, float) { return 0.0f; };
  for (const double weight : {0.0, 0.5}) {
    const auto imitate = [&](OnPolicyLearner& learner) {
      learner.Imitate(std::vector<float>{1, 3}, weight);
    };
    const std::vector<float> actions = ActionsAfter(Spec(false), UnitKind::kIndependent,
                                                    {.reward = nothing, .prepare = imitate}, 60);
    const int64_t hits = Hits(actions, 0, 1) + Hits(actions, 1, 3);
    if (weight > 0) {
      EXPECT_GE(hits, 2 * kLanes - 4);
    } else {
      EXPECT_LE(hits, kLanes);
    }
  }
}

// How much better a choice is says nothing any more, and which is better is learned all the same.
// One terrible choice drowns at first what is to be learned of the others, unless order counts.
TEST(OnPolicy, AdvantagesMayCountByTheirOrder) {
  const auto hits = [](float far, double top, int updates) {
    const auto reward = [=](size_t agent, float action) {
      return WantOneAndThree(agent, action) - (action == 0 ? far : 0);
    };
    const auto rank = [=](OnPolicyLearner& learner) { learner.RankAdvantages(top); };
    const std::vector<float> actions = ActionsAfter(Spec(false), UnitKind::kIndependent,
                                                    {.reward = reward, .prepare = rank}, updates);
    return Hits(actions, 0, 1) + Hits(actions, 1, 3);
  };
  EXPECT_GE(hits(/*far=*/0, /*top=*/0.5, /*updates=*/60), 2 * kLanes - 4);
  EXPECT_EQ(hits(1e3, 0.5, 1), hits(5e2, 0.5, 1));
  EXPECT_GT(hits(1e3, 0.5, 1), hits(1e3, 0, 1) + kLanes / 2);
}

// Nothing is rewarded but one choice: those beside it become likelier than those far from it.
TEST(OnPolicy, AgentsLearnOfTheChoicesBeside) {
  constexpr int64_t kMany = 16;
  EnvSpec spec{.name = "bandit"};
  spec.agents.push_back(
      {.name = "a", .observation_size = 2, .action = {.kind = ActionKind::kChoice, .size = kMany}});
  const auto near_and_far = [&](double part) {
    int64_t near = 0, far = 0;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      const auto learner =
          MakeOnPolicy({.spec = &spec, .lanes = kLanes, .seed = seed},
                       {.hidden = 16, .steps = 1, .actor_rate = 1e-2}, UnitKind::kIndependent);
      learner->Smooth(/*agent=*/0, part);
      const std::vector<float> observations(kLanes * 2, 0.5f);
      std::vector<float> actions(kLanes), rewards(kLanes);
      for (int round = 0; round < 12; ++round) {
        learner->Act(kLanes, observations, ActMode::kExplore, actions);
        for (size_t i = 0; i < kLanes; ++i) {
          rewards[i] = actions[i] == 4 ? 1.0f : 0.0f;
          near += actions[i] == 3 || actions[i] == 5;
          far += actions[i] == 11 || actions[i] == 13;
        }
        const std::vector<EpisodeEnd> ends(kLanes, EpisodeEnd::kTerminated);
        EXPECT_TRUE(learner->Observe({.observations = observations,
                                      .states = {},
                                      .actions = actions,
                                      .rewards = rewards,
                                      .next_observations = observations,
                                      .next_states = {},
                                      .ends = ends}));
        EXPECT_TRUE(learner->Update());
      }
    }
    return static_cast<double>(near) / static_cast<double>(far);
  };
  EXPECT_GT(near_and_far(0.75), 1.5);
  EXPECT_LT(near_and_far(0), 1.5);
}

// With enough of it agents stay undecided, whatever is rewarded; without, they learn as ever.
TEST(OnPolicy, EntropyKeepsAgentsUndecided) {
  for (const double weight : {0.0, 10.0}) {
    const auto set = [&](OnPolicyLearner& learner) { learner.SetEntropy(weight); };
    const std::vector<float> actions = ActionsAfter(
        Spec(false), UnitKind::kIndependent, {.reward = WantOneAndThree, .prepare = set}, 60);
    const int64_t hits = Hits(actions, 0, 1) + Hits(actions, 1, 3);
    if (weight > 0) {
      EXPECT_LE(hits, kLanes);
    } else {
      EXPECT_GE(hits, 2 * kLanes - 4);
    }
  }
}

// What agent b gets for actions without an effect changes nothing about it.
TEST(OnPolicy, ActionsWithoutAnEffectTeachNothing) {
  const EnvSpec spec = Spec(false);
  const auto other = [](size_t agent, float action) {
    return agent == 0 ? WantOneAndThree(agent, action) : -action;
  };
  const auto of_b = [&](const Lesson& lesson) {
    std::vector<float> actions = ActionsAfter(spec, UnitKind::kIndependent, lesson, 20), own;
    for (size_t i = 1; i < actions.size(); i += 2) own.push_back(actions[i]);
    return own;
  };
  EXPECT_NE(of_b({.reward = WantOneAndThree}), of_b({.reward = other}));
  EXPECT_EQ(of_b({.reward = WantOneAndThree, .acted = {1, 0}}),
            of_b({.reward = other, .acted = {1, 0}}));
}

// The same where one policy decides for both: its head for b stays as it was born.
TEST(OnPolicy, AHeadWithoutAnEffectHoldsNobodyBack) {
  const std::vector<float> actions = ActionsAfter(Spec(true), UnitKind::kIndependent,
                                                  {.reward = WantOneAndThree, .acted = {1, 0}}, 60);
  EXPECT_GE(Hits(actions, 0, 1), kLanes - 2);
  EXPECT_LT(Hits(actions, 1, 3), kLanes - 4);
}

}  // namespace
}  // namespace tessera
