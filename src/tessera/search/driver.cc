// The loop of every search: propose, evaluate, write down, observe.
#include "tessera/search/driver.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/stop.h"
#include "tessera/result.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Run {
 public:
  Run(Evaluator& evaluator, const SearchOptions& options, SearchObserver* observer)
      : evaluator_(evaluator), options_(options), observer_(observer) {}

  // Before Go: makes the searcher.
  Result<std::unique_ptr<Searcher>> Make(const MethodChoice& method, const SearchSetup& setup) {
    const AbandonScope scope([&] { return Unwanted(); });
    Result<std::unique_ptr<Searcher>> made = method.Make(setup);
    if (scope.abandoned()) GiveUp();
    return made;
  }

  Result<SearchResult> Go(Searcher& searcher) {
    result_.bound = options_.bound;
    while (!given_up_ && !Finished()) {
      const int64_t left = options_.budget.samples - result_.samples;
      std::vector<Point> points;
      {
        const AbandonScope scope([&] { return Unwanted(); });
        points = searcher.Propose(std::min(options_.batch, left));
        if (scope.abandoned()) {
          GiveUp();
          break;
        }
      }
      TESSERA_CHECK(std::ssize(points) <= std::min(options_.batch, left));
      if (points.empty()) {
        result_.stop = StopReason::kExhausted;
        break;
      }
      if (Result<void> done = Batch(searcher, std::move(points)); !done) return done.error();
    }
    result_.seconds = SecondsSince(start_);
    result_.notes = searcher.Notes();
    result_.agents = searcher.Agents();
    return std::move(result_);
  }

 private:
  bool Finished() {
    const auto stop = [&](StopReason reason) {
      result_.stop = reason;
      return true;
    };
    if (cut_short_) return stop(StopReason::kInterrupted);
    if (result_.best && result_.best->outcome.value <= Target()) return stop(StopReason::kTarget);
    if (result_.samples >= options_.budget.samples) return stop(StopReason::kSamples);
    if (failures_in_a_row_ >= options_.max_failures) return stop(StopReason::kFailures);
    // Recorded trials cost nothing, so a resumed run catches up before it looks at its limits.
    if (result_.samples < std::ssize(options_.recorded)) return false;
    if (options_.interrupted && options_.interrupted()) return stop(StopReason::kInterrupted);
    if (OutOfTime()) return stop(StopReason::kSeconds);
    return false;
  }

  bool OutOfTime() const {
    return options_.budget.seconds > 0 && SecondsSince(start_) >= options_.budget.seconds;
  }

  // Whether the run ends before anybody asks for what the searcher works at.
  bool Unwanted() const {
    // The end of what is recorded is no end of the run, so only the program itself may stop here.
    if (result_.samples < std::ssize(options_.recorded)) return StopRequested();
    return (options_.interrupted && options_.interrupted()) || OutOfTime();
  }

  // The searcher was left in the middle of something, so it is not asked again. What is recorded
  // counts without it.
  void GiveUp() {
    given_up_ = true;
    while (result_.samples < std::ssize(options_.recorded)) {
      Count(options_.recorded[static_cast<size_t>(result_.samples)]);
    }
    if (!Finished()) result_.stop = StopReason::kInterrupted;
  }

  double Target() const {
    if (!result_.bound) return options_.target;
    return std::max(options_.target, *result_.bound * (1 + options_.target_gap.value_or(0)));
  }

  Result<void> Batch(Searcher& searcher, std::vector<Point> points) {
    trials_.resize(points.size());
    for (size_t i = 0; i < points.size(); ++i) trials_[i].point = points[i];
    const Result<size_t> replayed = Replay();
    if (!replayed) return replayed.error();
    const std::span<Trial> fresh = std::span(trials_).subspan(*replayed);
    evaluator_.Evaluate(fresh);
    cut_short_ = CutShort(fresh);
    if (cut_short_) return {};
    for (const Trial& trial : trials_) Count(trial);
    if (observer_ != nullptr && !fresh.empty()) {
      if (Result<void> told = observer_->OnTrials(fresh, result_); !told) return told;
    }
    // Nobody sees what is learned from the last samples.
    const bool last = Finished();
    const AbandonScope scope([&] { return last || Unwanted(); });
    searcher.Observe(trials_);
    if (const std::optional<double> proved = searcher.Bound()) {
      result_.bound = std::max(*proved, result_.bound.value_or(*proved));
    }
    if (scope.abandoned()) GiveUp();
    return {};
  }

  // Whether evaluations failed because somebody asked to stop. The batch then counts for nothing:
  // a resumed run proposes and evaluates it again.
  bool CutShort(std::span<const Trial> fresh) const {
    const auto failed = [](const Trial& trial) {
      return trial.outcome.kind == OutcomeKind::kFailed;
    };
    return options_.interrupted && options_.interrupted() &&
           std::any_of(fresh.begin(), fresh.end(), failed);
  }

  // Takes what is recorded of this batch and returns how many trials that are.
  Result<size_t> Replay() {
    const size_t begin = std::min(static_cast<size_t>(result_.samples), options_.recorded.size());
    const size_t count = std::min(options_.recorded.size() - begin, trials_.size());
    for (size_t i = 0; i < count; ++i) {
      const Trial& recorded = options_.recorded[begin + i];
      if (recorded.point != trials_[i].point) {
        return Error{.kind = ErrorKind::kBadValue,
                     .message = fmt::format("recorded trial {} is not what the method proposes: "
                                            "the record belongs to another run",
                                            begin + i + 1)};
      }
      trials_[i].outcome = recorded.outcome;
    }
    return count;
  }

  void Count(const Trial& trial) {
    const Outcome& outcome = trial.outcome;
    ++result_.samples;
    if (options_.reward_reference) CountReward(outcome);
    const bool failed = outcome.kind == OutcomeKind::kFailed;
    failures_in_a_row_ = failed ? failures_in_a_row_ + 1 : 0;
    result_.failed += failed;
    result_.infeasible += outcome.kind == OutcomeKind::kInfeasible;
    if (!outcome.feasible()) {
      result_.last_problem = outcome.why;
      if (outcome.excess > 0 && outcome.excess < least_excess_) {
        least_excess_ = outcome.excess;
        result_.closest_problem = outcome.why;
      }
    } else if (!result_.best || evaluator_.problem().Better(outcome, result_.best->outcome)) {
      const bool lower = !result_.best || outcome.value < result_.best->outcome.value;
      result_.best = trial;
      if (lower) result_.curve.push_back({.samples = result_.samples, .value = outcome.value});
    }
  }

  void CountReward(const Outcome& outcome) {
    const bool counts = outcome.feasible() && std::isfinite(outcome.value);
    rewards_ += counts ? *options_.reward_reference / outcome.value : -1;
    if (result_.samples % kReturnWindow != 0) return;
    result_.returns.push_back({result_.samples, rewards_ / static_cast<double>(kReturnWindow)});
    rewards_ = 0;
  }

  Evaluator& evaluator_;
  const SearchOptions& options_;
  SearchObserver* const observer_;
  const Clock::time_point start_ = Clock::now();
  SearchResult result_;
  int64_t failures_in_a_row_ = 0;
  double rewards_ = 0;  // of the samples since the last mean
  bool cut_short_ = false, given_up_ = false;
  double least_excess_ = std::numeric_limits<double>::infinity();  // of infeasible points
  std::vector<Trial> trials_;
};

}  // namespace

