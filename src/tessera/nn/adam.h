// Adam with gradient clipping, in the forms that the reference codes use.
#ifndef TESSERA_NN_ADAM_H_
#define TESSERA_NN_ADAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/nn/kernels.h"
#include "tessera/nn/mlp.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// Where epsilon stands relative to the bias correction.
enum class AdamForm {
  kTensorFlow,  // lr * sqrt(1-b2^t)/(1-b1^t) * m / (sqrt(v) + epsilon); Keras too
  kPyTorch,     // lr * m/(1-b1^t) / (sqrt(v/(1-b2^t)) + epsilon); the paper
};

enum class ClipMode {
  kNone,
  kPerTensor,  // each weight matrix and bias to the norm on its own, as in the MADDPG references
  kGlobal,     // all tensors of a network together
};

struct AdamOptions {
  // Default: 0.01.
  double learning_rate = 0.01;

  // Decay of the first and second moment. Default: 0.9 and 0.999.
  double beta1 = 0.9, beta2 = 0.999;

  // Default: 1e-8.
  double epsilon = 1e-8;

  // Default: kTensorFlow.
  AdamForm form = AdamForm::kTensorFlow;

  // Which gradients are scaled down to `clip_norm`. Default: kPerTensor.
  ClipMode clip = ClipMode::kPerTensor;

  // Euclidean norm. Default: 0.5.
  double clip_norm = 0.5;
};

// The optimiser of one network, or of any vector that is divided into tensors.
class Adam {
 public:
  Adam(const Kernels& kernels, std::span<const TensorInfo> tensors, const AdamOptions& options);

  // Takes one step of `parameters` along `gradient`.
  void Step(const float* gradient, float* parameters);

  const AdamOptions& options() const { return options_; }
  void set_learning_rate(double rate) { options_.learning_rate = rate; }

  int64_t steps() const { return steps_; }
  // Moments and steps as they lie in memory, for engines that keep a copy of them elsewhere.
  std::span<float> mean() { return mean_.span(); }
  std::span<float> variance() { return variance_.span(); }
  int64_t* mutable_steps() { return &steps_; }
  void Save(const std::string& prefix, TensorWriter& writer) const;
  Result<void> Load(const std::string& prefix, const TensorReader& reader);

 private:
  struct Range {
    int64_t offset, size;
  };
  float ClipScale(float squared_norm) const;

  const Kernels& kernels_;
  AdamOptions options_;
  std::vector<Range> tensors_;
  int64_t size_ = 0;
  int64_t steps_ = 0;
  AlignedBuffer<float> mean_, variance_;
};

}  // namespace tessera

#endif  // TESSERA_NN_ADAM_H_
