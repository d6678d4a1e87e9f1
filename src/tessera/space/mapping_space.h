// A decision space whose points are mappings.
#ifndef TESSERA_SPACE_MAPPING_SPACE_H_
#define TESSERA_SPACE_MAPPING_SPACE_H_

#include <array>
#include <cstdint>
#include <string_view>

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

  // The position of the decision that is the machine's number of PEs; size(): none is.
  virtual size_t pes_decision() const { return size(); }
};

// How tile sizes are chosen.
enum class TileSizes : uint8_t {
  kDivisors,  // divisors of the dimension and powers of two
  kAll,       // every integer from 1
};
inline constexpr std::array<std::string_view, 2> kTileSizesNames = {"divisors", "all"};

}  // namespace tessera

#endif  // TESSERA_SPACE_MAPPING_SPACE_H_
