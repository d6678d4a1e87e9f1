#include "tessera/coopt/hardware.h"

#include <utility>

namespace tessera::coopt {

HardwareSpace::HardwareSpace(std::vector<HardwareKnob> knobs,
                             const std::function<bool(const Logs&)>& accept)
    : knobs_(std::move(knobs)) {
  size_t grid = 1;
  for (const HardwareKnob& knob : knobs_) grid *= knob.values.size();
  index_.assign(grid, -1);
  HardwarePoint point = {};
  for (size_t i = 0; i < grid; ++i) {
    Logs logs = {};
    for (size_t knob = knobs_.size(), rest = i; knob-- > 0;) {
      const std::vector<int>& values = knobs_[knob].values;
      point[knob] = static_cast<uint8_t>(rest % values.size());
      rest /= values.size();
      logs[knob] = values[point[knob]];
    }
    if (!accept(logs)) continue;
    index_[i] = static_cast<int32_t>(points_.size());
    points_.push_back(point);
  }
}

size_t HardwareSpace::GridIndex(const HardwarePoint& point) const {
  size_t index = 0;
  for (size_t knob = 0; knob < knobs_.size(); ++knob) {
    index = index * knobs_[knob].values.size() + point[knob];
  }
  return index;
}

std::optional<size_t> HardwareSpace::Find(const HardwarePoint& point) const {
  for (size_t knob = 0; knob < knobs_.size(); ++knob) {
    if (point[knob] >= knobs_[knob].values.size()) return std::nullopt;
  }
  const int32_t index = index_[GridIndex(point)];
  if (index < 0) return std::nullopt;
  return static_cast<size_t>(index);
}

std::vector<size_t> HardwareSpace::LargestBuffers() const {
  std::vector<size_t> largest;
  for (size_t i = 0; i < size(); ++i) {
    bool can_grow = false;
    for (size_t knob = 0; knob < knobs_.size(); ++knob) {
      if (!knobs_[knob].buffer) continue;
      HardwarePoint larger = points_[i];
      ++larger[knob];
      can_grow = can_grow || Find(larger).has_value();
    }
    if (!can_grow) largest.push_back(i);
  }
  return largest;
}

}  // namespace tessera::coopt
