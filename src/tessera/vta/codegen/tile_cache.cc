#include "tessera/vta/codegen/tile_cache.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace tessera::vta {
namespace {

constexpr int64_t kNeverAgain = std::numeric_limits<int64_t>::max();

}  // namespace

TileCache::TileCache(std::span<const int32_t> uses, int64_t slots)
    : uses_(uses.begin(), uses.end()), next_(uses.size()), slots_(static_cast<size_t>(slots)) {
  const int32_t tiles = uses.empty() ? 0 : *std::max_element(uses.begin(), uses.end()) + 1;
  std::vector<int64_t> seen(static_cast<size_t>(tiles), kNeverAgain);
  for (size_t step = uses.size(); step-- > 0;) {
    next_[step] = seen[static_cast<size_t>(uses[step])];
    seen[static_cast<size_t>(uses[step])] = static_cast<int64_t>(step);
  }
}

TileCache::Place TileCache::Use(int64_t step) {
  const int32_t tile = uses_[static_cast<size_t>(step)];
  const auto there = std::find_if(slots_.begin(), slots_.end(),
                                  [tile](const SlotState& slot) { return slot.tile == tile; });
  auto place = there;
  if (there == slots_.end()) {
    // An empty slot, or a better victim: needed later, or as late but untouched for longer.
    place = slots_.begin();
    const auto rank = [&](const SlotState& slot) {
      const bool busy = slot.last_step == step - 1 && slots_.size() > 1;
      return std::tuple(slot.tile < 0, !busy, slot.next_use, -slot.last_step);
    };
    for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
      if (rank(*slot) > rank(*place)) place = slot;
    }
  }
  const int64_t last_step = place->last_step;
  place->tile = tile;
  place->next_use = next_[static_cast<size_t>(step)];
  place->last_step = step;
  return {place - slots_.begin(), there == slots_.end(), last_step};
}

}  // namespace tessera::vta
