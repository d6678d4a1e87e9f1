// A decision space: the named choices that make up a mapping, and which combinations are legal.
// Search methods see nothing else of a problem.
#ifndef TESSERA_SPACE_DECISION_SPACE_H_
#define TESSERA_SPACE_DECISION_SPACE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/rng.h"
#include "tessera/space/decision.h"
#include "tessera/space/point.h"

namespace tessera {

// Contract, checked for every space by CheckSpace (space/conformance.h):
//   Threads      const; any number of threads may use a space at once.
//   Determinism  a sample or neighbour is a function of its arguments and the rng's position.
//   Legality     Sample, Neighbor and Repair give legal points; Repair leaves a legal one as it is.
//   Range        a point's index i is in 0 .. decisions()[i].size()-1; others are never legal.
// A space without rules between decisions is this class itself; others derive from it.
class DecisionSpace {
 public:
  // At most Point::kCapacity decisions with distinct names.
  explicit DecisionSpace(std::vector<Decision> decisions);
  virtual ~DecisionSpace() = default;
  DecisionSpace(const DecisionSpace&) = delete;
  DecisionSpace& operator=(const DecisionSpace&) = delete;

  std::span<const Decision> decisions() const { return decisions_; }
  size_t size() const { return decisions_.size(); }
  // Positions of the decisions with more than one value.
  std::span<const size_t> open() const { return open_; }
  // The position of a decision, or size() if there is none of that name.
  size_t Find(std::string_view name) const;

  // Whether a point is legal; the error names the violated inequality.
  virtual Result<void> Check(const Point& point) const;

  // Turns any indices in range into a legal point that differs as little as the space can arrange.
  virtual void Repair(Point& point) const;

  // log10 of the number of legal points.
  virtual double Log10Size() const;

  // A random point: every decision uniform, drawn again up to `redraws` times until it is legal,
  // and repaired if that did not help.
  virtual Point Sample(CounterRng& rng, int64_t redraws) const;

  // A legal point one step away: one decision changed, and what Repair changes with it. Small steps
  // of a number and swaps of an order are likelier than large ones.
  virtual Point Neighbor(const Point& point, CounterRng& rng) const;

  // A different value for one decision, as Neighbor draws it; the point may then need Repair.
  void Mutate(Point& point, size_t decision, CounterRng& rng) const;

  // "k_l2=16 order_l2=K,C,Y,X ...", for messages and logs.
  std::string Describe(const Point& point) const;

 protected:
  // Whether every index is in range; for implementations of Check.
  Result<void> CheckRange(const Point& point) const;

 private:
  std::vector<Decision> decisions_;
  std::vector<size_t> open_;
};

}  // namespace tessera

#endif  // TESSERA_SPACE_DECISION_SPACE_H_
