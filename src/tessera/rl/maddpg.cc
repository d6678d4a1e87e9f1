// MADDPG (Lowe et al., 2017): every agent has an actor of its own observation and a critic of all
// observations and actions; agents act by soft Gumbel choices.
#include <algorithm>

#include "tessera/base/stop.h"
#include "tessera/rl/device_off_policy.h"
#include "tessera/rl/off_policy.h"

namespace tessera {
namespace {

constexpr int64_t R = kBlockRows;

struct MaddpgOptions : OffPolicyOptions {
  double logit_penalty = 1e-3;
};

class Maddpg final : public OffPolicyLearner {
 public:
  Maddpg(const MaddpgOptions& options, std::unique_ptr<OffPolicyAgents> agents)
      : OffPolicyLearner(std::move(agents)), penalty_(options.logit_penalty) {}

  // Agents are updated one after another; later ones already see the targets of earlier ones move,
  // as in the reference.
  Result<UpdateReport> Update() override {
    UpdateReport report;
    const double share = 1.0 / static_cast<double>(agents_->num_agents());
    for (int64_t i = 0; i < agents_->num_agents() && !Abandoned(); ++i) {
      agents_->SampleBatch(i);
      agents_->NextActions(i);
      agents_->Targets(i, /*bonus=*/nullptr);
      report.q_loss += share * agents_->CriticStep(i, 0);
      trainer_ = i;
      report.p_loss +=
          share * agents_->ActorStep(i, [this](int64_t b, const float* logits, float* g) {
            return LogitPenalty(b, logits, g);
          });
      agents_->FollowTargets(i);
    }
    agents_->EndRound();
    return report;
  }

 private:
  // penalty * mean(logits^2), which keeps policies from becoming certain too early.
  double LogitPenalty(int64_t block, const float* logits, float* gradient) const {
    const int64_t choices = agents_->choices(trainer_), rows = agents_->batch().rows();
    const double factor = penalty_ / static_cast<double>(choices);
    const float scale = static_cast<float>(2 * factor / static_cast<double>(rows));
    double sum = 0;
    for (int64_t c = 0; c < choices; ++c) {
      for (int64_t r = 0; r < agents_->batch().now.RowsIn(block); ++r) {
        const float logit = logits[c * R + r];
        gradient[c * R + r] += scale * logit;
        sum += double{logit} * logit;
      }
    }
    return factor * sum;
  }

  const double penalty_;
  int64_t trainer_ = 0;
};

const ParameterList<MaddpgOptions>& Settings() {
  static const ParameterList<MaddpgOptions> parameters = [] {
    ParameterList<MaddpgOptions> all;
    AddOffPolicyParameters(all);
    all.emplace_back("logit_penalty", &MaddpgOptions::logit_penalty, Range{0, 1e6},
                     "weight of the mean squared logit in the actor's loss");
    return all;
  }();
  return parameters;
}

std::vector<Preset> Presets() {
  return {{"tessera", "the openai recipe with targets that start as copies", {}},
          {"openai", "openai/maddpg", {{"copy_targets", "false"}}},
          {"tf2marl",
           "JohannesAck/tf2multiagentrl",
           {{"act_with_target", "true"},
            {"ignore_done", "true"},
            {"skip_newest", "true"},
            {"epsilon", "1e-7"},
            {"warmup", "25602"}}}};  // strictly more than 25,600, the newest not counted
}

}  // namespace

extern const LearnerInfo kMaddpgLearner = {
    .name = "maddpg",
    .summary =
        "deterministic policy gradients with centralised critics, for cooperation and rivalry",
    .parameters = [] { return Describe(Settings()); },
    .presets = Presets,
    .make = [](const LearnerSetup& setup,
               const Assignments& assignments) -> Result<std::unique_ptr<Learner>> {
      const Result<MaddpgOptions> options =
          ReadOptions("algorithm maddpg", Settings(), assignments);
      if (!options) return options.error();
      Result<std::unique_ptr<OffPolicyAgents>> agents =
          OffPolicyAgents::Make(setup, *options, /*num_critics=*/1);
      if (!agents) return agents.error();
      if (setup.device == Device::kCuda) {
        return DeviceOffPolicy::Make(setup, std::move(*agents),
                                     {.entropy = false, .term_weight = options->logit_penalty});
      }
      return std::unique_ptr<Learner>(std::make_unique<Maddpg>(*options, std::move(*agents)));
    },
    .replays = true};

}  // namespace tessera
