// Confidence Sampling: which of many candidates are worth a measurement. Candidates are drawn with
// probabilities that follow their predicted values; those below a threshold, which follows from the
// drawn ones, are replaced by new ones made of the settings that the others have most often.
#ifndef TESSERA_COOPT_CONFIDENCE_SAMPLING_H_
#define TESSERA_COOPT_CONFIDENCE_SAMPLING_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/coopt/hardware.h"
#include "tessera/coopt/schedule_space.h"
#include "tessera/part.h"

namespace tessera::coopt {

// A machine of a template: indices of its choices; unused ones are 0.
using MachinePoint = std::array<uint8_t, 64>;

struct ConfidenceOptions {
  // Measurements to choose. Default: 8.
  int64_t count = 8;

  // Scale of values in the soft-max: small is greedy. Default: 0.05.
  double temperature = 0.05;

  // The threshold is this quantile of the drawn values. Default: 0.5, their median.
  double quantile = 0.5;

  // Uniform draws, no threshold: what the paper compares with. Default: false.
  bool uniform = false;
};

// Chooses from `candidates`, whose predicted values are `values` (higher is better): schedules, or
// accelerators. `sizes` are the numbers of values of their knobs. `acceptable` says whether a new
// point exists and was not measured; a synthesised one is asked for its value by `value`, and kept
// if it reaches the threshold. Without one the drawn point stays.
template <typename Point>  // SchedulePoint, HardwarePoint or MachinePoint
std::vector<Point> ConfidenceSample(std::span<const int64_t> sizes,
                                    std::span<const Point> candidates,
                                    std::span<const double> values,
                                    const ConfidenceOptions& options,
                                    const std::function<bool(const Point&)>& acceptable,
                                    const std::function<double(const Point&)>& value,
                                    CounterRng& rng);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_CONFIDENCE_SAMPLING_H_
