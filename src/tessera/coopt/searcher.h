// A co-optimization method: proposes what to measure and learns from it. Budget, cache, threads and
// the score belong to coopt/session.h, so that all methods compare on equal terms and every one of
// them resumes by replay. Methods of search/ cannot be used as they are: a joint point of many
// layers costs one measurement per layer, and more decisions than a search point holds.
#ifndef TESSERA_COOPT_SEARCHER_H_
#define TESSERA_COOPT_SEARCHER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/parameter.h"
#include "tessera/base/result.h"
#include "tessera/coopt/problem.h"
#include "tessera/coopt/simulator.h"

namespace tessera::coopt {

// What a method expects of states, higher is better: by its cost model and by its critic.
struct Insight {
  using Values = std::function<std::vector<double>(std::span<const Request>)>;
  Values model;
  Values critic;
};

struct Setup {
  // Outlives the searcher.
  const Problem& problem;

  // Equal seeds give equal proposals. Default: 1.
  uint64_t seed = 1;

  // Measurements that the run may take per layer. Default: 1,000.
  int64_t measurements = 1'000;

  // Whether points that no program exists for are known and left out. Without it they cost a
  // measurement, as in the published methods. Default: true.
  bool validity_filter = true;

  // Told after every Observe of a method that has such expectations; for experiments. May be empty.
  // Default: empty.
  std::function<void(const Insight&)> watch = {};
};

// Contract, checked for every registered method by method_test.cc:
//   Threads      used by one thread at a time; starts none.
//   Determinism  proposals are a function of (setup, options, calls so far).
//   Purity       never measures, prints, reads a clock or opens a file.
//   Turns        every Propose that returned something is followed by one Observe.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // What to measure next, in order; nothing once nothing is left to try.
  virtual std::vector<Request> Propose() = 0;

  // What became of the last proposal, in its order. Requests that were measured before come back
  // with their outcome; those beyond the budget are missing.
  virtual void Observe(std::span<const Measured> measured) = 0;
};

struct MethodInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<ParameterInfo> parameters;
  std::function<Result<std::unique_ptr<Searcher>>(const Setup&, const Assignments&)> make;
};

template <typename Method, typename Options>
MethodInfo DeclareMethod(std::string_view name, std::string_view summary,
                         const ParameterList<Options>& parameters) {
  return {.name = name,
          .summary = summary,
          .parameters = Describe(parameters),
          .make = [name, parameters](const Setup& setup, const Assignments& assignments)
              -> Result<std::unique_ptr<Searcher>> {
            const Result<Options> options =
                ReadOptions("method " + std::string(name), parameters, assignments);
            if (!options) return options.error();
            return std::unique_ptr<Searcher>(std::make_unique<Method>(setup, *options));
          }};
}

// All methods, in the order of --help.
std::span<const MethodInfo> Methods();
std::vector<std::string> MethodNames();

// "dcoc", "autotvm:features=knob:plan=32". Unknown names and values out of range are errors.
struct MethodChoice {
  const MethodInfo* method = nullptr;
  Assignments assignments = {};
  Result<std::unique_ptr<Searcher>> Make(const Setup& setup) const {
    return method->make(setup, assignments);
  }
};
Result<MethodChoice> ParseMethod(std::string_view text);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_SEARCHER_H_
