// The Gaussian process against its textbook formulas.
#include "tessera/search/gp.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/part.h"

namespace tessera {
namespace {

double Kernel(std::span<const double> a, std::span<const double> b, double length) {
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i) distance += (a[i] - b[i]) * (a[i] - b[i]);
  return std::exp(-0.5 * distance / (length * length));
}

std::vector<double> RandomRows(size_t count, size_t columns, uint64_t seed) {
  CounterRng rng(seed, 1);
  std::vector<double> rows(count * columns);
  for (double& value : rows) value = rng.Uniform();
  return rows;
}

using Matrix = std::vector<std::vector<double>>;

// By Gauss and Jordan; no pivot of a positive definite matrix is zero.
Matrix InverseOf(Matrix matrix) {
  const size_t size = matrix.size();
  Matrix inverse(size, std::vector<double>(size));
  for (size_t i = 0; i < size; ++i) inverse[i][i] = 1;
  for (size_t i = 0; i < size; ++i) {
    const double pivot = matrix[i][i];
    for (Matrix* side : {&matrix, &inverse}) {
      for (double& value : (*side)[i]) value /= pivot;
    }
    for (size_t k = 0; k < size; ++k) {
      const double factor = matrix[k][i];
      for (size_t j = 0; j < size && k != i; ++j) {
        matrix[k][j] -= factor * matrix[i][j];
        inverse[k][j] -= factor * inverse[i][j];
      }
    }
  }
  return inverse;
}

TEST(GaussianProcess, AgreesWithTheInverseOfTheKernelMatrix) {
  constexpr size_t kColumns = 3, kPoints = 12, kCandidates = 5;
  const std::vector<double> rows = RandomRows(kPoints, kColumns, 1);
  const std::vector<double> asked = RandomRows(kCandidates, kColumns, 2);
  std::vector<double> costs;
  for (size_t i = 0; i < kPoints; ++i) costs.push_back(3 + std::sin(5 * rows[i * kColumns]));
  const GpSettings settings{.length = 0.7, .noise = 0.02};
  GaussianProcess process(kColumns);
  process.Fit(rows, costs, settings);
  process.Consider(asked);

  const auto row = [&](const std::vector<double>& all, size_t i) {
    return std::span(all).subspan(i * kColumns, kColumns);
  };
  Matrix kernel(kPoints, std::vector<double>(kPoints));
  for (size_t i = 0; i < kPoints; ++i) {
    for (size_t j = 0; j < kPoints; ++j) {
      kernel[i][j] = Kernel(row(rows, i), row(rows, j), 0.7) + (i == j ? 0.02 : 0);
    }
  }
  const Matrix inverse = InverseOf(kernel);
  double mean = 0, square = 0;
  for (const double cost : costs) mean += cost / kPoints;
  for (const double cost : costs) square += (cost - mean) * (cost - mean) / kPoints;
  ASSERT_EQ(process.candidates(), kCandidates);
  for (size_t c = 0; c < kCandidates; ++c) {
    double standard = 0, known = 0;
    for (size_t i = 0; i < kPoints; ++i) {
      for (size_t j = 0; j < kPoints; ++j) {
        const double weight = Kernel(row(rows, i), row(asked, c), 0.7) * inverse[i][j];
        standard += weight * (costs[j] - mean) / std::sqrt(square);
        known += weight * Kernel(row(rows, j), row(asked, c), 0.7);
      }
    }
    EXPECT_NEAR(process.mean(c), mean + std::sqrt(square) * standard, 1e-9);
    EXPECT_NEAR(process.deviation(c), std::sqrt(square * (1 - known)), 1e-9);
  }
}

TEST(GaussianProcess, BelievingEqualsLearningTheMean) {
  constexpr size_t kColumns = 2;
  const std::vector<double> asked = RandomRows(8, kColumns, 4);
  std::vector<double> rows = RandomRows(10, kColumns, 3), costs;
  for (size_t i = 0; i < 10; ++i) costs.push_back(rows[i * kColumns] + rows[i * kColumns + 1]);
  const GpSettings settings{.length = 0.5, .noise = 0.05};
  GaussianProcess believing(kColumns);
  believing.Fit(rows, costs, settings);
  believing.Consider(asked);
  const double before = believing.deviation(1);
  const double scale = believing.deviation(3);
  believing.Believe(3);
  EXPECT_LT(believing.deviation(3), scale);
  EXPECT_LE(believing.deviation(1), before);

  // Deviations do not depend on costs but for their scale, so compare them as ratios.
  rows.insert(rows.end(), asked.begin() + 3 * kColumns, asked.begin() + 4 * kColumns);
  costs.push_back(believing.mean(3));
  GaussianProcess learning(kColumns);
  learning.Fit(rows, costs, settings);
  learning.Consider(asked);
  const double ratio = learning.deviation(0) / believing.deviation(0);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(learning.deviation(i), ratio * believing.deviation(i), 1e-9);
  }
}

TEST(GaussianProcess, EvidencePrefersTheLengthThatMadeTheData) {
  constexpr size_t kPoints = 60;
  const std::vector<double> rows = RandomRows(kPoints, 1, 9);
  std::vector<double> costs;
  for (const double x : rows) costs.push_back(std::sin(12 * x));
  GaussianProcess process(1);
  const double right = process.Fit(rows, costs, {.length = 0.15, .noise = 1e-4});
  EXPECT_GT(right, process.Fit(rows, costs, {.length = 0.01, .noise = 1e-4}));
  EXPECT_GT(right, process.Fit(rows, costs, {.length = 5, .noise = 1e-4}));
}

TEST(GaussianProcess, SurvivesEqualCosts) {
  const std::vector<double> rows = RandomRows(20, 2, 1), costs(20, 4.0);
  GaussianProcess process(2);
  EXPECT_TRUE(std::isfinite(process.Fit(rows, costs, {})));
  process.Consider(rows);
  EXPECT_NEAR(process.mean(0), 4.0, 1e-9);
}

TEST(ExpectedImprovement, IsThePositivePartOfANormalVariable) {
  EXPECT_EQ(ExpectedImprovement(1, 3, 0), 0);
  EXPECT_EQ(ExpectedImprovement(3, 1, 0), 2);
  EXPECT_NEAR(ExpectedImprovement(0, 0, 1), 0.3989422804014327, 1e-12);
  CounterRng rng(1, 1);
  double sum = 0;
  constexpr int kDraws = 400'000;
  for (int i = 0; i < kDraws; ++i) sum += std::max(0.0, 1.0 - (1.5 + 0.8 * rng.Normal()));
  EXPECT_NEAR(ExpectedImprovement(1, 1.5, 0.8), sum / kDraws, 2e-3);
}

}  // namespace
}  // namespace tessera
