// The networks of a policy, one per kind of agent: each scores a value from its features, and the
// scores of the values of a turn are the logits of a choice between them.
#ifndef TESSERA_POLICY_NETWORKS_H_
#define TESSERA_POLICY_NETWORKS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/nn/mlp.h"
#include "tessera/part.h"
#include "tessera/policy/game.h"
#include "tessera/result.h"

namespace tessera::policy {

class Networks {
 public:
  // First values from a seed. Scores are small at first: all values are about as likely.
  Networks(const FeatureCounts& features, const std::vector<int64_t>& hidden, uint64_t seed);

  // From a file of Save. Errors: a file of something else, numbers that are none.
  static Result<Networks> Load(const TensorReader& reader);
  void Save(TensorWriter& writer) const;

  const FeatureCounts& features() const { return features_; }
  const std::vector<int64_t>& hidden() const { return hidden_; }
  const MlpLayout& layout(AgentKind kind) const { return layouts_[static_cast<size_t>(kind)]; }
  std::span<const float> parameters(AgentKind kind) const {
    return parameters_[static_cast<size_t>(kind)].span();
  }
  std::span<float> parameters(AgentKind kind) {
    return parameters_[static_cast<size_t>(kind)].span();
  }

  // The scores of `values` rows; `scratch` grows as it needs.
  void Score(AgentKind kind, size_t values, const float* rows, std::vector<float>& scratch,
             std::vector<float>& scores) const;

 private:
  // All parameters 0.
  Networks(const FeatureCounts& features, const std::vector<int64_t>& hidden);

  FeatureCounts features_ = {};
  std::vector<int64_t> hidden_;
  std::vector<MlpLayout> layouts_;
  std::vector<AlignedBuffer<float>> parameters_;
};

}  // namespace tessera::policy

#endif  // TESSERA_POLICY_NETWORKS_H_
