#include "tessera/coopt/confidence_sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::coopt {
namespace {

// Perturbations of the most frequent settings before a low candidate is kept after all.
constexpr int kTries = 32;

// The largest of value / temperature plus Gumbel noise are a draw without replacement from the
// soft-max of the values.
std::vector<size_t> DrawWithoutReplacement(std::span<const double> values,
                                           const ConfidenceOptions& options, CounterRng& rng) {
  std::vector<double> keys;
  for (const double value : values) {
    const double noise = -std::log(-std::log(std::max(rng.Uniform(), 1e-300)));
    keys.push_back(options.uniform ? noise : value / options.temperature + noise);
  }
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return keys[a] > keys[b]; });
  if (std::ssize(order) > options.count) order.resize(static_cast<size_t>(options.count));
  return order;
}

template <typename Point>
Point MostFrequent(size_t knobs, const std::vector<Point>& points) {
  Point modes = {};
  for (size_t knob = 0; knob < knobs; ++knob) {
    std::array<int, 256> counts = {};
    for (const Point& point : points) ++counts[point[knob]];
    modes[knob] =
        static_cast<uint8_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  }
  return modes;
}

}  // namespace

template <typename Point>
std::vector<Point> ConfidenceSample(std::span<const int64_t> sizes,
                                    std::span<const Point> candidates,
                                    std::span<const double> values,
                                    const ConfidenceOptions& options,
                                    const std::function<bool(const Point&)>& acceptable,
                                    const std::function<double(const Point&)>& value,
                                    CounterRng& rng) {
  const std::vector<size_t> drawn = DrawWithoutReplacement(values, options, rng);
  std::vector<Point> chosen;
  if (drawn.empty() || options.uniform) {
    for (const size_t i : drawn) chosen.push_back(candidates[i]);
    return chosen;
  }
  std::vector<double> sorted;
  for (const size_t i : drawn) sorted.push_back(values[i]);
  std::sort(sorted.begin(), sorted.end());
  const double threshold =
      sorted[static_cast<size_t>(options.quantile * static_cast<double>(sorted.size() - 1))];
  std::vector<size_t> low;
  for (const size_t i : drawn) {
    if (values[i] >= threshold) {
      chosen.push_back(candidates[i]);
    } else {
      low.push_back(i);
    }
  }
  const std::vector<Point> confident = chosen;
  const Point modes = MostFrequent(sizes.size(), confident);
  for (const size_t i : low) {
    Point replacement = candidates[i];
    for (int tries = 0; tries < kTries; ++tries) {
      Point point = modes;
      for (int change = 0; change < tries; change += 8) {
        const auto knob = static_cast<size_t>(rng.UniformInt(std::ssize(sizes)));
        const Point& donor = confident[static_cast<size_t>(rng.UniformInt(std::ssize(confident)))];
        // From another confident point at first, later anything.
        point[knob] =
            tries < kTries / 2 ? donor[knob] : static_cast<uint8_t>(rng.UniformInt(sizes[knob]));
      }
      const bool is_new = std::find(chosen.begin(), chosen.end(), point) == chosen.end();
      if (!is_new || !acceptable(point) || value(point) < threshold) continue;
      replacement = point;
      break;
    }
    if (std::find(chosen.begin(), chosen.end(), replacement) == chosen.end()) {
      chosen.push_back(replacement);
    }
  }
  return chosen;
}

template std::vector<SchedulePoint> ConfidenceSample(
    std::span<const int64_t>, std::span<const SchedulePoint>, std::span<const double>,
    const ConfidenceOptions&, const std::function<bool(const SchedulePoint&)>&,
    const std::function<double(const SchedulePoint&)>&, CounterRng&);
template std::vector<HardwarePoint> ConfidenceSample(
    std::span<const int64_t>, std::span<const HardwarePoint>, std::span<const double>,
    const ConfidenceOptions&, const std::function<bool(const HardwarePoint&)>&,
    const std::function<double(const HardwarePoint&)>&, CounterRng&);
template std::vector<MachinePoint> ConfidenceSample(
    std::span<const int64_t>, std::span<const MachinePoint>, std::span<const double>,
    const ConfidenceOptions&, const std::function<bool(const MachinePoint&)>&,
    const std::function<double(const MachinePoint&)>&, CounterRng&);

}  // namespace tessera::coopt
