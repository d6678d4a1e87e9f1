// What cost models see of a schedule: numbers of fixed count, whatever layer and hardware.
#ifndef TESSERA_COOPT_FEATURES_H_
#define TESSERA_COOPT_FEATURES_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "tessera/coopt/problem.h"

namespace tessera::coopt {

enum class FeatureKind : uint8_t {
  kKnob,  // the settings of hardware and schedule
  kLoop,  // lengths of the loops, and what each buffer sees of them
};

inline constexpr size_t kMaxFeatures = 48;
using FeatureRow = std::array<float, kMaxFeatures>;

// Fills the first features of `row` and returns how many there are, the same for all tasks of one
// kind. Sizes are base-2 logarithms.
size_t FillFeatures(FeatureKind kind, const Task& task, const SchedulePoint& point,
                    const ProblemOptions& options, FeatureRow& row);

// The sizes of the layer itself, for models that serve many layers.
inline constexpr size_t kWorkloadFeatures = 7;
std::array<float, kWorkloadFeatures> WorkloadFeatures(const vta::ConvShape& shape);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_FEATURES_H_
