// Elites and the weights of good points.
#include "tessera/search/elites.h"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "tessera/search/log_cost.h"

namespace tessera {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

Point At(int32_t index) { return Point(std::span(&index, 1)); }

TEST(Elites, KeepTheBestDistinctPointsInOrder) {
  Elites elites(3);
  elites.Add(At(1), 5);
  elites.Add(At(2), 3);
  elites.Add(At(2), 3);
  elites.Add(At(3), kInfinite);
  elites.Add(At(4), 3);
  elites.Add(At(5), 4);
  elites.Add(At(6), 9);
  ASSERT_EQ(elites.entries().size(), 3u);
  EXPECT_EQ(elites.entries()[0].point, At(2));
  EXPECT_EQ(elites.entries()[1].point, At(4));
  EXPECT_EQ(elites.entries()[2].point, At(5));
}

TEST(Elites, InfeasiblePointsLeaveWhenAFeasibleOneComes) {
  Elites elites(3);
  elites.Add(At(1), kInfeasibleCost + 5);
  elites.Add(At(2), kInfeasibleCost + 3);
  ASSERT_EQ(elites.entries().size(), 2u);
  EXPECT_EQ(elites.entries()[0].point, At(2));
  elites.Add(At(3), 700);
  ASSERT_EQ(elites.entries().size(), 1u);
  EXPECT_EQ(elites.entries()[0].point, At(3));
}

TEST(Elites, WeightsFallWithTheRankAndAddUp) {
  Elites elites(10);
  for (int i = 0; i < 4; ++i) elites.Add(At(i), i);
  std::vector<Point> points;
  std::vector<double> weights;
  elites.Append(0.5, points, weights);
  ASSERT_EQ(weights.size(), 4u);
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 0.5, 1e-12);
  EXPECT_NEAR(weights[0], 4 * weights[3], 1e-12);
}

}  // namespace
}  // namespace tessera
