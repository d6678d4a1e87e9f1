// Correlations: Pearson against numbers worked by hand, and what enters the matrix.
#include "tessera/agents/correlation.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Pearson, MatchesHandComputation) {
  const std::vector<double> x = {1, 2, 3, 4, 5}, y = {2, 4, 5, 4, 5}, down = {5, 4, 3, 2, 1};
  EXPECT_NEAR(Pearson(x, y), 6 / std::sqrt(10.0 * 6.0), 1e-12);
  EXPECT_NEAR(Pearson(x, x), 1, 1e-12);
  EXPECT_NEAR(Pearson(x, down), -1, 1e-12);
  const std::vector<double> constant(5, 0.1);
  EXPECT_EQ(Pearson(x, constant), 0);
}

class CorrelateTest : public testing::Test {
 protected:
  void Add(int a, int b, const char* order, double value) {
    Point point(4);
    point[0] = a;
    point[1] = b;
    point[2] = *space_.decisions()[2].Parse(order);
    trials_.push_back({point, {.kind = OutcomeKind::kFeasible, .value = value}});
  }

  const DecisionSpace space_{
      {Decision::Ordinal("a", {1, 2, 4}), Decision::Categorical("b", {"K", "C", "Y"}),
       Decision::Order("order", {"x", "y", "z"}), Decision::Ordinal("fixed", {7})}};
  std::vector<Trial> trials_;
};

TEST_F(CorrelateTest, UsesValuesCodesAndLehmerIndices) {
  Add(0, 2, "x y z", 1.0);
  Add(1, 1, "y x z", 2.0);
  Add(2, 0, "z y x", 4.0);
  const auto matrix = Correlate(space_, trials_, {.top = 1.0});
  ASSERT_TRUE(matrix) << matrix.error();
  const std::vector<double> a = {1, 2, 4}, b = {2, 1, 0}, order = {0, 2, 5}, r = {1, 0.5, 0.25};
  EXPECT_NEAR(matrix->at(0, 1), Pearson(a, b), 1e-12);
  EXPECT_NEAR(matrix->at(2, 0), Pearson(order, a), 1e-12);
  EXPECT_NEAR(matrix->with_reward(0), Pearson(a, r), 1e-12);
  EXPECT_EQ(matrix->at(1, 1), 1);
  // What cannot be decided is no column.
  EXPECT_EQ(matrix->names, (std::vector<std::string>{"a", "b", "order"}));
  EXPECT_EQ(matrix->constant, std::vector<std::string>{"fixed"});
  EXPECT_EQ(matrix->unchanged, std::vector<std::string>());
  EXPECT_EQ(matrix->trials, 3);
}

TEST_F(CorrelateTest, KeepsTheBestFeasibleTrials) {
  for (int i = 0; i < 20; ++i) Add(i % 3, i % 2, "x y z", 100 - i);
  trials_.push_back({Point(4), Outcome::Infeasible("x <= y")});
  const auto matrix = Correlate(space_, trials_, {.top = 0.15});
  ASSERT_TRUE(matrix) << matrix.error();
  EXPECT_EQ(matrix->trials, 3);  // of 20 feasible ones
  EXPECT_EQ(matrix->collected, 21);
  // The last three trials: a = 4, 1, 2 with rewards rising.
  const std::vector<double> a = {4, 1, 2}, r = {1 / 83.0, 1 / 82.0, 1 / 81.0};
  EXPECT_NEAR(matrix->with_reward(0), Pearson(a, r), 1e-12);
}

TEST_F(CorrelateTest, TakesTheStrongestPositionOfAnOrder) {
  // Only the place of z follows `a`.
  Add(0, 0, "z x y", 1);
  Add(1, 0, "x z y", 2);
  Add(2, 0, "x y z", 3);
  Add(2, 0, "y x z", 3);
  const auto matrix = Correlate(space_, trials_, {.top = 1.0, .orders = OrderColumns::kPositions});
  ASSERT_TRUE(matrix) << matrix.error();
  const std::vector<double> a = {1, 2, 4, 4}, z = {0, 1, 2, 2};
  EXPECT_NEAR(matrix->at(0, 2), Pearson(a, z), 1e-12);
}

TEST_F(CorrelateTest, NeedsTwoFeasibleTrials) {
  Add(0, 0, "x y z", 1);
  const auto matrix = Correlate(space_, trials_, {});
  ASSERT_FALSE(matrix);
  EXPECT_EQ(ToString(matrix.error()),
            "the best 15% of 1 trials are 1 feasible ones, but a correlation needs at least 2; "
            "collect more samples");
}

}  // namespace
}  // namespace tessera
