// Checks that every decision space must pass; a space's own test starts with this call.
#ifndef TESSERA_SPACE_CONFORMANCE_H_
#define TESSERA_SPACE_CONFORMANCE_H_

#include <cstdint>

#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// Tries the contract of DecisionSpace on random points drawn from `seed`. The error names the line
// of the contract and the point.
Result<void> CheckSpace(const DecisionSpace& space, uint64_t seed);

}  // namespace tessera

#endif  // TESSERA_SPACE_CONFORMANCE_H_
