// Adam and initial values: both forms against their formulas in double, clipping, orthogonality.
#include "tessera/nn/adam.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/nn/init.h"

namespace tessera {
namespace {

const std::vector<TensorInfo> kTensors = {{"w", 0, 2, 3}, {"b", 6, 1, 2}};

std::vector<float> GradientAt(int step) {
  std::vector<float> gradient;
  for (int i = 0; i < 8; ++i) {
    gradient.push_back(static_cast<float>(std::sin(step * 8 + i)) * (i < 6 ? 1.0f : 0.05f));
  }
  return gradient;
}

// Adam in double, written as the two reference codes write it.
std::vector<double> PlainAdam(const AdamOptions& options, int steps) {
  std::vector<double> w(8, 1.0), m(8), v(8);
  for (int t = 1; t <= steps; ++t) {
    const std::vector<float> raw = GradientAt(t);
    std::vector<double> g(raw.begin(), raw.end());
    const auto clip = [&](size_t begin, size_t end) {
      double norm = 0;
      for (size_t i = begin; i < end; ++i) norm += g[i] * g[i];
      norm = std::sqrt(norm);
      for (size_t i = begin; i < end; ++i) {
        if (norm > options.clip_norm) g[i] *= options.clip_norm / norm;
      }
    };
    if (options.clip == ClipMode::kGlobal) clip(0, 8);
    if (options.clip == ClipMode::kPerTensor) {
      clip(0, 6);
      clip(6, 8);
    }
    const double c1 = 1 - std::pow(options.beta1, t), c2 = 1 - std::pow(options.beta2, t);
    for (size_t i = 0; i < 8; ++i) {
      m[i] = options.beta1 * m[i] + (1 - options.beta1) * g[i];
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g[i] * g[i];
      w[i] -= options.form == AdamForm::kTensorFlow
                  ? options.learning_rate * std::sqrt(c2) / c1 * m[i] /
                        (std::sqrt(v[i]) + options.epsilon)
                  : options.learning_rate * (m[i] / c1) / (std::sqrt(v[i] / c2) + options.epsilon);
    }
  }
  return w;
}

TEST(Adam, FollowsBothFormsWithEveryClipMode) {
  for (const AdamForm form : {AdamForm::kTensorFlow, AdamForm::kPyTorch}) {
    for (const ClipMode clip : {ClipMode::kNone, ClipMode::kPerTensor, ClipMode::kGlobal}) {
      const AdamOptions options{.epsilon = 1e-2, .form = form, .clip = clip};
      Adam adam(BestKernels(), kTensors, options);
      std::vector<float> w(8, 1.0f);
      for (int t = 1; t <= 20; ++t) adam.Step(GradientAt(t).data(), w.data());
      const std::vector<double> expected = PlainAdam(options, 20);
      for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(w[i], expected[i], 2e-6);
    }
  }
}

TEST(Adam, TheFormsDifferInTheirEpsilon) {
  const auto end = [](AdamForm form) {
    return PlainAdam({.epsilon = 1e-2, .form = form, .clip = ClipMode::kNone}, 3)[0];
  };
  EXPECT_GT(std::abs(end(AdamForm::kTensorFlow) - end(AdamForm::kPyTorch)), 1e-4);
}

TEST(Init, GlorotStaysInsideItsLimitAndFillsIt) {
  const MlpLayout layout(MlpShape{30, {64}, 2});
  AlignedBuffer<float> parameters = layout.Allocate();
  InitGlorotUniform(layout, 1, 2, parameters.span());
  const double limit = std::sqrt(6.0 / 94.0);
  double top = 0;
  for (int64_t i = 0; i < 30 * 64; ++i) top = std::max(top, std::abs(double{parameters[i]}));
  EXPECT_LE(top, limit);
  EXPECT_GT(top, 0.99 * limit);
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(parameters[layout.layers()[0].bias + i], 0.0f);
}

TEST(Init, OrthogonalLayersKeepLengths) {
  const MlpLayout layout(MlpShape{20, {48}, 5});
  AlignedBuffer<float> parameters = layout.Allocate();
  InitOrthogonal(layout, std::sqrt(2.0), 0.01, 1, 2, parameters.span());
  const auto dot = [&](const MlpLayout::Layer& layer, bool columns, int64_t a, int64_t b) {
    double sum = 0;
    for (int64_t k = 0; k < (columns ? layer.inputs : layer.outputs); ++k) {
      const auto at = [&](int64_t v) {
        return double{
            parameters[layer.weights + (columns ? k * layer.outputs + v : v * layer.outputs + k)]};
      };
      sum += at(a) * at(b);
    }
    return sum;
  };
  const MlpLayout::Layer &wide = layout.layers()[0], &tall = layout.layers()[1];
  EXPECT_NEAR(dot(wide, /*columns=*/false, 3, 3), 2.0, 1e-5);
  EXPECT_NEAR(dot(wide, /*columns=*/false, 3, 11), 0.0, 1e-6);
  EXPECT_NEAR(dot(tall, /*columns=*/true, 2, 2), 1e-4, 1e-9);
  EXPECT_NEAR(dot(tall, /*columns=*/true, 0, 4), 0.0, 1e-9);
}

}  // namespace
}  // namespace tessera
