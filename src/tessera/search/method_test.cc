// Every registered method keeps its contract, and finds the optimum of a landscape that is known.
#include "tessera/search.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <gtest/gtest.h>

#include "tessera/search/conformance.h"
#include "tessera/search/driver.h"
#include "tessera/space/synthetic.h"

namespace tessera {
namespace {

class MethodTest : public testing::TestWithParam<const MethodInfo*> {};

TEST_P(MethodTest, KeepsItsContract) {
  const SyntheticProblem problem;
  const Result<void> checked = CheckMethod(*GetParam(), problem, 3);
  EXPECT_TRUE(checked) << checked.error();
}

// A space with nothing to decide, and one with two points.
TEST_P(MethodTest, CopesWithTinySpaces) {
  class Tiny final : public Problem {
   public:
    explicit Tiny(std::vector<int64_t> values)
        : space_({Decision::Ordinal("only", std::move(values))}) {}
    const DecisionSpace& space() const override { return space_; }
    Outcome Evaluate(const Point& point, Workspace& /*workspace*/) const override {
      return {.kind = OutcomeKind::kFeasible, .value = 2.0 - point[0]};
    }

   private:
    DecisionSpace space_;
  };
  const Tiny one({7}), two({7, 8});
  for (const Tiny* problem : {&one, &two}) {
    const auto searcher = GetParam()->make({.space = problem->space(), .samples = 200}, {});
    ASSERT_TRUE(searcher) << searcher.error();
    ThreadPool pool(1);
    Evaluator evaluator(*problem, pool);
    const auto result = RunSearch(**searcher, evaluator, {.budget = {.samples = 200}});
    ASSERT_TRUE(result) << result.error();
    ASSERT_TRUE(result->best);
    EXPECT_EQ(result->best->outcome.value, problem == &one ? 2.0 : 1.0);
  }
}

// One point in 10^8 is feasible, but every point says how far it is.
class Narrow final : public Problem {
 public:
  const DecisionSpace& space() const override { return space_; }
  Outcome Evaluate(const Point& point, Workspace& /*workspace*/) const override {
    double excess = 0;
    for (size_t i = 0; i < 8; ++i) excess += point[i];
    if (excess > 0) return Outcome::Infeasible("the sum is above 0", excess);
    return {.kind = OutcomeKind::kFeasible, .value = 1.0 + point[8]};
  }

