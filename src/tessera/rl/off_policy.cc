// The steps of an update, block by block over the mini-batch.
#include "tessera/rl/off_policy.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tessera/base/memory.h"
#include "tessera/base/text.h"
#include "tessera/nn/heads.h"
#include "tessera/nn/init.h"
#include "tessera/rl/check_rewards.h"
#include "tessera/rl/network_memory.h"
#include "tessera/rl/profiler.h"

namespace tessera {
namespace {

constexpr int64_t R = kBlockRows;
constexpr float kTemperature = 1;
// Next states that all target actors read in turn, so that these and the weights of one stay in the
// second-level cache.
constexpr int64_t kStripeFloats = 96 * 1024;

AdamOptions AdamFor(const OffPolicyOptions& options, double rate) {
  return {.learning_rate = rate,
          .epsilon = options.epsilon,
          .form = options.adam == "pytorch" ? AdamForm::kPyTorch : AdamForm::kTensorFlow,
          .clip = options.clip == "global"       ? ClipMode::kGlobal
                  : options.clip == "per_tensor" ? ClipMode::kPerTensor
                                                 : ClipMode::kNone,
          .clip_norm = options.clip_norm};
}

// "neighbor:radius=3,wrap=true" -> a sampler.
Result<std::unique_ptr<Sampler>> MakeSampler(std::string_view text, int64_t slots) {
  const size_t colon = text.find(':');
  const Result<const SamplerInfo*> info = FindSampler(text.substr(0, colon));
  if (!info) return info.error();
  Assignments assignments;
  if (colon != std::string_view::npos) {
    for (const std::string_view part : Split(text.substr(colon + 1), ',')) {
      const size_t equals = part.find('=');
      if (equals == std::string_view::npos) {
        return Error{.kind = ErrorKind::kUsage,
                     .message = fmt::format("sampler setting {} has no value", Quoted(part)),
                     .hint = "write name:setting=value,setting=value"};
      }
      assignments.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    }
  }
  return (*info)->make(assignments, slots);
}

Result<void> CheckSpec(const EnvSpec& spec, const OffPolicyOptions& options, Device device) {
  for (const AgentSpec& agent : spec.agents) {
    if (agent.action.kind == ActionKind::kSoftChoice) continue;
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("agent {} of environment {} does not act by soft choices",
                                        agent.name, spec.name),
                 .hint =
                     "take ppo, ippo or mappo, or soft choices (environment mapping: "
                     "actions=soft)"};
  }
  if (options.batch > options.capacity) {
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("batch {} is larger than replay, which holds {} transitions",
                               options.batch, options.capacity)};
  }
  if (options.precision != "fp32" && device == Device::kCpu) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("precision {} is for --device cuda", options.precision),
                 .hint = "leave it out: the cpu computes in fp32"};
  }
  if (options.together && options.shared_batch) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message =
                     "together and shared_batch contradict each other: the first draws a "
                     "batch for every trainer",
                 .hint = "take one of them"};
  }
  if (options.warmup > options.capacity) {
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("warmup {} is larger than replay, which holds {} transitions: "
                               "learning would never start",
                               options.warmup, options.capacity)};
  }
  return {};
}

// Networks and mini-batch; replay asks for itself.
Result<void> CheckMemory(const EnvSpec& spec, const OffPolicyOptions& options, int num_critics) {
  const double rows = static_cast<double>(options.batch);
  const int64_t everything = spec.observation_size() + spec.action_size();
  const double agents = static_cast<double>(spec.num_agents());
  const int64_t own = spec.observation_size() / std::max<int64_t>(1, spec.num_agents());
  const NetworkSize actor{own, spec.agents[0].action.size, options.hidden, options.layers};
  const NetworkSize critic{everything, 1, options.hidden, options.layers};
  // Targets, and targets as the kernels want them.
  constexpr double kCopies = 2;
  const double networks =
      actor.TrainingBytes(0, kCopies) + num_critics * critic.TrainingBytes(0, kCopies);
  const double batch = sizeof(float) * rows * 2 * static_cast<double>(everything) +
                       actor.TrainingBytes(rows, 0) + critic.TrainingBytes(rows, 0);
  return RequireMemory(
      fmt::format("batch {}, hidden {}, layers {}", options.batch, options.hidden, options.layers),
      agents * networks + batch, "lower 'batch', 'hidden' or 'layers'");
}

}  // namespace

