// Every algorithm keeps the contract of tessera/env.h and solves a small task with a known optimum.
#include <limits>

#include <gtest/gtest.h>

#include "tessera/base/temporary_folder.h"

#include "tessera/rl/learner_conformance.h"
#include "tessera/rl/toy_envs.h"
#include "tessera/rl/trainer.h"

namespace tessera {
namespace {

using EnvMaker = std::function<std::unique_ptr<Env>(int64_t batch)>;

struct Task {
  std::string algorithm;
  Assignments assignments;
  EnvMaker make_env;
  int64_t lanes, steps;
  std::string preset = "tessera";
};

const Assignments kSmallReplay = {{"batch", "128"},
                                  {"capacity", "5000"},
                                  {"warmup", "300"},
                                  {"update_every", "20"},
                                  {"hidden", "32"}};

Assignments With(Assignments base, const Assignments& more) {
  for (const auto& [name, value] : more) {
    std::erase_if(base, [&](const auto& item) { return item.first == name; });
    base.emplace_back(name, value);
  }
  return base;
}

EnvMaker Match(int64_t agents, ActionKind kind) {
  return [=](int64_t batch) { return std::make_unique<MatchEnv>(agents, 3, kind, batch); };
}

// Trains, then plays greedily: the mean reward per step and agent, or per episode.
struct Score {
  double per_step = 0, per_episode = 0;
};

Score TrainAndPlay(const Task& task) {
  const std::unique_ptr<Env> env = task.make_env(task.lanes);
  Result<std::unique_ptr<Learner>> learner =
      MakeLearner(**FindLearner(task.algorithm), task.preset, task.assignments,
                  {.spec = &env->spec(), .lanes = task.lanes, .seed = 3});
  EXPECT_TRUE(learner.ok()) << learner.error();
  Trainer trainer(*env, **learner, nullptr);
  trainer.Start(5);
  for (int64_t i = 0; i < task.steps; ++i) {
    const Result<void> stepped = trainer.Step();
    EXPECT_TRUE(stepped.ok()) << stepped.error();
  }
  Score score;
  std::vector<float> actions(static_cast<size_t>(env->batch() * env->spec().action_size()));
  double sum = 0, episodes = 0, numbers = 0;
  for (int64_t i = 0; i < 60; ++i) {
    (*learner)->Act(env->batch(), env->observations(), ActMode::kGreedy, actions);
    EXPECT_TRUE(env->Step(actions).ok());
    for (const float reward : env->rewards()) sum += reward;
    numbers += static_cast<double>(env->rewards().size());
    for (const EpisodeEnd end : env->ends()) episodes += end != EpisodeEnd::kNone;
    env->ResetFinished();
  }
  score.per_step = sum / numbers;
  score.per_episode = sum / episodes;
  return score;
}

TEST(Learners, MaddpgLearnsToMatch) {
  EXPECT_GT(
      TrainAndPlay({"maddpg", kSmallReplay, Match(3, ActionKind::kSoftChoice), 2, 1500}).per_step,
      0.97);
}

TEST(Learners, MasacLearnsToMatch) {
  EXPECT_GT(
      TrainAndPlay({"masac", kSmallReplay, Match(2, ActionKind::kSoftChoice), 2, 1500}).per_step,
      0.97);
}

TEST(Learners, SharedBatchesLearnToo) {
  EXPECT_GT(TrainAndPlay({"maddpg", With(kSmallReplay, {{"shared_batch", "true"}}),
                          Match(3, ActionKind::kSoftChoice), 2, 1500})
                .per_step,
            0.97);
}

const Assignments kFastPpo = {
    {"steps", "32"}, {"actor_rate", "0.003"}, {"critic_rate", "0.003"}, {"hidden", "32"}};

TEST(Learners, PpoWalksTheCorridor) {
  const Score score =
      TrainAndPlay({"ppo", kFastPpo,
                    [](int64_t batch) { return std::make_unique<CorridorEnv>(batch); }, 8, 1600});
  EXPECT_NEAR(score.per_episode, 0.8, 0.02);
}

TEST(Learners, PpoActsForATeamAndBySoftChoices) {
  for (const ActionKind kind : {ActionKind::kChoice, ActionKind::kSoftChoice}) {
    EXPECT_GT(TrainAndPlay({"ppo", kFastPpo, Match(2, kind), 8, 1600}).per_step, 0.97);
  }
}

TEST(Learners, IppoLearnsToMatchWithASharedReward) {
  EXPECT_GT(TrainAndPlay({"ippo", kFastPpo, Match(3, ActionKind::kChoice), 8, 1600}).per_step,
            0.97);
}

TEST(Learners, MappoLearnsToMatchWithASharedReward) {
  EXPECT_GT(TrainAndPlay({"mappo", kFastPpo, Match(3, ActionKind::kChoice), 8, 1600}).per_step,
            0.97);
}

TEST(Learners, PpoAimsWithContinuousActions) {
  EXPECT_GT(TrainAndPlay({"ppo", kFastPpo,
                          [](int64_t batch) { return std::make_unique<AimEnv>(batch); }, 8, 2400})
                .per_step,
            -0.01);
}

// The tasks above cannot be solved by luck.
TEST(Learners, WithoutLearningNothingIsSolved) {
  const Assignments idle = {{"actor_rate", "0"}, {"critic_rate", "0"}};
  for (const char* algorithm : {"maddpg", "masac"}) {
    const Task task{algorithm, With(kSmallReplay, idle), Match(2, ActionKind::kSoftChoice), 2, 400};
    EXPECT_LT(TrainAndPlay(task).per_step, 0.8) << algorithm;
  }
  for (const char* algorithm : {"ppo", "ippo", "mappo"}) {
    const Task task{algorithm, With(kFastPpo, idle), Match(3, ActionKind::kChoice), 8, 100};
    EXPECT_LT(TrainAndPlay(task).per_step, 0.8) << algorithm;
  }
  const EnvMaker corridor = [](int64_t batch) { return std::make_unique<CorridorEnv>(batch); };
  EXPECT_LT(TrainAndPlay({"ppo", With(kFastPpo, idle), corridor, 8, 100}).per_episode, 0.7);
  const EnvMaker aim = [](int64_t batch) { return std::make_unique<AimEnv>(batch); };
  EXPECT_LT(TrainAndPlay({"ppo", With(kFastPpo, idle), aim, 8, 100}).per_step, -0.05);
}

class Conformance : public testing::TestWithParam<LearnerCase> {};

TEST_P(Conformance, KeepsTheContract) {
  const LearnerCase& test = GetParam();
  const bool soft = test.info->name == "maddpg" || test.info->name == "masac";
  const TemporaryFolder folder;
  const Result<void> checked = CheckLearner(
      test,
      [&](int64_t batch, ThreadPool* /*pool*/) -> Result<std::unique_ptr<Env>> {
        return std::unique_ptr<Env>(std::make_unique<MatchEnv>(
            2, 3, soft ? ActionKind::kSoftChoice : ActionKind::kChoice, batch));
      },
      folder.path());
  EXPECT_TRUE(checked.ok()) << checked.error();
}

std::vector<LearnerCase> Cases() {
  std::vector<LearnerCase> cases;
  for (const LearnerInfo* info : Learners()) {
    const bool replay = info->name == "maddpg" || info->name == "masac";
    for (const Preset& preset : info->presets()) {
      cases.push_back({info, std::string(preset.name),
                       replay ? With(kSmallReplay, {{"batch", "300"}})
                              : Assignments{{"steps", "24"}, {"hidden", "16"}}});
    }
  }
  for (const char* sampler :
       {"neighbor", "runs", "prioritized", "prioritized-neighbor", "reuse:window=2"}) {
    cases.push_back({*FindLearner("maddpg"), "openai",
                     With(kSmallReplay, {{"sampler", sampler}, {"capacity", "320"}})});
  }
  cases.push_back(
      {*FindLearner("maddpg"), "openai", With(kSmallReplay, {{"replay", "per_agent"}})});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, testing::ValuesIn(Cases()));

// ---- Bad input -------------------------------------------------------------------------------

std::string MakeError(const char* algorithm, const char* preset, const Assignments& assignments,
                      ActionKind kind = ActionKind::kSoftChoice) {
  const MatchEnv env(2, 3, kind, 1);
  const Result<std::unique_ptr<Learner>> learner =
      MakeLearner(**FindLearner(algorithm), preset, assignments, {.spec = &env.spec()});
  return learner.ok() ? "accepted" : ToString(learner.error());
}

TEST(BadInput, IsRefusedWithAReason) {
  EXPECT_EQ(ToString(FindLearner("madpg").error()),
            "unknown algorithm 'madpg'; did you mean 'maddpg'?");
  EXPECT_EQ(MakeError("maddpg", "openia", {}),
            "unknown preset of maddpg 'openia'; did you mean 'openai'?");
  EXPECT_EQ(MakeError("maddpg", "openai", {{"capacity", "512"}}),
            "batch 1024 is larger than replay, which holds 512 transitions");
  EXPECT_EQ(MakeError("maddpg", "openai", {{"capacity", "2000"}}),
            "warmup 25600 is larger than replay, which holds 2000 transitions: learning would "
            "never start");
  EXPECT_EQ(MakeError("maddpg", "openai", {}, ActionKind::kChoice),
            "agent agent_0 of environment match does not act by soft choices; take ppo, ippo or "
            "mappo, or soft choices (environment mapping: actions=soft)");
  EXPECT_EQ(MakeError("maddpg", "openai", {{"sampler", "neighbor:radius"}}),
            "sampler setting 'radius' has no value; write name:setting=value,setting=value");
  EXPECT_EQ(MakeError("maddpg", "openai", {{"replay", "compact"}}),
            "environment match has no compact state; take the joint layout");
}

TEST(BadInput, ARewardThatIsNotANumberIsRefusedByName) {
  MatchEnv env(2, 3, ActionKind::kSoftChoice, 1);
  env.Reset(1);
  const auto learner =
      MakeLearner(**FindLearner("maddpg"), "openai", kSmallReplay, {.spec = &env.spec()});
  ASSERT_TRUE(learner.ok()) << learner.error();
  const std::vector<float> actions(static_cast<size_t>(env.spec().action_size()), 0.5f);
  std::vector<float> rewards(2, 1.0f);
  rewards[1] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<EpisodeEnd> ends(1, EpisodeEnd::kNone);
  const Result<void> observed = (*learner)->Observe({.observations = env.observations(),
                                                     .states = env.states(),
                                                     .actions = actions,
                                                     .rewards = rewards,
                                                     .next_observations = env.observations(),
                                                     .next_states = env.states(),
                                                     .ends = ends});
  ASSERT_FALSE(observed.ok());
  EXPECT_EQ(ToString(observed.error()),
            "reward nan of agent agent_1 in environment 0; the environment is broken; nothing was "
            "learned from this step");
}

class HugeRewards final : public MatchEnv {
 public:
  using MatchEnv::MatchEnv;
  std::span<const float> rewards() const override { return huge_; }

