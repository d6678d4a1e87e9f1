// Small changes of a mapping: a prime factor of a dimension moves to another level or between time
// and space, or another loop becomes the innermost one of a level.
#ifndef TESSERA_SEARCH_EXACT_NEIGHBOURS_H_
#define TESSERA_SEARCH_EXACT_NEIGHBOURS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/mapping.h"
#include "tessera/search/exact/model.h"

namespace tessera::exact {

// Each prime that divides a number, once, in ascending order.
std::vector<int32_t> PrimesOf(int32_t number);

// Puts a dimension at the end of the parallel loops of an axis; loops of one iteration come last.
void PlaceParallel(LoopLevel& level, int num_dims, int dim, bool on_y);

// Calls use() for each of them, in an order that depends on the mapping alone. They keep the
// products of factors and the tensors that levels hold; whether they fit fan-outs and memories is
// up to the caller. Ends early once use() returns false.
void ForEachNeighbour(const Model& model, const LoopMapping& mapping,
                      const std::function<bool(const LoopMapping&)>& use);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_NEIGHBOURS_H_