OffPolicyAgents::Net::Net(const Kernels& kernels, const MlpLayout& shape,
                          const AdamOptions& options)
    : layout(shape),
      parameters(shape.Allocate()),
      target(shape.Allocate()),
      adam(kernels, layout.tensors(), options) {}

Result<std::unique_ptr<OffPolicyAgents>> OffPolicyAgents::Make(const LearnerSetup& setup,
                                                               const OffPolicyOptions& options,
                                                               int num_critics) {
  if (Result<void> checked = CheckSpec(*setup.spec, options, setup.device); !checked) {
    return checked.error();
  }
  if (Result<void> fits = CheckMemory(*setup.spec, options, num_critics); !fits) {
    return fits.error();
  }
  ReplayLayout layout =
      setup.spec->observation_maps.empty() ? ReplayLayout::kJoint : ReplayLayout::kCompact;
  if (options.replay != "auto") {
    const Result<ReplayLayout> parsed = ParseReplayLayout(options.replay);
    if (!parsed) return parsed.error();
    layout = *parsed;
  }
  Result<std::unique_ptr<ReplayBuffer>> replay =
      MakeReplayBuffer(layout, *setup.spec, options.capacity, setup.lanes);
  if (!replay) return replay.error();
  Result<std::unique_ptr<Sampler>> sampler =
      MakeSampler(options.sampler, std::ssize((*replay)->kinds()));
  if (!sampler) return sampler.error();
  return std::unique_ptr<OffPolicyAgents>(
      new OffPolicyAgents(setup, options, num_critics, std::move(*replay), std::move(*sampler)));
}

OffPolicyAgents::OffPolicyAgents(const LearnerSetup& setup, const OffPolicyOptions& options,
                                 int num_critics, std::unique_ptr<ReplayBuffer> replay,
                                 std::unique_ptr<Sampler> sampler)
    : setup_(setup),
      spec_(*setup.spec),
      options_(options),
      num_critics_(num_critics),
      kernels_(BestKernels()),
      replay_(std::move(replay)),
      sampler_(std::move(sampler)) {
  const int64_t rows = options_.batch + sampler_->surplus();
  const std::vector<int64_t> hidden(static_cast<size_t>(options_.layers), options_.hidden);
  const bool by_row = MlpLayout(MlpShape{.inputs = 1, .hidden = hidden}).skips_zeros();
  batch_ = ReplayBatch(replay_->layout(), rows,
                       by_row ? FeatureBatch::Order::kByRow : FeatureBatch::Order::kByFeature);
  targets_ = FeatureBatch(1, rows);
  output_gradient_ = FeatureBatch(1, rows);
  int64_t widest = 1;
  for (int64_t a = 0; a < spec_.num_agents(); ++a) widest = std::max(widest, choices(a));
  logits_gradient_ = FeatureBatch(widest, rows);
  own_actions_ = FeatureBatch(widest, rows);
  kept_actions_ = FeatureBatch(widest, rows);
  const int workers = setup_.pool != nullptr ? setup_.pool->threads() : 1;
  block_scratch_ = AlignedBuffer<float>(workers * 2 * widest * R);
  MakeNetworks();
  const int64_t padded = CeilDiv(setup_.lanes, 16) * 16;
  int64_t scratch = 0;
  for (const Agent& agent : agents_) {
    scratch = std::max(scratch, ForwardRowsScratch(agent.actor->layout, setup_.lanes));
  }
  act_scratch_ = AlignedBuffer<float>(scratch + setup_.lanes * widest + kSlackFloats);
  act_logits_ = AlignedBuffer<float>(spec_.action_size() * padded);
  act_noise_ = AlignedBuffer<float>(CeilDiv(spec_.action_size() * padded, 64) * 64);
}

int64_t OffPolicyAgents::choices(int64_t agent) const {
  return spec_.agents[static_cast<size_t>(agent)].action.size;
}

