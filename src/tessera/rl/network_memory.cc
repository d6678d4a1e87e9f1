// Sizes as doubles: settings may ask for more than 64 bits can count.
#include "tessera/rl/network_memory.h"

namespace tessera {

double NetworkSize::parameters() const {
  double count = 0, width = static_cast<double>(inputs);
  for (int64_t layer = 0; layer < layers; ++layer) {
    count += (width + 1) * static_cast<double>(hidden);
    width = static_cast<double>(hidden);
  }
  return count + (width + 1) * static_cast<double>(outputs);
}

double NetworkSize::TrainingBytes(double rows, double copies) const {
  constexpr double kKept = 3;    // parameters and two moments
  constexpr double kPasses = 2;  // values on the way forth, errors on the way back
  const double wide = static_cast<double>(hidden) * static_cast<double>(layers);
  return sizeof(float) *
         ((kKept + copies) * parameters() + rows * (kPasses * wide + static_cast<double>(outputs)));
}

}  // namespace tessera
