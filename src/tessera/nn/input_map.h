// How the inputs of a network follow from the features of a batch: a range of them, or an affine
// map. An affine map lets many networks read one compact state. Their first layers then work on
// the state itself, x W1 = s (T W1), and the gradient of the full W1 is T' times the compact one,
// equal to the dense one up to rounding.
#ifndef TESSERA_NN_INPUT_MAP_H_
#define TESSERA_NN_INPUT_MAP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/nn/kernels.h"

namespace tessera {

class InputMap {
 public:
  // input[i] += factor * feature[f]
  struct Term {
    int64_t input, feature;
    float factor;
  };

  InputMap() = default;
  // Inputs are the features first .. first + count - 1.
  static InputMap Range(int64_t first, int64_t count);
  // Every input is the sum of its terms plus its offset; `offsets` may be empty for zeros.
  static InputMap Affine(int64_t inputs, std::vector<Term> terms, std::vector<float> offsets = {});
  // The inputs of all maps one after another.
  static InputMap Concatenate(std::span<const InputMap> maps);

  int64_t inputs() const { return inputs_; }
  // The features that are read, ascending.
  std::span<const int64_t> features() const { return features_; }
  // Whether inputs and features() are the same, so that nothing has to be collapsed.
  bool is_range() const { return is_range_; }

  // weights [inputs x width], bias [width] -> the layer on features(): [features x width], [width].
  void Collapse(const Kernels& kernels, int64_t width, const float* weights, const float* bias,
                float* feature_weights, float* feature_bias) const;
  // The way back for gradients: d/d weights from d/d feature_weights and d/d bias.
  void Expand(const Kernels& kernels, int64_t width, const float* feature_gradient,
              const float* bias_gradient, float* gradient) const;
  // The inputs of one row of features, for tests and for acting.
  void Apply(const float* features, float* inputs) const;

 private:
  struct Column {  // a Term with the feature's position in features_
    int64_t input, column;
    float factor;
  };

  int64_t inputs_ = 0;
  bool is_range_ = true;
  std::vector<int64_t> features_;
  std::vector<Column> terms_;   // sorted by input
  std::vector<float> offsets_;  // empty: zeros
};

}  // namespace tessera

#endif  // TESSERA_NN_INPUT_MAP_H_
