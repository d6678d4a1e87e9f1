// Heads on one block: loops over choices outside, rows inside, so that they vectorise.
#include "tessera/nn/heads.h"

#include <algorithm>
#include <array>

#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {
namespace {

constexpr int64_t R = kBlockRows;
constexpr float kHalfLogTwoPi = 0.91893853f;

float Precision(const Kernels& kernels, float log_deviation) {
  const float negative = -log_deviation;
  float precision = 0;
  kernels.exp(1, &negative, &precision);
  return precision;
}

}  // namespace

void FillGumbel(const Kernels& kernels, uint64_t seed, uint64_t stream, uint64_t step,
                int64_t first, int64_t count, float* noise) {
  TESSERA_CHECK(first % 64 == 0 && count % 64 == 0);
  const std::array<uint32_t, 2> key = CounterRng(seed, stream).key();
  constexpr int64_t kPiece = 1024;
  uint32_t words[kPiece];
  for (int64_t done = 0; done < count; done += kPiece) {
    const int64_t piece = std::min(kPiece, count - done);
    kernels.philox(key.data(), step, static_cast<uint64_t>((first + done) / 4), piece / 64, words);
    kernels.gumbel(piece, words, noise + done);
  }
}

void CategoricalChoose(int64_t choices, int64_t rows, const float* logits, const float* noise,
                       float* chosen) {
  const int64_t count = RowsToCompute(rows);
  float best[R];
  for (int64_t c = 0; c < choices; ++c) {
    for (int64_t r = 0; r < count; ++r) {
      const float score = logits[c * R + r] + (noise != nullptr ? noise[c * R + r] : 0.0f);
      const bool better = c == 0 || score > best[r];
      best[r] = better ? score : best[r];
      chosen[r] = better ? static_cast<float>(c) : chosen[r];
    }
  }
}

void CategoricalEvaluate(const Kernels& kernels, int64_t choices, int64_t rows, const float* logits,
                         const float* chosen, float* probabilities, float* log_probability,
                         float* entropy) {
  const int64_t count = RowsToCompute(rows);
  float log_norm[R];
  kernels.softmax(choices, count, R, logits, probabilities, log_norm);
  for (int64_t r = 0; r < count; ++r) {
    log_probability[r] = 0;
    entropy[r] = log_norm[r];
  }
  for (int64_t c = 0; c < choices; ++c) {
    const float index = static_cast<float>(c);
    for (int64_t r = 0; r < count; ++r) {
      const float logit = logits[c * R + r];
      log_probability[r] = chosen[r] == index ? logit - log_norm[r] : log_probability[r];
      entropy[r] -= probabilities[c * R + r] * logit;
    }
  }
}

void CategoricalGradient(const Kernels& kernels, int64_t choices, int64_t rows,
                         const float* probabilities, const float* chosen, const float* entropy,
                         const float* a, const float* b, float* logits_gradient) {
  const int64_t count = RowsToCompute(rows);
  for (int64_t c = 0; c < choices; ++c) {
    const float index = static_cast<float>(c);
    const float* const p = probabilities + c * R;
    float* const gradient = logits_gradient + c * R;
    for (int64_t r = 0; r < count; ++r) {
      gradient[r] = a[r] * ((chosen[r] == index ? 1.0f : 0.0f) - p[r]);
    }
    if (b == nullptr) continue;
    float log_p[R], clamped[R];
    // p log p tends to 0 where p does; the smallest normal number keeps its logarithm finite.
    for (int64_t r = 0; r < count; ++r) clamped[r] = std::max(p[r], 1.2e-38f);
    kernels.log(count, clamped, log_p);
    for (int64_t r = 0; r < count; ++r) gradient[r] -= b[r] * p[r] * (log_p[r] + entropy[r]);
  }
}

void GumbelSoftmax(const Kernels& kernels, int64_t choices, const float* logits, const float* noise,
                   float temperature, float* y) {
  const float scale = 1.0f / temperature;
  for (int64_t i = 0; i < choices * R; ++i) y[i] = (logits[i] + noise[i]) * scale;
  kernels.softmax(choices, R, R, y, y, nullptr);
}

void GumbelSoftmaxGradient(int64_t choices, const float* y, const float* y_gradient,
                           float temperature, float* logits_gradient) {
  float dot[R] = {};
  for (int64_t c = 0; c < choices; ++c) {
    for (int64_t r = 0; r < R; ++r) dot[r] += y[c * R + r] * y_gradient[c * R + r];
  }
  const float scale = 1.0f / temperature;
  for (int64_t c = 0; c < choices; ++c) {
    for (int64_t r = 0; r < R; ++r) {
      logits_gradient[c * R + r] = scale * y[c * R + r] * (y_gradient[c * R + r] - dot[r]);
    }
  }
}

void GaussianChoose(const Kernels& kernels, int64_t dimensions, const float* mean,
                    const float* log_deviation, const float* noise, float* action) {
  for (int64_t d = 0; d < dimensions; ++d) {
    float deviation = 0;
    kernels.exp(1, log_deviation + d, &deviation);
    for (int64_t r = 0; r < R; ++r) {
      action[d * R + r] = mean[d * R + r] + (noise != nullptr ? deviation * noise[d * R + r] : 0);
    }
  }
}

void GaussianEvaluate(const Kernels& kernels, int64_t dimensions, const float* mean,
                      const float* log_deviation, const float* action, float* log_probability) {
  for (int64_t r = 0; r < R; ++r) log_probability[r] = 0;
  for (int64_t d = 0; d < dimensions; ++d) {
    const float precision = Precision(kernels, log_deviation[d]);
    for (int64_t r = 0; r < R; ++r) {
      const float z = (action[d * R + r] - mean[d * R + r]) * precision;
      log_probability[r] -= 0.5f * z * z + log_deviation[d] + kHalfLogTwoPi;
    }
  }
}

float GaussianEntropy(std::span<const float> log_deviation) {
  float entropy = 0;
  for (const float value : log_deviation) entropy += value + kHalfLogTwoPi + 0.5f;
  return entropy;
}

void GaussianGradient(const Kernels& kernels, int64_t dimensions, int64_t rows, const float* mean,
                      const float* log_deviation, const float* action, const float* a,
                      float* mean_gradient, float* log_deviation_gradient) {
  for (int64_t d = 0; d < dimensions; ++d) {
    const float precision = Precision(kernels, log_deviation[d]);
    for (int64_t r = 0; r < R; ++r) {
      const float z = (action[d * R + r] - mean[d * R + r]) * precision;
      mean_gradient[d * R + r] = a[r] * z * precision;
      if (r < rows) log_deviation_gradient[d] += a[r] * (z * z - 1);
    }
  }
}

}  // namespace tessera
