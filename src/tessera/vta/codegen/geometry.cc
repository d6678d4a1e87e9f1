#include "tessera/vta/codegen/geometry.h"

#include <algorithm>

#include "tessera/base/checked.h"

namespace tessera::vta {

std::vector<Extent> Cut(int64_t total, int64_t piece, int64_t lead) {
  std::vector<Extent> extents;
  if (lead < 1 || lead >= std::min(total, piece)) lead = 0;
  if (lead > 0) extents.push_back({0, lead});
  for (int64_t begin = lead; begin < total; begin += piece) {
    extents.push_back({begin, std::min(begin + piece, total)});
  }
  return extents;
}

Window WindowOf(const Axis& axis, const Extent& outputs, bool trim, bool may_skip) {
  const int64_t first = outputs.begin * axis.stride - axis.pad;
  const int64_t last = (outputs.end - 1) * axis.stride - axis.pad + axis.kernel;
  if (axis.kernel == 1 && may_skip) {
    return {.begin = first, .loaded = outputs.size(), .load_step = axis.stride};
  }
  Window window = {.begin = std::max<int64_t>(first, 0), .step = axis.stride};
  window.loaded = std::min(last, axis.size) - window.begin;
  if (!trim) {
    window.pad_before = std::max<int64_t>(-first, 0);
    window.pad_after = std::max<int64_t>(last - axis.size, 0);
  }
  window.first_tap = first - window.begin + window.pad_before;
  return window;
}

Extent OutputsOfTap(const Window& window, int64_t outputs, int64_t tap) {
  const int64_t place = window.first_tap + tap;  // of output 0
  const int64_t begin = place >= 0 ? 0 : CeilDiv(-place, window.step);
  const int64_t room = window.size() - 1 - place;
  const int64_t end = room < 0 ? 0 : std::min(outputs, room / window.step + 1);
  return {begin, std::max(begin, end)};
}

bool TapGroup::Alike() const {
  for (size_t k = 1; k < taps.size(); ++k) {
    if (taps[k] != taps[k - 1] + 1 || first[k] != first[0]) return false;
  }
  return true;
}

std::vector<TapGroup> GroupTaps(const Window& window, int64_t outputs, int64_t kernel,
                                bool any_outputs) {
  std::vector<TapGroup> groups;
  for (int64_t tap = 0; tap < kernel; ++tap) {
    const Extent met = OutputsOfTap(window, outputs, tap);
    if (met.size() == 0) continue;
    const auto joins = [&](const TapGroup& group) {
      if (group.outputs != met.size()) return false;
      return any_outputs || (group.first.back() == met.begin && group.taps.back() + 1 == tap);
    };
    auto at = std::ranges::find_if(groups, joins);
    if (at == groups.end()) at = groups.insert(at, {.outputs = met.size()});
    at->taps.push_back(tap);
    at->first.push_back(met.begin);
  }
  return groups;
}

}  // namespace tessera::vta