 private:
  static std::vector<Decision> Decisions() {
    std::vector<Decision> made;
    for (int i = 0; i < 9; ++i) {
      made.push_back(Decision::Ordinal("d" + std::to_string(i), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    }
    return made;
  }
  const DecisionSpace space_{Decisions()};
};

TEST(Methods, WalkIntoTheFeasibleRegion) {
  const Narrow problem;
  for (const std::string_view name : {"ga", "gamma", "sa", "bo", "marl-table", "team"}) {
    const auto method = SearchMethods().Find(name);
    ASSERT_TRUE(method);
    const auto searcher = (*method)->make({.space = problem.space(), .samples = 2000}, {});
    ASSERT_TRUE(searcher) << searcher.error();
    ThreadPool pool(1);
    Evaluator evaluator(problem, pool);
    const auto result =
        RunSearch(**searcher, evaluator, {.budget = {.samples = 2000}, .target = 1.0});
    ASSERT_TRUE(result) << result.error();
    EXPECT_TRUE(result->best) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , MethodTest,
    [] {
      std::vector<const MethodInfo*> methods;
      methods.assign(SearchMethods().begin(), SearchMethods().end());
      return testing::ValuesIn(methods);
    }(),
    [](const auto& test) {
      std::string name(test.param->name);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

double BestAfter(const std::string& method, int64_t samples, uint64_t seed) {
  const SyntheticProblem problem;
  const auto searcher =
      ParseMethodChoice(method)->Make({.space = problem.space(), .seed = seed, .samples = samples});
  ThreadPool pool(1);
  Evaluator evaluator(problem, pool);
  return RunSearch(**searcher, evaluator, {.budget = {.samples = samples}})->best->outcome.value;
}

// 2.2 million legal points with one optimum of cost 1. The default settings, which are fastest
// where some percent are good enough, may end beside it.
TEST(Methods, FindTheOptimumOfAKnownLandscape) {
  for (const char* method :
       {"ga:population=40", "gamma:population=40", "sa", "bo:candidates=128:batch=16:local=0.95"}) {
    for (const uint64_t seed : {1u, 2u, 3u}) {
      EXPECT_NEAR(BestAfter(method, 3000, seed), 1.0, 1e-9) << method << " seed " << seed;
    }
  }
}

TEST(Methods, AreBetterThanChance) {
  const double random = BestAfter("random", 400, 1);
  for (const char* method : {"ga", "gamma", "sa", "bo", "marl-table", "team"}) {
    EXPECT_LT(BestAfter(method, 400, 1), random) << method;
  }
}

struct Played {
  std::vector<Trial> trials = {};
  std::vector<Note> notes = {};
};

Played Play(const std::string& method, const Problem& problem = SyntheticProblem()) {
  constexpr int64_t kSamples = 3000;
  const auto searcher =
      ParseMethodChoice(method)->Make({.space = problem.space(), .seed = 1, .samples = kSamples});
  ThreadPool pool(1);
  Evaluator evaluator(problem, pool);
  Played played;
  while (std::ssize(played.trials) < kSamples) {
    std::vector<Trial> trials;
    for (Point& point : (*searcher)->Propose(kSamples - std::ssize(played.trials))) {
      trials.push_back({std::move(point), {}});
    }
    evaluator.Evaluate(trials);
    (*searcher)->Observe(trials);
    played.trials.insert(played.trials.end(), trials.begin(), trials.end());
  }
  played.notes = (*searcher)->Notes();
  return played;
}

// Different ones among the last samples.
size_t LastPoints(const std::string& method) {
  constexpr size_t kLast = 300;
  std::unordered_set<Point, PointHash> last;
  const Played played = Play(method);
  for (const Trial& trial : std::span(played.trials).last(kLast)) last.insert(trial.point);
  return last.size();
}

int64_t Lives(const std::string& method, const Problem& problem = SyntheticProblem()) {
  for (const Note& note : Play(method, problem).notes) {
    if (note.name == "lives") return std::get<int64_t>(note.value);
  }
  return 0;
}

// Nothing else settles these agents.
TEST(Methods, AgentsThatRepeatThemselvesMakeRoom) {
  const std::string patient = "marl:span=0:settled=0.75:repeats=";
  EXPECT_EQ(Lives(patient + "0"), 1);
  EXPECT_GT(Lives(patient + "0.7"), 1);
  EXPECT_GE(Lives(patient + "0.4"), Lives(patient + "0.7"));
}

// Being unsure takes longer until all is repetition. Settled agents never play again here.
TEST(Methods, LaterAgentsAreLessSure) {
  const std::string alone = "marl:span=0:repeats=0.5:entropy_later=";
  EXPECT_GT(Lives(alone + "0"), Lives(alone + "3"));
}

// Of 3,000 samples in rounds of 16: 160, 320, 640 and what is left, which would not do for two
// more; 5 times 480 and the rest.
TEST(Methods, AgentsMakeRoomAfterTheirSpan) {
  const std::string alone = "marl:teams=0:growth=";
  EXPECT_EQ(Lives(alone + "2:span=0"), 1);
  EXPECT_EQ(Lives(alone + "2:span=160"), 4);
  EXPECT_EQ(Lives(alone + "1:span=480"), 6);
  EXPECT_EQ(Lives(alone + "2:span=2000"), 1);
  // Nobody begins when nothing is left.
  EXPECT_EQ(Lives(alone + "2:span=2000:lanes=30"), 1);
}

// Two of 160, then 320 each, until no more than those and the last part are left: 760 of 3,000.
TEST(Methods, HeirsTakeTurnsUntilTheLastSettle) {
  const std::string heirs = "marl:span=160:growth=1:teams=2:turn=320:last=";
  EXPECT_EQ(Lives(heirs + "0.2"), 9);
  EXPECT_EQ(Lives(heirs + "0"), 10);
  EXPECT_EQ(Lives(heirs + "1"), 3);
}

// Who begins anew draws anything, the others what the best mapping so far has.
TEST(Methods, HeirsBeginWithTheBestMapping) {
  constexpr size_t kBefore = 160, kRound = 16;
  const auto agreeing = [](const std::string& anew) {
    const Played played =
        Play("marl:span=160:teams=1:unsure=0.001:anew_least=" + anew + ":anew=" + anew);
    const std::span<const Trial> trials(played.trials);
    const Trial& best = *std::ranges::min_element(
        trials.first(kBefore), {},
        [](const Trial& trial) { return trial.outcome.feasible() ? trial.outcome.value : 1e99; });
    size_t decisions = 0;
    for (size_t i = 0; i < best.point.size(); ++i) {
      decisions += std::ranges::all_of(trials.subspan(kBefore, kRound), [&](const Trial& trial) {
        return trial.point[i] == best.point[i];
      });
    }
    return std::pair(decisions, best.point.size());
  };
  const auto [all, size] = agreeing("0");
  EXPECT_EQ(all, size);
  EXPECT_EQ(agreeing("1").first, 0u);
  EXPECT_GT(agreeing("0.5").first, 0u);
  EXPECT_LT(agreeing("0.5").first, size);
}

// As long as nothing is feasible there is nothing to inherit.
TEST(Methods, WithoutAMappingNobodyInherits) {
  class Nothing final : public Problem {
   public:
    const DecisionSpace& space() const override { return space_; }
    Outcome Evaluate(const Point& /*point*/, Workspace& /*workspace*/) const override {
      return Outcome::Infeasible("never", 1);
    }

   private:
    const DecisionSpace space_{{Decision::Ordinal("only", {1, 2, 3})}};
  };
  EXPECT_EQ(Lives("marl:span=480:growth=1:teams=1:turn=16", Nothing()), 7);
}

TEST(Methods, EntropyFadesWithTheBudget) {
  // One network with all decisions feels the sum of their entropies.
  for (const std::string method :
       {"marl:span=0:entropy=0.3", "ppo-discrete:entropy=0.03", "ppo:entropy=0.3"}) {
    EXPECT_LT(2 * LastPoints(method + ":entropy_left=0"), LastPoints(method + ":entropy_left=1"))
        << method;
  }
}

TEST(Methods, HaveDistinctNamesAndTexts) {
  std::set<std::string_view> names;
  for (const MethodInfo* method : SearchMethods()) {
    EXPECT_TRUE(names.insert(method->name).second) << method->name;
    EXPECT_FALSE(method->summary.empty());
  }
}

std::string MessageOf(const std::string& text) {
  const Result<MethodChoice> choice = ParseMethodChoice(text);
  return choice ? "no error" : ToString(choice.error());
}

TEST(MethodChoice, ReadsSettings) {
  const Result<MethodChoice> choice = ParseMethodChoice("ga:population=20:mutations=2.5");
  ASSERT_TRUE(choice) << choice.error();
  EXPECT_EQ(choice->method->name, "ga");
  EXPECT_EQ(choice->ToString(), "ga:population=20:mutations=2.5");
  EXPECT_EQ(MessageOf("gaa"), "unknown search method 'gaa'; did you mean 'ga'?");
  EXPECT_EQ(MessageOf("ga:popluation=20"),
            "method ga has no parameter 'popluation'; did you mean 'population'?");
  EXPECT_EQ(MessageOf("ga:population=0"),
            "parameter 'population' is '0', but must be in 1..100000");
  EXPECT_EQ(MessageOf("ga:20"), "'20' is not a setting of method ga; write METHOD:NAME=VALUE");
}

}  // namespace
}  // namespace tessera
