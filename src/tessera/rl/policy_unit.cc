// Losses and gradients of one policy and its critic on the rows of a rollout.
#include "tessera/rl/policy_unit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "tessera/nn/heads.h"
#include "tessera/nn/init.h"
#include "tessera/part.h"

namespace tessera {
namespace {

constexpr int64_t R = kBlockRows;

MlpShape Shape(const PpoOptions& options, int64_t inputs, int64_t outputs) {
  return {inputs, std::vector<int64_t>(static_cast<size_t>(options.layers), options.hidden),
          outputs, Activation::kTanh};
}

AdamOptions AdamFor(const PpoOptions& options, double rate) {
  return {.learning_rate = rate,
          .epsilon = 1e-5,
          .form = AdamForm::kPyTorch,
          .clip = ClipMode::kGlobal,
          .clip_norm = options.clip_norm};
}

}  // namespace

PolicyUnit::PolicyUnit(const LearnerSetup& setup, const PpoOptions& options,
                       std::vector<int64_t> members, InputMap actor_inputs, InputMap critic_inputs,
                       int64_t index, int64_t max_rows)
    : options_(options),
      kernels_(BestKernels()),
      members_(std::move(members)),
      heads_(MakeHeads(*setup.spec)),
      actor_layout_(Shape(options, actor_inputs.inputs(), outputs_)),
      critic_layout_(Shape(options, critic_inputs.inputs(), 1)),
      actor_pass_(kernels_, actor_layout_, std::move(actor_inputs), max_rows),
      critic_pass_(kernels_, critic_layout_, std::move(critic_inputs), max_rows),
      actor_(actor_layout_.size() + deviations_ + kSlackFloats),
      critic_(critic_layout_.Allocate()),
      actor_adam_(kernels_, ActorTensors(), AdamFor(options, options.actor_rate)),
      critic_adam_(kernels_, critic_layout_.tensors(), AdamFor(options, options.critic_rate)),
      output_gradient_(outputs_, max_rows),
      value_gradient_(1, max_rows),
      gradient_(std::max(actor_.size(), critic_.size())),
      stored_block_(stored_ * R),
      probabilities_(outputs_ * R),
      entropies_(std::ssize(heads_) * R),
      by_network_(std::ssize(heads_) * R),
      smooth_(heads_.size(), 0.0f),
      smaller_(outputs_ * R) {
  row_ids_.reserve(static_cast<size_t>(max_rows));
  const uint64_t stream = 2 * static_cast<uint64_t>(index);
  InitOrthogonal(actor_layout_, std::sqrt(2.0), 0.01, setup.seed, StreamId("init", stream),
                 actor_.span());
  InitOrthogonal(critic_layout_, std::sqrt(2.0), 1.0, setup.seed, StreamId("init", stream + 1),
                 critic_.span());
  std::fill_n(actor_.data() + actor_layout_.size(), deviations_,
              static_cast<float>(options.initial_log_deviation));
}

void PolicyUnit::Values(const FeatureBatch& x, ThreadPool* pool, float* out) {
  critic_pass_.Bind(critic_.data());
  critic_pass_.Forward(x, pool);
  for (int64_t row = 0; row < x.rows(); ++row) out[row] = critic_pass_.output().Get(row, 0);
}

void PolicyUnit::LogProbabilities(const FeatureBatch& x, ThreadPool* pool, int64_t first) {
  actor_pass_.Bind(actor_.data());
  actor_pass_.Forward(x, pool);
  row_ids_.resize(static_cast<size_t>(x.rows()));
  std::iota(row_ids_.begin(), row_ids_.end(), first);
  for (int64_t b = 0; b < x.blocks(); ++b) {
    float log_p[R], entropy[R];
    EvaluateBlock(b, log_p, entropy);
    std::copy_n(log_p, x.RowsIn(b), rollout_.log_p.data() + first + b * R);
  }
}

void PolicyUnit::Learn(const FeatureBatch& x, std::span<const int64_t> ids, bool critic,
                       ThreadPool* pool, UpdateReport& report) {
  row_ids_.assign(ids.begin(), ids.end());
  report.p_loss += LearnActor(x, pool, report.entropy);
  if (critic) report.q_loss += LearnCritic(x, pool);
}

void PolicyUnit::Prefer(int64_t member, std::span<const float> logarithms) {
  for (size_t i = 0; i < heads_.size(); ++i) {
    if (members_[i] != member) continue;
    TESSERA_CHECK(!heads_[i].is_box() && std::ssize(logarithms) == heads_[i].outputs());
    const int64_t bias = actor_layout_.layers().back().bias + heads_[i].output;
    std::ranges::copy(logarithms, actor_.data() + bias);
  }
}

void PolicyUnit::Imitate(std::span<const float> actions, int64_t width, double weight) {
  imitated_.clear();
  for (size_t row = 0; row < actions.size(); row += static_cast<size_t>(width)) {
    for (const PolicyHead& head : heads_) {
      TESSERA_CHECK(head.action.kind == ActionKind::kChoice);
      imitated_.push_back(actions[row + static_cast<size_t>(head.action_first)]);
    }
  }
  imitated_weight_ = imitated_.empty() ? 0.0f : static_cast<float>(weight);
}

void PolicyUnit::Smooth(int64_t member, double part) {
  for (size_t i = 0; i < heads_.size(); ++i) {
    if (members_[i] == member) smooth_[i] = static_cast<float>(part);
  }
}

void PolicyUnit::SaveNetworks(const std::string& prefix, TensorWriter& writer) const {
  SaveNet(prefix + "actor", actor_layout_, actor_.span(), writer);
  SaveNet(prefix + "critic", critic_layout_, critic_.span(), writer);
  writer.Add(prefix + "log_deviations",
             std::span(log_deviations(), static_cast<size_t>(deviations_)));
}

void PolicyUnit::Save(const std::string& prefix, TensorWriter& writer) const {
  SaveNetworks(prefix, writer);
  actor_adam_.Save(prefix + "actor.adam.", writer);
  critic_adam_.Save(prefix + "critic.adam.", writer);
  writer.Add(prefix + "actions", std::span(rollout_.actions));
  writer.Add(prefix + "rewards", std::span(rollout_.rewards));
  writer.Add(prefix + "acted", std::span(rollout_.acted));
}

Result<void> PolicyUnit::LoadNetworks(const std::string& prefix, const TensorReader& reader) {
  if (Result<void> r = LoadNet(prefix + "actor", actor_layout_, actor_.span(), reader); !r) {
    return r;
  }
  if (Result<void> r = LoadNet(prefix + "critic", critic_layout_, critic_.span(), reader); !r) {
    return r;
  }
  return reader.Read(prefix + "log_deviations", std::span(actor_.data() + actor_layout_.size(),
                                                          static_cast<size_t>(deviations_)));
}

Result<void> PolicyUnit::Load(const std::string& prefix, const TensorReader& reader) {
  if (Result<void> r = LoadNetworks(prefix, reader); !r) return r;
  if (Result<void> r = actor_adam_.Load(prefix + "actor.adam.", reader); !r) return r;
  if (Result<void> r = critic_adam_.Load(prefix + "critic.adam.", reader); !r) return r;
  if (Result<void> r = reader.Read(prefix + "actions", std::span(rollout_.actions)); !r) return r;
  if (Result<void> r = CheckStoredActions(prefix + "actions"); !r) return r;
  if (Result<void> r = reader.Read(prefix + "rewards", std::span(rollout_.rewards)); !r) return r;
  return reader.ReadWithin(prefix + "acted", std::span(rollout_.acted), uint8_t{0}, uint8_t{1});
}

cuda::NetImage PolicyUnit::ActorImage() {
  return {.parameters = actor_.span(),
          .target = {},
          .mean = actor_adam_.mean(),
          .variance = actor_adam_.variance(),
          .steps = actor_adam_.mutable_steps()};
}

cuda::NetImage PolicyUnit::CriticImage() {
  return {.parameters = critic_.span(),
          .target = {},
          .mean = critic_adam_.mean(),
          .variance = critic_adam_.variance(),
          .steps = critic_adam_.mutable_steps()};
}

// A choice is an index, be it stored as a float.
Result<void> PolicyUnit::CheckStoredActions(const std::string& name) const {
  for (size_t row = 0; row < rollout_.actions.size(); row += static_cast<size_t>(stored_)) {
    for (const PolicyHead& head : heads_) {
      const float chosen = rollout_.actions[row + static_cast<size_t>(head.stored)];
      if (head.is_box() || (chosen >= 0 && chosen < static_cast<float>(head.action.size))) continue;
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("array '{}' has the choice {} of {}", name, chosen,
                                          head.action.size),
                   .hint = "the file is damaged, or belongs to other settings"};
    }
  }
  return {};
}

