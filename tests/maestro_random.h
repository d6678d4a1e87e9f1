// Random problems for model `maestro`, sensible and absurd ones.
#ifndef TESSERA_TESTS_MAESTRO_RANDOM_H_
#define TESSERA_TESTS_MAESTRO_RANDOM_H_

#include <cstdint>

#include "tessera/accelerator.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping.h"

namespace tessera {

struct MaestroProblem {
  maestro::Declaration declaration = {};
  PeArray array = {};
  MaestroVersion version = MaestroVersion::kHead;
  Dataflow dataflow = {};
};

enum class Taste {
  kSensible,  // tiles within the dimension, one SpatialMap per level, kernels mostly whole
  kCareless,  // sometimes too large, missing, given twice, of another layer type
  kAbsurd,    // any directive with any number, up to the largest
};

// Problem number `index` of a seed.
MaestroProblem RandomMaestroProblem(uint64_t seed, uint64_t index, Taste taste);

}  // namespace tessera

#endif  // TESSERA_TESTS_MAESTRO_RANDOM_H_
