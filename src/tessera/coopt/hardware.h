// A grid of hardware knobs, of which only some points can be built: what every target has in
// common. Values of knobs are base-2 logarithms.
#ifndef TESSERA_COOPT_HARDWARE_H_
#define TESSERA_COOPT_HARDWARE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::coopt {

inline constexpr size_t kMaxHardwareKnobs = 6;

// Indices of values, one per knob; unused ones are 0.
using HardwarePoint = std::array<uint8_t, kMaxHardwareKnobs>;

struct HardwareKnob {
  std::string_view name;
  std::vector<int> values;  // base-2 logarithms, ascending

  // Whether more of it never costs cycles, as with buffers. Default: false.
  bool buffer = false;
};

class HardwareSpace {
 public:
  size_t knobs() const { return knobs_.size(); }
  std::string_view name(size_t knob) const { return knobs_[knob].name; }
  std::span<const int> values(size_t knob) const { return knobs_[knob].values; }
  bool is_buffer(size_t knob) const { return knobs_[knob].buffer; }

  // The accelerators that can be built, in lexicographic order of their points.
  size_t size() const { return points_.size(); }
  bool fixed() const { return points_.size() == 1; }
  const HardwarePoint& point(size_t index) const { return points_[index]; }
  int value(size_t index, size_t knob) const { return knobs_[knob].values[points_[index][knob]]; }
  std::optional<size_t> Find(const HardwarePoint& point) const;

  // Those whose buffers cannot grow: an optimum for speed is among them.
  std::vector<size_t> LargestBuffers() const;

 protected:
  using Logs = std::array<int, kMaxHardwareKnobs>;

  // Keeps the points that `accept` takes; it is asked in lexicographic order.
  HardwareSpace(std::vector<HardwareKnob> knobs, const std::function<bool(const Logs&)>& accept);

 private:
  size_t GridIndex(const HardwarePoint& point) const;

  std::vector<HardwareKnob> knobs_;
  std::vector<HardwarePoint> points_;
  std::vector<int32_t> index_;  // of every point of the grid; -1: cannot be built
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_HARDWARE_H_
