// The driver: every sample counted, limits named, and a resumed run equal to an uninterrupted one.
#include "tessera/search/driver.h"

#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tessera/base/stop.h"
#include "tessera/search.h"
#include "tessera/space/synthetic.h"

namespace tessera {
namespace {

class Recorder final : public SearchObserver {
 public:
  Result<void> OnTrials(std::span<const Trial> trials, const SearchResult& result) override {
    all.insert(all.end(), trials.begin(), trials.end());
    counted = result.samples;
    if (std::ssize(all) >= fail_at) return Error{.kind = ErrorKind::kIo, .message = "disk full"};
    return {};
  }
  std::vector<Trial> all;
  int64_t counted = 0;
  int64_t fail_at = std::numeric_limits<int64_t>::max();
};

class DriverTest : public testing::Test {
 protected:
  Result<SearchResult> Run(const std::string& method, SearchOptions options,
                           SearchObserver* observer = nullptr, int threads = 1) {
    const auto searcher =
        ParseMethodChoice(method)->Make({.space = problem_.space(), .seed = 5, .samples = 1000});
    ThreadPool pool(threads);
    Evaluator evaluator(problem_, pool);
    return RunSearch(**searcher, evaluator, options, observer);
  }

  const SyntheticProblem problem_;
};

TEST_F(DriverTest, SpendsTheBudgetExactly) {
  Recorder recorder;
  const auto result = Run("random", {.budget = {.samples = 1000}, .batch = 64}, &recorder);
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->samples, 1000);
  EXPECT_EQ(recorder.all.size(), 1000u);
  EXPECT_EQ(result->stop, StopReason::kSamples);
  EXPECT_GT(result->infeasible, 0);
  EXPECT_EQ(result->failed, 0);
  ASSERT_TRUE(result->best);
  double best = std::numeric_limits<double>::infinity();
  std::vector<Improvement> curve;
  for (size_t i = 0; i < recorder.all.size(); ++i) {
    if (recorder.all[i].outcome.value >= best) continue;
    best = recorder.all[i].outcome.value;
    curve.push_back({static_cast<int64_t>(i + 1), best});
  }
  EXPECT_EQ(result->best->outcome.value, best);
  EXPECT_EQ(result->curve, curve);
}

TEST_F(DriverTest, StopsAtTheFirstLimit) {
  EXPECT_EQ(Run("random", {.budget = {.samples = 100'000}, .target = 2.0})->stop,
            StopReason::kTarget);
  EXPECT_EQ(Run("random", {.budget = {.samples = 1'000'000'000, .seconds = 0.01}})->stop,
            StopReason::kSeconds);
  EXPECT_EQ(Run("grid:values=1:orders=1", {.budget = {.samples = 1000}})->stop,
            StopReason::kExhausted);
  const auto interrupted =
      Run("random", {.budget = {.samples = 1000}, .interrupted = [] { return true; }});
  EXPECT_EQ(interrupted->stop, StopReason::kInterrupted);
  EXPECT_EQ(interrupted->samples, 0);
}

// Random search that knows more than it should.
class Prover final : public Searcher {
 public:
  Prover(const DecisionSpace& space, double bound) : space_(space), bound_(bound) {}
  std::vector<Point> Propose(int64_t /*n*/) override {
    CounterRng rng(7, 0, drawn_++);
    return {space_.Sample(rng, 64)};
  }
  void Observe(std::span<const Trial> /*trials*/) override {}
  std::optional<double> Bound() const override { return bound_; }

 private:
  const DecisionSpace& space_;
  const double bound_;
  uint64_t drawn_ = 0;
};

TEST_F(DriverTest, StopsAtTheGapToTheHigherBound) {
  ThreadPool pool(1);
  Evaluator evaluator(problem_, pool);
  const auto run = [&](std::optional<double> given, double proved) {
    Prover prover(problem_.space(), proved);
    return *RunSearch(
        prover, evaluator,
        {.budget = {.samples = 5000}, .bound = given, .target_gap = 0.5, .max_failures = 5000});
  };
  const SearchResult far = run(std::nullopt, 1e-9);
  EXPECT_EQ(far.stop, StopReason::kSamples);
  EXPECT_EQ(far.bound, 1e-9);
  const double best = far.best->outcome.value;
  for (const SearchResult& near : {run(best, 1e-9), run(1e-9, best), run(std::nullopt, best)}) {
    EXPECT_EQ(near.stop, StopReason::kTarget);
    EXPECT_EQ(near.bound, best);
    EXPECT_LE(near.best->outcome.value, 1.5 * best);
  }
}

// Nothing can be below the bound, so nothing is left to find.
TEST_F(DriverTest, StopsAtTheBoundItself) {
  const SearchResult all = *Run("random", {.budget = {.samples = 2000}});
  const double best = all.best->outcome.value;
  const SearchResult bounded = *Run("random", {.budget = {.samples = 2000}, .bound = best});
  EXPECT_EQ(bounded.stop, StopReason::kTarget);
  EXPECT_EQ(bounded.best->outcome.value, best);
  EXPECT_LT(bounded.samples, all.samples);
}

TEST_F(DriverTest, RefusesAnEmptyBudget) {
  EXPECT_EQ(ToString(Run("random", {.budget = {.samples = 0}}).error()),
            "the budget is 0 samples, but must be at least 1");
  EXPECT_EQ(ToString(Run("random", {.batch = 0}).error()),
            "the batch is 0 points, but must be at least 1");
}

TEST_F(DriverTest, EndsWithTheObserversError) {
  Recorder recorder;
  recorder.fail_at = 100;
  const auto result = Run("random", {.budget = {.samples = 1000}}, &recorder);
  ASSERT_FALSE(result);
  EXPECT_EQ(ToString(result.error()), "disk full");
}

TEST_F(DriverTest, DoesNotDependOnThreads) {
  for (const char* method : {"random", "ga", "sa", "gamma", "bo"}) {
    const auto one = Run(method, {.budget = {.samples = 500}}, nullptr, 1);
    const auto two = Run(method, {.budget = {.samples = 500}}, nullptr, 2);
    EXPECT_EQ(one->curve, two->curve) << method;
    EXPECT_EQ(one->best->point, two->best->point) << method;
  }
}

TEST_F(DriverTest, ResumesAnywhereWithTheSameResult) {
  for (const MethodInfo* method : SearchMethods()) {
    const std::string name(method->name);
    Recorder whole;
    const auto expected = Run(name, {.budget = {.samples = 150}, .batch = 32}, &whole);
    for (const size_t cut : {0u, 37u, 150u}) {
      if (cut > whole.all.size()) continue;
      Recorder rest;
      const auto resumed = Run(
          name,
          {.budget = {.samples = 150}, .batch = 32, .recorded = std::span(whole.all).first(cut)},
          &rest);
      ASSERT_TRUE(resumed) << resumed.error();
      EXPECT_EQ(resumed->curve, expected->curve) << name << " cut at " << cut;
      EXPECT_EQ(resumed->samples, expected->samples);
      EXPECT_EQ(resumed->infeasible, expected->infeasible);
      EXPECT_EQ(rest.all.size(), whole.all.size() - cut);
    }
  }
}

TEST_F(DriverTest, NoticesARecordOfAnotherRun) {
  Recorder recorder;
  ASSERT_TRUE(Run("random", {.budget = {.samples = 100}}, &recorder));
  const auto resumed = Run("ga", {.budget = {.samples = 100}, .recorded = std::span(recorder.all)});
  ASSERT_FALSE(resumed);
  EXPECT_EQ(ToString(resumed.error()),
            "recorded trial 1 is not what the method proposes: the record belongs to another run");
}

class FailingProblem final : public Problem {
 public:
  const DecisionSpace& space() const override { return space_; }
  Outcome Evaluate(const Point& /*point*/, Workspace& /*workspace*/) const override {
    return Outcome::Failed("no licence");
  }

 private:
  SyntheticSpace space_;
};

TEST_F(DriverTest, GivesUpOnAProblemThatAlwaysFails) {
  const FailingProblem problem;
  const auto searcher = ParseMethodChoice("random")->Make({.space = problem.space()});
  ThreadPool pool(1);
  Evaluator evaluator(problem, pool);
  const auto result = RunSearch(**searcher, evaluator, {.batch = 50, .max_failures = 100});
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->stop, StopReason::kFailures);
  EXPECT_EQ(result->samples, 100);
  EXPECT_EQ(result->last_problem, "no licence");
  EXPECT_FALSE(result->best);
}

// Nothing fits; how far a point is from fitting grows with its first decision.
class TooSmall final : public Problem {
 public:
  const DecisionSpace& space() const override { return space_; }
  Outcome Evaluate(const Point& point, Workspace& /*workspace*/) const override {
    const double words = static_cast<double>(space_.decisions()[0].value(point[0]));
    return Outcome::Infeasible("L1: " + std::to_string(point[0] + 9) + " > 8", words / 8);
  }

 private:
  const DecisionSpace space_{{Decision::Ordinal("tile", {9, 10, 11, 12, 13, 14})}};
};

// What an evaluator that was killed with the program leaves behind.
TEST_F(DriverTest, ABatchThatAStopCutShortCountsForNothing) {
  const FailingProblem problem;
  bool asked = false;
  Recorder recorder;
  ThreadPool pool(1);
  Evaluator evaluator(problem, pool);
  const auto searcher =
      ParseMethodChoice("random")->Make({.space = problem.space(), .seed = 5, .samples = 1000});
  const auto result = RunSearch(
      **searcher, evaluator,
      {.budget = {.samples = 1000}, .interrupted = [&] { return std::exchange(asked, true); }},
      &recorder);
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->stop, StopReason::kInterrupted);
  EXPECT_EQ(result->samples, 0);
  EXPECT_TRUE(recorder.all.empty());
}

// Proposes at random, and learns for ever from every batch after the first ones.
class EternalLearner final : public Searcher {
 public:
  EternalLearner(const DecisionSpace& space, int64_t quick) : space_(space), quick_(quick) {}
  std::vector<Point> Propose(int64_t n) override {
    EXPECT_FALSE(left_) << "asked again after its work was left";
    std::vector<Point> points;
    for (int64_t i = 0; i < n; ++i) {
      CounterRng rng(7, 0, drawn_++);
      points.push_back(space_.Sample(rng, 0));
    }
    return points;
  }
  void Observe(std::span<const Trial> /*trials*/) override {
    if (quick_-- > 0) return;
    while (!Abandoned()) std::this_thread::yield();
    left_ = true;
  }

 private:
  const DecisionSpace& space_;
  int64_t quick_;
  uint64_t drawn_ = 0;
  bool left_ = false;
};

TEST_F(DriverTest, TimeEndsARoundOfLearning) {
  EternalLearner searcher(problem_.space(), 2);
  ThreadPool pool(1);
  Evaluator evaluator(problem_, pool);
  const auto result =
      RunSearch(searcher, evaluator, {.budget = {.samples = 1000, .seconds = 0.1}, .batch = 10});
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->stop, StopReason::kSeconds);
  EXPECT_EQ(result->samples, 30);
}

TEST_F(DriverTest, AStopEndsARoundOfLearning) {
  EternalLearner searcher(problem_.space(), 2);
  ThreadPool pool(1);
  Evaluator evaluator(problem_, pool);
  int asked = 0;  // before each batch and after it, then in the middle
  const auto result = RunSearch(
      searcher, evaluator,
      {.budget = {.samples = 1000}, .batch = 10, .interrupted = [&] { return ++asked > 9; }});
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->stop, StopReason::kInterrupted);
  EXPECT_EQ(result->samples, 30);
}

// Nobody sees what is learned from the last samples, so nobody waits for it.
TEST_F(DriverTest, NothingIsLearnedFromTheLastSamples) {
  EternalLearner searcher(problem_.space(), 2);
  ThreadPool pool(1);
  Evaluator evaluator(problem_, pool);
  const auto result = RunSearch(searcher, evaluator, {.budget = {.samples = 30}, .batch = 10});
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->stop, StopReason::kSamples);
  EXPECT_EQ(result->samples, 30);
}

// A run that is stopped while it catches up keeps all that it had.
TEST_F(DriverTest, AStopWhileARunCatchesUpLosesNothing) {
  Recorder recorder;
  ThreadPool pool(1);
  Evaluator evaluator(problem_, pool);
  EternalLearner before(problem_.space(), 100);
  const auto whole =
      RunSearch(before, evaluator, {.budget = {.samples = 200}, .batch = 10}, &recorder);
  ASSERT_TRUE(whole) << whole.error();
  EternalLearner searcher(problem_.space(), 2);
  RequestStop();
  const auto result = RunSearch(searcher, evaluator,
                                {.budget = {.samples = 400},
                                 .batch = 10,
                                 .interrupted = StopRequested,
                                 .recorded = recorder.all});
  ResetStop();
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->stop, StopReason::kInterrupted);
  EXPECT_EQ(result->samples, 200);
  EXPECT_EQ(result->infeasible, whole->infeasible);
  EXPECT_EQ(result->curve, whole->curve);
}

// Networks this wide take minutes to make.
TEST_F(DriverTest, TimeCountsWhileAMethodIsMade) {
  ThreadPool pool(1);
  Evaluator evaluator(problem_, pool);
  const auto result = RunMethod(*ParseMethodChoice("marl:hidden=1024"), {.space = problem_.space()},
                                evaluator, {.budget = {.samples = 1000, .seconds = 0.05}});
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->stop, StopReason::kSeconds);
  EXPECT_EQ(result->samples, 0);
  EXPECT_LT(result->seconds, 20);
}

TEST_F(DriverTest, QuotesTheClosestPointWhereNothingIsFeasible) {
  const TooSmall problem;
  const auto searcher = ParseMethodChoice("random")->Make({.space = problem.space()});
  ThreadPool pool(1);
  Evaluator evaluator(problem, pool);
  const auto result = RunSearch(**searcher, evaluator, {.budget = {.samples = 100}});
  ASSERT_TRUE(result) << result.error();
  EXPECT_FALSE(result->best);
  EXPECT_EQ(WhyNothing(*result), "the closest one: L1: 9 > 8");
  EXPECT_EQ(WhyNothing({.last_problem = "no licence"}), "the last one: no licence");
}

}  // namespace
}  // namespace tessera
