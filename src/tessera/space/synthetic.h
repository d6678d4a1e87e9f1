// A small mapping-like problem whose optimum is known, for tests, conformance and as a guided tour
// of what a space and a problem are.
#ifndef TESSERA_SPACE_SYNTHETIC_H_
#define TESSERA_SPACE_SYNTHETIC_H_

#include "tessera/space.h"

namespace tessera {

// Two nested tiles (inner <= outer), a parallel dimension, a loop order and a count.
class SyntheticSpace final : public DecisionSpace {
 public:
  SyntheticSpace();
  Result<void> Check(const Point& point) const override;
  void Repair(Point& point) const override;
  double Log10Size() const override;
};

// The cost is 1 at exactly one point and grows with the distance from it, but tiles depend on the
// parallel dimension, so decisions cannot be optimised one by one. A quarter of the tiles is
// infeasible for want of memory.
class SyntheticProblem final : public Problem {
 public:
  const DecisionSpace& space() const override { return space_; }
  using Problem::Evaluate;
  Outcome Evaluate(const Point& point, Workspace& workspace) const override;
  Point Optimum() const;

 private:
  SyntheticSpace space_;
};

}  // namespace tessera

#endif  // TESSERA_SPACE_SYNTHETIC_H_
