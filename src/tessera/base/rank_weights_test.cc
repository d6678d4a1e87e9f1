// What numbers are worth by their order: the best part, ties, costs that are infinite.
#include "tessera/base/rank_weights.h"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(RankWeights, FavourTheBestPart) {
  const std::vector<double> costs = {4, 1, 3, 2, 8, 7, 6, 5};
  const std::vector<double> weights = RankWeights(costs, 0.25);
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 0.0, 1e-12);
  EXPECT_GT(weights[1], weights[3]);
  EXPECT_GT(weights[3], 0);
  EXPECT_NEAR(weights[4], -1.0 / 8, 1e-12);
}

TEST(RankWeights, NeverFavourWhatIsNotFeasible) {
  const std::vector<double> weights =
      RankWeights(std::vector{kInfinite, 2.0, kInfinite, kInfinite}, 0.5);
  EXPECT_GT(weights[1], 0);
  EXPECT_LT(weights[0], 0);
  EXPECT_EQ(RankWeights(std::vector(4, kInfinite), 0.5), std::vector<double>(4, 0.0));
}

// How far apart costs are says nothing, but those that hardly differ get the same.
TEST(EvenRankWeights, EqualsShareWhatTheyGet) {
  const std::vector<double> weights =
      EvenRankWeights(std::vector{3.0, 1.0, 1.0004, 900.0}, 0.5, 1e-3);
  EXPECT_EQ(weights, EvenRankWeights(std::vector{3.0, 1.0, 1.0, 4.0}, 0.5, 0));
  EXPECT_EQ(weights[1], weights[2]);
  EXPECT_GT(weights[1], weights[0]);
  EXPECT_EQ(weights[0], weights[3]);  // neither is in the best half
  double sum = 0, squares = 0;
  for (const double weight : weights) sum += weight, squares += weight * weight;
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_NEAR(squares, 4, 1e-12);
}

TEST(EvenRankWeights, WhereAllAreEqualsNothingIsFavoured) {
  EXPECT_EQ(EvenRankWeights(std::vector(5, 7.0), 0.5, 0), std::vector<double>(5, 0.0));
  EXPECT_TRUE(EvenRankWeights({}, 0.5, 0).empty());
}

}  // namespace
}  // namespace tessera
