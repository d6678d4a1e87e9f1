// First values of a network's parameters.
#ifndef TESSERA_NN_INIT_H_
#define TESSERA_NN_INIT_H_

#include <cstdint>
#include <span>

#include "tessera/nn/mlp.h"

namespace tessera {

// Glorot and Bengio: weights uniform in +-sqrt(6 / (inputs + outputs)), biases zero. The default of
// Keras and TensorFlow layers, and so of the MADDPG reference codes.
void InitGlorotUniform(const MlpLayout& layout, uint64_t seed, uint64_t stream,
                       std::span<float> parameters);

// Orthogonal rows or columns, whichever are fewer, times `gain` in hidden layers and `output_gain`
// in the last one; biases zero. Customary for PPO: gain sqrt(2), output gain 0.01 for policies and
// 1 for values.
void InitOrthogonal(const MlpLayout& layout, double gain, double output_gain, uint64_t seed,
                    uint64_t stream, std::span<float> parameters);

}  // namespace tessera

#endif  // TESSERA_NN_INIT_H_
