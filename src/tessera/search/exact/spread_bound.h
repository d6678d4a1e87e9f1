// A lower bound on all mappings of one choice of kept tensors, before anything is decided: every
// way to spread the problem over the arrays says which words instances of each level need at least,
// which of them are the same for several, how far they travel, and what comes again because
// memories are small. docs/optimality.md, B23.
#ifndef TESSERA_SEARCH_EXACT_SPREAD_BOUND_H_
#define TESSERA_SEARCH_EXACT_SPREAD_BOUND_H_

#include <cstdint>
#include <vector>

#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/least_hops.h"
#include "tessera/search/exact/model.h"

namespace tessera::exact {

// Contract:
//   Threads    used by one thread at a time: it remembers how far words travel.
//   Ownership  the model and the hops outlive it.
class SpreadBound {
 public:
  // For all choices of kept tensors of the model's problem and machine.
  SpreadBound(const Model& model, LeastHops& hops);

  // No mapping of this choice has a lower value, or all have `enough` or more; 0 where nothing is
  // known. `least`: what is known of all of them. Semantics exact, factors that divide.
  double Least(const Model& choice, Goal goal, const Bound& least, double enough);

  // Of what is inside a level, as a Floor has it: energy and cycles of all mappings that may be
  // worth less than `enough` with what everything else costs at least. Empty: nothing is known.
  OperandFront Inside(const Model& choice, Goal goal, int level, double outside_pj, double enough);

 private:
  // Parallel factors of one array.
  struct Split {
    int32_t factors[kMaxDims] = {};
    double product = 1;
    const LeastHops::Hops* hops = nullptr;  // once they are asked for
  };
  // A level with several children.
  struct Array {
    int level = 0;
    std::vector<Split> splits = {};
    double most_product = 1;
    double most_shared[kMaxTensors] = {};  // children that a word of a tensor serves, at most
  };

  class Search;

  bool List(Array& array) const;
  bool Meet(int a, int b) const;

  const Model& model_;
  LeastHops& hops_;
  std::vector<Array> arrays_;  // from the inside; none: nothing is known
  double elements_[kMaxTensors] = {};
  bool meets_[kMaxTensors][kMaxTensors] = {};
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_SPREAD_BOUND_H_
