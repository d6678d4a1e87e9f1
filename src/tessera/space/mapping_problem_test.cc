// Mapping problems: what a point costs is what the model says of its mapping.
#include "tessera/space.h"

#include <gtest/gtest.h>

#include "tessera/space/maestro_space.h"
#include "tessera/space/translate.h"

namespace tessera {
namespace {

Layer Conv(int64_t k, int64_t c, int64_t y, int64_t r) {
  Layer layer;
  layer.k = k, layer.c = c, layer.y = layer.x = y, layer.r = layer.s = r;
  return layer;
}

Accelerator Array256() {
  Accelerator machine{.name = "array"};
  machine.pe_array = PeArray{.num_pes = 256,
                             .l1_elements = 512,
                             .l2_elements = 108'000,
                             .noc_elements_per_cycle = 64,
                             .offchip_elements_per_cycle = 64};
  return machine;
}

std::unique_ptr<MappingProblem> MakeProblem(const Layer& layer,
                                            const MappingProblemOptions& options = {}) {
  auto problem = MappingProblem::Make(layer, Array256(), *ChooseCostModel("maestro"), options);
  EXPECT_TRUE(problem) << problem.error();
  return *std::move(problem);
}

TEST(MappingProblem, SaysHowFarAPointIsFromFeasible) {
  const auto problem = MakeProblem(Conv(64, 64, 56, 3));
  const auto find = [&](std::string_view name) { return problem->space().Find(name); };
  // The largest tiles need the most of L1; smaller ones come closer to its size.
  Point point(problem->space().size());
  for (const std::string_view name : {"k_l2", "c_l2", "k_l1", "c_l1"}) {
    point[find(name)] = problem->space().decisions()[find(name)].size() - 1;
  }
  double last = 1e9;
  for (; point[find("k_l1")] > 0; --point[find("k_l1")]) {
    const Outcome outcome = problem->Evaluate(point);
    ASSERT_EQ(outcome.kind, OutcomeKind::kInfeasible);
    EXPECT_GT(outcome.excess, 0);
    EXPECT_LT(outcome.excess, last);
    last = outcome.excess;
  }
}

// 11 x 11 inputs, weights and outputs, all twice, are 726 elements; L1 has 512.
TEST(MappingProblem, SpreadsKernelsThatDoNotFitOverPes) {
  const Layer large = Conv(64, 3, 224, 11);
  const auto problem = MakeProblem(large);
  const DecisionSpace& space = problem->space();
  const size_t parallel = space.Find("parallel_l1");
  Point point(space.size());
  const Outcome whole = problem->Evaluate(point);
  EXPECT_EQ(whole.why, "L1: 726 elements required > 512");
  point[parallel] = *space.decisions()[parallel].Parse("S");
  EXPECT_TRUE(problem->Evaluate(point).feasible());
  EXPECT_EQ(*problem->space().Encode(problem->space().Decode(point)), point);
  const auto small = MakeProblem(Conv(64, 64, 56, 3));
  EXPECT_FALSE(small->space().decisions()[parallel].Parse("S"));
}

TEST(MappingProblem, PricesPointsByTheModel) {
  const Layer layer = Conv(64, 64, 56, 3);
  const auto model = (*ChooseCostModel("maestro"))->Make(layer, Array256());
  int feasible = 0;
  for (const Objective objective : {Objective::kLatency, Objective::kEnergy, Objective::kEdp,
                                    Objective::kPower, Objective::kArea}) {
    const auto problem = MakeProblem(layer, {.objective = objective});
    const auto workspace = problem->MakeWorkspace();
    const auto model_workspace = (*model)->MakeWorkspace();
    for (uint64_t step = 0; step < 100; ++step) {
      CounterRng rng(1, 2, step);
      const Point point = problem->space().Sample(rng, 8);
      const Outcome outcome = problem->Evaluate(point, *workspace);
      const Cost cost = (*model)->Evaluate(problem->space().Decode(point), *model_workspace);
      ASSERT_EQ(outcome.feasible(), cost.feasible());
      if (!cost.feasible()) {
        EXPECT_EQ(outcome.why, (*model)->Describe(cost.violation).message);
        continue;
      }
      ++feasible;
      EXPECT_EQ(outcome.value, ValueOf(cost, objective));
      EXPECT_EQ(outcome.cycles, static_cast<double>(cost.cycles));
      EXPECT_EQ(problem->CostOf({.point = point, .outcome = outcome}), cost);
    }
  }
  EXPECT_GT(feasible, 10);
}

TEST(MappingProblem, DecidesTheNumberOfPesWhenAsked) {
  const auto problem = MakeProblem(Conv(16, 16, 14, 3), {.space = {.decide_pes = true}});
  const size_t pes = problem->space().Find("num_pe");
  CounterRng rng(1, 2);
  std::vector<double> areas;
  for (int i = 0; i < 200 && areas.size() < 2; ++i) {
    Point point = problem->space().Sample(rng, 8);
    point[problem->space().Find("cluster")] = 0;
    point[pes] = areas.empty() ? 4 : 8;
    const Outcome outcome = problem->Evaluate(point);
    if (outcome.feasible()) areas.push_back(outcome.area_um2);
  }
  ASSERT_EQ(areas.size(), 2u);
  EXPECT_GT(areas[1], 2 * areas[0]);  // 256 PEs are larger than 16.
}

std::string MessageOf(const Layer& layer, const Accelerator& machine, std::string_view model) {
  const auto problem = MappingProblem::Make(layer, machine, *ChooseCostModel(model));
  return problem ? "no error" : ToString(problem.error());
}

TEST(MappingProblem, SaysWhatIsMissing) {
  EXPECT_EQ(MessageOf(Conv(4, 4, 8, 3), Accelerator{.name = "bare"}, "maestro"),
            "model 'maestro' needs a pe_array, but accelerator 'bare' has none; use "
            "'maestro-256', or --model loopnest");
  const auto unknown = ChooseCostModel("maestr");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().hint, "did you mean 'maestro'?");
  EXPECT_EQ(ToString(FindObjective("latnecy").error()),
            "unknown objective 'latnecy'; did you mean 'latency'?");
}

TEST(Translate, KeepsWhatBothSpacesHave) {
  const auto small = MakeProblem(Conv(64, 64, 28, 3)), large = MakeProblem(Conv(256, 128, 14, 3));
  const MappingSpace &from = small->space(), &to = large->space();
  Point point(from.size());
  const auto set = [&](const char* name, const char* label) {
    point[from.Find(name)] = *from.decisions()[from.Find(name)].Parse(label);
  };
  set("order_l2", "X Y S R C K");
  set("parallel_l1", "C");
  set("k_l2", "64");
  set("c_l2", "16");
  set("cluster", "32");
  const Point translated = Translate(from, point, to);
  EXPECT_TRUE(to.Check(translated));
  const auto label = [&](const char* name) {
    return to.decisions()[to.Find(name)].Label(translated[to.Find(name)]);
  };
  EXPECT_EQ(label("order_l2"), "X Y S R C K");
  EXPECT_EQ(label("parallel_l1"), "C");
  EXPECT_EQ(label("k_l2"), "256");  // the whole dimension
  EXPECT_EQ(label("c_l2"), "16");
  EXPECT_EQ(label("cluster"), "32");
}

}  // namespace
}  // namespace tessera
