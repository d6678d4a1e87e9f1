// Which operand tile lies in which slot of a buffer, when all uses are known beforehand.
#ifndef TESSERA_VTA_CODEGEN_TILE_CACHE_H_
#define TESSERA_VTA_CODEGEN_TILE_CACHE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::vta {

class TileCache {
 public:
  // `uses` are the tiles in the order of their use, numbered from 0.
  TileCache(std::span<const int32_t> uses, int64_t slots);

  struct Place {
    int64_t slot;
    bool load;          // the tile is not there yet
    int64_t last_step;  // that used the slot, negative if none did
  };
  // The slot for use number `step`; to be called for every step in order. Takes the slot whose tile
  // is needed again last, but not the one of the step before: it is still being read, and the new
  // tile could not be loaded meanwhile.
  Place Use(int64_t step);

 private:
  struct SlotState {
    int32_t tile = -1;
    int64_t next_use = 0;  // of its tile
    int64_t last_step = -2;
  };
  std::vector<int32_t> uses_;
  std::vector<int64_t> next_;  // by step: when the same tile is used again
  std::vector<SlotState> slots_;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_TILE_CACHE_H_