void OffPolicyAgents::MakeNetworks() {
  const FeatureLayout& features = replay_->layout();
  const std::vector<int64_t> hidden(static_cast<size_t>(options_.layers), options_.hidden);
  const int64_t rows = batch_.now.max_rows();
  const int workers = setup_.pool != nullptr ? setup_.pool->threads() : 1;
  const auto scratch = std::make_shared<BlockScratch>(workers);
  const InputMap critic_inputs = features.CriticInputs();
  const MlpLayout critic_layout(MlpShape{critic_inputs.inputs(), hidden, 1});
  int64_t largest = critic_layout.size();
  uint64_t stream = 0;
  const auto init = [&](Net& net) {
    InitGlorotUniform(net.layout, setup_.seed, StreamId("init", stream++), net.parameters.span());
    InitGlorotUniform(net.layout, setup_.seed, StreamId("init", stream++), net.target.span());
    if (options_.copy_targets) {
      std::copy_n(net.parameters.data(), net.layout.size(), net.target.data());
    }
  };
  for (int64_t a = 0; a < spec_.num_agents(); ++a) {
    const InputMap& observation = features.observations[static_cast<size_t>(a)];
    const MlpLayout actor_layout(MlpShape{observation.inputs(), hidden, choices(a)});
    largest = std::max(largest, actor_layout.size());
    Agent& agent = agents_.emplace_back();
    agent.actor =
        std::make_unique<Net>(kernels_, actor_layout, AdamFor(options_, options_.actor_rate));
    init(*agent.actor);
    // Actors with equally many choices take turns with one workspace, which stays in the cache.
    std::shared_ptr<MlpWorkspace> space;
    for (int64_t b = 0; b < a && space == nullptr; ++b) {
      if (choices(b) == choices(a)) space = agents_[static_cast<size_t>(b)].actor_pass->workspace();
    }
    if (space == nullptr) space = std::make_shared<MlpWorkspace>(actor_layout, rows);
    agent.actor_pass = std::make_unique<MlpPass>(kernels_, actor_layout, observation, space);
    agent.target_actor_pass =
        std::make_unique<MlpPass>(kernels_, actor_layout, observation, rows, scratch);
    for (int c = 0; c < num_critics_; ++c) {
      agent.critics.push_back(
          std::make_unique<Net>(kernels_, critic_layout, AdamFor(options_, options_.critic_rate)));
      init(*agent.critics.back());
      agent.target_critic_passes.push_back(
          std::make_unique<MlpPass>(kernels_, critic_layout, critic_inputs, rows, scratch));
    }
  }
  critic_pass_ = std::make_unique<MlpPass>(kernels_, critic_layout, critic_inputs, rows);
  gradient_ = AlignedBuffer<float>(largest + kSlackFloats);
  for (int64_t a = 0; a < num_agents(); ++a) BindTargets(a);
}

void OffPolicyAgents::BindTargets(int64_t a) {
  Agent& agent = agents_[static_cast<size_t>(a)];
  agent.target_actor_pass->Bind(agent.actor->target.data());
  for (size_t c = 0; c < agent.critics.size(); ++c) {
    agent.target_critic_passes[c]->Bind(agent.critics[c]->target.data());
  }
}

template <typename Body>
void OffPolicyAgents::ForEach(int64_t count, const Body& body) const {
  const auto range = [&](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i) body(i, worker);
  };
  if (setup_.pool == nullptr || setup_.pool->threads() == 1) {
    range(0, count, 0);
  } else {
    setup_.pool->ParallelFor(count, 1, std::ref(range));
  }
}

template <typename Body>
void OffPolicyAgents::ForBlocks(const Body& body) const {
  ForEach(batch_.now.blocks(), body);
}

float* OffPolicyAgents::Scratch(int worker) {
  return block_scratch_.data() + worker * 2 * logits_gradient_.max_features() * R;
}

