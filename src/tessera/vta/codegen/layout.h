// Where tensors lie in DRAM: one after another from 0x1000, each at a multiple of 4096 bytes.
#ifndef TESSERA_VTA_CODEGEN_LAYOUT_H_
#define TESSERA_VTA_CODEGEN_LAYOUT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/vta/codegen/conv.h"

namespace tessera::vta {

class DramLayout {
 public:
  DramLayout(const Config& config, std::vector<Tensor>& tensors)
      : config_(config), tensors_(tensors) {}

  // Places the next tensor of `tiles` tiles; returns its address in tiles.
  int64_t Add(TensorRole role, std::string name, std::string layout, Memory memory, int64_t tiles) {
    const int64_t tile_bytes = config_.TileBytes(memory), address = next_;
    tensors_.push_back({role, std::move(name), std::move(layout), static_cast<uint64_t>(address),
                        static_cast<uint64_t>(tiles * tile_bytes)});
    next_ = CeilDiv(next_ + tiles * tile_bytes, kAlignment) * kAlignment;
    return address / tile_bytes;
  }

  // Places the instructions, always last: their number is known only when all are written.
  void AddInstructions() {
    tensors_.push_back({TensorRole::kInstructions, "instructions", "128-bit words",
                        static_cast<uint64_t>(next_), 0});
  }

 private:
  static constexpr int64_t kAlignment = 4096;  // also of every tile: none is larger
  const Config& config_;
  std::vector<Tensor>& tensors_;
  int64_t next_ = kAlignment;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_LAYOUT_H_
