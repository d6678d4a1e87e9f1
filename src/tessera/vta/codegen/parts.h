// In which parts the sums of a tile go out.
#ifndef TESSERA_VTA_CODEGEN_PARTS_H_
#define TESSERA_VTA_CODEGEN_PARTS_H_

#include <vector>

#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/codegen/tile_plan.h"

namespace tessera::vta {

// Sums that go out together; several blocks of channels have all of their rows.
struct Part {
  Extent channels, rows;
};

// A whole tile, or, of the last one, parts of much the same size, so that little remains to be
// stored when the ALU is done.
std::vector<Part> EqualParts(const OutputTile& tile, bool last);

// Each as small as can be stored while the ALU works on the next one.
std::vector<Part> ShrinkingParts(const OutputTile& tile);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_PARTS_H_
