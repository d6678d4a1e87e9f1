// Moving int8 activations into accumulators with the matrix unit: a product with a weight tile of
// zeros and ones. LOAD could do it only for int32 data, with four times the traffic.
#ifndef TESSERA_VTA_CODEGEN_SELECTORS_H_
#define TESSERA_VTA_CODEGEN_SELECTORS_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "tessera/base/checked.h"
#include "tessera/vta/config.h"

namespace tessera::vta {

// Where the two block sizes differ, one larger block meets several smaller ones; selector s is the
// tile for the s-th of them. A unit is one larger block.
struct Selectors {
  explicit Selectors(const Config& config)
      : in_per_unit(std::max<int64_t>(config.block_out() / config.block_in(), 1)),
        out_per_unit(std::max<int64_t>(config.block_in() / config.block_out(), 1)),
        count(std::max(in_per_unit, out_per_unit)) {}

  const int64_t in_per_unit, out_per_unit;  // blocks; at least one of them is 1
  const int64_t count;

  // Blocks that selector s finds among the first `blocks` of the side with several per unit.
  int64_t UnitsWith(int64_t s, int64_t blocks) const {
    return CeilDiv(std::max<int64_t>(blocks - s, 0), count);
  }

  // The weight tiles: row n, column k is 1 where input channel k of its block is output channel n.
  void Write(const Config& config, std::span<uint8_t> tiles) const {
    const int64_t block_in = config.block_in(), block_out = config.block_out();
    for (int64_t s = 0; s < count; ++s) {
      for (int64_t c = 0; c < std::min(block_in, block_out); ++c) {
        const int64_t row = in_per_unit > 1 ? s * block_in + c : c;
        const int64_t column = out_per_unit > 1 ? s * block_out + c : c;
        tiles[static_cast<size_t>((s * block_out + row) * block_in + column)] = 1;
      }
    }
  }
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_SELECTORS_H_