void OffPolicyAgents::Act(int64_t rows, std::span<const float> observations, ActMode mode,
                          std::span<float> actions) {
  TESSERA_CHECK(rows <= setup_.lanes);
  const PhaseScope scope(setup_.profiler, Phase::kActing);
  const int64_t padded = CeilDiv(rows, 16) * 16, width = spec_.action_size();
  float* const y = act_scratch_.data();
  for (int64_t a = 0; a < num_agents(); ++a) {
    const Net& net = *agents_[static_cast<size_t>(a)].actor;
    const int64_t size = choices(a);
    const bool target = options_.act_with_target;
    ForwardRows(kernels_, net.layout, target ? net.target.data() : net.parameters.data(), rows,
                observations.data() + spec_.observation_offset(a), spec_.observation_size(), y,
                act_scratch_.span().subspan(static_cast<size_t>(setup_.lanes * size)));
    kernels_.transpose(rows, size, y, size, act_logits_.data() + spec_.action_offset(a) * padded,
                       padded);
  }
  const int64_t count = CeilDiv(width * padded, 64) * 64;
  if (mode == ActMode::kExplore) {
    FillGumbel(kernels_, setup_.seed, StreamId("act"), static_cast<uint64_t>(counters_.acts++), 0,
               count, act_noise_.data());
    kernels_.add_scaled(width * padded, 1.0f, act_noise_.data(), act_logits_.data());
  }
  for (int64_t a = 0; a < num_agents(); ++a) {
    float* const logits = act_logits_.data() + spec_.action_offset(a) * padded;
    kernels_.softmax(choices(a), padded, padded, logits, logits, nullptr);
    for (int64_t r = 0; r < rows; ++r) {
      float* const to = actions.data() + r * width + spec_.action_offset(a);
      int64_t best = 0;
      for (int64_t c = 0; c < choices(a); ++c) {
        to[c] = logits[c * padded + r];
        if (to[c] > to[best]) best = c;
      }
      if (mode == ActMode::kExplore) continue;
      for (int64_t c = 0; c < choices(a); ++c) to[c] = c == best ? 1.0f : 0.0f;
    }
  }
}

Result<void> OffPolicyAgents::Observe(const TransitionBatch& batch) {
  const PhaseScope scope(setup_.profiler, Phase::kOther);
  if (Result<void> checked = CheckRewards(spec_, batch.rewards); !checked) return checked;
  const auto row = [](std::span<const float> all, int64_t e, int64_t size) {
    return all.empty() ? all
                       : all.subspan(static_cast<size_t>(e * size), static_cast<size_t>(size));
  };
  for (int64_t e = 0; e < setup_.lanes; ++e) {
    dropped_.clear();
    const int64_t slot = replay_->Append(
        e,
        {.observations = row(batch.observations, e, spec_.observation_size()),
         .states = row(batch.states, e, spec_.state_size),
         .actions = row(batch.actions, e, spec_.action_size()),
         .rewards = row(batch.rewards, e, spec_.num_agents()),
         .next_observations = row(batch.next_observations, e, spec_.observation_size()),
         .next_states = row(batch.next_states, e, spec_.state_size),
         .end = batch.ends[static_cast<size_t>(e)]},
        &dropped_);
    if (!dropped_.empty()) sampler_->Dropped(dropped_);
    sampler_->Added(slot);
    CountSample(replay_->size());
  }
  return {};
}

void OffPolicyAgents::EndRound() {
  if (options_.together) {
    for (int64_t a = 0; a < num_agents(); ++a) MoveTargets(a);
    for (const auto& [slots, errors] : later_errors_) sampler_->Observe(slots, errors);
    later_errors_.clear();
  }
  EndRoundElsewhere();
}

void OffPolicyAgents::SampleBatch(int64_t trainer) {
  const PhaseScope scope(setup_.profiler, Phase::kSampling);
  const bool draw = trainer == 0 || !options_.shared_batch;
  if (draw) {
    sampler_->Sample(*replay_,
                     {.rows = options_.batch,
                      .seed = setup_.seed,
                      .round = static_cast<uint64_t>(counters_.round),
                      .trainer = static_cast<uint64_t>(trainer),
                      .skip_newest = options_.skip_newest},
                     batch_.slots, batch_.weights);
    batch_.SetRows();
    ForBlocks([&](int64_t b, int /*worker*/) { replay_->GatherBlock(b, trainer, batch_); });
  } else {
    ForBlocks([&](int64_t b, int /*worker*/) { replay_->GatherRewards(b, trainer, batch_); });
  }
  if (setup_.profiler != nullptr && draw) {
    setup_.profiler->Add(Phase::kSampling, batch_.rows() * replay_->bytes_per_row(), 0);
    if (CacheSimulator* const caches = setup_.profiler->caches()) {
      replay_->Trace(batch_, trainer, *caches);
    }
  }
  if (setup_.trace != nullptr) setup_.trace->OnBatch(*this, trainer);
}

void OffPolicyAgents::Noise(int64_t trainer, int64_t agent, int64_t round, int64_t block,
                            float* noise) const {
  const int64_t size = choices(agent < 0 ? trainer : agent);
  const uint64_t stream =
      agent < 0 ? StreamId("policy", static_cast<uint64_t>(trainer))
                : StreamId("target", static_cast<uint64_t>(trainer * num_agents() + agent));
  FillGumbel(kernels_, setup_.seed, stream, static_cast<uint64_t>(round), block * size * R,
             size * R, noise);
}

