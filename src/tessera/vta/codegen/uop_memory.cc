#include "tessera/vta/codegen/uop_memory.h"

#include <algorithm>

namespace tessera::vta {

int64_t UopMemory::PlaceOf(const std::vector<Uop>& list) {
  auto at = uops_.end();
  if (share_) {
    // The first place from which all there is agrees with the list.
    at = std::find(uops_.begin(), uops_.end(), list.front());
    while (at != uops_.end()) {
      const auto common = std::min(list.end() - list.begin(), uops_.end() - at);
      if (std::equal(at, at + common, list.begin())) break;
      at = std::find(at + 1, uops_.end(), list.front());
    }
  }
  const auto place = at - uops_.begin();
  const auto there = std::min<int64_t>(uops_.end() - at, std::ssize(list));
  uops_.insert(uops_.end(), list.begin() + there, list.end());
  return place;
}

int64_t UopMemory::PlaceOf(int64_t dst, int64_t src, int64_t wgt) {
  const auto [found, is_new] = singles_.try_emplace(std::tuple(dst, src, wgt), std::ssize(uops_));
  if (is_new) {
    uops_.push_back({.dst = static_cast<uint32_t>(dst),
                     .src = static_cast<uint32_t>(src),
                     .wgt = static_cast<uint32_t>(wgt)});
  }
  return found->second;
}

}  // namespace tessera::vta
