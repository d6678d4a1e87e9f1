// Adam: norms first, then one pass over each tensor.
#include "tessera/nn/adam.h"

#include <algorithm>
#include <cmath>

namespace tessera {

Adam::Adam(const Kernels& kernels, std::span<const TensorInfo> tensors, const AdamOptions& options)
    : kernels_(kernels), options_(options) {
  for (const TensorInfo& tensor : tensors) {
    tensors_.push_back({tensor.offset, tensor.size()});
    size_ = std::max(size_, tensor.offset + tensor.size());
  }
  mean_ = AlignedBuffer<float>(size_);
  variance_ = AlignedBuffer<float>(size_);
}

float Adam::ClipScale(float squared_norm) const {
  const float limit = static_cast<float>(options_.clip_norm);
  return limit / std::max(std::sqrt(squared_norm), limit);
}

void Adam::Step(const float* gradient, float* parameters) {
  ++steps_;
  const double t = static_cast<double>(steps_);
  const double correction1 = 1 - std::pow(options_.beta1, t);
  const double correction2 = 1 - std::pow(options_.beta2, t);
  const bool tensorflow = options_.form == AdamForm::kTensorFlow;
  const double rate = options_.learning_rate / correction1;
  AdamStep step{.step = static_cast<float>(tensorflow ? rate * std::sqrt(correction2) : rate),
                .root_scale = static_cast<float>(tensorflow ? 1 : 1 / std::sqrt(correction2)),
                .epsilon = static_cast<float>(options_.epsilon),
                .beta1 = static_cast<float>(options_.beta1),
                .beta2 = static_cast<float>(options_.beta2),
                .gradient_scale = 1};
  if (options_.clip == ClipMode::kGlobal) {
    float squares = 0;
    for (const Range& part : tensors_) {
      squares += kernels_.squared_norm(part.size, gradient + part.offset);
    }
    step.gradient_scale = ClipScale(squares);
  }
  for (const Range& tensor : tensors_) {
    if (options_.clip == ClipMode::kPerTensor) {
      step.gradient_scale = ClipScale(kernels_.squared_norm(tensor.size, gradient + tensor.offset));
    }
    kernels_.adam(tensor.size, step, gradient + tensor.offset, parameters + tensor.offset,
                  mean_.data() + tensor.offset, variance_.data() + tensor.offset);
  }
}

void Adam::Save(const std::string& prefix, TensorWriter& writer) const {
  writer.AddInt(prefix + "steps", steps_);
  writer.Add(prefix + "mean", mean_.span());
  writer.Add(prefix + "variance", variance_.span());
}

Result<void> Adam::Load(const std::string& prefix, const TensorReader& reader) {
  const Result<int64_t> steps = reader.ReadCounter(prefix + "steps");
  if (!steps) return steps.error();
  steps_ = *steps;
  if (Result<void> read = reader.Read(prefix + "mean", mean_.span()); !read) return read;
  return reader.Read(prefix + "variance", variance_.span());
}

}  // namespace tessera
