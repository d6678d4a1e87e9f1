// What evaluation needs to know about a problem's tensors beside their projections, found once.
#ifndef TESSERA_COST_LOOPNEST_PROBLEM_DATA_H_
#define TESSERA_COST_LOOPNEST_PROBLEM_DATA_H_

#include <cstdint>

#include "tessera/cost/loopnest/nest.h"
#include "tessera/cost/loopnest/touched.h"
#include "tessera/mapping.h"

namespace tessera::loopnest {

struct TensorData {
  uint32_t dims = 0;    // bit d: the tensor uses dimension d
  bool simple = true;   // each rank is a single dimension, so tiles are equal or disjoint
  bool shares = false;  // some dimension occurs in two ranks
  RankShape ranks[kMaxRanks] = {};
  int64_t coefficients[kMaxDims][kMaxRanks] = {};  // of the problem, 0 where there is none

  // Ranks that share dimensions form a component; a tile is the product of its components.
  int num_components = 0;
  uint32_t component_dims[kMaxRanks] = {};
  uint32_t component_ranks[kMaxRanks] = {};
};

struct ProblemData {
  LoopProblem problem = {};
  TensorData tensors[kMaxTensors] = {};
};

ProblemData MakeProblemData(const LoopProblem& problem);

// Coordinates of a rank's bounding box for the given extents of the dimensions.
inline int64_t BoxExtent(const TensorRank& rank, const int64_t* extents) {
  int64_t extent = 1;
  for (int k = 0; k < rank.num_terms; ++k) {
    const RankTerm& term = rank.terms[static_cast<size_t>(k)];
    extent += term.coefficient * (extents[term.dimension] - 1);
  }
  return extent;
}

inline int64_t BoxWords(const LoopTensor& tensor, const int64_t* extents) {
  int64_t words = 1;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    words *= BoxExtent(tensor.ranks[static_cast<size_t>(r)], extents);
  }
  return words;
}

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_PROBLEM_DATA_H_