std::string WhyNothing(const SearchResult& result) {
  return result.closest_problem.empty() ? "the last one: " + result.last_problem
                                        : "the closest one: " + result.closest_problem;
}

std::string_view ToString(StopReason reason) {
  constexpr std::array<std::string_view, 6> kNames = {
      "samples spent",       "time spent",  "target reached",
      "nothing left to try", "interrupted", "too many failed evaluations"};
  return kNames[static_cast<size_t>(reason)];
}

namespace {

Result<void> Check(const SearchOptions& options) {
  if (options.budget.samples < 1) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("the budget is {} samples, but must be at least 1",
                                        options.budget.samples)};
  }
  if (options.batch < 1) {
    return Error{
        .kind = ErrorKind::kUsage,
        .message = fmt::format("the batch is {} points, but must be at least 1", options.batch)};
  }
  return {};
}

}  // namespace

Result<SearchResult> RunSearch(Searcher& searcher, Evaluator& evaluator,
                               const SearchOptions& options, SearchObserver* observer) {
  if (Result<void> checked = Check(options); !checked) return checked.error();
  return Run(evaluator, options, observer).Go(searcher);
}

Result<SearchResult> RunMethod(const MethodChoice& method, const SearchSetup& setup,
                               Evaluator& evaluator, const SearchOptions& options,
                               SearchObserver* observer) {
  if (Result<void> checked = Check(options); !checked) return checked.error();
  Run run(evaluator, options, observer);
  const Result<std::unique_ptr<Searcher>> searcher = run.Make(method, setup);
  if (!searcher) return searcher.error();
  return run.Go(**searcher);
}

Result<SearchResult> RunSearch(Searcher& searcher, const Problem& problem, ThreadPool& pool,
                               const SearchOptions& options, SearchObserver* observer) {
  Evaluator evaluator(problem, pool);
  return RunSearch(searcher, evaluator, options, observer);
}

}  // namespace tessera
