// The elements of one rank that a tile touches: all sums of coefficient * index over a box of
// indices. With strides or dilations such a set has holes, and sums of different indices coincide;
// here they are counted exactly.
#ifndef TESSERA_COST_LOOPNEST_TOUCHED_H_
#define TESSERA_COST_LOOPNEST_TOUCHED_H_

#include <cstdint>
#include <vector>

#include "tessera/mapping.h"

namespace tessera::loopnest {

// A rank with its terms ordered by falling coefficient and divided by their common divisor, which
// changes no count.
struct RankShape {
  static constexpr int kMaxTerms = static_cast<int>(TensorRank::kMaxTerms);

  int num_terms = 0;
  int dims[kMaxTerms] = {};
  int64_t coefficients[kMaxTerms] = {};

  // By how much the rank's coordinate moves with a dimension's index.
  int64_t CoefficientOf(int dim) const {
    for (int k = 0; k < num_terms; ++k) {
      if (dims[k] == dim) return coefficients[k];
    }
    return 0;
  }
};

RankShape MakeRankShape(const TensorRank& rank);

// The set of sums over indices 0 .. widths[k]-1 of term k, all widths at least 1.
struct TouchedBox {
  int64_t widths[RankShape::kMaxTerms] = {};
};

// Scratch of one thread, used only for ranks of three and more terms.
struct TouchedScratch {
  std::vector<int64_t> a = {}, b = {};
};

// Number of different elements of a box.
int64_t CountTouched(const RankShape& shape, const TouchedBox& box, TouchedScratch& scratch);

// Number of elements of `a` that are also elements of `b` moved by `shift`.
int64_t CountCommon(const RankShape& shape, const TouchedBox& a, const TouchedBox& b, int64_t shift,
                    TouchedScratch& scratch);

// The elements themselves, in ascending order.
void ListTouched(const RankShape& shape, const TouchedBox& box, std::vector<int64_t>& elements);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_TOUCHED_H_
