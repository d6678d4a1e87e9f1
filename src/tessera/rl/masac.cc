// MASAC: soft actor-critic for teams. Two centralised critics per agent, the lesser of their
// targets counts, and policies are rewarded for their entropy.
#include <algorithm>
#include <cmath>

#include "tessera/base/stop.h"
#include "tessera/rl/device_off_policy.h"
#include "tessera/rl/off_policy.h"

namespace tessera {
namespace {

constexpr int64_t R = kBlockRows;
constexpr float kLogFloor = 1e-6f;  // inside the entropy's logarithm, as in the reference

struct MasacOptions : OffPolicyOptions {
  double alpha = 0.05;
  bool mean_entropy = false;
};

class Masac final : public OffPolicyLearner {
 public:
  Masac(const MasacOptions& options, std::unique_ptr<OffPolicyAgents> agents)
      : OffPolicyLearner(std::move(agents)),
        options_(options),
        bonus_(1, agents_->batch().now.max_rows()) {}

  Result<UpdateReport> Update() override {
    UpdateReport report;
    const double share = 1.0 / static_cast<double>(agents_->num_agents());
    for (int64_t i = 0; i < agents_->num_agents() && !Abandoned(); ++i) {
      trainer_ = i;
      agents_->SampleBatch(i);
      agents_->NextActions(i);
      report.entropy += share * FillBonus();
      agents_->Targets(i, &bonus_);
      for (int64_t c = 0; c < agents_->num_critics(); ++c) {
        report.q_loss +=
            share * agents_->CriticStep(i, c) / static_cast<double>(agents_->num_critics());
      }
      report.p_loss +=
          share * agents_->ActorStep(i, [this](int64_t b, const float* logits, float* g) {
            return EntropyTerm(b, logits, g);
          });
      agents_->FollowTargets(i);
    }
    agents_->EndRound();
    return report;
  }

 private:
  // -sum p log(p + 1e-6) of the rows of a block; keeps p and the logarithms.
  void Entropy(const float* logits, float* p, float* log_p, float* entropy) const {
    const int64_t choices = agents_->choices(trainer_);
    agents_->kernels().softmax(choices, R, R, logits, p, nullptr);
    std::fill_n(entropy, R, 0.0f);
    for (int64_t c = 0; c < choices; ++c) {
      for (int64_t r = 0; r < R; ++r) log_p[c * R + r] = p[c * R + r] + kLogFloor;
      agents_->kernels().log(R, log_p + c * R, log_p + c * R);
      for (int64_t r = 0; r < R; ++r) entropy[r] -= p[c * R + r] * log_p[c * R + r];
    }
  }

  // The entropy bonus of the next states, from the trainer's own policy. tf2marl adds a column to a
  // row, so there every row gets the mean.
  double FillBonus() {
    const FeatureBatch& logits = agents_->NextLogits(trainer_);
    Buffers& buffers = buffers_;
    const int64_t rows = agents_->batch().rows();
    bonus_.set_rows(rows);
    double sum = 0;
    for (int64_t b = 0; b < bonus_.blocks(); ++b) {
      buffers.Fit(agents_->choices(trainer_));
      Entropy(logits.At(b, 0), buffers.p.data(), buffers.log_p.data(), bonus_.At(b, 0));
      for (int64_t r = 0; r < bonus_.RowsIn(b); ++r) sum += bonus_.At(b, 0)[r];
    }
    const double mean = sum / static_cast<double>(rows);
    const float alpha = static_cast<float>(options_.alpha);
    for (int64_t b = 0; b < bonus_.blocks(); ++b) {
      for (int64_t r = 0; r < bonus_.RowsIn(b); ++r) {
        float& value = bonus_.At(b, 0)[r];
        value = alpha * (options_.mean_entropy ? static_cast<float>(mean) : value);
      }
    }
    return mean;
  }

