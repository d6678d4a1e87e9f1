// Search methods: what proposes points of a decision space and learns from what they cost.
//
// To use a method of Tessera's: parse its name, make it for a space, run it (RunSearch).
// To add your own: derive from Searcher, declare it with DeclareMethod and call RegisterMethod;
// from then on it can be mapped with, compared and listed by name like all others.
#ifndef TESSERA_SEARCH_H_
#define TESSERA_SEARCH_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

namespace policy {
class Networks;
}

// ---- Searchers ---------------------------------------------------------------------------------
//
// Budget, threads, journal and evaluation belong to whoever runs a search. A method sees Propose
// and Observe only, so all methods compare on equal terms and every one of them resumes by replay.

// A fact that a method reports about its run: "warmup_samples" = 2000.
struct Note {
  std::string name;
  ParameterValue value;

  friend bool operator==(const Note&, const Note&) = default;
};

// Contract, checked line by line for every method of Tessera:
//   Threads      used by one thread at a time; starts none.
//   Determinism  proposals are a function of (setup, options, calls so far), not of the clock.
//   Ownership    the space outlives the searcher; a span is valid during its call only.
//   Purity       never evaluates, prints or opens a file after it was made.
//   Turns        every Propose that returned points is followed by one Observe of all of them.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // Returns 1 to n points to evaluate next, or none once nothing is left to try. The points are
  // legal in the space, but may turn out infeasible: each still costs one sample, and it comes back
  // through Observe.
  virtual std::vector<Point> Propose(int64_t n) = 0;

  // Takes all outcomes in proposal order; an infeasible one names the violated inequality.
  virtual void Observe(std::span<const Trial> trials) = 0;

  // A value that no point of the space is below, as far as the method has proved one.
  virtual std::optional<double> Bound() const { return std::nullopt; }

  // What the method found out about itself so far.
  virtual std::vector<Note> Notes() const { return {}; }

  // Who decides what: the names of each agent's decisions. Empty if the method has no agents.
  virtual std::vector<std::vector<std::string>> Agents() const { return {}; }
};

// ---- Methods by name ---------------------------------------------------------------------------
//
// One descriptor for every method of the program, whether it searches one space, decides hardware
// and schedules together, or proves. The command line, --help and bindings read lists of them.

// The other kind of searcher, whose points are accelerators with a schedule for every layer. Named
// here because a descriptor says of every method how it is made; for methods of Tessera only.
namespace coopt {
class JointSearcher;
struct JointSetup;
}  // namespace coopt

// The task that a searcher is made for.
struct SearchSetup {
  // Outlives the searcher.
  const DecisionSpace& space;

  // Equal seeds give equal proposals. Default: 1.
  uint64_t seed = 1;

  // Samples that the run may take; schedules and shares refer to it. Default: 20'000.
  int64_t samples = 20'000;

  // Good points of similar problems, best first, translated into this space; for methods that take
  // hints. Default: none.
  std::vector<Point> hints = {};

  // What the points are mappings of, for methods that look at layer, machine and objective; not for
  // prices. Outlives the searcher. Default: null, not known.
  const MappingProblem* mapping = nullptr;

  // What method `policy` acts by. Default: null, the one that ships for the problem's cost model.
  std::shared_ptr<const policy::Networks> policy = {};
};

template <typename Made, typename Setup>
using MakeMethod =
    std::function<Result<std::unique_ptr<Made>>(const Setup& setup, const Assignments& settings)>;

struct MethodInfo {
  std::string_view name;     // "random", as in --method
  std::string_view summary;  // one line for lists and --help
  std::vector<ParameterInfo> parameters = {};

  // Whether it makes use of SearchSetup::hints. Default: false.
  bool takes_hints = false;

  // Whether it ends with a proof that nothing is better. Default: false.
  bool proves = false;

  // Parameters whose values are names of files; they have to travel with a run. Default: none.
  std::vector<std::string_view> file_parameters = {};

  // The method of one space that this one is for hardware and schedules together. Default: none.
  std::string_view joint_version_of = {};

  // How it is made; empty where it does not work on such a problem. A method without either is
  // carried out by the command that offers it.
  MakeMethod<Searcher, SearchSetup> make = {};
  MakeMethod<coopt::JointSearcher, coopt::JointSetup> make_joint = {};
};

// "one space", "hardware and schedules" or "proof": what a method works on.
std::string_view WorksOn(const MethodInfo& method);

template <typename Made, typename Setup, typename Method, typename Options>
MakeMethod<Made, Setup> MakerOf(std::string_view name, const ParameterList<Options>& parameters) {
  return [name, parameters](const Setup& setup,
                            const Assignments& settings) -> Result<std::unique_ptr<Made>> {
    const Result<Options> options =
        ReadOptions("method " + std::string(name), parameters, settings);
    if (!options) return options.error();
    if constexpr (requires { Method::Make(setup, *options); }) {
      return Method::Make(setup, *options);
    } else {
      return std::unique_ptr<Made>(std::make_unique<Method>(setup, *options));
    }
  };
}

