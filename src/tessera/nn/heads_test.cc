// Heads: probabilities, entropies and draws against their definitions, gradients against finite
// differences in double.
#include "tessera/nn/heads.h"

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/part.h"

namespace tessera {
namespace {

constexpr int64_t R = kBlockRows;
constexpr int64_t kChoices = 4;

std::vector<float> Randoms(int64_t count, uint64_t stream) {
  CounterRng rng(/*seed=*/1, stream);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(rng.Normal());
  return values;
}

std::vector<double> Row(const std::vector<float>& block, int64_t features, int64_t row) {
  std::vector<double> values;
  for (int64_t f = 0; f < features; ++f) values.push_back(block[static_cast<size_t>(f * R + row)]);
  return values;
}

std::vector<double> Softmax(const std::vector<double>& logits) {
  double norm = 0;
  std::vector<double> p;
  for (const double logit : logits) norm += std::exp(logit);
  for (const double logit : logits) p.push_back(std::exp(logit) / norm);
  return p;
}

void ExpectGradient(const std::function<double(const std::vector<double>&)>& loss,
                    std::vector<double> at, const std::vector<double>& gradient) {
  for (size_t i = 0; i < at.size(); ++i) {
    const double value = at[i], step = 1e-6;
    at[i] = value + step;
    const double above = loss(at);
    at[i] = value - step;
    const double below = loss(at);
    at[i] = value;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 1e-4);
  }
}

TEST(Categorical, EvaluatesAndDifferentiates) {
  const std::vector<float> logits = Randoms(kChoices * R, 1), a = Randoms(R, 2), b = Randoms(R, 3);
  std::vector<float> chosen, p(kChoices * R), log_p(R), entropy(R), gradient(kChoices * R);
  for (int64_t r = 0; r < R; ++r) chosen.push_back(static_cast<float>(r % kChoices));
  CategoricalEvaluate(BestKernels(), kChoices, R, logits.data(), chosen.data(), p.data(),
                      log_p.data(), entropy.data());
  CategoricalGradient(BestKernels(), kChoices, R, p.data(), chosen.data(), entropy.data(), a.data(),
                      b.data(), gradient.data());
  for (int64_t r = 0; r < R; r += 5) {
    const size_t row = static_cast<size_t>(r), choice = row % kChoices;
    const auto entropy_of = [](const std::vector<double>& q) {
      double sum = 0;
      for (const double value : q) sum -= value * std::log(value);
      return sum;
    };
    const std::vector<double> exact = Softmax(Row(logits, kChoices, r));
    EXPECT_NEAR(log_p[row], std::log(exact[choice]), 1e-5);
    EXPECT_NEAR(entropy[row], entropy_of(exact), 1e-5);
    ExpectGradient(
        [&](const std::vector<double>& at) {
          const std::vector<double> q = Softmax(at);
          return a[row] * std::log(q[choice]) + b[row] * entropy_of(q);
        },
        Row(logits, kChoices, r), Row(gradient, kChoices, r));
  }
}

// Few rows give the bits that a whole block gives, and the rest is left alone.
TEST(Categorical, ComputesTheRowsThatCount) {
  const std::vector<float> logits = Randoms(kChoices * R, 1), a = Randoms(R, 2), b = Randoms(R, 3);
  const std::vector<float> chosen(R, 2.0f);
  const auto gradient_of = [&](int64_t rows, const float* entropies) {
    std::vector<float> p(kChoices * R), log_p(R), entropy(R), gradient(kChoices * R, 7.0f);
    CategoricalEvaluate(BestKernels(), kChoices, rows, logits.data(), chosen.data(), p.data(),
                        log_p.data(), entropy.data());
    CategoricalGradient(BestKernels(), kChoices, rows, p.data(), chosen.data(), entropy.data(),
                        a.data(), entropies, gradient.data());
    return gradient;
  };
  const std::vector<float> zeros(R);
  for (const float* entropies : {b.data(), zeros.data(), static_cast<const float*>(nullptr)}) {
    const std::vector<float> whole =
        gradient_of(R, entropies == nullptr ? zeros.data() : entropies);
    const std::vector<float> few = gradient_of(5, entropies);
    for (int64_t i = 0; i < kChoices * R; ++i) {
      const size_t at = static_cast<size_t>(i);
      const bool counts = i % R < 5, padding = !counts && i % R < RowsToCompute(5);
      if (!padding) {
        EXPECT_EQ(few[at], counts ? whole[at] : 7.0f) << i;
      }
    }
  }
}

TEST(Categorical, DrawsFollowTheProbabilities) {
  std::vector<float> logits(kChoices * R), noise(kChoices * R), chosen(R);
  const std::vector<double> wanted = {0.1, 0.2, 0.3, 0.4};
  for (int64_t c = 0; c < kChoices; ++c) {
    for (int64_t r = 0; r < R; ++r) {
      logits[static_cast<size_t>(c * R + r)] =
          static_cast<float>(std::log(wanted[static_cast<size_t>(c)]));
    }
  }
  std::vector<double> counts(kChoices);
  for (uint64_t step = 0; step < 200; ++step) {
    FillGumbel(BestKernels(), /*seed=*/1, /*stream=*/2, step, 0, kChoices * R, noise.data());
    CategoricalChoose(kChoices, R, logits.data(), noise.data(), chosen.data());
    for (const float choice : chosen) counts[static_cast<size_t>(choice)] += 1.0 / (200.0 * R);
  }
  for (size_t c = 0; c < kChoices; ++c) EXPECT_NEAR(counts[c], wanted[c], 0.01);
  CategoricalChoose(kChoices, R, logits.data(), nullptr, chosen.data());
  for (const float choice : chosen) EXPECT_EQ(choice, 3.0f);
}

TEST(GumbelSoftmax, IsASoftmaxOfNoisyLogitsAndDifferentiates) {
  const std::vector<float> logits = Randoms(kChoices * R, 4), weights = Randoms(kChoices * R, 5);
  std::vector<float> noise(kChoices * R), y(kChoices * R), gradient(kChoices * R);
  FillGumbel(BestKernels(), /*seed=*/1, /*stream=*/3, /*step=*/0, 0, kChoices * R, noise.data());
  const float temperature = 0.7f;
  GumbelSoftmax(BestKernels(), kChoices, logits.data(), noise.data(), temperature, y.data());
  GumbelSoftmaxGradient(kChoices, y.data(), weights.data(), temperature, gradient.data());
  for (int64_t r = 0; r < R; r += 7) {
    const std::vector<double> g = Row(noise, kChoices, r), w = Row(weights, kChoices, r);
    const auto soft = [&](std::vector<double> at) {
      for (size_t c = 0; c < at.size(); ++c) at[c] = (at[c] + g[c]) / temperature;
      return Softmax(at);
    };
    const std::vector<double> exact = soft(Row(logits, kChoices, r));
    for (size_t c = 0; c < kChoices; ++c) EXPECT_NEAR(Row(y, kChoices, r)[c], exact[c], 1e-6);
    ExpectGradient(
        [&](const std::vector<double>& at) {
          double loss = 0;
          for (size_t c = 0; c < kChoices; ++c) loss += w[c] * soft(at)[c];
          return loss;
        },
        Row(logits, kChoices, r), Row(gradient, kChoices, r));
  }
}

TEST(GumbelSoftmax, PartsOfANoiseStreamAreTheStream) {
  std::vector<float> whole(4096), parts(4096);
  FillGumbel(BestKernels(), 1, 2, 3, 0, 4096, whole.data());
  FillGumbel(BestKernels(), 1, 2, 3, 0, 640, parts.data());
  FillGumbel(BestKernels(), 1, 2, 3, 640, 4096 - 640, parts.data() + 640);
  EXPECT_EQ(whole, parts);
}

TEST(Gaussian, EvaluatesAndDifferentiates) {
  constexpr int64_t kDimensions = 2, kRows = 100;
  const std::vector<float> mean = Randoms(kDimensions * R, 6), noise = Randoms(kDimensions * R, 7),
                           a = Randoms(R, 8), log_deviation = {-0.3f, 0.4f};
  std::vector<float> action(kDimensions * R), log_p(R), mean_gradient(kDimensions * R),
      deviation_gradient(kDimensions);
  const Kernels& kernels = BestKernels();
  GaussianChoose(kernels, kDimensions, mean.data(), log_deviation.data(), noise.data(),
                 action.data());
  GaussianEvaluate(kernels, kDimensions, mean.data(), log_deviation.data(), action.data(),
                   log_p.data());
  GaussianGradient(kernels, kDimensions, kRows, mean.data(), log_deviation.data(), action.data(),
                   a.data(), mean_gradient.data(), deviation_gradient.data());
  const auto density = [&](const std::vector<double>& m, const std::vector<double>& s, int64_t r) {
    double sum = 0;
    for (size_t d = 0; d < kDimensions; ++d) {
      const double z = (Row(action, kDimensions, r)[d] - m[d]) / std::exp(s[d]);
      sum -= 0.5 * z * z + s[d] + 0.5 * std::log(2 * M_PI);
    }
    return sum;
  };
  const std::vector<double> deviations(log_deviation.begin(), log_deviation.end());
  for (int64_t r = 0; r < R; r += 9) {
    EXPECT_NEAR(log_p[static_cast<size_t>(r)], density(Row(mean, kDimensions, r), deviations, r),
                1e-5);
    ExpectGradient(
        [&](const std::vector<double>& m) {
          return a[static_cast<size_t>(r)] * density(m, deviations, r);
        },
        Row(mean, kDimensions, r), Row(mean_gradient, kDimensions, r));
  }
  ExpectGradient(
      [&](const std::vector<double>& s) {
        double loss = 0;
        for (int64_t r = 0; r < kRows; ++r) {
          loss += a[static_cast<size_t>(r)] * density(Row(mean, kDimensions, r), s, r);
        }
        return loss;
      },
      deviations, {deviation_gradient.begin(), deviation_gradient.end()});
  EXPECT_NEAR(GaussianEntropy(log_deviation), 0.1 + std::log(2 * M_PI * M_E), 1e-5);
}

}  // namespace
}  // namespace tessera
