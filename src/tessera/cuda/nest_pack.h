// Layers, machines and mappings of model loopnest in the plain form that a device takes.
#ifndef TESSERA_CUDA_NEST_PACK_H_
#define TESSERA_CUDA_NEST_PACK_H_

#include <cstdint>
#include <span>

#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cuda/nest_plan.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera::cuda {

// Errors: what of the layer or the machine only the host can price, and what to do.
Result<NestPlan> MakeNestPlan(const loopnest::Setup& setup);

// Words that every mapping fits into.
inline constexpr size_t kMostNestWords = kNestLevels + 2 * kMostNestLoops;

// Writes a mapping and its nest, which MakeExactNest accepted, to `words`, and returns how many
// words that took; 0 where only the host can price it. `words` has room for kMostNestWords.
size_t PackNest(const loopnest::Nest& nest, const LoopMapping& mapping, const NestPlan& plan,
                std::span<uint32_t> words);

// The price by the host's own compiler, with the code that the device runs: for tests, and to
// measure beside it. `counts` as NestPricer.
NestPrice PriceOnHost(const NestPlan& plan, const uint32_t* words, NestCounts* counts);

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_NEST_PACK_H_