void OffPolicyAgents::NextActions(int64_t trainer) {
  if (options_.shared_batch && trainer > 0) return;
  const PhaseScope scope(setup_.profiler, Phase::kTargetQ);
  const FeatureLayout& features = replay_->layout();
  const int64_t blocks = batch_.next.blocks();
  const int64_t stripe = std::clamp<int64_t>(kStripeFloats / (features.base * R), 1, blocks);
  for (int64_t first = 0; first < blocks; first += stripe) {
    const int64_t count = std::min(stripe, blocks - first);
    ForEach(num_agents() * count, [&](int64_t task, int worker) {
      const int64_t a = task / count, b = first + task % count, size = choices(a);
      float* const y = Scratch(worker);
      float* const noise = y + size * R;
      agents_[static_cast<size_t>(a)].target_actor_pass->ForwardBlock(batch_.next, b, y, worker);
      Noise(trainer, a, counters_.round, b, noise);
      GumbelSoftmax(kernels_, size, y, noise, kTemperature, y);
      batch_.next.SetFeatures(kernels_, b, features.action_first[static_cast<size_t>(a)], size, y);
    });
  }
  if (setup_.profiler == nullptr) return;
  for (const Agent& agent : agents_) {
    setup_.profiler->Add(Phase::kTargetQ, 0,
                         batch_.rows() * agent.target_actor_pass->FlopsPerRow());
  }
}

const FeatureBatch& OffPolicyAgents::NextLogits(int64_t trainer) {
  const PhaseScope scope(setup_.profiler, Phase::kTargetQ);
  Agent& agent = agents_[static_cast<size_t>(trainer)];
  agent.actor_pass->Bind(agent.actor->parameters.data());
  agent.actor_pass->Forward(batch_.next, setup_.pool);
  return agent.actor_pass->output();
}

void OffPolicyAgents::Targets(int64_t trainer, const FeatureBatch* bonus) {
  const PhaseScope scope(setup_.profiler, Phase::kTargetQ);
  Agent& agent = agents_[static_cast<size_t>(trainer)];
  targets_.set_rows(batch_.rows());
  const float gamma = static_cast<float>(options_.gamma);
  ForBlocks([&](int64_t b, int worker) {
    float least[R], value[R];
    for (size_t c = 0; c < agent.target_critic_passes.size(); ++c) {
      float* const out = c == 0 ? least : value;
      agent.target_critic_passes[c]->ForwardBlock(batch_.next, b, out, worker);
      for (int64_t r = 0; c > 0 && r < R; ++r) least[r] = std::min(least[r], value[r]);
    }
    const float* const reward = batch_.rewards.At(b, 0);
    const float* const live = batch_.live.At(b, 0);
    float* const y = targets_.At(b, 0);
    for (int64_t r = 0; r < batch_.now.RowsIn(b); ++r) {
      const float next = least[r] + (bonus != nullptr ? bonus->At(b, 0)[r] : 0.0f);
      y[r] = reward[r] + gamma * (options_.ignore_done ? 1.0f : live[r]) * next;
    }
  });
  if (setup_.profiler == nullptr) return;
  for (const auto& pass : agent.target_critic_passes) {
    setup_.profiler->Add(Phase::kTargetQ, 0, batch_.rows() * pass->FlopsPerRow());
  }
}

double OffPolicyAgents::CriticStep(int64_t trainer, int64_t critic) {
  const PhaseScope scope(setup_.profiler, Phase::kQLoss);
  Net& net = *agents_[static_cast<size_t>(trainer)].critics[static_cast<size_t>(critic)];
  critic_pass_->Bind(net.parameters.data());
  critic_pass_->Forward(batch_.now, setup_.pool);
  const FeatureBatch& q = critic_pass_->output();
  output_gradient_.set_rows(batch_.rows());
  const float scale = 2.0f / static_cast<float>(batch_.rows());
  double loss = 0;
  for (int64_t row = 0; row < batch_.rows(); ++row) {
    const int64_t b = row / R, r = row % R;
    const float error = q.At(b, 0)[r] - targets_.At(b, 0)[r];
    const float weight = batch_.weights[static_cast<size_t>(row)];
    output_gradient_.At(b, 0)[r] = scale * weight * error;
    loss += double{weight} * error * error;
  }
  output_gradient_.ZeroPadding();
  if (sampler_->wants_errors() && critic == 0) KeepErrors(q);
  critic_pass_->Backward(batch_.now, output_gradient_, gradient_.data(), setup_.pool);
  net.adam.Step(gradient_.data(), net.parameters.data());
  if (setup_.profiler != nullptr) {
    setup_.profiler->Add(
        Phase::kQLoss, 0,
        batch_.rows() * (2 * critic_pass_->FlopsPerRow() + critic_pass_->DeltaFlopsPerRow()));
  }
  return loss / static_cast<double>(batch_.rows());
}

