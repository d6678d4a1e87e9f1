// The factors of a point of a loop space, for the sources of LoopSpace.
#ifndef TESSERA_SPACE_LOOP_SPACE_FACTORS_H_
#define TESSERA_SPACE_LOOP_SPACE_FACTORS_H_

#include <array>
#include <cstdint>

#include "tessera/space/loop_space.h"

namespace tessera {

struct LoopSpace::Factors {
  std::array<std::array<int64_t, kMaxDims>, LoopMapping::kMaxLevels> temporal, spatial;
};

}  // namespace tessera

#endif  // TESSERA_SPACE_LOOP_SPACE_FACTORS_H_
