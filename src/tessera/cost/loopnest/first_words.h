// How often partial sums are sent up for the first time, for output tensors that are windows
// (transposed convolutions). Children whose windows overlap send the same element in one step, and
// none of them has to be sent back down.
#ifndef TESSERA_COST_LOOPNEST_FIRST_WORDS_H_
#define TESSERA_COST_LOOPNEST_FIRST_WORDS_H_

#include <cstdint>
#include <vector>

#include "tessera/cost/loopnest/nest.h"
#include "tessera/cost/loopnest/touched.h"

namespace tessera::loopnest {

struct FirstWordsScratch {
  std::vector<int64_t> tile = {}, fresh = {};
  std::vector<uint8_t> seen = {};
  std::vector<std::vector<int64_t>> tiles = {};
};

// For one rank: the sum, over the coordinates that the instance of `parent` at `base` ever sees, of
// the number of groups below level i that hold the coordinate when it first appears. `bounds` are
// those of all dimensions.
int64_t CountFirstCoordinates(const Nest& nest, const RankShape& rank, const int64_t* bounds,
                              const int64_t* base, int child, int i, int parent,
                              FirstWordsScratch& scratch);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_FIRST_WORDS_H_