void OffPolicyAgents::KeepErrors(const FeatureBatch& values) {
  errors_.clear();
  for (int64_t row = 0; row < batch_.rows(); ++row) {
    errors_.push_back(values.Get(row, 0) - targets_.Get(row, 0));
  }
  if (options_.together) {
    later_errors_.emplace_back(batch_.slots, errors_);
  } else {
    sampler_->Observe(batch_.slots, errors_);
  }
}

double OffPolicyAgents::ActorStep(int64_t trainer, const LogitsTerm& add_gradient) {
  const PhaseScope scope(setup_.profiler, Phase::kPLoss);
  Agent& agent = agents_[static_cast<size_t>(trainer)];
  const int64_t size = choices(trainer), rows = batch_.rows();
  DrawOwnActions(trainer);
  critic_pass_->Bind(agent.critics[0]->parameters.data());
  critic_pass_->Forward(batch_.now, setup_.pool);
  output_gradient_.set_rows(rows);
  std::fill_n(output_gradient_.data(), output_gradient_.blocks() * R,
              -1.0f / static_cast<float>(rows));
  output_gradient_.ZeroPadding();
  critic_pass_->Backward(batch_.now, output_gradient_, nullptr, setup_.pool);
  double loss = 0;
  for (int64_t row = 0; row < rows; ++row) loss -= critic_pass_->output().Get(row, 0);
  const int64_t first = replay_->layout().action_first[static_cast<size_t>(trainer)];
  const FeatureBatch& logits = agent.actor_pass->output();
  block_losses_.assign(static_cast<size_t>(batch_.now.blocks()), 0.0);
  logits_gradient_.Reshape(size, rows);
  ForBlocks([&](int64_t b, int worker) {
    float* const action_gradient = Scratch(worker);
    float* const out = logits_gradient_.At(b, 0);
    critic_pass_->InputGradient(b, first, size, action_gradient);
    GumbelSoftmaxGradient(size, own_actions_.At(b, 0), action_gradient, kTemperature, out);
    block_losses_[static_cast<size_t>(b)] = add_gradient(b, logits.At(b, 0), out);
    if (options_.shared_batch) {
      batch_.now.SetFeatures(kernels_, b, first, size, kept_actions_.At(b, 0));
    }
  });
  for (const double term : block_losses_) loss += term;
  logits_gradient_.ZeroPadding();
  agent.actor_pass->Backward(batch_.now, logits_gradient_, gradient_.data(), setup_.pool);
  agent.actor->adam.Step(gradient_.data(), agent.actor->parameters.data());
  if (setup_.profiler != nullptr) {
    const MlpPass &critic = *critic_pass_, &actor = *agent.actor_pass;
    setup_.profiler->Add(Phase::kPLoss, 0,
                         rows * (critic.FlopsPerRow() + critic.DeltaFlopsPerRow() +
                                 2 * actor.FlopsPerRow() + actor.DeltaFlopsPerRow()));
  }
  return loss / static_cast<double>(rows);
}

// The trainer's own actions are drawn anew; those of the others stay as they were played.
void OffPolicyAgents::DrawOwnActions(int64_t trainer) {
  Agent& agent = agents_[static_cast<size_t>(trainer)];
  const int64_t size = choices(trainer);
  const int64_t first = replay_->layout().action_first[static_cast<size_t>(trainer)];
  agent.actor_pass->Bind(agent.actor->parameters.data());
  agent.actor_pass->Forward(batch_.now, setup_.pool);
  const FeatureBatch& logits = agent.actor_pass->output();
  own_actions_.Reshape(size, batch_.rows());
  kept_actions_.Reshape(size, batch_.rows());
  ForBlocks([&](int64_t b, int worker) {
    float* const noise = Scratch(worker);
    float* const y = own_actions_.At(b, 0);
    if (options_.shared_batch) {
      batch_.now.GetFeatures(kernels_, b, first, size, kept_actions_.At(b, 0));
    }
    Noise(trainer, /*agent=*/-1, counters_.round, b, noise);
    GumbelSoftmax(kernels_, size, logits.At(b, 0), noise, kTemperature, y);
    batch_.now.SetFeatures(kernels_, b, first, size, y);
  });
}

