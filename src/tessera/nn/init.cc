// Glorot and orthogonal initialisation, one random stream per tensor.
#include "tessera/nn/init.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/stop.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {
namespace {

constexpr int64_t kRowsBetweenPolls = 64, kWeightsBetweenPolls = int64_t{1} << 16;

// `count` orthonormal vectors of `size` >= count entries: normal draws, then Gram-Schmidt twice,
// which is as good as a QR decomposition at these sizes.
std::vector<double> OrthonormalRows(int64_t count, int64_t size, CounterRng& rng) {
  std::vector<double> rows(static_cast<size_t>(count * size));
  for (double& value : rows) value = rng.Normal();
  const auto row = [&](int64_t i) { return rows.data() + i * size; };
  for (int64_t i = 0; i < count; ++i) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t j = 0; j < i; ++j) {
        // Wide layers take minutes.
        if (j % kRowsBetweenPolls == 0 && Abandoned()) return rows;
        double dot = 0;
        for (int64_t k = 0; k < size; ++k) dot += row(i)[k] * row(j)[k];
        for (int64_t k = 0; k < size; ++k) row(i)[k] -= dot * row(j)[k];
      }
    }
    double norm = 0;
    for (int64_t k = 0; k < size; ++k) norm += row(i)[k] * row(i)[k];
    for (int64_t k = 0; k < size; ++k) row(i)[k] /= std::sqrt(norm);
  }
  return rows;
}

}  // namespace

void InitGlorotUniform(const MlpLayout& layout, uint64_t seed, uint64_t stream,
                       std::span<float> parameters) {
  TESSERA_CHECK(std::ssize(parameters) >= layout.size());
  std::fill_n(parameters.begin(), layout.size(), 0.0f);
  for (size_t l = 0; l < layout.layers().size(); ++l) {
    const MlpLayout::Layer& layer = layout.layers()[l];
    CounterRng rng(seed, stream, /*step=*/l);
    const double limit = std::sqrt(6.0 / static_cast<double>(layer.inputs + layer.outputs));
    for (int64_t i = 0; i < layer.inputs * layer.outputs; ++i) {
      if (i % kWeightsBetweenPolls == 0 && Abandoned()) return;
      parameters[static_cast<size_t>(layer.weights + i)] =
          static_cast<float>(limit * (2 * rng.Uniform() - 1));
    }
  }
}

void InitOrthogonal(const MlpLayout& layout, double gain, double output_gain, uint64_t seed,
                    uint64_t stream, std::span<float> parameters) {
  TESSERA_CHECK(std::ssize(parameters) >= layout.size());
  std::fill_n(parameters.begin(), layout.size(), 0.0f);
  for (size_t l = 0; l < layout.layers().size(); ++l) {
    const MlpLayout::Layer& layer = layout.layers()[l];
    if (Abandoned()) return;
    CounterRng rng(seed, stream, /*step=*/l);
    const bool tall = layer.inputs >= layer.outputs;  // then columns are the orthonormal vectors
    const int64_t count = std::min(layer.inputs, layer.outputs);
    const int64_t size = std::max(layer.inputs, layer.outputs);
    const std::vector<double> rows = OrthonormalRows(count, size, rng);
    const double factor = l + 1 == layout.layers().size() ? output_gain : gain;
    for (int64_t i = 0; i < layer.inputs; ++i) {
      for (int64_t j = 0; j < layer.outputs; ++j) {
        const int64_t at = tall ? j * size + i : i * size + j;
        parameters[static_cast<size_t>(layer.weights + i * layer.outputs + j)] =
            static_cast<float>(factor * rows[static_cast<size_t>(at)]);
      }
    }
  }
}

}  // namespace tessera