// Declares a method, with its name, summary and capabilities in `info`. `Method` is made from a
// setup and its options, either by its constructor or, where that can fail, by
// Result<std::unique_ptr<Searcher>> Method::Make.
template <typename Method, typename Options>
MethodInfo DeclareMethod(MethodInfo info, const ParameterList<Options>& parameters) {
  info.parameters = Describe(parameters);
  if constexpr (std::derived_from<Method, Searcher>) {
    info.make = MakerOf<Searcher, SearchSetup, Method>(info.name, parameters);
  } else {
    info.make_joint =
        MakerOf<coopt::JointSearcher, coopt::JointSetup, Method>(info.name, parameters);
  }
  return info;
}

// Methods that a use case offers, in the order of `tessera list methods`.
class MethodList {
 public:
  // `what` names their kind in messages: "search method". The methods outlive the list.
  MethodList(std::string_view what, std::vector<const MethodInfo*> methods)
      : what_(what), methods_(std::move(methods)) {}

  auto begin() const { return methods_.begin(); }
  auto end() const { return methods_.end(); }
  std::vector<std::string> Names() const;
  Result<const MethodInfo*> Find(std::string_view name) const;
  void Add(const MethodInfo& method) { methods_.push_back(&method); }

 private:
  std::string_view what_;
  std::vector<const MethodInfo*> methods_;
};

std::vector<const MethodInfo*> PointersTo(std::span<const MethodInfo> methods);

// The methods of one space.
const MethodList& SearchMethods();

// Adds a method of one space at the end of that list. Call it before anything is searched: lists
// that others made of it do not change any more. Errors: a name that is taken.
Result<void> RegisterMethod(MethodInfo method);

// A method with settings as users write it: "ga", "ga:population=50:elites=5".
struct MethodChoice {
  const MethodInfo* method = nullptr;
  Assignments assignments = {};

  std::string ToString() const;

  // The values of settings that name files, to be read or written.
  std::vector<std::string*> Files();

  // A searcher of one space. The method has `make`.
  Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup) const {
    return method->make(setup, assignments);
  }
};

// Unknown methods and parameters and values out of range are errors with a hint.
Result<MethodChoice> ParseMethodChoice(std::string_view text,
                                       const MethodList& methods = SearchMethods());

// ---- Policies ----------------------------------------------------------------------------------

// A policy that ships with the program: what method `policy` acts by (docs/policies.md).
struct PolicyInfo {
  std::string name = {};
  std::string model = {};  // the cost model whose mappings it makes
  std::string summary = {};
  std::string command = {};  // that trains it again
  int64_t seed = 1;
  std::string data_hash = {};  // of what it was trained on
  std::string sha256 = {};     // of its file
  int64_t bytes = 0;
};
std::vector<PolicyInfo> Policies();

// ---- Running a search --------------------------------------------------------------------------
//
// This is the only place that counts samples and reads the clock, so every method is measured
// alike.

// What a run may spend. It ends at the first limit reached, and the report names that limit.
struct Budget {
  // Evaluations, infeasible ones included. Default: 20'000.
  int64_t samples = 20'000;

  // Wall-clock limit, which makes the result depend on the machine. Default: 0 (none).
  double seconds = 0;
};

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

  // What rewards are measured by: the reward of a sample is this value / objective, and -1 where it
  // is not feasible (environment `mapping`, reward=inverse). Default: none, rewards are not
  // counted.
  std::optional<double> reward_reference = {};

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

// The mean reward of the samples up to a number of them, over a thousand.
struct MeanReturn {
  int64_t samples;
  double reward;

  friend bool operator==(const MeanReturn&, const MeanReturn&) = default;
};
inline constexpr int64_t kReturnWindow = 1000;

struct SearchResult {
  std::optional<Trial> best = {};    // the first of the best feasible trials (Problem::Better)
  std::optional<double> bound = {};  // the higher one of the options' and of the method's
  std::vector<Improvement> curve = {};
  std::vector<MeanReturn> returns = {};  // after every thousand samples, if rewards are counted
  int64_t samples = 0;                   // all evaluations, those below included
  int64_t infeasible = 0;
  int64_t failed = 0;
  std::string last_problem = {};  // why the last infeasible or failed point was so
  // Which rule the infeasible point broke that came closest to the rules, if the problem can tell.
  std::string closest_problem = {};
  StopReason stop = StopReason::kSamples;
  double seconds = 0;  // wall time, evaluation included
  std::vector<Note> notes = {};
  std::vector<std::vector<std::string>> agents = {};  // of the method, as Searcher::Agents
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

// Runs a searcher on a problem, on the threads of a pool: asks it, prices what it proposes, tells
// it. The result depends on the searcher, the problem and the options alone, unless the budget has
// seconds. Errors: a budget without samples, recorded trials that the method does not propose, or
// what the observer returned. A run without a feasible point is not an error: `best` is empty.
Result<SearchResult> RunSearch(Searcher& searcher, const Problem& problem, ThreadPool& pool,
                               const SearchOptions& options = {},
                               SearchObserver* observer = nullptr);

}  // namespace tessera

#endif  // TESSERA_SEARCH_H_
