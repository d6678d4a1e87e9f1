// Gradients of choices.
#include "tessera/policy/learn.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "tessera/base/stop.h"
#include "tessera/nn/kernels.h"

namespace tessera::policy {

Student::Student(Networks& networks, double learning_rate) : networks_(networks) {
  for (size_t k = 0; k < kAgentKinds; ++k) {
    const MlpLayout& layout = networks.layout(static_cast<AgentKind>(k));
    Part part;
    part.adam = std::make_unique<Adam>(BestKernels(), layout.tensors(),
                                       AdamOptions{.learning_rate = learning_rate,
                                                   .form = AdamForm::kPyTorch,
                                                   .clip = ClipMode::kGlobal,
                                                   .clip_norm = 1});
    part.pass = std::make_unique<MlpPass>(BestKernels(), layout,
                                          InputMap::Range(0, layout.shape().inputs), kMostRows);
    const auto order =
        layout.skips_zeros() ? FeatureBatch::Order::kByRow : FeatureBatch::Order::kByFeature;
    part.x = FeatureBatch(layout.shape().inputs, kMostRows, order);
    part.gradient = FeatureBatch(1, kMostRows);
    part.step = layout.Allocate();
    part.sum = layout.Allocate();
    parts_.push_back(std::move(part));
  }
}

void Student::set_learning_rate(double rate) {
  for (Part& part : parts_) part.adam->set_learning_rate(rate);
}

std::optional<std::array<double, kAgentKinds>> Student::Learn(const Lessons& lessons,
                                                              double entropy, ThreadPool& pool) {
  std::array<double, kAgentKinds> losses{};
  // All gradients before the first step: a step of some networks only would be no state to go on
  // from.
  for (size_t k = 0; k < kAgentKinds; ++k) {
    if (lessons.kinds[k].groups.empty()) continue;
    const std::optional<double> loss = GradientOf(k, lessons.kinds[k], entropy, pool);
    if (!loss) return std::nullopt;
    losses[k] = *loss;
  }
  for (size_t k = 0; k < kAgentKinds; ++k) {
    if (lessons.kinds[k].groups.empty()) continue;
    parts_[k].adam->Step(parts_[k].sum.data(),
                         networks_.parameters(static_cast<AgentKind>(k)).data());
  }
  return losses;
}

std::optional<double> Student::GradientOf(size_t kind, const Lessons::Turns& turns, double entropy,
                                          ThreadPool& pool) {
  Part& part = parts_[kind];
  const auto features = static_cast<int64_t>(networks_.features()[kind]);
  std::ranges::fill(part.sum.span(), 0.0f);
  double loss = 0, weights = 0;
  for (const Lessons::Turns::Group& group : turns.groups) weights += std::abs(group.weight);
  const double scale = 1 / std::max(weights, 1e-9);
  part.pass->Bind(networks_.parameters(static_cast<AgentKind>(kind)).data());
  for (size_t begin = 0; begin < turns.groups.size();) {
    if (Abandoned()) return std::nullopt;
    size_t end = begin;
    const uint32_t first = turns.groups[begin].first;
    const auto rows_to = [&](size_t g) {
      return static_cast<int64_t>(turns.groups[g].first + turns.groups[g].values - first);
    };
    while (end < turns.groups.size() && rows_to(end) <= kMostRows) ++end;
    TESSERA_CHECK(end > begin);
    const int64_t rows = rows_to(end - 1);
    part.x.set_rows(rows);
    part.gradient.set_rows(rows);
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = turns.rows.data() + (first + r) * features;
      if (part.x.by_row()) {
        std::copy_n(row, features, part.x.Row(r));
      } else {
        for (int64_t f = 0; f < features; ++f) part.x.Set(r, f, row[f]);
      }
    }
    part.pass->Forward(part.x, &pool);
    const FeatureBatch& scores = part.pass->output();
    std::vector<double> p;
    for (size_t g = begin; g < end; ++g) {
      const Lessons::Turns::Group& group = turns.groups[g];
      const int64_t at = group.first - first;
      double most = -1e30, sum = 0, mean_log = 0;
      p.resize(group.values);
      for (uint32_t i = 0; i < group.values; ++i) {
        p[i] = static_cast<double>(scores.Get(at + i, 0)) + turns.priors[group.first + i];
        most = std::max(most, p[i]);
      }
      for (double& value : p) {
        value = std::exp(value - most);
        sum += value;
      }
      for (double& value : p) {
        value /= sum;
        mean_log += value * std::log(value + 1e-30);
      }
      for (uint32_t i = 0; i < group.values; ++i) {
        const double target = turns.targets[group.first + i];
        const double log_p = std::log(p[i] + 1e-30);
        loss -= target * log_p * std::abs(group.weight);
        double gradient = group.weight * (p[i] - target);
        gradient += entropy * p[i] * (log_p - mean_log);
        part.gradient.Set(at + i, 0, static_cast<float>(gradient * scale));
      }
    }
    part.gradient.ZeroPadding();
    part.pass->Backward(part.x, part.gradient, part.step.data(), &pool);
    const int64_t size = networks_.layout(static_cast<AgentKind>(kind)).size();
    BestKernels().add_scaled(size, 1, part.step.data(), part.sum.data());
    begin = end;
  }
  return loss * scale;
}

void Student::Save(TensorWriter& writer) const {
  networks_.Save(writer);
  for (size_t k = 0; k < kAgentKinds; ++k) {
    parts_[k].adam->Save(fmt::format("adam.{}", kAgentNames[k]), writer);
  }
}

Result<void> Student::Load(const TensorReader& reader) {
  Result<Networks> loaded = Networks::Load(reader);
  if (!loaded) return loaded.error();
  if (loaded->features() != networks_.features() || loaded->hidden() != networks_.hidden()) {
    return Error{.kind = ErrorKind::kBadValue, .message = "the networks have other shapes"};
  }
  networks_ = *std::move(loaded);
  for (size_t k = 0; k < kAgentKinds; ++k) {
    Result<void> read = parts_[k].adam->Load(fmt::format("adam.{}", kAgentNames[k]), reader);
    if (!read) return read;
  }
  return {};
}

}  // namespace tessera::policy
