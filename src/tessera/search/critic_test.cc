// The critic: learns costs and memories from few samples.
#include "tessera/search/critic.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/search/log_cost.h"
#include "tessera/space.h"

namespace tessera {
namespace {

class CriticTest : public testing::Test {
 protected:
  void SetUp() override {
    const Result<Accelerator> accelerator = LoadAccelerator("maestro-256");
    auto made =
        MappingProblem::Make({.k = 64, .c = 64, .y = 56, .x = 56, .r = 3, .s = 3}, *accelerator,
                             *ChooseCostModel("maestro"), {.objective = Objective::kEdp});
    problem_ = *std::move(made);
  }

  std::vector<Point> Draw(uint64_t stream, int count) const {
    std::vector<Point> points;
    for (int i = 0; i < count; ++i) {
      CounterRng rng(stream, 1, static_cast<uint64_t>(i));
      points.push_back(problem_->space().Sample(rng, 0));
    }
    return points;
  }
  std::vector<double> CostsOf(const std::vector<Point>& points) const {
    std::vector<double> costs;
    for (const Point& point : points) costs.push_back(LogCost(problem_->Evaluate(point)));
    return costs;
  }

  std::vector<CriticCost> FactorsOf(const std::vector<Point>& points) const {
    std::vector<CriticCost> factors;
    for (const Point& point : points) {
      const Outcome outcome = problem_->Evaluate(point);
      factors.push_back(outcome.feasible()
                            ? CriticCost{std::log(outcome.cycles), std::log(outcome.energy_pj)}
                            : CriticCost{.first = LogCost(outcome)});
    }
    return factors;
  }

  std::unique_ptr<MappingProblem> problem_;
};

// Of points it never saw, those that it likes are cheaper and fit more often than the others.
TEST_F(CriticTest, TellsGoodFromBad) {
  Critic critic(problem_->space(), {}, 1);
  const std::vector<Point> seen = Draw(1, 150), strange = Draw(2, 300);
  std::vector<double> rows;
  critic.Encode(seen, rows);
  critic.Fit(rows, FactorsOf(seen));
  critic.Encode(strange, rows);
  critic.Consider(rows);
  const std::vector<double> costs = CostsOf(strange);
  double agree = 0, pairs = 0, fits[2] = {0, 0}, count[2] = {0, 0};
  for (size_t i = 0; i < strange.size(); ++i) {
    const bool likely = critic.feasible(i) > 0.5;
    count[likely] += 1;
    fits[likely] += std::isfinite(costs[i]);
    for (size_t j = 0; j < i; ++j) {
      if (!std::isfinite(costs[i]) || !std::isfinite(costs[j])) continue;
      pairs += 1;
      agree += (costs[i] < costs[j]) == (critic.mean(i) < critic.mean(j));
    }
  }
  ASSERT_GT(pairs, 100);
  EXPECT_GT(agree / pairs, 0.8);
  ASSERT_GT(count[1], 10);
  EXPECT_GT(fits[1] / count[1], 0.7);
  EXPECT_LT(fits[0] / count[0], 0.2);
}

TEST_F(CriticTest, IsLessSureOfWhatItBelievesAlready) {
  Critic critic(problem_->space(), {}, 1);
  const std::vector<Point> seen = Draw(1, 60), strange = Draw(2, 5);
  std::vector<double> rows;
  critic.Encode(seen, rows);
  critic.Fit(rows, FactorsOf(seen));
  critic.Encode(strange, rows);
  critic.Consider(rows);
  const double before = critic.deviation(0);
  critic.Believe(0);
  EXPECT_LT(critic.deviation(0), before);
}

TEST_F(CriticTest, WorksWithoutAnyFeasibleSampleOfASize) {
  Critic critic(problem_->space(), {}, 1);
  std::vector<double> rows;
  critic.Encode(Draw(3, 2), rows);
  const std::span<const double> row = std::span<const double>(rows).first(critic.columns());
  EXPECT_TRUE(std::isfinite(critic.Guess(row)));
  EXPECT_GE(critic.SizeRank(row), 0);
  EXPECT_LE(critic.SizeRank(row), 1);
}

// However many good samples there are, a bad one is remembered: otherwise a critic that expects too
// much of a place would send the search there again and again.
TEST_F(CriticTest, LearnsFromBadSamplesBesideManyGoodOnes) {
  Critic critic(problem_->space(), {}, 1);
  const std::vector<Point> points = Draw(1, 200);
  std::vector<CriticCost> costs(points.size(), {.first = 10});
  for (size_t i = 0; i < costs.size(); ++i) costs[i].first += 0.01 * static_cast<double>(i % 7);
  costs.back().first = 30;
  std::vector<double> rows;
  critic.Encode(points, rows);
  critic.Fit(rows, costs);
  critic.Consider(rows);
  EXPECT_GT(critic.mean(points.size() - 1), 25);
  EXPECT_LT(critic.mean(0), 15);
}

// Loops of one step may stand in any order; another tile is another nest.
TEST_F(CriticTest, KnowsEqualNests) {
  const DecisionSpace& space = problem_->space();
  const Critic critic(space, {}, 1);
  Point whole(space.size());
  for (const char* name : {"k_l2", "c_l2", "y_l2", "x_l2", "r_l2", "s_l2"}) {
    const size_t at = space.Find(name);
    whole[at] = space.decisions()[at].size() - 1;  // the outer level has one step
  }
  Point turned = whole, smaller = whole;
  turned[space.Find("order_l2")] = 77;
  --smaller[space.Find("k_l2")];
  std::vector<double> rows;
  critic.Encode(std::vector<Point>{whole, turned, smaller}, rows);
  const auto signature = [&](size_t i) {
    return critic.Signature(
        std::span<const double>(rows).subspan(i * critic.columns(), critic.columns()));
  };
  EXPECT_EQ(signature(0), signature(1));
  EXPECT_NE(signature(0), signature(2));
}

}  // namespace
}  // namespace tessera
