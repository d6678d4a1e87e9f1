// What every cost model promises (tessera/cost.h), checked for all of the registry.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/cost.h"
#include "tessera/cost/count_allocations.h"
#include "tessera/part.h"

namespace tessera {
namespace {

// A layer on a machine, with mappings of the model's kind, feasible and infeasible ones.
struct Example {
  Layer layer;
  Accelerator accelerator;
  std::vector<Mapping> mappings = {};
};

Example MaestroExample() {
  using enum DataflowDim;
  Example example{.layer = {.k = 64, .c = 64, .y = 58, .x = 58, .r = 3, .s = 3},
                  .accelerator = {.name = "test", .pe_array = PeArray{.num_pes = 256}}};
  CounterRng rng(1, StreamId("conformance.maestro"));
  const auto draw = [&rng](int64_t most) { return static_cast<int32_t>(1 + rng.UniformInt(most)); };
  for (int i = 0; i < 200; ++i) {
    Dataflow dataflow;
    dataflow.Add(Spatial(1, 1, kK));
    const int32_t c = draw(64), y = draw(56), x = draw(56);
    dataflow.Add(Temporal(c, c, kC));
    dataflow.Add(Temporal(y, y, kYOut));
    dataflow.Add(Temporal(x, x, kXOut));
    dataflow.Add(Temporal(3, 3, kR));
    dataflow.Add(Temporal(3, 3, kS));
    dataflow.Add(Cluster(draw(300)));
    dataflow.Add(Spatial(1, 1, kC));
    example.mappings.push_back(dataflow);
  }
  return example;
}

// Random splits of a convolution over three levels, perfect and imperfect; some do not fit.
Example LoopnestExample() {
  const auto level = [](const char* name, int64_t mesh, std::optional<int64_t> entries) {
    return MemoryLevel{.name = name,
                       .entries = entries,
                       .mesh_x = mesh,
                       .mesh_y = mesh,
                       .read_pj = 1,
                       .fill_pj = 1,
                       .update_pj = 1,
                       .network = {.hop_pj = 1, .router_pj = 1}};
  };
  Hierarchy machine{
      .arithmetic = {.mesh_x = 8, .mesh_y = 8, .mac_pj = 1},
      .levels = {level("RF", 8, 100), level("GLB", 1, 20'000), level("DRAM", 1, std::nullopt)}};
  Example example{.layer = {.k = 64, .c = 64, .y = 30, .x = 30, .r = 3, .s = 3},
                  .accelerator = {.name = "test", .hierarchy = machine}};
  const int32_t bounds[] = {3, 3, 28, 28, 64, 64, 1};  // R S P Q C K N
  CounterRng rng(1, StreamId("conformance.loopnest"));
  for (int i = 0; i < 200; ++i) {
    LoopMapping mapping{.num_levels = 3};
    for (size_t d = 0; d < std::size(bounds); ++d) {
      const auto factor = [&](int64_t most) {
        int32_t drawn =
            static_cast<int32_t>(1 + rng.UniformInt(std::min<int64_t>(most, bounds[d])));
        while (i % 2 == 0 && bounds[d] % drawn != 0) --drawn;
        return drawn;
      };
      mapping.levels[0].temporal[d] = factor(3);
      if (d < 4 && rng.UniformInt(2) == 0) {
        mapping.levels[1].spatial[d] = factor(i % 5 == 0 ? 28 : 3);
      }
      const int32_t inner = mapping.levels[0].temporal[d] * mapping.levels[1].spatial[d];
      mapping.levels[2].temporal[d] = i % 2 == 0 && bounds[d] % inner == 0 ? bounds[d] / inner : 0;
    }
    rng.Shuffle(std::span(mapping.levels[2].temporal_order.data(), std::size(bounds)));
    mapping.levels[1].split = static_cast<uint8_t>(rng.UniformInt(8));
    example.mappings.push_back(mapping);
  }
  return example;
}

Example ExampleFor(MappingForm form) {
  return form == MappingForm::kDataflow ? MaestroExample() : LoopnestExample();
}

// Programs of users promise less (docs/external-evaluator.md).
std::vector<const CostModelInfo*> Models() {
  std::vector<const CostModelInfo*> models;
  for (const CostModelInfo* model : CostModels()) {
    if (!model->takes_command) models.push_back(model);
  }
  return models;
}

class Conformance : public testing::TestWithParam<const CostModelInfo*> {
 protected:
  void SetUp() override {
    example_ = ExampleFor(GetParam()->form);
    const Result<CostModelChoice> choice = CostModelChoice::Make(*GetParam());
    ASSERT_TRUE(choice) << choice.error();
    Result<std::unique_ptr<CostModel>> model =
        (*choice)->Make(example_.layer, example_.accelerator);
    ASSERT_TRUE(model) << model.error();
    model_ = std::move(*model);
    const auto workspace = model_->MakeWorkspace();
    for (const Mapping& mapping : example_.mappings) {
      costs_.push_back(model_->Evaluate(mapping, *workspace));
    }
  }

  Example example_;
  std::unique_ptr<CostModel> model_;
  std::vector<Cost> costs_;
};

TEST_P(Conformance, HasFeasibleAndInfeasibleExamples) {
  int feasible = 0;
  for (const Cost& cost : costs_) feasible += cost.feasible() ? 1 : 0;
  EXPECT_GT(feasible, 0);
  EXPECT_LT(feasible, static_cast<int>(costs_.size()));
}

TEST_P(Conformance, CostDoesNotDependOnTheWorkspace) {
  for (size_t i = 0; i < costs_.size(); ++i) {
    const auto fresh = model_->MakeWorkspace();
    EXPECT_EQ(model_->Evaluate(example_.mappings[i], *fresh), costs_[i]) << i;
  }
}

TEST_P(Conformance, BatchEqualsScalarOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    BatchEvaluator evaluator(*model_, pool);
    std::vector<Cost> costs(costs_.size());
    evaluator.EvaluateBatch(example_.mappings, costs);
    EXPECT_EQ(costs, costs_) << threads << " threads";
  }
}

TEST_P(Conformance, EvaluationDoesNotAllocate) {
  const auto workspace = model_->MakeWorkspace();
  model_->Evaluate(example_.mappings[0], *workspace);
  const int64_t before = CountAllocations();
  for (const Mapping& mapping : example_.mappings) model_->Evaluate(mapping, *workspace);
  EXPECT_EQ(CountAllocations() - before, 0);
}

TEST_P(Conformance, InfeasibleMappingsSayWhy) {
  for (size_t i = 0; i < costs_.size(); ++i) {
    const Result<Cost> cost = Evaluate(*model_, example_.mappings[i]);
    EXPECT_EQ(cost.ok(), costs_[i].feasible());
    if (!cost) {
      EXPECT_FALSE(cost.error().message.empty());
    }
  }
}

TEST_P(Conformance, FeasibleCostsAreFiniteAndPositive) {
  for (const Cost& cost : costs_) {
    if (!cost.feasible()) continue;
    EXPECT_GT(cost.cycles, 0);
    EXPECT_EQ(cost.macs, Macs(example_.layer));
    EXPECT_GT(cost.energy_pj, 0);
    EXPECT_LE(cost.utilization, 1);
  }
}

// What is asked of a model before it meets a layer.
TEST_P(Conformance, SettingsAreDeclaredOnceAndComeBack) {
  const CostModelInfo& info = *GetParam();
  const Result<CostModelChoice> choice = CostModelChoice::Make(info);
  ASSERT_TRUE(choice) << choice.error();
  EXPECT_EQ(choice->settings().size(), info.parameters().size());
  EXPECT_EQ(*CostModelChoice::Make(info, choice->settings()), *choice);
  EXPECT_EQ(*ChooseCostModel(choice->ToString(), choice->settings()), *choice);
  EXPECT_FALSE(CostModelChoice::Make(info, {{"no such setting", "1"}}));
  EXPECT_FALSE(info.summary.empty());
}

TEST_P(Conformance, NothingIsBelowItsBounds) {
  const Result<CostModelChoice> choice = CostModelChoice::Make(*GetParam());
  const Result<CostBounds> bounds =
      (*choice)->BoundsFor(example_.layer, example_.accelerator, /*any_keep=*/true);
  ASSERT_TRUE(bounds) << bounds.error();
  for (const Cost& cost : costs_) {
    if (!cost.feasible()) continue;
    EXPECT_GE(static_cast<double>(cost.cycles), bounds->cycles.value_or(0));
    EXPECT_GE(cost.energy_pj, bounds->energy_pj.value_or(0) * (1 - 1e-9));
  }
}

TEST_P(Conformance, RefusesMachinesWithoutItsPart) {
  const Result<CostModelChoice> choice = CostModelChoice::Make(*GetParam());
  EXPECT_FALSE((*choice)->Make(example_.layer, Accelerator{.name = "bare"}));
}

INSTANTIATE_TEST_SUITE_P(Models, Conformance, testing::ValuesIn(Models()),
                         [](const auto& model) { return std::string(model.param->name); });

TEST(CostModels, UnknownNameHasAHint) {
  const auto model = FindCostModel("maestr");
  ASSERT_FALSE(model);
  EXPECT_EQ(ToString(model.error()), "unknown cost model 'maestr'; did you mean 'maestro'?");
}

}  // namespace
}  // namespace tessera
