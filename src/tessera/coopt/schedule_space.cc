#include "tessera/coopt/schedule_space.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::coopt {
namespace {

// Of knobs beyond these only those that are used count, so that a larger capacity changes no hash.
constexpr size_t kHashedKnobs = 8;

}  // namespace

uint64_t HashOf(const SchedulePoint& point) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (size_t i = 0; i < point.size(); ++i) {
    if (i >= kHashedKnobs && point[i] == 0) continue;
    hash = (hash ^ (i < kHashedKnobs ? point[i] : i << 8 | point[i])) * 0x100000001b3u;
  }
  return hash;
}

ScheduleSpace::ScheduleSpace(std::vector<Knob> knobs, size_t mapping_knobs)
    : knobs_(std::move(knobs)), mapping_knobs_(mapping_knobs) {
  for (const Knob& knob : knobs_) size_ *= std::ssize(knob.values);
}

SchedulePoint ScheduleSpace::At(int64_t index) const {
  SchedulePoint point = {};
  for (size_t knob = knobs_.size(); knob-- > 0;) {
    const int64_t count = std::ssize(knobs_[knob].values);
    point[knob] = static_cast<uint8_t>(index % count);
    index /= count;
  }
  return point;
}

int64_t ScheduleSpace::IndexOf(const SchedulePoint& point) const {
  int64_t index = 0;
  for (size_t knob = 0; knob < knobs_.size(); ++knob) {
    index = index * std::ssize(knobs_[knob].values) + point[knob];
  }
  return index;
}

SchedulePoint ScheduleSpace::Translate(const ScheduleSpace& from,
                                       const SchedulePoint& point) const {
  SchedulePoint near = {};
  for (size_t knob = 0; knob < knobs_.size(); ++knob) {
    const double wanted = std::log2(1.0 + static_cast<double>(from.value(point, knob)));
    const std::vector<int64_t>& values = knobs_[knob].values;
    const auto distance = [wanted](int64_t value) {
      return std::abs(std::log2(1.0 + static_cast<double>(value)) - wanted);
    };
    const auto best = std::min_element(values.begin(), values.end(), [&](int64_t a, int64_t b) {
      return distance(a) < distance(b);
    });
    near[knob] = static_cast<uint8_t>(best - values.begin());
  }
  return near;
}

}  // namespace tessera::coopt
