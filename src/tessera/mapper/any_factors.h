// What --factors any adds to proofs: mappings whose factors need not divide, where they are better,
// and the bound that holds for all factors.
#ifndef TESSERA_MAPPER_ANY_FACTORS_H_
#define TESSERA_MAPPER_ANY_FACTORS_H_

#include <functional>

#include "tessera/map.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// Whether the job's semantics, space and method allow it; the error says why not.
Result<void> CheckAnyFactors(const MapJob& job);

// Replaces the layer's mapping if rounding sizes up finds a better one. A function of job and
// layer, unless `stopped`, which is polled, says that it has to end.
Result<void> TryAnyFactors(const MapJob& job, ThreadPool& pool,
                           const std::function<bool()>& stopped, LayerMapping& layer);

// The bound of the layer becomes the one that was known without search, because proofs are about
// factors that divide; its status becomes BOUNDED: the larger space was not searched.
void BoundAnyFactors(Objective objective, LayerMapping& layer);

}  // namespace tessera

#endif  // TESSERA_MAPPER_ANY_FACTORS_H_
