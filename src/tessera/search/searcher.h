// A search method: proposes points of a decision space and learns from what they cost. Budget,
// threads, journal and evaluation belong to search/driver.h. A method sees Propose and Observe
// only, so all methods compare on equal terms and every one of them resumes by replay.
#ifndef TESSERA_SEARCH_SEARCHER_H_
#define TESSERA_SEARCH_SEARCHER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/parameter.h"
#include "tessera/space/point.h"
#include "tessera/space/problem.h"

namespace tessera {

// A fact that a method reports about its run: "warmup_samples" = 2000.
struct Note {
  std::string name;
  ParameterValue value;

  friend bool operator==(const Note&, const Note&) = default;
};

// Contract, checked line by line for every registered method by search/conformance.cc:
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
};

}  // namespace tessera

#endif  // TESSERA_SEARCH_SEARCHER_H_