void OffPolicyAgents::FollowTargets(int64_t trainer) {
  if (!options_.together) MoveTargets(trainer);
}

void OffPolicyAgents::MoveTargets(int64_t trainer) {
  const PhaseScope scope(setup_.profiler, Phase::kOther);
  Agent& agent = agents_[static_cast<size_t>(trainer)];
  const float tau = static_cast<float>(options_.tau);
  const auto follow = [&](Net& net) {
    kernels_.blend(net.layout.size(), tau, net.parameters.data(), net.target.data());
  };
  follow(*agent.actor);
  for (const auto& critic : agent.critics) follow(*critic);
  BindTargets(trainer);
}

cuda::NetImage OffPolicyAgents::ImageOf(int64_t agent, int64_t net) {
  const Agent& owner = agents_[static_cast<size_t>(agent)];
  Net& image = net == 0 ? *owner.actor : *owner.critics[static_cast<size_t>(net - 1)];
  return {.parameters = image.parameters.span(),
          .target = image.target.span(),
          .mean = image.adam.mean(),
          .variance = image.adam.variance(),
          .steps = image.adam.mutable_steps()};
}

void OffPolicyAgents::ChangedNets() {
  for (int64_t a = 0; a < num_agents(); ++a) BindTargets(a);
}

std::vector<std::pair<std::string, OffPolicyAgents::Net*>> OffPolicyAgents::Nets() const {
  std::vector<std::pair<std::string, Net*>> nets;
  for (size_t a = 0; a < agents_.size(); ++a) {
    const std::string agent = fmt::format("agent{}.", a);
    nets.emplace_back(agent + "actor", agents_[a].actor.get());
    for (size_t c = 0; c < agents_[a].critics.size(); ++c) {
      nets.emplace_back(fmt::format("{}critic{}", agent, c), agents_[a].critics[c].get());
    }
  }
  return nets;
}

void OffPolicyAgents::Save(const std::string& prefix, TensorWriter& writer) const {
  for (const auto& [name, net] : Nets()) {
    SaveNet(prefix + name, net->layout, net->parameters.span(), writer);
    SaveNet(prefix + name + ".target", net->layout, net->target.span(), writer);
    net->adam.Save(prefix + name + ".adam.", writer);
  }
  writer.AddInt(prefix + "samples", counters_.samples);
  writer.AddInt(prefix + "acts", counters_.acts);
  writer.AddInt(prefix + "round", counters_.round);
  writer.AddInt(prefix + "due", counters_.due);
  sampler_->Save(prefix + "sampler.", writer);
  replay_->Save(prefix + "replay.", writer);
}

Result<void> OffPolicyAgents::Load(const std::string& prefix, const TensorReader& reader) {
  for (const auto& [name, net] : Nets()) {
    for (const bool target : {false, true}) {
      if (Result<void> read = LoadNet(prefix + name + (target ? ".target" : ""), net->layout,
                                      target ? net->target.span() : net->parameters.span(), reader);
          !read) {
        return read;
      }
    }
    if (Result<void> read = net->adam.Load(prefix + name + ".adam.", reader); !read) return read;
  }
  const std::pair<const char*, int64_t*> counters[] = {{"samples", &counters_.samples},
                                                       {"acts", &counters_.acts},
                                                       {"round", &counters_.round},
                                                       {"due", &counters_.due}};
  for (const auto& [name, counter] : counters) {
    const Result<int64_t> value = reader.ReadCounter(prefix + name);
    if (!value) return value.error();
    *counter = *value;
  }
  if (Result<void> read = sampler_->Load(prefix + "sampler.", reader); !read) return read;
  if (Result<void> read = replay_->Load(prefix + "replay.", reader); !read) return read;
  for (int64_t a = 0; a < num_agents(); ++a) BindTargets(a);
  return {};
}

}  // namespace tessera