  // -alpha * mean entropy in the actor's loss.
  double EntropyTerm(int64_t block, const float* logits, float* gradient) const {
    const int64_t choices = agents_->choices(trainer_);
    const int64_t rows = agents_->batch().now.RowsIn(block);
    thread_local Buffers buffers;
    buffers.Fit(choices);
    float entropy[R], mean[R] = {};
    Entropy(logits, buffers.p.data(), buffers.log_p.data(), entropy);
    // d(-entropy)/dp = log(p + e) + p/(p + e), through the soft-max.
    const auto slope = [&](int64_t at) {
      const float p = buffers.p[static_cast<size_t>(at)];
      return buffers.log_p[static_cast<size_t>(at)] + p / (p + kLogFloor);
    };
    for (int64_t c = 0; c < choices; ++c) {
      for (int64_t r = 0; r < R; ++r) {
        mean[r] += buffers.p[static_cast<size_t>(c * R + r)] * slope(c * R + r);
      }
    }
    const float scale =
        static_cast<float>(options_.alpha / static_cast<double>(agents_->batch().rows()));
    double loss = 0;
    for (int64_t r = 0; r < rows; ++r) loss -= options_.alpha * entropy[r];
    for (int64_t c = 0; c < choices; ++c) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = c * R + r;
        gradient[at] += scale * buffers.p[static_cast<size_t>(at)] * (slope(at) - mean[r]);
      }
    }
    return loss;
  }

  struct Buffers {
    std::vector<float> p, log_p;
    void Fit(int64_t choices) {
      p.resize(static_cast<size_t>(choices * R));
      log_p.resize(static_cast<size_t>(choices * R));
    }
  };

  const MasacOptions options_;
  FeatureBatch bonus_;
  Buffers buffers_;
  int64_t trainer_ = 0;
};

const ParameterList<MasacOptions>& Settings() {
  static const ParameterList<MasacOptions> parameters = [] {
    using O = MasacOptions;
    ParameterList<O> all;
    AddOffPolicyParameters(all);
    all.emplace_back("alpha", &O::alpha, Range{0, 1e6}, "worth of entropy, in units of reward");
    all.emplace_back("mean_entropy", &O::mean_entropy,
                     "every next state gets the batch's mean entropy, as tf2marl does");
    return all;
  }();
  return parameters;
}

std::vector<Preset> Presets() {
  return {{"tessera", "fixed temperature, entropy of each next state", {}},
          {"tf2marl",
           "JohannesAck/tf2multiagentrl",
           {{"act_with_target", "true"},
            {"ignore_done", "true"},
            {"skip_newest", "true"},
            {"epsilon", "1e-7"},
            {"warmup", "25602"},
            {"mean_entropy", "true"}}}};
}

}  // namespace

extern const LearnerInfo kMasacLearner = {
    .name = "masac",
    .summary = "soft actor-critic with two centralised critics per agent and an entropy bonus",
    .parameters = [] { return Describe(Settings()); },
    .presets = Presets,
    .make = [](const LearnerSetup& setup,
               const Assignments& assignments) -> Result<std::unique_ptr<Learner>> {
      const Result<MasacOptions> options = ReadOptions("algorithm masac", Settings(), assignments);
      if (!options) return options.error();
      Result<std::unique_ptr<OffPolicyAgents>> agents =
          OffPolicyAgents::Make(setup, *options, /*num_critics=*/2);
      if (!agents) return agents.error();
      if (setup.device == Device::kCuda) {
        if (options->mean_entropy) {
          return Error{.kind = ErrorKind::kUnsupported,
                       .message = "mean_entropy is not on --device cuda",
                       .hint = "leave it out, or take --device cpu"};
        }
        return DeviceOffPolicy::Make(setup, std::move(*agents),
                                     {.entropy = true, .term_weight = options->alpha});
      }
      return std::unique_ptr<Learner>(std::make_unique<Masac>(*options, std::move(*agents)));
    },
    .replays = true};

}  // namespace tessera
