// One policy with its critic: what PPO, IPPO and MAPPO share, whoever decides and whatever a critic
// sees.
#ifndef TESSERA_RL_POLICY_UNIT_H_
#define TESSERA_RL_POLICY_UNIT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/cuda/off_policy_engine.h"
#include "tessera/env.h"
#include "tessera/nn/adam.h"
#include "tessera/nn/batch.h"
#include "tessera/nn/mlp.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/rl/on_policy.h"

namespace tessera {

// One agent's action among the outputs of a policy.
struct PolicyHead {
  ActionSpec action;
  int64_t output = 0;        // first output of the network
  int64_t stored = 0;        // first number in a stored action row of the unit
  int64_t action_first = 0;  // first number in the row of all agents' actions
  int64_t deviation = 0;     // kBox: first log-deviation

  bool is_box() const { return action.kind == ActionKind::kBox; }
  int64_t outputs() const { return action.size; }
  int64_t stored_size() const { return is_box() ? action.size : 1; }
};

// The memory of one row set: everything that an update computes per row.
struct Rollout {
  std::vector<float> actions;                                                   // [rows x stored]
  std::vector<float> log_p, values, next_values, rewards, advantages, returns;  // [rows]
  // [rows x heads]: which actions had an effect. The others are nobody's: they enter neither log p
  // nor entropy, and rows without any do not count as rows.
  std::vector<uint8_t> acted;
};

class PolicyUnit {
 public:
  PolicyUnit(const LearnerSetup& setup, const PpoOptions& options, std::vector<int64_t> members,
             InputMap actor_inputs, InputMap critic_inputs, int64_t index, int64_t max_rows);

  int64_t outputs() const { return outputs_; }
  int64_t stored() const { return stored_; }
  const MlpLayout& actor_layout() const { return actor_layout_; }
  const float* actor() const { return actor_.data(); }
  const float* log_deviations() const { return actor_.data() + actor_layout_.size(); }
  std::span<const PolicyHead> heads() const { return heads_; }
  std::span<const int64_t> members() const { return members_; }
  Rollout& rollout() { return rollout_; }
  bool AnyActed(int64_t row) const;  // whether the action of any head had an effect in a row

  // Values of all rows of x, to `out` row by row.
  void Values(const FeatureBatch& x, ThreadPool* pool, float* out);

  // log p of the stored actions of rows first .. first + x.rows() - 1.
  void LogProbabilities(const FeatureBatch& x, ThreadPool* pool, int64_t first);

  // One gradient step of the actor, and of the critic if `critic`, on the rows `ids`, whose
  // features are x.
  void Learn(const FeatureBatch& x, std::span<const int64_t> ids, bool critic, ThreadPool* pool,
             UpdateReport& report);

  // The biases of a member's outputs become these numbers; nothing for one that is no member.
  void Prefer(int64_t member, std::span<const float> logarithms);

  // Chance of a uniform choice, weight of entropy, what is imitated, and how much choices have in
  // common with those beside them, of a member (rl/on_policy.h).
  void Explore(double chance) { explored_ = static_cast<float>(chance); }
  void SetEntropy(double weight) { options_.entropy = weight; }
  void Imitate(std::span<const float> actions, int64_t width, double weight);
  void Smooth(int64_t member, double part);

  // Actor and critic without their optimisers and the rollout.
  void SaveNetworks(const std::string& prefix, TensorWriter& writer) const;
  Result<void> LoadNetworks(const std::string& prefix, const TensorReader& reader);

  void Save(const std::string& prefix, TensorWriter& writer) const;
  Result<void> Load(const std::string& prefix, const TensorReader& reader);

  // Networks and optimisers as they lie in memory, for engines that keep a copy of them elsewhere.
  cuda::NetImage ActorImage();
  cuda::NetImage CriticImage();

 private:
  std::vector<PolicyHead> MakeHeads(const EnvSpec& spec);

  std::vector<TensorInfo> ActorTensors() const;

  // Stored numbers of one head for the rows of a block, feature by feature.
  void StoredActions(int64_t block, const PolicyHead& head, float* out) const;

  // Whether the action of a head had an effect in a row of the rollout.
  bool Acted(int64_t row, size_t head) const {
    return rollout_.acted[static_cast<size_t>(row) * heads_.size() + head] != 0;
  }

  // log p and entropy of the rows of a block, summed over heads that acted.
  void EvaluateBlock(int64_t block, float* log_p, float* entropy);

  double LearnActor(const FeatureBatch& x, ThreadPool* pool, double& entropy_sum);

  // d loss / d outputs of the block that was evaluated last, from d loss / d log p and d loss / d
  // entropy of its rows.
  void HeadGradients(int64_t block, int64_t rows, const float* toward_p,
                     const float* toward_entropy, float share);

  // What heads learn of what is imitated; rows of the rollout take turns in it.
  void AddImitated(int64_t block, int64_t rows, size_t head, float share, float* gradient) const;

  // Spreads what a head learns of its choices among those beside them.
  void SpreadGradient(int64_t rows, size_t head, float* gradient);

  // log p of choices of the mixture of a head with uniform ones, in place of that of its network.
  void MixUniform(int64_t rows, size_t head, float* log_p);

  double LearnCritic(const FeatureBatch& x, ThreadPool* pool);

  PpoOptions options_;
  const Kernels& kernels_;
  const std::vector<int64_t> members_;  // agents whose actions this unit chooses
  Result<void> CheckStoredActions(const std::string& name) const;

  int64_t outputs_ = 0, stored_ = 0, deviations_ = 0;
  const std::vector<PolicyHead> heads_;
  const MlpLayout actor_layout_, critic_layout_;
  MlpPass actor_pass_, critic_pass_;
  AlignedBuffer<float> actor_, critic_;  // the actor's log-deviations follow its network
  Adam actor_adam_, critic_adam_;
  FeatureBatch output_gradient_, value_gradient_;
  AlignedBuffer<float> gradient_;
  // Of the block that was evaluated last, for its gradient: stored actions, probabilities of the
  // choices and entropies of the heads, [kBlockRows] each.
  AlignedBuffer<float> stored_block_, probabilities_, entropies_;
  AlignedBuffer<float>
      by_network_;  // and how likely it was that the network chose, not the mixture
  float explored_ = 0, imitated_weight_ = 0;
  std::vector<float> smooth_;     // by head
  AlignedBuffer<float> smaller_;  // what choices learn of smaller ones, [outputs x kBlockRows]
  std::vector<float> imitated_;   // [imitated rows x heads]
  Rollout rollout_;
  std::vector<int64_t> row_ids_;
};

}  // namespace tessera

#endif  // TESSERA_RL_POLICY_UNIT_H_
