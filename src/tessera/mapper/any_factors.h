// Whether a job can have mappings whose factors need not divide (--factors any).
#ifndef TESSERA_MAPPER_ANY_FACTORS_H_
#define TESSERA_MAPPER_ANY_FACTORS_H_

#include "tessera/map.h"
#include "tessera/result.h"

namespace tessera {

// Whether the job's semantics, space and method allow it; the error says why not.
Result<void> CheckAnyFactors(const MapJob& job);

}  // namespace tessera

#endif  // TESSERA_MAPPER_ANY_FACTORS_H_
