// Settings to an engine's spec, and the twin to the device and back.
#include "tessera/rl/device_on_policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/rl/check_rewards.h"
#include "tessera/rl/observation_basis.h"
#include "tessera/rl/profiler.h"

namespace tessera {
namespace {

Result<void> CheckSettings(const EnvSpec& spec, const PpoOptions& options) {
  if (Result<void> checked = CheckDeviceNetworks(options.layers, options.hidden); !checked) {
    return checked;
  }
  for (const AgentSpec& agent : spec.agents) {
    if (agent.action.kind != ActionKind::kBox) continue;
    return NotOnDevice(fmt::format("continuous actions of agent {} are not", agent.name),
                       "take an environment with choices, or --device cpu");
  }
  return {};
}

// A network that reads `count` observed numbers from `first` on.
cuda::NetSpec NetOf(const ObservationBasis& basis, int64_t first, int64_t count, int64_t outputs,
                    double rate) {
  cuda::NetSpec net{.inputs = static_cast<int32_t>(count),
                    .outputs = static_cast<int32_t>(outputs),
                    .rate = rate};
  for (int64_t i = 0; i < count; ++i) {
    for (const ObservationBasis::Term& term : basis.inputs[static_cast<size_t>(first + i)]) {
      net.terms.push_back({static_cast<int32_t>(i), static_cast<int32_t>(term.index),
                           static_cast<float>(term.factor)});
    }
  }
  return net;
}

}  // namespace

DeviceOnPolicy::DeviceOnPolicy(const LearnerSetup& setup, const PpoOptions& options, UnitKind kind)
    : setup_(setup),
      kind_(kind),
      team_(setup, options, kind, /*pass_rows=*/1),
      chosen_(static_cast<size_t>(team_.rows * team_.spec.num_agents())),
      rewards_(static_cast<size_t>(team_.rows) * team_.units.size()),
      step_rewards_(static_cast<size_t>(team_.lanes) * team_.units.size()),
      step_ends_(static_cast<size_t>(team_.lanes)),
      order_(static_cast<size_t>(options.epochs * team_.rows)) {}

Result<std::unique_ptr<Learner>> DeviceOnPolicy::Make(const LearnerSetup& setup,
                                                      const PpoOptions& options, UnitKind kind) {
  if (Result<void> checked = CheckSettings(*setup.spec, options); !checked) return checked.error();
  std::unique_ptr<DeviceOnPolicy> learner(new DeviceOnPolicy(setup, options, kind));
  Result<std::unique_ptr<cuda::OnPolicyEngine>> engine =
      cuda::OnPolicyEngine::Make(learner->EngineSpec());
  if (!engine) return engine.error();
  learner->engine_ = std::move(*engine);
  if (Result<void> uploaded = learner->Upload(); !uploaded) return uploaded.error();
  return std::unique_ptr<Learner>(std::move(learner));
}

cuda::OnPolicySpec DeviceOnPolicy::EngineSpec() const {
  const EnvSpec& spec = team_.spec;
  const PpoOptions& options = team_.options;
  const ObservationBasis basis = FindBasis(spec);
  cuda::OnPolicySpec engine{.units = static_cast<int>(team_.units.size()),
                            .lanes = static_cast<int>(team_.lanes),
                            .steps = static_cast<int>(options.steps),
                            .epochs = static_cast<int>(options.epochs),
                            .minibatches = static_cast<int>(options.minibatches),
                            .observed = static_cast<int>(spec.observation_size()),
                            .actions = static_cast<int>(spec.action_size()),
                            .basis = {basis.numbers.begin(), basis.numbers.end()},
                            .head_first = {0},
                            .gamma = options.gamma,
                            .lambda = options.lambda,
                            .clip = options.clip,
                            .entropy = options.entropy,
                            .clip_norm = options.clip_norm,
                            .normalize = options.normalize_advantages,
                            .advantage_floor = options.advantage_floor,
                            .precision = options.precision == "fp32"
                                             ? cuda::Precision::kSplit
                                             : PrecisionOf(options.precision),
                            .seed = team_.seed};
  std::vector<cuda::NetSpec> critics;
  for (const auto& unit : team_.units) {
    const int64_t first = spec.observation_offset(unit->members().front());
    const int64_t inputs = unit->actor_layout().shape().inputs;
    engine.nets.push_back(NetOf(basis, first, inputs, unit->outputs(), options.actor_rate));
    const bool own = kind_ == UnitKind::kIndependent;
    critics.push_back(NetOf(basis, own ? first : 0, own ? inputs : spec.observation_size(),
                            /*outputs=*/1, options.critic_rate));
    for (const PolicyHead& head : unit->heads()) {
      engine.heads.push_back({.output = static_cast<int32_t>(head.output),
                              .choices = static_cast<int32_t>(head.action.size),
                              .action = static_cast<int32_t>(head.action_first),
                              .one_hot = head.action.kind == ActionKind::kSoftChoice});
    }
    engine.head_first.push_back(static_cast<int32_t>(engine.heads.size()));
  }
  engine.nets.insert(engine.nets.end(), critics.begin(), critics.end());
  return engine;
}

// ---- To the device and back --------------------------------------------------------------------

cuda::RolloutImage DeviceOnPolicy::Image() {
  return {.observations = team_.observations,
          .next_observations = team_.next_observations,
          .chosen = chosen_,
          .rewards = rewards_,
          .ends = team_.ends};
}

void DeviceOnPolicy::GatherRollout() {
  float *chosen = chosen_.data(), *reward = rewards_.data();
  for (int64_t row = 0; row < team_.rows; ++row) {
    for (const auto& unit : team_.units) {
      const Rollout& rollout = unit->rollout();
      chosen = std::copy_n(rollout.actions.begin() + row * unit->stored(), unit->stored(), chosen);
      *reward++ = rollout.rewards[static_cast<size_t>(row)];
    }
  }
}

void DeviceOnPolicy::ScatterRollout() {
  const float *chosen = chosen_.data(), *reward = rewards_.data();
  // Rows that were never played have no actions.
  const int64_t played = team_.updates > 0 ? team_.rows : team_.step * team_.lanes;
  for (int64_t row = 0; row < team_.rows; ++row) {
    for (const auto& unit : team_.units) {
      Rollout& rollout = unit->rollout();
      const int64_t stored = unit->stored();
      std::copy_n(chosen, stored, rollout.actions.begin() + row * stored);
      chosen += stored;
      rollout.rewards[static_cast<size_t>(row)] = *reward++;
      std::fill_n(rollout.acted.begin() + row * stored, stored, row < played ? 1 : 0);
    }
  }
}

Result<void> DeviceOnPolicy::Upload() {
  const int units = static_cast<int>(team_.units.size());
  for (int u = 0; u < units; ++u) {
    PolicyUnit& unit = *team_.units[static_cast<size_t>(u)];
    if (Result<void> set = engine_->SetNet(u, unit.ActorImage()); !set) return set;
    if (Result<void> set = engine_->SetNet(units + u, unit.CriticImage()); !set) return set;
  }
  GatherRollout();
  if (Result<void> set = engine_->SetRollout(Image()); !set) return set;
  return engine_->SetCounters(team_.acts, team_.step);
}

Result<void> DeviceOnPolicy::PrepareSave() {
  if (failed_) return *failed_;
  const int units = static_cast<int>(team_.units.size());
  for (int u = 0; u < units; ++u) {
    PolicyUnit& unit = *team_.units[static_cast<size_t>(u)];
    if (Result<void> got = engine_->GetNet(u, unit.ActorImage()); !got) return got;
    if (Result<void> got = engine_->GetNet(units + u, unit.CriticImage()); !got) return got;
  }
  if (Result<void> got = engine_->GetRollout(Image()); !got) return got;
  ScatterRollout();
  return {};
}

// Actions without an effect come from loops of the host alone.
Result<void> DeviceOnPolicy::CheckActed() const {
  for (const auto& unit : team_.units) {
    const auto played = unit->rollout().acted.begin() + team_.step * team_.lanes * unit->stored();
    if (std::find(unit->rollout().acted.begin(), played, uint8_t{0}) == played) continue;
    return NotOnDevice("a rollout with actions that had no effect is not", "take --device cpu");
  }
  return {};
}

Result<void> DeviceOnPolicy::Load(const std::string& prefix, const TensorReader& reader) {
  if (Result<void> read = team_.Load(prefix, reader); !read) return read;
  if (Result<void> checked = CheckActed(); !checked) return checked;
  return Upload();
}

// ---- Environments on the host ------------------------------------------------------------------

void DeviceOnPolicy::Act(int64_t rows, std::span<const float> observations, ActMode mode,
                         std::span<float> actions) {
  const PhaseScope scope(setup_.profiler, Phase::kActing);
  const bool explore = mode == ActMode::kExplore;
  if (explore) ++team_.acts;
  Result<void> acted = engine_->Act(rows, observations, explore, actions);
  if (acted) return;
  failed_ = acted.error();
  std::fill(actions.begin(), actions.end(), 0.0f);
}

Result<void> DeviceOnPolicy::Observe(const TransitionBatch& batch) {
  if (failed_) return *failed_;
  TESSERA_CHECK(!UpdateDue());
  const PhaseScope scope(setup_.profiler, Phase::kOther);
  if (Result<void> checked = CheckRewards(team_.spec, batch.rewards); !checked) return checked;
  if (std::find(batch.acted.begin(), batch.acted.end(), uint8_t{0}) != batch.acted.end()) {
    return NotOnDevice("actions without an effect are not", "take --device cpu");
  }
  auto reward = step_rewards_.begin();
  for (int64_t e = 0; e < team_.lanes; ++e) {
    for (const auto& unit : team_.units) *reward++ = team_.RewardOf(*unit, batch.rewards, e);
    step_ends_[static_cast<size_t>(e)] = static_cast<uint8_t>(batch.ends[static_cast<size_t>(e)]);
  }
  ++team_.step;
  return engine_->Append(batch.observations, batch.next_observations, step_rewards_, step_ends_);
}

std::span<const int32_t> DeviceOnPolicy::NextOrder() {
  const auto rows = static_cast<size_t>(team_.rows);
  for (int64_t epoch = 0; epoch < team_.options.epochs; ++epoch) {
    OrderRows(team_, epoch, std::span(order_).subspan(static_cast<size_t>(epoch) * rows, rows));
  }
  return order_;
}

void DeviceOnPolicy::EndRollout() {
  team_.step = 0;
  ++team_.updates;
}

Result<UpdateReport> DeviceOnPolicy::Update() {
  if (failed_) return *failed_;
  const PhaseScope scope(setup_.profiler, Phase::kPLoss);
  if (Result<void> started = engine_->StartUpdate(NextOrder()); !started) return started.error();
  EndRollout();
  return Finish();
}

Result<UpdateReport> DeviceOnPolicy::Finish() {
  const Result<cuda::RoundLosses> losses = engine_->Finish();
  if (!losses) return losses.error();
  return UpdateReport{
      .q_loss = losses->q_loss, .p_loss = losses->p_loss, .entropy = losses->entropy};
}

// ---- Environments on the device ----------------------------------------------------------------

int64_t DeviceOnPolicy::StepsToUpdate(int64_t most) const {
  return std::min(most, team_.options.steps - team_.step);
}

Result<void> DeviceOnPolicy::Play(cuda::WorldBatch& worlds, int64_t steps, int64_t /*horizon*/) {
  team_.acts += steps;
  team_.step += steps;
  const bool update = UpdateDue();
  const std::span<const int32_t> order = update ? NextOrder() : std::span<const int32_t>();
  if (update) EndRollout();
  return engine_->PlaySteps(worlds, steps, order);
}

}  // namespace tessera
