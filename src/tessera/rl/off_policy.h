// What MADDPG and MASAC have in common: one actor and one or two centralised critics per agent with
// their targets, soft Gumbel actions, joint replay, and the steps of which an update consists.
#ifndef TESSERA_RL_OFF_POLICY_H_
#define TESSERA_RL_OFF_POLICY_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/cuda/off_policy_engine.h"
#include "tessera/env.h"
#include "tessera/nn/adam.h"
#include "tessera/nn/mlp.h"
#include "tessera/part.h"
#include "tessera/rl/replay/buffer.h"
#include "tessera/rl/replay/sampler.h"

namespace tessera {

// Texts, ranges and defaults for people are in AddOffPolicyParameters.
struct OffPolicyOptions {
  int64_t hidden = 64, layers = 2;
  int64_t batch = 1024, capacity = 1'000'000, warmup = 25'600, update_every = 100;
  double gamma = 0.95, tau = 0.01, actor_rate = 0.01, critic_rate = 0.01;
  std::string clip = "per_tensor", adam = "tensorflow";
  double clip_norm = 0.5, epsilon = 1e-8;
  bool copy_targets = true, act_with_target = false, ignore_done = false, skip_newest = false;
  bool shared_batch = false, together = false;
  std::string precision = "fp32";
  std::string replay = "auto", sampler = "uniform";
};

template <typename Options>
void AddOffPolicyParameters(ParameterList<Options>& parameters) {
  using O = Options;
  const Range count{1, 1e9}, rate{0, 10}, unit{0, 1};
  const ParameterList<Options> common = {
      {"hidden", &O::hidden, Range{1, 65536}, "units of a hidden layer"},
      {"layers", &O::layers, Range{0, 8}, "hidden layers of a network"},
      {"batch", &O::batch, count, "transitions of a mini-batch"},
      {"capacity", &O::capacity, count, "transitions that replay holds"},
      {"warmup", &O::warmup, count, "transitions before the first update"},
      {"update_every", &O::update_every, count, "environment steps between update rounds"},
      {"gamma", &O::gamma, unit, "discount"},
      {"tau", &O::tau, unit, "how far targets follow per round"},
      {"actor_rate", &O::actor_rate, rate, "learning rate of actors"},
      {"critic_rate", &O::critic_rate, rate, "learning rate of critics"},
      {"clip", &O::clip, {"per_tensor", "global", "none"}, "which gradients are clipped"},
      {"clip_norm", &O::clip_norm, Range{1e-9, 1e9}, "norm that they are clipped to"},
      {"adam", &O::adam, {"tensorflow", "pytorch"}, "where Adam's epsilon stands"},
      {"epsilon", &O::epsilon, unit, "Adam's epsilon"},
      {"copy_targets", &O::copy_targets, "targets start as copies, not at random"},
      {"act_with_target", &O::act_with_target, "target actors act in the environment"},
      {"ignore_done", &O::ignore_done, "terminal states have a value, too"},
      {"skip_newest", &O::skip_newest, "the newest transition is not sampled until replay is full"},
      {"shared_batch", &O::shared_batch,
       "one batch and one set of next actions for all trainers: much faster with many agents, but "
       "not what the references do"},
      {"together", &O::together,
       "all trainers of a round see the targets and priorities of the round before, so that a "
       "device can update them at once; the references let later trainers see earlier ones move"},
      {"precision",
       &O::precision,
       {"fp32", "tf32", "bf16"},
       "of products on --device cuda; sums are fp32, and so is everything on the cpu, whose bits "
       "fp32 has"},
      {"replay",
       &O::replay,
       {"auto", "joint", "compact", "per_agent"},
       "memory layout; auto: compact if the environment has a compact state"},
      {"sampler", &O::sampler, {}, "sampler and its settings: neighbor:radius=3,wrap=true"}};
  parameters.insert(parameters.end(), common.begin(), common.end());
}

class OffPolicyAgents;

// Watches the updates of all agents, to repeat them elsewhere.
class UpdateTrace {
 public:
  virtual ~UpdateTrace() = default;
  // A trainer's mini-batch has been gathered; nothing has been computed from it yet.
  virtual void OnBatch(const OffPolicyAgents& agents, int64_t trainer) = 0;
};

class OffPolicyAgents {
 public:
  // Errors: actions that are not soft choices, a batch larger than replay, an unknown sampler.
  static Result<std::unique_ptr<OffPolicyAgents>> Make(const LearnerSetup& setup,
                                                       const OffPolicyOptions& options,
                                                       int num_critics);

  // The parts of Learner that do not depend on the algorithm.
  void Act(int64_t rows, std::span<const float> observations, ActMode mode,
           std::span<float> actions);
  Result<void> Observe(const TransitionBatch& batch);
  bool UpdateDue() const { return counters_.due > 0; }
  void Save(const std::string& prefix, TensorWriter& writer) const;
  Result<void> Load(const std::string& prefix, const TensorReader& reader);

  int64_t num_agents() const { return std::ssize(agents_); }
  int64_t num_critics() const { return num_critics_; }

  // ---- One update round: for each trainer the steps below, then EndRound ----------------------

  void EndRound();

  // Draws and gathers the trainer's mini-batch.
  void SampleBatch(int64_t trainer);
  // Soft actions of all target actors in the next states.
  void NextActions(int64_t trainer);
  // targets = reward + gamma * live * (least value of the target critics + bonus), where `bonus`
  // has one value per row or is null.
  void Targets(int64_t trainer, const FeatureBatch* bonus);
  // One gradient step of a critic towards the targets; returns its mean squared error.
  double CriticStep(int64_t trainer, int64_t critic);
  // One gradient step of the actor up the first critic. `add_gradient` adds d loss/d logits of
  // further terms: (block, logits, gradient), each [choices x kBlockRows], where the loss is a mean
  // over rows; it returns the sum of that loss over the block's rows. Returns the mean loss.
  using LogitsTerm = std::function<double(int64_t block, const float* logits, float* gradient)>;
  double ActorStep(int64_t trainer, const LogitsTerm& add_gradient);
  // Moves the trainer's targets towards its networks.
  void FollowTargets(int64_t trainer);

