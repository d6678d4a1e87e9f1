// How many mappings the space of the exact mapper has, exactly.
#ifndef TESSERA_SEARCH_EXACT_COUNT_H_
#define TESSERA_SEARCH_EXACT_COUNT_H_

#include "tessera/accelerator.h"
#include "tessera/mapping.h"

namespace tessera::exact {

// For one choice of kept tensors, with mappings that do not fit a memory. Exact up to 2^64, then
// rounded.
double CountMappings(const LoopProblem& problem, const Hierarchy& hierarchy);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_COUNT_H_