std::vector<PolicyHead> PolicyUnit::MakeHeads(const EnvSpec& spec) {
  std::vector<PolicyHead> heads;
  for (const int64_t member : members_) {
    const ActionSpec& action = spec.agents[static_cast<size_t>(member)].action;
    PolicyHead head{.action = action,
                    .output = outputs_,
                    .stored = stored_,
                    .action_first = spec.action_offset(member),
                    .deviation = deviations_};
    outputs_ += head.outputs();
    stored_ += head.stored_size();
    if (head.is_box()) deviations_ += action.size;
    heads.push_back(head);
  }
  return heads;
}

std::vector<TensorInfo> PolicyUnit::ActorTensors() const {
  std::vector<TensorInfo> tensors(actor_layout_.tensors().begin(), actor_layout_.tensors().end());
  if (deviations_ > 0) tensors.push_back({"log_deviations", actor_layout_.size(), 1, deviations_});
  return tensors;
}

void PolicyUnit::StoredActions(int64_t block, const PolicyHead& head, float* out) const {
  const int64_t rows = std::min(R, std::ssize(row_ids_) - block * R);
  for (int64_t i = 0; i < head.stored_size(); ++i) {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t row = row_ids_[static_cast<size_t>(block * R + r)];
      out[i * R + r] = rollout_.actions[static_cast<size_t>(row * stored_ + head.stored + i)];
    }
    std::fill(out + i * R + rows, out + (i + 1) * R, 0.0f);
  }
}

