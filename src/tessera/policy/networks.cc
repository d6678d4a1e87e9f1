// Networks and their files.
#include "tessera/policy/networks.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tessera/nn/init.h"
#include "tessera/nn/kernels.h"

namespace tessera::policy {

namespace {

MlpLayout LayoutOf(size_t features, const std::vector<int64_t>& hidden) {
  return MlpLayout(
      MlpShape{.inputs = static_cast<int64_t>(features), .hidden = hidden, .outputs = 1});
}

}  // namespace

Networks::Networks(const FeatureCounts& features, const std::vector<int64_t>& hidden)
    : features_(features), hidden_(hidden) {
  for (size_t k = 0; k < kAgentKinds; ++k) {
    layouts_.push_back(LayoutOf(features[k], hidden));
    parameters_.push_back(layouts_.back().Allocate());
  }
}

Networks::Networks(const FeatureCounts& features, const std::vector<int64_t>& hidden, uint64_t seed)
    : Networks(features, hidden) {
  for (size_t k = 0; k < kAgentKinds; ++k) {
    InitOrthogonal(layouts_[k], std::sqrt(2.0), 0.01, seed, StreamId(kAgentNames[k]),
                   parameters_[k].span().first(static_cast<size_t>(layouts_[k].size())));
  }
}

void Networks::Save(TensorWriter& writer) const {
  writer.AddInt("policy.version", 1);
  writer.AddInt("policy.layers", std::ssize(hidden_));
  for (size_t i = 0; i < hidden_.size(); ++i) {
    writer.AddInt(fmt::format("policy.hidden{}", i + 1), hidden_[i]);
  }
  for (size_t k = 0; k < kAgentKinds; ++k) {
    writer.AddInt(fmt::format("{}.features", kAgentNames[k]), static_cast<int64_t>(features_[k]));
    SaveNet(std::string(kAgentNames[k]), layouts_[k],
            parameters_[k].span().first(static_cast<size_t>(layouts_[k].size())), writer);
  }
}

Result<Networks> Networks::Load(const TensorReader& reader) {
  constexpr int64_t kMostLayers = 8, kMostWide = 4096;
  if (!reader.Has("policy.version")) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = "the file holds no policy",
                 .hint = "'tessera list policies' names those that ship with the program"};
  }
  const Result<int64_t> version = reader.ReadIntWithin("policy.version", 1, 1);
  if (!version) return version.error();
  const Result<int64_t> layers = reader.ReadIntWithin("policy.layers", 1, kMostLayers);
  if (!layers) return layers.error();
  std::vector<int64_t> hidden;
  for (int64_t i = 0; i < *layers; ++i) {
    const Result<int64_t> width =
        reader.ReadIntWithin(fmt::format("policy.hidden{}", i + 1), 1, kMostWide);
    if (!width) return width.error();
    hidden.push_back(*width);
  }
  FeatureCounts features{};
  for (size_t k = 0; k < kAgentKinds; ++k) {
    const Result<int64_t> count =
        reader.ReadIntWithin(fmt::format("{}.features", kAgentNames[k]), 1, kMostWide);
    if (!count) return count.error();
    features[k] = static_cast<size_t>(*count);
    // Nothing is made of sizes that the file's own arrays do not have.
    const std::string name(kAgentNames[k]);
    if (Result<void> fits = CheckNet(name, LayoutOf(features[k], hidden), reader); !fits) {
      return fits.error();
    }
  }
  Networks networks(features, hidden);
  for (size_t k = 0; k < kAgentKinds; ++k) {
    const auto size = static_cast<size_t>(networks.layouts_[k].size());
    const std::span<float> parameters = networks.parameters_[k].span().first(size);
    Result<void> loaded =
        LoadNet(std::string(kAgentNames[k]), networks.layouts_[k], parameters, reader);
    if (!loaded) return loaded.error();
    for (const float value : parameters) {
      if (std::isfinite(value)) continue;
      return Error{
          .kind = ErrorKind::kBadValue,
          .message = fmt::format("network '{}' has a number that is none", kAgentNames[k])};
    }
  }
  return networks;
}

void Networks::Score(AgentKind kind, size_t values, const float* rows, std::vector<float>& scratch,
                     std::vector<float>& scores) const {
  const MlpLayout& net = layout(kind);
  const auto count = static_cast<int64_t>(values);
  const auto need = static_cast<size_t>(ForwardRowsScratch(net, count));
  if (scratch.size() < need) scratch.resize(need);
  scores.resize(values);
  ForwardRows(BestKernels(), net, parameters(kind).data(), count, rows, net.shape().inputs,
              scores.data(), scratch);
}

}  // namespace tessera::policy
