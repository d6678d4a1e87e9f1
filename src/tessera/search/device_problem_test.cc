// Mapping problems on a device: what is not there is said, and what is there is the host's.
#include "tessera/search/device_problem.h"

#include <gtest/gtest.h>

#include "tessera/search/evaluator.h"

namespace tessera {
namespace {

std::unique_ptr<MappingProblem> MakeProblem(const std::string& machine, const std::string& model) {
  Layer layer;
  layer.k = layer.c = 64, layer.y = layer.x = 58, layer.r = layer.s = 3;
  auto problem =
      MappingProblem::Make(layer, *LoadAccelerator(machine), *ChooseCostModel(model),
                           {.objective = Objective::kEdp, .space = {.decide_keep = true}});
  EXPECT_TRUE(problem) << problem.error();
  return *std::move(problem);
}

std::string ErrorOf(const MappingProblem& problem) {
  const auto made = DeviceProblem::Make(problem);
  return made ? "" : ToString(made.error());
}

// Before a device is looked for.
TEST(DeviceProblem, SaysWhatIsNotThere) {
  EXPECT_EQ(ErrorOf(*MakeProblem("maestro-256", "maestro")),
            "model maestro is not on --device cuda; take --model loopnest, or --device cpu");
  EXPECT_EQ(ErrorOf(*MakeProblem("shidiannao", "loopnest")),
            "links between neighbours are not on --device cuda; take --device cpu");
}

TEST(DeviceProblem, GivesTheHostsOutcomes) {
  for (const char* machine : {"simple3", "eyeriss-256", "nvdla"}) {
    const auto problem = MakeProblem(machine, "loopnest");
    const auto device = DeviceProblem::Make(*problem);
    if (!device) GTEST_SKIP() << "no device: " << ToString(device.error());
    std::vector<Trial> host(3000);
    CounterRng rng(1, 2);
    for (Trial& trial : host) trial.point = problem->space().Sample(rng, 1);
    host[7].point[0] = 1'000'000;  // not legal
    std::vector<Trial> there = host;
    ThreadPool pool(2);
    Evaluator(*problem, pool).Evaluate(host);
    Evaluator(**device, pool).Evaluate(there);
    for (size_t i = 0; i < host.size(); ++i) ASSERT_EQ(host[i].outcome, there[i].outcome) << i;
    EXPECT_GT((*device)->on_device(), 2900) << machine;
    EXPECT_GE((*device)->on_host(), 1) << machine;
    EXPECT_FALSE((*device)->failure());
  }
}

}  // namespace
}  // namespace tessera
