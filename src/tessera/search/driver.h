// Runs a search method on a problem within a budget. This is the only place that counts samples and
// reads the clock, so every method is measured alike.
#ifndef TESSERA_SEARCH_DRIVER_H_
#define TESSERA_SEARCH_DRIVER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/search/budget.h"
#include "tessera/search/evaluator.h"
#include "tessera/search/searcher.h"

namespace tessera {

enum class StopReason {
  kSamples,      // the budget of samples is spent
  kSeconds,      // the budget of time is spent
  kTarget,       // the target value or gap is reached
  kExhausted,    // the method has nothing left to try
  kInterrupted,  // somebody asked to stop
  kFailures,     // too many evaluations in a row failed
};
std::string_view ToString(StopReason reason);

struct SearchOptions {
  Budget budget = {};

  // Points asked for at a time; a part of the result, because methods learn between batches.
  // Default: 64.
  int64_t batch = 64;

  // The run ends once a value this low is found. Default: none.
  double target = -std::numeric_limits<double>::infinity();

  // A value that no point can be below, known from elsewhere. Default: none.
  std::optional<double> bound = {};

  // The run ends once the best value is at most this part above the best bound known, be it the one
  // above or one that the method proved: 0.05 is 5 %. Default: none, which is 0.
  std::optional<double> target_gap = {};

  // The run ends after this many failed evaluations in a row (not infeasible ones, broken ones).
  // Default: 200.
  int64_t max_failures = 200;

  // Asked before every batch whether to stop; may be empty. Default: empty.
  std::function<bool()> interrupted = {};

  // Trials of an earlier, interrupted run of the same method and setup, in order. They are taken
  // instead of evaluating again; the method must propose the same points. Default: none.
  std::span<const Trial> recorded = {};
};

// A new best value and the number of samples at which it was found.
struct Improvement {
  int64_t samples;
  double value;

  friend bool operator==(const Improvement&, const Improvement&) = default;
};

struct SearchResult {
  std::optional<Trial> best = {};    // the first of the best feasible trials
  std::optional<double> bound = {};  // the higher one of the options' and of the method's
  std::vector<Improvement> curve = {};
  int64_t samples = 0;  // all evaluations, those below included
  int64_t infeasible = 0;
  int64_t failed = 0;
  std::string last_problem = {};  // why the last infeasible or failed point was so
  // Which rule the infeasible point broke that came closest to the rules, if the problem can tell.
  std::string closest_problem = {};
  StopReason stop = StopReason::kSamples;
  double seconds = 0;  // wall time, evaluation included
  std::vector<Note> notes = {};
};

// What a run without a feasible point says of itself: "the closest one: ...", or of the last one.
std::string WhyNothing(const SearchResult& result);

// Told of everything that a run evaluates, in order. An error ends the run with that error.
class SearchObserver {
 public:
  virtual ~SearchObserver() = default;

  // Trials of one batch that were evaluated now, so without recorded ones. `result` has counted
  // the whole batch already.
  virtual Result<void> OnTrials(std::span<const Trial> trials, const SearchResult& result) = 0;
};

// Errors: a budget without samples, recorded trials that the method does not propose, or what the
// observer returned. A run without a feasible point is not an error here: `best` is empty.
Result<SearchResult> RunSearch(Searcher& searcher, Evaluator& evaluator,
                               const SearchOptions& options, SearchObserver* observer = nullptr);

}  // namespace tessera

#endif  // TESSERA_SEARCH_DRIVER_H_