 private:
  const std::vector<float> huge_ = std::vector<float>(2, 3e38f);
};

TEST(BadInput, TrainingThatDivergesEndsWithAnError) {
  HugeRewards env(2, 3, ActionKind::kSoftChoice, 1);
  const auto learner =
      MakeLearner(**FindLearner("maddpg"), "openai", kSmallReplay, {.spec = &env.spec()});
  ASSERT_TRUE(learner.ok()) << learner.error();
  Trainer trainer(env, **learner, nullptr);
  trainer.Start(1);
  Result<void> stepped;
  for (int64_t i = 0; i < 1000 && stepped.ok(); ++i) stepped = trainer.Step();
  ASSERT_FALSE(stepped.ok());
  EXPECT_TRUE(ToString(stepped.error()).starts_with("training has diverged: after update "))
      << stepped.error();
}

TEST(BadInput, ACheckpointOfAnotherShapeIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.File("other_shape.safetensors");
  const MatchEnv env(2, 3, ActionKind::kSoftChoice, 1);
  const LearnerSetup setup{.spec = &env.spec()};
  const LearnerInfo& maddpg = **FindLearner("maddpg");
  const auto small = MakeLearner(maddpg, "openai", kSmallReplay, setup);
  TensorWriter writer;
  (*small)->Save("learner.", writer);
  ASSERT_TRUE(writer.Write(path).ok());
  const Result<TensorReader> reader = TensorReader::Open(path);
  ASSERT_TRUE(reader.ok());
  const auto large = MakeLearner(maddpg, "openai", With(kSmallReplay, {{"hidden", "48"}}), setup);
  const Result<void> loaded = (*large)->Load("learner.", *reader);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message,
            "array 'learner.agent0.actor.w1' has 96 values of type F32, but 144 of type F32 are "
            "needed");
}

}  // namespace
}  // namespace tessera
