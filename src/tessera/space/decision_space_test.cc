// Decision spaces: drawing, moving and counting, and a synthetic problem whose optimum is known.
#include "tessera/space.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/space/conformance.h"
#include "tessera/space/synthetic.h"

namespace tessera {
namespace {

// All combinations of indices.
template <typename Visit>
void ForEachCombination(const DecisionSpace& space, const Visit& visit) {
  Point point(space.size());
  while (true) {
    visit(point);
    size_t i = 0;
    while (i < space.size() && ++point[i] == space.decisions()[i].size()) point[i++] = 0;
    if (i == space.size()) return;
  }
}

TEST(DecisionSpace, Conforms) {
  const DecisionSpace plain({Decision::Ordinal("a", {1, 2, 3}), Decision::Ordinal("b", {5}),
                             Decision::Order("c", {"x", "y", "z"})});
  const Result<void> checked = CheckSpace(plain, 1);
  EXPECT_TRUE(checked) << checked.error();
  EXPECT_NEAR(plain.Log10Size(), std::log10(18), 1e-12);
  EXPECT_EQ(std::vector<size_t>(plain.open().begin(), plain.open().end()),
            (std::vector<size_t>{0, 2}));
  EXPECT_EQ(plain.Find("c"), 2u);
  EXPECT_EQ(plain.Find("d"), plain.size());
}

TEST(DecisionSpace, SyntheticConforms) {
  const Result<void> checked = CheckSpace(SyntheticSpace(), 1);
  EXPECT_TRUE(checked) << checked.error();
}

TEST(DecisionSpace, DrawsEveryValueEquallyOften) {
  const DecisionSpace space({Decision::Ordinal("a", {1, 2, 3}), Decision::Order("b", {"x", "y"})});
  std::map<std::pair<int, int>, int> counts;
  CounterRng rng(1, 2);
  constexpr int kDraws = 60'000;
  for (int i = 0; i < kDraws; ++i) {
    const Point point = space.Sample(rng, 0);
    ++counts[{point[0], point[1]}];
  }
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [cell, count] : counts) {
    EXPECT_NEAR(count, kDraws / 6, 5 * std::sqrt(kDraws / 6.0));
  }
}

TEST(DecisionSpace, NeighborsMoveAndCanReachEverything) {
  const SyntheticSpace space;
  CounterRng rng(1, 2);
  Point point = space.Sample(rng, 16);
  std::unordered_set<Point, PointHash> seen;
  for (int i = 0; i < 50'000; ++i) {
    const Point next = space.Neighbor(point, rng);
    ASSERT_NE(next, point);
    seen.insert(next);
    point = next;
  }
  EXPECT_GT(seen.size(), 40'000u);
}

TEST(DecisionSpace, MessagesNameTheInequality) {
  const SyntheticSpace space;
  Point point(space.size());
  point[2] = 3;
  const Result<void> legal = space.Check(point);
  ASSERT_FALSE(legal);
  EXPECT_EQ(ToString(legal.error()), "a_l1 = 4 <= a_l2 = 1");
  point[2] = 99;
  EXPECT_EQ(ToString(space.Check(point).error()), "0 <= a_l1 < 12 values");
  EXPECT_EQ(ToString(space.Check(Point(3)).error()), "3 decisions given, but the space has 7");
}

TEST(SyntheticProblem, HasItsSizeAndItsOnlyOptimum) {
  const SyntheticProblem problem;
  const Point optimum = problem.Optimum();
  int64_t legal = 0, feasible = 0;
  ForEachCombination(problem.space(), [&](const Point& point) {
    Point repaired = point;  // asking Check would word millions of errors
    problem.space().Repair(repaired);
    if (repaired != point) return;
    ++legal;
    const Outcome outcome = problem.Evaluate(point);
    if (!outcome.feasible()) return;
    ++feasible;
    ASSERT_GE(outcome.value, 1.0 - 1e-12);
    if (outcome.value < 1.0 + 1e-9) {
      ASSERT_EQ(point, optimum);
    }
  });
  EXPECT_NEAR(std::pow(10, problem.space().Log10Size()), static_cast<double>(legal), 1e-3);
  EXPECT_LT(feasible, legal);
  EXPECT_NEAR(problem.Evaluate(optimum).value, 1.0, 1e-12);
}

TEST(SyntheticProblem, SaysWhyAPointIsInfeasible) {
  const SyntheticProblem problem;
  Point point(problem.space().size());
  point[0] = point[1] = 11;
  const Outcome outcome = problem.Evaluate(point);
  EXPECT_EQ(outcome.kind, OutcomeKind::kInfeasible);
  EXPECT_EQ(outcome.why, "a_l2 * b_l2 = 4096 <= 1024");
}

}  // namespace
}  // namespace tessera
