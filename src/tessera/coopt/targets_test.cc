// A target is a descriptor and two classes: a toy one runs under every method without a change
// elsewhere.
#include "tessera/coopt/targets.h"

#include <set>

#include <gtest/gtest.h>

#include "tessera/coopt/emit.h"
#include "tessera/coopt/methods.h"
#include "tessera/coopt/session.h"
#include "tessera/coopt/toy_target.h"
#include "tessera/space/conformance.h"

namespace tessera::coopt {
namespace {

SessionResult RunMethod(const CooptProblem& problem, std::string_view method) {
  const auto searcher =
      MakeSearcher(*ParseMethodChoice(method, CooptMethods()), {.problem = problem});
  EXPECT_TRUE(searcher) << searcher.error();
  ThreadPool pool(1);
  return *RunSession(**searcher, problem, Simulator(problem, pool), {.measurements = 14});
}

TEST(Targets, AToyTargetRunsUnderEveryMethod) {
  const CooptProblem fixed = ToyProblem("4");
  const CooptProblem free = ToyProblem(std::nullopt);
  for (const MethodInfo* method : CooptMethods()) {
    if (!method->make && !method->make_joint) continue;
    const SessionResult result = RunMethod(fixed, method->name);
    ASSERT_NE(result.best(), nullptr) << method->name;
    EXPECT_LE(result.best()->cycles, 512) << method->name;
    if (!method->make_joint) continue;
    const SessionResult joint = RunMethod(free, method->name);
    ASSERT_NE(joint.best(), nullptr) << method->name;
  }
  const SessionResult best = RunMethod(free, "dcoc");
  EXPECT_EQ(best.best()->cycles, 2 * 128) << "a tile of 16 and two threads, in both layers";
}

TEST(Targets, WhatAToyTargetDoesNotHaveIsAnError) {
  const CooptProblem fixed = ToyProblem("4");
  const Result<std::string> program = EmitProgram(fixed, {}, 1);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().message, "layer a: the target has no programs");
  const Result<TargetPointer> limited = MakeTarget(kToyTarget, {.sram_power_mw = 3}, std::nullopt);
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().message, "--budget-power is for --target vta");
}

TEST(Targets, HaveDistinctNamesAndAreFound) {
  std::set<std::string_view> names;
  for (const TargetInfo* target : Targets()) {
    EXPECT_TRUE(names.insert(target->name).second) << target->name;
    EXPECT_FALSE(target->summary.empty() || target->hardware_file.empty()) << target->name;
    EXPECT_EQ(*FindTarget(target->name), target);
  }
  EXPECT_EQ(ToString(FindTarget("vtaa").error()), "unknown target 'vtaa'; did you mean 'vta'?");
}

// Every target's schedules are a decision space.
TEST(Targets, SchedulesKeepTheContractOfDecisionSpaces) {
  const Layer conv{.k = 64, .c = 32, .y = 14, .x = 14, .r = 3, .s = 3};
  const Network network = {.name = "net", .layers = {{.name = "conv", .layer = conv}}};
  std::vector<const TargetInfo*> targets(Targets().begin(), Targets().end());
  targets.push_back(&kToyTarget);
  for (const TargetInfo* info : targets) {
    const Result<TaskList> tasks = info->tasks({&network, 1});
    ASSERT_TRUE(tasks) << tasks.error();
    const Result<TargetPointer> target = MakeTarget(*info, {}, std::nullopt);
    ASSERT_TRUE(target) << target.error();
    for (const Generator generator : {Generator::kReference, Generator::kBest}) {
      const CooptProblem problem(tasks->layers, *target, {.generator = generator});
      const size_t last = problem.hardware().size() - 1;
      const Result<void> checked = CheckSpace(problem.task(last, 0).space, 1);
      EXPECT_TRUE(checked) << info->name << ": " << checked.error();
    }
  }
}

}  // namespace
}  // namespace tessera::coopt