void PolicyUnit::EvaluateBlock(int64_t block, float* log_p, float* entropy) {
  std::fill_n(log_p, R, 0.0f);
  std::fill_n(entropy, R, 0.0f);
  const int64_t rows = std::min(R, std::ssize(row_ids_) - block * R);
  for (size_t h = 0; h < heads_.size(); ++h) {
    const PolicyHead& head = heads_[h];
    const float* const out = actor_pass_.output().At(block, head.output);
    float* const actions = stored_block_.data() + head.stored * R;
    float* const own_entropy = entropies_.data() + static_cast<int64_t>(h) * R;
    StoredActions(block, head, actions);
    float one[R];
    if (head.is_box()) {
      const float* const deviations = log_deviations() + head.deviation;
      GaussianEvaluate(kernels_, head.action.size, out, deviations, actions, one);
      std::fill_n(own_entropy, R,
                  GaussianEntropy({deviations, static_cast<size_t>(head.action.size)}));
    } else {
      CategoricalEvaluate(kernels_, head.action.size, rows, out, actions,
                          probabilities_.data() + head.output * R, one, own_entropy);
      if (explored_ > 0) MixUniform(rows, h, one);
    }
    for (int64_t r = 0; r < rows; ++r) {
      if (!Acted(row_ids_[static_cast<size_t>(block * R + r)], h)) continue;
      log_p[r] += one[r];
      entropy[r] += own_entropy[r];
    }
  }
}

void PolicyUnit::MixUniform(int64_t rows, size_t head, float* log_p) {
  const float uniform = explored_ / static_cast<float>(heads_[head].action.size);
  float* const by_network = by_network_.data() + static_cast<int64_t>(head) * R;
  const int64_t count = RowsToCompute(rows);
  float p[R];
  kernels_.exp(count, log_p, p);
  for (int64_t r = 0; r < count; ++r) {
    const float own = (1 - explored_) * p[r];
    p[r] = own + uniform;
    by_network[r] = own / p[r];
  }
  kernels_.log(count, p, log_p);
}

double PolicyUnit::LearnActor(const FeatureBatch& x, ThreadPool* pool, double& entropy_sum) {
  actor_pass_.Bind(actor_.data());
  actor_pass_.Forward(x, pool);
  const auto counted = std::ranges::count_if(row_ids_, [&](int64_t row) { return AnyActed(row); });
  if (counted == 0) return 0;
  const float share = 1.0f / static_cast<float>(counted);
  output_gradient_.set_rows(x.rows());
  std::fill_n(gradient_.data() + actor_layout_.size(), deviations_, 0.0f);
  double loss = 0;
  for (int64_t b = 0; b < x.blocks(); ++b) {
    float log_p[R], entropy[R], toward_p[R] = {}, toward_entropy[R] = {};
    EvaluateBlock(b, log_p, entropy);
    for (int64_t r = 0; r < x.RowsIn(b); ++r) {
      const size_t row = static_cast<size_t>(row_ids_[static_cast<size_t>(b * R + r)]);
      if (!AnyActed(static_cast<int64_t>(row))) continue;
      const float advantage = rollout_.advantages[row];
      const float change = std::clamp(log_p[r] - rollout_.log_p[row], -20.0f, 20.0f);
      float ratio;
      kernels_.exp(1, &change, &ratio);
      const float low = static_cast<float>(1 - options_.clip);
      const float high = static_cast<float>(1 + options_.clip);
      const float clipped = std::clamp(ratio, low, high);
      const bool active = advantage >= 0 ? ratio <= high : ratio >= low;
      toward_p[r] = active ? -advantage * ratio * share : 0.0f;
      toward_entropy[r] = -static_cast<float>(options_.entropy) * share;
      loss -= std::min(ratio * advantage, clipped * advantage);
      entropy_sum += double{entropy[r]} * share;
    }
    HeadGradients(b, x.RowsIn(b), toward_p, toward_entropy, share);
  }
  // The entropy of a Gaussian depends on its deviations alone, the same in every row.
  for (int64_t d = 0; d < deviations_; ++d) {
    gradient_[actor_layout_.size() + d] -= static_cast<float>(options_.entropy);
  }
  output_gradient_.ZeroPadding();
  actor_pass_.Backward(x, output_gradient_, gradient_.data(), pool);
  actor_adam_.Step(gradient_.data(), actor_.data());
  return loss / static_cast<double>(counted);
}

