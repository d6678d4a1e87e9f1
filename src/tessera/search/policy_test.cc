// Policies: they start uniform, learn what they are shown, and their lessons are exact gradients.
#include "tessera/search/policy.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "tessera/space/synthetic.h"

namespace tessera {
namespace {

const DecisionSpace& Space() {
  static const DecisionSpace space(
      {Decision::Ordinal("tile", {1, 2, 4, 8}), Decision::Categorical("parallel", {"K", "C", "Y"}),
       Decision::Order("order", {"x", "y", "z"}), Decision::Ordinal("fixed", {7})});
  return space;
}

TEST(SoftmaxPolicy, StartsUniform) {
  const SoftmaxPolicy policy(Space(), {{0}, {1}, {2}, {3}}, {});
  std::map<std::vector<int32_t>, int> counts;
  CounterRng rng(1, 2);
  constexpr int kDraws = 36'000;
  for (int i = 0; i < kDraws; ++i) {
    const Point point = policy.Draw(0, rng);
    ++counts[{point[0], point[1], point[2]}];
  }
  ASSERT_EQ(counts.size(), 72u);
  for (const auto& [cell, count] : counts) EXPECT_NEAR(count, 500, 5 * std::sqrt(500.0));
  EXPECT_NEAR(policy.Entropy(), 1, 1e-9);
}

TEST(SoftmaxPolicy, LearnsWhatItIsShown) {
  SoftmaxPolicy policy(Space(), {{0}, {1}, {2}}, {.smooth = 0});
  Point shown(4);
  shown[0] = 2;
  shown[1] = 1;
  shown[2] = *Space().decisions()[2].Parse("z x y");
  for (int i = 0; i < 50; ++i) policy.Learn(std::vector{shown}, std::vector{1.0});
  CounterRng rng(1, 2);
  int same = 0;
  for (int i = 0; i < 100; ++i) same += policy.Draw(0, rng) == shown;
  EXPECT_GT(same, 80);
  EXPECT_LT(policy.Entropy(), 0.3);
  EXPECT_GT(policy.Probabilities(0)[2], 0.9);
}

TEST(SoftmaxPolicy, NeighboursOfANumberShareItsLesson) {
  SoftmaxPolicy policy(Space(), {{0}, {1}, {2}}, {.smooth = 0.5});
  Point shown(4);
  shown[0] = 1;
  policy.Learn(std::vector{shown}, std::vector{1.0});
  const std::vector<double> chances = policy.Probabilities(0);
  EXPECT_GT(chances[1], chances[0]);
  EXPECT_NEAR(chances[0], chances[2], 1e-12);
  EXPECT_GT(chances[2], chances[3]);
}

// Two decisions that must agree: one agent for both learns it, two agents cannot.
TEST(SoftmaxPolicy, AnAgentWithTwoDecisionsLearnsThatTheyGoTogether) {
  const DecisionSpace space(
      {Decision::Categorical("a", {"0", "1"}), Decision::Categorical("b", {"0", "1"})});
  const auto agreement = [&](const std::vector<std::vector<size_t>>& agents) {
    SoftmaxPolicy policy(space, agents, {});
    std::vector<Point> good(2, Point(2));
    good[1][0] = good[1][1] = 1;
    for (int i = 0; i < 100; ++i) policy.Learn(good, std::vector{0.5, 0.5});
    CounterRng rng(1, 2);
    int agree = 0;
    for (int i = 0; i < 1000; ++i) {
      const Point point = policy.Draw(0, rng);
      agree += point[0] == point[1];
    }
    return agree;
  };
  EXPECT_GT(agreement({{0, 1}}), 900);
  EXPECT_NEAR(agreement({{0}, {1}}), 500, 80);
}

TEST(SoftmaxPolicy, ExplorationChangesDecisions) {
  SoftmaxPolicy policy(Space(), {{0}, {1}, {2}}, {});
  Point shown(4);
  for (int i = 0; i < 100; ++i) policy.Learn(std::vector{shown}, std::vector{1.0});
  CounterRng rng(1, 2);
  int changed = 0;
  for (int i = 0; i < 1000; ++i) changed += policy.Draw(1.0, rng)[1] != 0;
  EXPECT_GT(changed, 950);
}

TEST(SoftmaxPolicy, DrawsLegalPoints) {
  const SyntheticSpace space;
  SoftmaxPolicy policy(space, {{0, 2}, {1, 3, 5}, {4, 6}}, {});
  for (uint64_t step = 0; step < 200; ++step) {
    CounterRng rng(3, 4, step);
    const Point point = policy.Draw(0.2, rng);
    ASSERT_TRUE(space.Check(point));
    policy.Learn(std::vector{point}, std::vector{1.0});
  }
}

}  // namespace
}  // namespace tessera
