// A co-optimization method: proposes what to measure and learns from it. Budget, cache, threads and
// the score belong to coopt/session.h, so that all methods compare on equal terms and every one of
// them resumes by replay. Where hardware is decided too, methods of search/ cannot be used as they
// are: a joint point of many layers costs one measurement per layer, and has more decisions than a
// search point holds. On fixed hardware each layer is a space of its own (coopt/layer_searchers.h).
#ifndef TESSERA_COOPT_SEARCHER_H_
#define TESSERA_COOPT_SEARCHER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/coopt/problem.h"
#include "tessera/coopt/simulator.h"
#include "tessera/part.h"

namespace tessera::coopt {

// What a method expects of states, higher is better: by its cost model and by its critic.
struct Insight {
  using Values = std::function<std::vector<double>(std::span<const Request>)>;
  Values model;
  Values critic;
};

struct JointSetup {
  // Outlives the searcher.
  const CooptProblem& problem;

  // Equal seeds give equal proposals. Default: 1.
  uint64_t seed = 1;

  // Measurements that the run may take per layer. Default: 1,000.
  int64_t measurements = 1'000;

  // Whether points that no program exists for are known and left out. Without it they cost a
  // measurement, as in the published methods. Default: true.
  bool validity_filter = true;

  // What an earlier run has kept (JointSearcher::Save), for methods that take it up: agents then
  // act as they learned to elsewhere. Default: null, nothing.
  std::shared_ptr<const TensorReader> policy = {};

  // Told after every Observe of a method that has such expectations; for experiments. May be empty.
  // Default: empty.
  std::function<void(const Insight&)> watch = {};
};

// Contract, checked line by line for every registered method by search/conformance.cc:
//   Threads      used by one thread at a time; starts none.
//   Determinism  proposals are a function of (setup, options, calls so far), not of the clock.
//   Ownership    the problem outlives the searcher; a span is valid during its call only.
//   Purity       never measures, prints or opens a file.
//   Turns        every Propose that returned something is followed by one Observe.
class JointSearcher {
 public:
  virtual ~JointSearcher() = default;

  // What to measure next, in order; nothing once nothing is left to try.
  virtual std::vector<Request> Propose() = 0;

  // What became of the last proposal, in its order. Requests that were measured before come back
  // with their outcome; those beyond the budget are missing.
  virtual void Observe(std::span<const Measured> measured) = 0;

  // Whether it has something that runs on other networks can begin with, and takes it up.
  virtual bool Keeps() const { return false; }
  // Adds that to a file; arrays are those of the searcher, which outlives the writer.
  virtual void Save(TensorWriter& /*writer*/) const {}
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_SEARCHER_H_
