// Evaluators: the same outcomes on any number of threads, and problems that misbehave.
#include "tessera/search/evaluator.h"

#include <cmath>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tessera/space/synthetic.h"

namespace tessera {
namespace {

std::vector<Trial> SomeTrials(const DecisionSpace& space, int count) {
  std::vector<Trial> trials(static_cast<size_t>(count));
  CounterRng rng(1, 2);
  for (Trial& trial : trials) trial.point = space.Sample(rng, 4);
  return trials;
}

TEST(Evaluator, GivesTheSameOnAnyNumberOfThreads) {
  const SyntheticProblem problem;
  std::vector<Trial> serial = SomeTrials(problem.space(), 500), parallel = serial;
  ThreadPool one(1), three(3);
  Evaluator(problem, one).Evaluate(serial);
  Evaluator(problem, three).Evaluate(parallel);
  for (size_t i = 0; i < serial.size(); ++i) {
    EXPECT_EQ(serial[i].outcome, parallel[i].outcome);
    EXPECT_EQ(serial[i].outcome, problem.Evaluate(serial[i].point));
  }
}

class BrokenProblem final : public Problem {
 public:
  const DecisionSpace& space() const override { return space_; }
  Outcome Evaluate(const Point& point, Workspace& /*workspace*/) const override {
    switch (point[0]) {
      case 0: throw std::runtime_error("disk on fire");
      case 1: throw 1;
      case 2: return {.kind = OutcomeKind::kFeasible, .value = std::nan("")};
      case 3: return {.kind = OutcomeKind::kFeasible, .value = INFINITY};
      default: return {.kind = OutcomeKind::kFeasible, .value = 7};
    }
  }

 private:
  DecisionSpace space_{{Decision::Ordinal("a", {1, 2, 3, 4, 5})}};
};

TEST(Evaluator, TurnsExceptionsAndNonNumbersIntoFailures) {
  const BrokenProblem problem;
  std::vector<Trial> trials(5);
  for (size_t i = 0; i < 5; ++i) {
    trials[i].point = Point(1);
    trials[i].point[0] = static_cast<int32_t>(i);
  }
  ThreadPool pool(2);
  Evaluator(problem, pool).Evaluate(trials);
  const std::vector<std::string> expected = {"the evaluation threw: disk on fire",
                                             "the evaluation threw something unknown",
                                             "the objective is nan", "the objective is inf", ""};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(trials[i].outcome.why, expected[i]);
    EXPECT_EQ(trials[i].outcome.kind, i < 4 ? OutcomeKind::kFailed : OutcomeKind::kFeasible);
  }
}

}  // namespace
}  // namespace tessera
