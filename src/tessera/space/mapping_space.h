// A decision space whose points are mappings.
#ifndef TESSERA_SPACE_MAPPING_SPACE_H_
#define TESSERA_SPACE_MAPPING_SPACE_H_

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/mapping/mapping.h"
#include "tessera/space/decision_space.h"

namespace tessera {

class MappingSpace : public DecisionSpace {
 public:
  using DecisionSpace::DecisionSpace;

  // The mapping at a legal point.
  virtual Mapping Decode(const Point& point) const = 0;

  // The point of a mapping; the error says what the space does not have. Decode gives the mapping
  // back, up to what makes no difference (orders of loops that do not loop).
  virtual Result<Point> Encode(const Mapping& mapping) const = 0;
};

// How tile sizes are chosen.
enum class TileSizes : uint8_t {
  kDivisors,  // divisors of the dimension and powers of two
  kAll,       // every integer from 1
};

}  // namespace tessera

#endif  // TESSERA_SPACE_MAPPING_SPACE_H_
