// The contract of Searcher, line by line.
#include "tessera/search/conformance.h"

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/thread_pool.h"
#include "tessera/search/driver.h"
#include "tessera/search/evaluator.h"

namespace tessera {
namespace {

constexpr int kRounds = 30;
constexpr int64_t kBatch = 16;

Error Violation(const MethodInfo& method, std::string_view line, std::string_view detail) {
  return Error{.kind = ErrorKind::kInternal,
               .message = fmt::format("method {} breaks '{}': {}", method.name, line, detail)};
}

std::unique_ptr<Searcher> Make(const MethodInfo& method, const DecisionSpace& space,
                               uint64_t seed) {
  Result<std::unique_ptr<Searcher>> made =
      method.make({.space = space, .seed = seed, .samples = kRounds * kBatch}, {});
  return made ? *std::move(made) : nullptr;
}

std::vector<Trial> Evaluate(const Problem& problem, const std::vector<Point>& points) {
  std::vector<Trial> trials;
  for (const Point& point : points) trials.push_back({point, problem.Evaluate(point)});
  return trials;
}

int64_t ThreadsNow() {
  std::error_code error;
  int64_t threads = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    threads += entry.exists(error);
  }
  return threads;
}

}  // namespace

// Equal seeds give equal proposals.
Result<void> CheckDeterminism(const MethodInfo& method, const Problem& problem, uint64_t seed) {
  const auto first = Make(method, problem.space(), seed),
             second = Make(method, problem.space(), seed);
  if (first == nullptr) return Violation(method, "defaults", "it cannot be made");
  std::vector<std::vector<Point>> history;
  for (int round = 0; round < kRounds; ++round) {
    history.push_back(first->Propose(kBatch));
    if (history.back().empty()) break;
    first->Observe(Evaluate(problem, history.back()));
  }
  for (const std::vector<Point>& points : history) {
    if (second->Propose(kBatch) != points) return Violation(method, "Determinism", "runs differ");
    if (!points.empty()) second->Observe(Evaluate(problem, points));
  }
  if (first->Notes() != second->Notes()) return Violation(method, "Determinism", "notes differ");
  return {};
}

// A searcher fed with its own journal goes on where it stopped; resume relies on exactly this.
Result<void> CheckReplay(const MethodInfo& method, const Problem& problem, uint64_t seed) {
  const auto live = Make(method, problem.space(), seed),
             replayed = Make(method, problem.space(), seed);
  if (live == nullptr) return Violation(method, "defaults", "it cannot be made");
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Point> points = live->Propose(kBatch);
    if (replayed->Propose(kBatch) != points) {
      return Violation(method, "replay", fmt::format("round {}", round));
    }
    if (points.empty()) break;
    const std::vector<Trial> trials = Evaluate(problem, points);
    live->Observe(trials);
    replayed->Observe(trials);
  }
  return {};
}

// A span is valid during its call only: what it held is overwritten afterwards.
Result<void> CheckOwnership(const MethodInfo& method, const Problem& problem, uint64_t seed) {
  const auto kept = Make(method, problem.space(), seed),
             scribbled = Make(method, problem.space(), seed);
  if (kept == nullptr) return Violation(method, "defaults", "it cannot be made");
  std::vector<std::unique_ptr<std::vector<Trial>>> all;
  std::vector<Trial> reused;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Point> points = kept->Propose(kBatch);
    if (scribbled->Propose(kBatch) != points) {
      return Violation(method, "Ownership", "it reads trials after Observe returned");
    }
    if (points.empty()) break;
    all.push_back(std::make_unique<std::vector<Trial>>(Evaluate(problem, points)));
    kept->Observe(*all.back());
    reused = *all.back();
    scribbled->Observe(reused);
    for (Trial& trial : reused) trial = {.point = Point(), .outcome = {.value = -1e9}};
  }
  return {};
}

// It starts no threads.
Result<void> CheckThreads(const MethodInfo& method, const Problem& problem, uint64_t seed) {
  const int64_t before = ThreadsNow();
  const auto searcher = Make(method, problem.space(), seed);
  if (searcher == nullptr) return Violation(method, "defaults", "it cannot be made");
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Point> points = searcher->Propose(kBatch);
    if (points.empty()) break;
    searcher->Observe(Evaluate(problem, points));
    if (ThreadsNow() > before) return Violation(method, "Threads", "it started one");
  }
  return {};
}

// 1 to n legal points, whatever n is.
Result<void> CheckProposals(const MethodInfo& method, const Problem& problem, uint64_t seed) {
  for (const int64_t batch : {int64_t{1}, int64_t{7}, int64_t{1000}}) {
    const auto searcher = Make(method, problem.space(), seed);
    if (searcher == nullptr) return Violation(method, "defaults", "it cannot be made");
    for (int round = 0; round < 5; ++round) {
      const std::vector<Point> points = searcher->Propose(batch);
      if (std::ssize(points) > batch) return Violation(method, "Propose", "more than n points");
      if (points.empty()) break;
      for (const Point& point : points) {
        if (const Result<void> legal = problem.space().Check(point); !legal) {
          return Violation(method, "Propose", legal.error().message);
        }
      }
      searcher->Observe(Evaluate(problem, points));
    }
  }
  return {};
}

// Outcomes of which none is feasible, or all equal, or some broken, are no reason to stop.
Result<void> CheckBadNews(const MethodInfo& method, const Problem& problem, uint64_t seed) {
  const std::vector<Outcome> news = {
      Outcome::Infeasible("everything <= nothing"),
      Outcome::Failed("the evaluation threw: out of memory"),
      {.kind = OutcomeKind::kFeasible, .value = 1.0},
      {.kind = OutcomeKind::kFeasible, .value = 0.0},
      {.kind = OutcomeKind::kFeasible, .value = 1e300},
  };
  for (size_t kind = 0; kind <= news.size(); ++kind) {
    const auto searcher = Make(method, problem.space(), seed);
    if (searcher == nullptr) return Violation(method, "defaults", "it cannot be made");
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<Point> points = searcher->Propose(kBatch);
      if (points.empty()) break;
      std::vector<Trial> trials;
      for (const Point& point : points) {
        if (!problem.space().Check(point)) return Violation(method, "Propose", "illegal point");
        // The last turn mixes all kinds.
        const size_t pick = kind < news.size() ? kind : trials.size() % news.size();
        trials.push_back({point, news[pick]});
      }
      searcher->Observe(trials);
    }
  }
  return {};
}

// Every declared default and limit can be set, and nothing beyond.
Result<void> CheckParameters(const MethodInfo& method, const Problem& problem, uint64_t seed) {
  for (const ParameterInfo& parameter : method.parameters) {
    const SearchSetup setup{.space = problem.space(), .seed = seed};
    if (parameter.text.empty()) return Violation(method, "parameters", parameter.name);
    const std::string fallback = ToString(parameter.fallback);
    if (const auto made = method.make(setup, {{parameter.name, fallback}}); !made) {
      return Violation(method, "parameters", made.error().message);
    }
  }
  if (method.make({.space = problem.space()}, {{"no_such_parameter", "1"}})) {
    return Violation(method, "parameters", "it takes one that does not exist");
  }
  return {};
}

Result<void> CheckMethod(const MethodInfo& method, const Problem& problem, uint64_t seed) {
  for (const auto check : {CheckDeterminism, CheckReplay, CheckOwnership, CheckThreads,
                           CheckProposals, CheckBadNews, CheckParameters}) {
    if (Result<void> checked = check(method, problem, seed); !checked) return checked;
  }
  return {};
}

}  // namespace tessera
