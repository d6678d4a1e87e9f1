// Points of schedule spaces: packed, numbered, repaired and carried over to other accelerators.
#include "tessera/coopt/schedule_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tessera/result.h"

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

SchedulePoint Packed(const Point& point) {
  SchedulePoint packed = {};
  for (size_t i = 0; i < point.size(); ++i) packed[i] = static_cast<uint8_t>(point[i]);
  return packed;
}

ScheduleSpace::ScheduleSpace(std::vector<Decision> decisions, size_t mapping_knobs)
    : DecisionSpace(std::move(decisions)), mapping_knobs_(mapping_knobs) {
  TESSERA_CHECK(size() <= kMaxScheduleKnobs);
  for (const Decision& decision : this->decisions()) {
    TESSERA_CHECK(decision.size() <= 256);
    num_points_ *= decision.size();
  }
}

Point ScheduleSpace::Unpacked(const SchedulePoint& point) const {
  Point unpacked(size());
  for (size_t i = 0; i < size(); ++i) unpacked[i] = point[i];
  return unpacked;
}

Result<void> ScheduleSpace::Check(const Point& point) const {
  if (Result<void> range = CheckRange(point); !range) return range;
  const SchedulePoint packed = Packed(point);
  if (Valid(packed)) return {};
  return Error{.kind = ErrorKind::kInfeasible, .message = Refusal(packed)};
}

std::span<const SchedulePoint> ScheduleSpace::Anchors() const {
  std::call_once(anchors_made_, [this] { anchors_ = Candidates(); });
  return anchors_;
}

void ScheduleSpace::Repair(Point& point) const {
  SchedulePoint packed = Packed(point);
  if (Valid(packed) || Anchors().empty()) return;
  // In parts of a decision's range, so that long ones do not decide alone.
  const auto distance = [&](const SchedulePoint& anchor) {
    double sum = 0;
    for (size_t i = 0; i < size(); ++i) {
      sum += std::abs(anchor[i] - packed[i]) / static_cast<double>(decisions()[i].size());
    }
    return sum;
  };
  const SchedulePoint* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const SchedulePoint& anchor : Anchors()) {
    const double apart = distance(anchor);
    if (apart < least) nearest = &anchor, least = apart;
  }
  for (size_t i = 0; i < size() && !Valid(packed); ++i) packed[i] = (*nearest)[i];
  point = Unpacked(packed);
}

double ScheduleSpace::Log10Size() const {
  const int64_t points = enumerates() ? std::ssize(Anchors()) : num_points_;
  return std::log10(static_cast<double>(std::max<int64_t>(1, points)));
}

Result<std::string> ScheduleSpace::Program(const SchedulePoint& /*point*/,
                                           const MeasuredOutcome& /*outcome*/,
                                           uint64_t /*seed*/) const {
  return Error{.kind = ErrorKind::kUnsupported, .message = "the target has no programs"};
}

SchedulePoint ScheduleSpace::At(int64_t index) const {
  SchedulePoint point = {};
  for (size_t knob = size(); knob-- > 0;) {
    const int64_t count = decisions()[knob].size();
    point[knob] = static_cast<uint8_t>(index % count);
    index /= count;
  }
  return point;
}

int64_t ScheduleSpace::IndexOf(const SchedulePoint& point) const {
  int64_t index = 0;
  for (size_t knob = 0; knob < size(); ++knob) {
    index = index * decisions()[knob].size() + point[knob];
  }
  return index;
}

SchedulePoint ScheduleSpace::Translate(const ScheduleSpace& from,
                                       const SchedulePoint& point) const {
  SchedulePoint near = {};
  for (size_t knob = 0; knob < size(); ++knob) {
    const double wanted = std::log2(1.0 + static_cast<double>(from.value(point, knob)));
    const Decision& decision = decisions()[knob];
    double least = std::numeric_limits<double>::infinity();
    for (int32_t i = 0; i < decision.size(); ++i) {
      const double apart =
          std::abs(std::log2(1.0 + static_cast<double>(decision.value(i))) - wanted);
      if (apart < least) near[knob] = static_cast<uint8_t>(i), least = apart;
    }
  }
  return near;
}

}  // namespace tessera::coopt
