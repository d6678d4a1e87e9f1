// For tests: how often this program has taken memory from the heap. Linking count_allocations.cc
// replaces operator new by one that counts.
#ifndef TESSERA_COST_COUNT_ALLOCATIONS_H_
#define TESSERA_COST_COUNT_ALLOCATIONS_H_

#include <cstdint>

namespace tessera {

int64_t CountAllocations();

}  // namespace tessera

#endif  // TESSERA_COST_COUNT_ALLOCATIONS_H_