  // Logits of the trainer's own actor in the next states, for entropy bonuses.
  const FeatureBatch& NextLogits(int64_t trainer);

  ReplayBatch& batch() { return batch_; }
  const ReplayBatch& batch() const { return batch_; }
  const FeatureBatch& targets() const { return targets_; }
  ThreadPool* pool() const { return setup_.pool; }
  const Kernels& kernels() const { return kernels_; }
  int64_t choices(int64_t agent) const;

  // ---- For engines that keep a copy of the agents elsewhere ------------------------------------

  struct Counters {
    int64_t samples = 0;  // transitions observed
    int64_t acts = 0;
    int64_t round = 0;
    int64_t due = 0;
  };
  Counters& counters() { return counters_; }
  // Whether the last of the observed transitions makes a round due.
  void CountSample(int64_t transitions) {
    ++counters_.samples;
    if (counters_.samples % options_.update_every == 0 && transitions >= options_.warmup) {
      ++counters_.due;
    }
  }
  // A round is over that was computed elsewhere.
  void EndRoundElsewhere() {
    ++counters_.round;
    counters_.due = std::max<int64_t>(0, counters_.due - 1);
  }
  // The actor (0) or a critic of an agent: layout order.
  cuda::NetImage ImageOf(int64_t agent, int64_t net);
  // What was written to the images counts from now on.
  void ChangedNets();
  const OffPolicyOptions& options() const { return options_; }
  const EnvSpec& spec() const { return spec_; }
  ReplayBuffer& mutable_replay() { return *replay_; }
  Sampler& sampler() { return *sampler_; }

  // ---- For comparisons with other programs -----------------------------------------------------

  int64_t round() const { return counters_.round; }
  const ReplayBuffer& replay() const { return *replay_; }
  // The Gumbel noise of a trainer's next actions of `agent`, or of its own new action
  // (agent < 0), in a round; [choices x kBlockRows] per block.
  void Noise(int64_t trainer, int64_t agent, int64_t round, int64_t block, float* noise) const;

 private:
  // A network with its optimiser state and its slow copy.
  struct Net {
    Net(const Kernels& kernels, const MlpLayout& layout, const AdamOptions& options);

    MlpLayout layout;
    AlignedBuffer<float> parameters, target;
    Adam adam;
  };
  struct Agent {
    std::unique_ptr<Net> actor;
    std::vector<std::unique_ptr<Net>> critics;
    std::unique_ptr<MlpPass> actor_pass, target_actor_pass;
    std::vector<std::unique_ptr<MlpPass>> target_critic_passes;
  };

  OffPolicyAgents(const LearnerSetup& setup, const OffPolicyOptions& options, int num_critics,
                  std::unique_ptr<ReplayBuffer> replay, std::unique_ptr<Sampler> sampler);

  void MakeNetworks();
  template <typename Body>  // body(index, worker)
  void ForEach(int64_t count, const Body& body) const;
  template <typename Body>  // body(block, worker)
  void ForBlocks(const Body& body) const;
  float* Scratch(int worker);  // [2 x most choices x kBlockRows]
  void DrawOwnActions(int64_t trainer);
  void BindTargets(int64_t agent);
  void MoveTargets(int64_t trainer);
  void KeepErrors(const FeatureBatch& values);
  std::vector<std::pair<std::string, Net*>> Nets() const;

  const LearnerSetup setup_;
  const EnvSpec spec_;
  const OffPolicyOptions options_;
  const int num_critics_;
  const Kernels& kernels_;
  const std::unique_ptr<ReplayBuffer> replay_;
  const std::unique_ptr<Sampler> sampler_;

  std::vector<Agent> agents_;
  std::unique_ptr<MlpPass> critic_pass_;  // for all critics, in turns

  ReplayBatch batch_;
  FeatureBatch targets_, output_gradient_, logits_gradient_;
  FeatureBatch own_actions_, kept_actions_;  // of the trainer: drawn anew; as they were played
  AlignedBuffer<float> gradient_, block_scratch_;
  std::vector<float> errors_;
  std::vector<double> block_losses_;
  std::vector<int64_t> dropped_;
  AlignedBuffer<float> act_scratch_, act_logits_, act_noise_;

  Counters counters_;
  // Errors that count from the next round on (together).
  std::vector<std::pair<std::vector<int64_t>, std::vector<float>>> later_errors_;
};

// A learner whose update rounds are all that it adds to the agents.
class OffPolicyLearner : public Learner {
 public:
  void Act(int64_t rows, std::span<const float> observations, ActMode mode,
           std::span<float> actions) override {
    agents_->Act(rows, observations, mode, actions);
  }
  Result<void> Observe(const TransitionBatch& batch) override { return agents_->Observe(batch); }
  bool UpdateDue() const override { return agents_->UpdateDue(); }
  void Save(const std::string& prefix, TensorWriter& writer) const override {
    agents_->Save(prefix, writer);
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    return agents_->Load(prefix, reader);
  }

 protected:
  explicit OffPolicyLearner(std::unique_ptr<OffPolicyAgents> agents) : agents_(std::move(agents)) {}

  const std::unique_ptr<OffPolicyAgents> agents_;
};

}  // namespace tessera

#endif  // TESSERA_RL_OFF_POLICY_H_
