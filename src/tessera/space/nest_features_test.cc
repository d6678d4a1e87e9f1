// What a loop nest amounts to, by hand for a small layer.
#include "tessera/space/nest_features.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/space.h"
#include "tessera/space/synthetic.h"

namespace tessera {
namespace {

std::unique_ptr<MappingProblem> MakeProblem(const std::string& machine, const std::string& model) {
  const Result<Accelerator> accelerator = LoadAccelerator(machine);
  auto problem = MappingProblem::Make({.k = 16, .c = 8, .y = 18, .x = 18, .r = 3, .s = 3},
                                      *accelerator, *ChooseCostModel(model), {});
  return *std::move(problem);
}

// Level 0 has 8 numbers (units, idle ones, loops inside, two kinds of padding, words, fetched and
// streamed words) and 3 per tensor, as has level 1.
constexpr size_t kUnits = 0, kIdle = 1, kInside = 2, kPadding = 3, kWords = 5, kFirstTensor = 8,
                 kLevel = 17;

TEST(NestFeatures, CountsUnitsTilesAndFetches) {
  const auto problem = MakeProblem("maestro-256", "maestro");
  const DecisionSpace& space = problem->space();
  const NestFeatures features(space);
  ASSERT_EQ(features.size(), 2 * kLevel + 2);
  Point point(space.size());
  const auto set = [&](const char* name, const char* label) {
    const size_t at = space.Find(name);
    point[at] = *space.decisions()[at].Parse(label);
  };
  set("parallel_l2", "K");
  set("parallel_l1", "C");
  set("k_l2", "2");
  set("c_l2", "8");
  set("y_l2", "4");
  set("x_l2", "16");
  set("k_l1", "2");
  set("c_l1", "2");
  set("y_l1", "4");
  set("x_l1", "1");
  set("cluster", "4");
  ASSERT_TRUE(space.Check(point));
  std::vector<double> row(features.size());
  features.Encode(point, row);
  EXPECT_EQ(row[kUnits], 3);               // 16 / 2 tiles of K on 64 clusters
  EXPECT_EQ(row[kLevel + kUnits], 2);      // 8 / 2 tiles of C on 4 PEs
  EXPECT_EQ(row[features.size() - 1], 5);  // 32 PEs work
  EXPECT_EQ(row[kIdle], 1);                // 8 of 64 clusters work
  EXPECT_EQ(row[kLevel + kIdle], 0);       // all PEs of a cluster work
  EXPECT_EQ(row[kPadding], 0);             // all tiles divide
  EXPECT_EQ(row[kLevel + kPadding], 0);
  // Weights of a PE: K 2, C 2, 3 x 3; inputs: C 2, (4 + 2) x (1 + 2); outputs: K 2, 4 x 1.
  EXPECT_DOUBLE_EQ(row[kLevel + kFirstTensor], std::log2(36.0));
  EXPECT_DOUBLE_EQ(row[kLevel + kFirstTensor + 3], std::log2(36.0));
  EXPECT_DOUBLE_EQ(row[kLevel + kFirstTensor + 6], std::log2(8.0));
  EXPECT_DOUBLE_EQ(row[features.size() - 2], std::log2(80.0));
  // Four PEs share outputs and have different channels: C 8.
  EXPECT_DOUBLE_EQ(row[kLevel + kWords], std::log2(144.0 + 144.0 + 8.0));
  const std::vector<size_t> words = features.WordsColumns();
  EXPECT_EQ(words, (std::vector<size_t>{kWords, kLevel + kWords, features.size() - 2}));
}

// Where the loop that is spread over units stands matters if another one runs inside it.
TEST(NestFeatures, KnowWhatRunsInsideTheSpreadLoop) {
  const auto problem = MakeProblem("maestro-256", "maestro");
  const DecisionSpace& space = problem->space();
  const NestFeatures features(space);
  std::vector<double> row(features.size());
  Point point(space.size());  // tiles of 1: every loop runs
  const size_t parallel = space.Find("parallel_l2"), order = space.Find("order_l2");
  point[parallel] = *space.decisions()[parallel].Parse("K");
  point[order] = *space.decisions()[order].Parse("C Y X R S K");
  features.Encode(point, row);
  EXPECT_EQ(row[kInside], 0);
  point[order] = *space.decisions()[order].Parse("K Y X R S C");
  features.Encode(point, row);
  EXPECT_EQ(row[kInside], 1);
}

TEST(NestFeatures, MoreUnitsLookBetter) {
  const auto problem = MakeProblem("maestro-256", "maestro");
  const DecisionSpace& space = problem->space();
  const NestFeatures features(space);
  std::vector<double> row(features.size());
  Point idle(space.size());  // tiles of 1, one PE per cluster
  Point whole = idle;
  for (const char* name : {"k_l2", "c_l2", "y_l2", "x_l2"}) {
    const size_t at = space.Find(name);
    whole[at] = space.decisions()[at].size() - 1;  // nothing to spread over clusters
  }
  features.Encode(idle, row);
  const double spread = row[features.size() - 1];
  features.Encode(whole, row);
  EXPECT_GT(spread, row[features.size() - 1]);
}

TEST(NestFeatures, WorkForHierarchiesAndAreFinite) {
  const auto problem = MakeProblem("eyeriss-256", "loopnest");
  const NestFeatures features(problem->space());
  ASSERT_GT(features.size(), 0u);
  std::vector<double> row(features.size());
  for (uint64_t i = 0; i < 50; ++i) {
    CounterRng rng(1, 2, i);
    features.Encode(problem->space().Sample(rng, 0), row);
    EXPECT_TRUE(std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); }));
  }
}

// A space that says nothing about loops has no such features.
TEST(NestFeatures, NeedLoops) {
  const SyntheticProblem problem;
  const NestFeatures features(problem.space());
  EXPECT_LE(features.size(), 64u);
  const DecisionSpace plain({Decision::Ordinal("only", {1, 2})});
  EXPECT_EQ(NestFeatures(plain).size(), 0u);
}

}  // namespace
}  // namespace tessera