bool PolicyUnit::AnyActed(int64_t row) const {
  for (size_t head = 0; head < heads_.size(); ++head) {
    if (Acted(row, head)) return true;
  }
  return false;
}

void PolicyUnit::HeadGradients(int64_t block, int64_t rows, const float* toward_p,
                               const float* toward_entropy, float share) {
  for (size_t h = 0; h < heads_.size(); ++h) {
    const PolicyHead& head = heads_[h];
    float own_p[R] = {}, own_entropy[R] = {};
    for (int64_t r = 0; r < rows; ++r) {
      if (!Acted(row_ids_[static_cast<size_t>(block * R + r)], h)) continue;
      own_p[r] = toward_p[r];
      own_entropy[r] = toward_entropy[r];
    }
    const float* const out = actor_pass_.output().At(block, head.output);
    float* const gradient = output_gradient_.At(block, head.output);
    const float* const actions = stored_block_.data() + head.stored * R;
    if (explored_ > 0 && !head.is_box()) {
      const float* const by_network = by_network_.data() + static_cast<int64_t>(h) * R;
      for (int64_t r = 0; r < rows; ++r) own_p[r] *= by_network[r];
    }
    if (head.is_box()) {
      GaussianGradient(kernels_, head.action.size, rows, out, log_deviations() + head.deviation,
                       actions, own_p, gradient,
                       gradient_.data() + actor_layout_.size() + head.deviation);
      continue;
    }
    CategoricalGradient(kernels_, head.action.size, rows, probabilities_.data() + head.output * R,
                        actions, entropies_.data() + static_cast<int64_t>(h) * R, own_p,
                        options_.entropy > 0 ? own_entropy : nullptr, gradient);
    if (imitated_weight_ != 0) AddImitated(block, rows, h, share, gradient);
    if (smooth_[h] > 0) SpreadGradient(rows, h, gradient);
  }
}

void PolicyUnit::AddImitated(int64_t block, int64_t rows, size_t head, float share,
                             float* gradient) const {
  const PolicyHead& own = heads_[head];
  const size_t turns = imitated_.size() / heads_.size();
  for (int64_t r = 0; r < rows; ++r) {
    const auto row = static_cast<size_t>(row_ids_[static_cast<size_t>(block * R + r)]);
    const float wanted = imitated_[row % turns * heads_.size() + head];
    for (int64_t c = 0; c < own.action.size; ++c) {
      const float hit = wanted == static_cast<float>(c) ? 1.0f : 0.0f;
      const float p = probabilities_.data()[(own.output + c) * R + r];
      gradient[c * R + r] += imitated_weight_ * share * (p - hit);
    }
  }
}

void PolicyUnit::SpreadGradient(int64_t rows, size_t head, float* gradient) {
  const float part = smooth_[head], share = (1 - part) / (1 + part);
  const int64_t choices = heads_[head].action.size;
  float* const smaller = smaller_.data();
  float sum[R] = {};
  for (int64_t c = 0; c < choices; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      smaller[c * R + r] = sum[r];
      sum[r] = part * (sum[r] + gradient[c * R + r]);
    }
  }
  float larger[R] = {};
  for (int64_t c = choices - 1; c >= 0; --c) {
    for (int64_t r = 0; r < rows; ++r) {
      const float own = gradient[c * R + r];
      gradient[c * R + r] = share * (own + smaller[c * R + r] + larger[r]);
      larger[r] = part * (larger[r] + own);
    }
  }
}

double PolicyUnit::LearnCritic(const FeatureBatch& x, ThreadPool* pool) {
  critic_pass_.Bind(critic_.data());
  critic_pass_.Forward(x, pool);
  value_gradient_.set_rows(x.rows());
  const float share = 1.0f / static_cast<float>(x.rows());
  double loss = 0;
  for (int64_t row = 0; row < x.rows(); ++row) {
    const size_t id = static_cast<size_t>(row_ids_[static_cast<size_t>(row)]);
    const float error = critic_pass_.output().Get(row, 0) - rollout_.returns[id];
    value_gradient_.Set(row, 0, error * share);
    loss += 0.5 * error * error * share;
  }
  value_gradient_.ZeroPadding();
  critic_pass_.Backward(x, value_gradient_, gradient_.data(), pool);
  critic_adam_.Step(gradient_.data(), critic_.data());
  return loss;
}

}  // namespace tessera
