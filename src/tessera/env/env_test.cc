// Every registered environment keeps the contract of tessera/env.h.
#include <gtest/gtest.h>

#include "tessera/base/temporary_folder.h"
#include "tessera/env.h"
#include "tessera/rl/env_conformance.h"
#include "tessera/rl/replay/buffer.h"

namespace tessera {
namespace {

struct Case {
  std::string env;
  Assignments assignments;
};

class EnvConformance : public testing::TestWithParam<Case> {};

TEST_P(EnvConformance, KeepsTheContract) {
  const Result<const EnvInfo*> info = FindEnv(GetParam().env);
  ASSERT_TRUE(info.ok()) << info.error();
  const TemporaryFolder folder;
  const Result<void> checked =
      CheckEnv([&](int64_t batch,
                   ThreadPool* pool) { return (*info)->make(GetParam().assignments, batch, pool); },
               folder.path());
  EXPECT_TRUE(checked.ok()) << checked.error();
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const EnvInfo* env : Envs()) cases.push_back({std::string(env->name), {}});
  for (const char* compat : {"openai", "mpe2"}) {
    cases.push_back({"cooperative_navigation", {{"compat", compat}, {"agents", "9"}}});
    for (const char* controller : {"flee", "random", "waypoints-min", "waypoints-sum", "learned"}) {
      cases.push_back(
          {"predator_prey",
           {{"compat", compat}, {"controller", controller}, {"agents", "5"}, {"prey", "3"}}});
    }
  }
  cases.push_back({"mapping", {{"agents", "one"}, {"reward", "log"}, {"objective", "edp"}}});
  cases.push_back({"mapping", {{"accelerator", "eyeriss-256"}, {"repair", "false"}}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EnvConformance, testing::ValuesIn(Cases()));

TEST(EnvRegistry, AnUnknownNameIsAnErrorWithTheNearest) {
  const Result<const EnvInfo*> info = FindEnv("predator_pray");
  ASSERT_FALSE(info.ok());
  EXPECT_EQ(ToString(info.error()),
            "unknown environment 'predator_pray'; did you mean 'predator_prey'?");
}

TEST(EnvRegistry, NoAgentsIsAnError) {
  const Result<std::unique_ptr<Env>> env =
      (*FindEnv("predator_prey"))->make({{"agents", "0"}}, 1, nullptr);
  ASSERT_FALSE(env.ok());
  EXPECT_EQ(env.error().message, "0 agents: a world needs at least one");
}

TEST(EnvMemory, AMillionTransitionsOf48AgentsTakeLessThan4Gb) {
  for (const char* name : {"predator_prey", "cooperative_navigation"}) {
    const Result<std::unique_ptr<Env>> env = (*FindEnv(name))->make({{"agents", "48"}}, 1, nullptr);
    ASSERT_TRUE(env.ok()) << env.error();
    const Result<std::unique_ptr<ReplayBuffer>> replay =
        MakeReplayBuffer(ReplayLayout::kCompact, (*env)->spec(), /*capacity=*/1000, /*lanes=*/1);
    ASSERT_TRUE(replay.ok()) << replay.error();
    EXPECT_LT((*replay)->bytes_per_transition() * 1'000'000, 4'000'000'000) << name;
  }
}

}  // namespace
}  // namespace tessera
