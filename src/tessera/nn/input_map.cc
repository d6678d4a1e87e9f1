// Affine input maps as sorted lists of terms.
#include "tessera/nn/input_map.h"

#include <algorithm>
#include <numeric>

#include "tessera/result.h"

namespace tessera {

InputMap InputMap::Range(int64_t first, int64_t count) {
  InputMap map;
  map.inputs_ = count;
  map.features_.resize(static_cast<size_t>(count));
  std::iota(map.features_.begin(), map.features_.end(), first);
  for (int64_t i = 0; i < count; ++i) map.terms_.push_back({i, i, 1.0f});
  return map;
}

InputMap InputMap::Affine(int64_t inputs, std::vector<Term> terms, std::vector<float> offsets) {
  TESSERA_CHECK(offsets.empty() || std::ssize(offsets) == inputs);
  InputMap map;
  map.inputs_ = inputs;
  map.is_range_ = false;
  map.offsets_ = std::move(offsets);
  for (const Term& term : terms) map.features_.push_back(term.feature);
  std::sort(map.features_.begin(), map.features_.end());
  map.features_.erase(std::unique(map.features_.begin(), map.features_.end()), map.features_.end());
  for (const Term& term : terms) {
    TESSERA_CHECK(term.input >= 0 && term.input < inputs);
    const auto at = std::lower_bound(map.features_.begin(), map.features_.end(), term.feature);
    map.terms_.push_back({term.input, at - map.features_.begin(), term.factor});
  }
  std::stable_sort(map.terms_.begin(), map.terms_.end(),
                   [](const Column& a, const Column& b) { return a.input < b.input; });
  return map;
}

InputMap InputMap::Concatenate(std::span<const InputMap> maps) {
  std::vector<Term> terms;
  std::vector<float> offsets;
  int64_t inputs = 0;
  bool consecutive = true;
  for (const InputMap& map : maps) {
    for (const Column& term : map.terms_) {
      terms.push_back(
          {inputs + term.input, map.features_[static_cast<size_t>(term.column)], term.factor});
    }
    consecutive = consecutive && map.is_range_;
    for (int64_t i = 0; i < map.inputs_; ++i) {
      offsets.push_back(map.offsets_.empty() ? 0.0f : map.offsets_[static_cast<size_t>(i)]);
    }
    inputs += map.inputs_;
  }
  if (std::all_of(offsets.begin(), offsets.end(), [](float x) { return x == 0; })) offsets.clear();
  for (size_t i = 1; i < terms.size() && consecutive; ++i) {
    consecutive = terms[i].feature == terms[i - 1].feature + 1;
  }
  if (consecutive && !terms.empty()) return Range(terms[0].feature, inputs);
  return Affine(inputs, std::move(terms), std::move(offsets));
}

void InputMap::Collapse(const Kernels& kernels, int64_t width, const float* weights,
                        const float* bias, float* feature_weights, float* feature_bias) const {
  std::fill_n(feature_weights, std::ssize(features_) * width, 0.0f);
  std::copy_n(bias, width, feature_bias);
  for (const Column& term : terms_) {
    kernels.add_scaled(width, term.factor, weights + term.input * width,
                       feature_weights + term.column * width);
  }
  for (int64_t i = 0; i < std::ssize(offsets_); ++i) {
    kernels.add_scaled(width, offsets_[static_cast<size_t>(i)], weights + i * width, feature_bias);
  }
}

void InputMap::Expand(const Kernels& kernels, int64_t width, const float* feature_gradient,
                      const float* bias_gradient, float* gradient) const {
  auto term = terms_.begin();  // sorted by input
  for (int64_t i = 0; i < inputs_; ++i) {
    float* const row = gradient + i * width;
    std::fill_n(row, width, 0.0f);
    for (; term != terms_.end() && term->input == i; ++term) {
      kernels.add_scaled(width, term->factor, feature_gradient + term->column * width, row);
    }
    if (offsets_.empty()) continue;
    kernels.add_scaled(width, offsets_[static_cast<size_t>(i)], bias_gradient, row);
  }
}

void InputMap::Apply(const float* features, float* inputs) const {
  for (int64_t i = 0; i < inputs_; ++i) {
    inputs[i] = offsets_.empty() ? 0.0f : offsets_[static_cast<size_t>(i)];
  }
  for (const Column& term : terms_) {
    inputs[term.input] += term.factor * features[features_[static_cast<size_t>(term.column)]];
  }
}

}  // namespace tessera
