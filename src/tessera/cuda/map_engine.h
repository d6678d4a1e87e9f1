// Mappings of one layer priced on the device, by the batch: one mapping per thread.
#ifndef TESSERA_CUDA_MAP_ENGINE_H_
#define TESSERA_CUDA_MAP_ENGINE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "tessera/cuda/nest_plan.h"
#include "tessera/result.h"

namespace tessera::cuda {

// Mappings as PackNest writes them, one after another, `row` words apart.
struct PackedNests {
  std::span<const uint32_t> words = {};
  size_t row = 0;
};

class MapEngine {
 public:
  // Errors: no device, too little memory.
  static Result<std::unique_ptr<MapEngine>> Make(const NestPlan& plan);
  virtual ~MapEngine() = default;

  // prices[m] becomes the price of mapping m. Where `counts` has room for all mappings' levels and
  // tensors, accesses go there, [mapping][level][tensor].
  virtual Result<void> Price(const PackedNests& nests, std::span<NestPrice> prices,
                             std::span<NestCounts> counts = {}) = 0;

  // Seconds to price the last batch again, which lies on the device; mean of some launches.
  virtual Result<double> Measure(int launches) = 0;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_MAP_ENGINE_H_
