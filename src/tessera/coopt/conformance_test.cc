// Every method keeps the contract of JointSearcher, line by line, on fixed and on free hardware;
// and the session keeps its turns.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tessera/coopt/methods.h"
#include "tessera/coopt/session.h"
#include "tessera/coopt/toy_target.h"
#include "tessera/search/conformance.h"

namespace tessera::coopt {
namespace {

class JointContestant final : public Contestant {
 public:
  JointContestant(const CooptProblem& problem, std::unique_ptr<JointSearcher> searcher)
      : problem_(problem), searcher_(std::move(searcher)) {}

  // How many a joint method proposes is its own affair.
  Result<std::vector<std::string>> Propose(int64_t /*n*/) override {
    requests_ = searcher_->Propose();
    std::vector<std::string> words;
    for (const auto& [hardware, layer, point] : requests_) {
      if (hardware >= problem_.hardware().size() || layer >= problem_.layers().size()) {
        return Error{.kind = ErrorKind::kInternal, .message = "no such accelerator or layer"};
      }
      const ScheduleSpace& space = problem_.task(hardware, layer).space;
      const Result<void> legal = space.Check(space.Unpacked(point));
      if (!legal) return legal.error();
      words.push_back(fmt::format("{} {} {}", hardware, layer, space.Describe(point)));
    }
    return words;
  }

  void Observe(News news) override {
    measured_.clear();
    for (size_t i = 0; i < requests_.size(); ++i) {
      const auto mixed = static_cast<News>(1 + i % 5);
      measured_.push_back(
          {requests_[i], OutcomeOf(requests_[i], news == News::kMixed ? mixed : news)});
    }
    // Those beyond a budget are missing.
    if (news == News::kMixed) measured_.resize(measured_.size() / 2);
    searcher_->Observe(measured_);
    for (Measured& item : measured_) item = {};
  }

 private:
  MeasuredOutcome OutcomeOf(const Request& request, News news) const {
    const auto priced = [](int64_t cycles) {
      return MeasuredOutcome{
          .valid = true, .cycles = cycles, .energy_pj = 1, .value = static_cast<double>(cycles)};
    };
    switch (news) {
      case News::kInfeasible:
      case News::kFailed: return {.why = "everything <= nothing"};
      case News::kEqual:
      case News::kFree: return priced(1);
      case News::kHuge: return priced(int64_t{1} << 62);
      default: break;
    }
    const auto& space =
        static_cast<const ToySpace&>(problem_.task(request.hardware, request.layer).space);
    MeasuredOutcome outcome = space.Price(request.point);
    outcome.value = static_cast<double>(outcome.cycles);
    return outcome;
  }

  const CooptProblem& problem_;
  const std::unique_ptr<JointSearcher> searcher_;
  std::vector<Request> requests_;
  std::vector<Measured> measured_;
};

ContractSubject SubjectOf(const MethodInfo& method, const CooptProblem& problem) {
  const auto make = [&](uint64_t seed,
                        const Assignments& settings) -> Result<std::unique_ptr<Contestant>> {
    Result<std::unique_ptr<JointSearcher>> made =
        MakeSearcher({.method = &method, .assignments = settings},
                     {.problem = problem, .seed = seed, .measurements = 64});
    if (!made) return made.error();
    return std::unique_ptr<Contestant>(
        std::make_unique<JointContestant>(problem, *std::move(made)));
  };
  return {.method = method, .make = make, .evaluations = [] { return ToySpace::measured.load(); }};
}

class ContractTest : public testing::TestWithParam<const MethodInfo*> {};

TEST_P(ContractTest, KeepsItsContract) {
  const CooptProblem fixed = ToyProblem("4"), free = ToyProblem(std::nullopt);
  const MethodInfo& method = *GetParam();
  const Result<void> alone = CheckContract(SubjectOf(method, fixed), 3);
  EXPECT_TRUE(alone) << alone.error();
  if (!method.make_joint) return;
  const Result<void> joint = CheckContract(SubjectOf(method, free), 3);
  EXPECT_TRUE(joint) << joint.error();
}

INSTANTIATE_TEST_SUITE_P(
    , ContractTest,
    [] {
      std::vector<const MethodInfo*> methods;
      std::ranges::copy_if(CooptMethods(), std::back_inserter(methods),
                           [](const MethodInfo* m) { return m->make || m->make_joint; });
      return testing::ValuesIn(methods);
    }(),
    [](const auto& test) {
      std::string name(test.param->name);
      std::ranges::replace(name, '-', '_');
      return name;
    });

// Proposes one point of each layer until it is told of none.
class Spy final : public JointSearcher {
 public:
  std::vector<Request> Propose() override {
    EXPECT_FALSE(waiting_) << "two proposals without an answer";
    waiting_ = true;
    ++turns;
    const auto tile = static_cast<uint8_t>(turns - 1);
    return {{0, 0, {tile}}, {0, 1, {tile}}};
  }
  void Observe(std::span<const Measured> measured) override {
    EXPECT_TRUE(waiting_) << "an answer without a proposal";
    EXPECT_LE(measured.size(), 2u);
    waiting_ = false;
  }
  int turns = 0;

 private:
  bool waiting_ = false;
};

TEST(SessionContract, EveryProposalIsFollowedByOneObserve) {
  const CooptProblem problem = ToyProblem("4");
  ThreadPool pool(1);
  Spy spy;
  const Result<SessionResult> result =
      RunSession(spy, problem, Simulator(problem, pool), {.measurements = 4});
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(spy.turns, 4);
  EXPECT_EQ(result->measurements, 8);
}

}  // namespace
}  // namespace tessera::coopt
