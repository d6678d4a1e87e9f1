// Gaussian process regression by Cholesky factors; Eigen does the linear algebra.
#include "tessera/search/gp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <Eigen/Cholesky>

#include "tessera/base/stop.h"
#include "tessera/result.h"

namespace tessera {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// One row of the span per column of the matrix.
Eigen::Map<const Matrix> AsColumns(std::span<const double> rows, size_t columns) {
  TESSERA_CHECK(rows.size() % columns == 0);
  return {rows.data(), static_cast<Eigen::Index>(columns),
          static_cast<Eigen::Index>(rows.size() / columns)};
}

}  // namespace

struct GaussianProcess::State {
  explicit State(size_t column_count) : columns(column_count) {}

  // Correlations between all points of a and all of b.
  template <typename A, typename B>
  Matrix Kernel(const A& a, const B& b) const {
    const Vector norm_a = a.colwise().squaredNorm(), norm_b = b.colwise().squaredNorm();
    const Matrix products = a.transpose() * b;
    Matrix distance = -2.0 * products;
    distance.colwise() += norm_a;
    distance.rowwise() += norm_b.transpose();
    const double rate = -0.5 / (settings.length * settings.length);
    Matrix kernel = (distance.array().max(0.0) * rate).exp();
    if (settings.slope > 0) kernel += settings.slope * products;
    return kernel;
  }

  const size_t columns;
  GpSettings settings;
  Matrix points;  // one per column
  double shift = 0, scale = 1;
  Eigen::LLT<Matrix> factor;
  Vector weights;

  Matrix candidates;  // one per column
  Matrix solved;      // inverse factor times correlations, grown by a row for each belief
  Eigen::Index used_rows = 0;
  Vector means, variances;
};

GaussianProcess::GaussianProcess(size_t columns) : state_(std::make_unique<State>(columns)) {}
GaussianProcess::~GaussianProcess() = default;

double GaussianProcess::Fit(std::span<const double> rows, std::span<const double> costs,
                            const GpSettings& settings) {
  State& s = *state_;
  s.settings = settings;
  s.points = AsColumns(rows, s.columns);
  const Eigen::Map<const Vector> raw(costs.data(), static_cast<Eigen::Index>(costs.size()));
  TESSERA_CHECK(raw.size() == s.points.cols() && raw.size() > 0);
  s.shift = raw.mean();
  s.scale = std::sqrt((raw.array() - s.shift).square().mean());
  if (s.scale <= 1e-12 * std::abs(s.shift) || s.scale == 0) s.scale = 1;
  const Vector standard = (raw.array() - s.shift) / s.scale;
  Matrix kernel = s.Kernel(s.points, s.points);
  kernel.diagonal().array() += settings.noise;
  s.factor.compute(kernel);
  s.weights = s.factor.solve(standard);
  const double log_determinant = 2 * Matrix(s.factor.matrixL()).diagonal().array().log().sum();
  return -0.5 * standard.dot(s.weights) - 0.5 * log_determinant -
         0.5 * static_cast<double>(raw.size()) * std::log(2 * std::numbers::pi);
}

void GaussianProcess::Consider(std::span<const double> rows) {
  State& s = *state_;
  s.candidates = AsColumns(rows, s.columns);
  // A long history and many candidates take minutes, so they come in parts.
  constexpr Eigen::Index kPart = 1024;
  const Eigen::Index count = s.candidates.cols();
  s.means = Vector::Zero(count);
  s.solved = Matrix::Zero(s.points.cols(), count);
  for (Eigen::Index first = 0; first < count && !Abandoned(); first += kPart) {
    const Eigen::Index part = std::min(kPart, count - first);
    const Matrix correlations = s.Kernel(s.points, s.candidates.middleCols(first, part));
    s.means.segment(first, part) = correlations.transpose() * s.weights;
    s.solved.middleCols(first, part) = s.factor.matrixL().solve(correlations);
  }
  s.used_rows = s.solved.rows();
  const Vector before =
      1.0 + s.settings.slope * s.candidates.colwise().squaredNorm().transpose().array();
  s.variances = (before - s.solved.colwise().squaredNorm().transpose()).array().max(1e-12);
}

size_t GaussianProcess::candidates() const { return static_cast<size_t>(state_->means.size()); }

double GaussianProcess::mean(size_t candidate) const {
  return state_->shift + state_->scale * state_->means[static_cast<Eigen::Index>(candidate)];
}

double GaussianProcess::deviation(size_t candidate) const {
  return state_->scale * std::sqrt(state_->variances[static_cast<Eigen::Index>(candidate)]);
}

void GaussianProcess::Believe(size_t candidate) {
  State& s = *state_;
  const Eigen::Index chosen = static_cast<Eigen::Index>(candidate);
  if (s.used_rows == s.solved.rows()) {
    s.solved.conservativeResize(s.used_rows + 64, Eigen::NoChange);
  }
  // The factor grows by one row; only what candidates need of it is computed.
  const auto used = s.solved.topRows(s.used_rows);
  const double pivot = std::sqrt(s.variances[chosen] + s.settings.noise);
  const Vector correlations = s.Kernel(s.candidates, s.candidates.col(chosen));
  const Vector row = (correlations - used.transpose() * used.col(chosen)) / pivot;
  s.solved.row(s.used_rows) = row.transpose();
  ++s.used_rows;
  s.variances = (s.variances.array() - row.array().square()).max(1e-12);
}

double ExpectedImprovement(double best, double mean, double deviation) {
  const double gain = best - mean;
  if (deviation <= 0) return std::max(0.0, gain);
  const double z = gain / deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return gain * below + deviation * density;
}

}  // namespace tessera
