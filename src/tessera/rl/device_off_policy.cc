// Settings to an engine's spec, and the twin to the device and back.
#include "tessera/rl/device_off_policy.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tessera/rl/check_rewards.h"
#include "tessera/rl/profiler.h"

namespace tessera {
namespace {

constexpr int64_t kMostChoices = 8;

Result<void> CheckSettings(OffPolicyAgents& twin) {
  const OffPolicyOptions& options = twin.options();
  if (Result<void> checked = CheckDeviceNetworks(options.layers, options.hidden); !checked) {
    return checked;
  }
  if (options.shared_batch) {
    return NotOnDevice("shared_batch is not", "take together=true, or --device cpu");
  }
  if (!twin.mutable_replay().image()) {
    return NotOnDevice(fmt::format("replay={} is not", options.replay),
                       "take joint or compact, or --device cpu");
  }
  for (int64_t a = 0; a < twin.num_agents(); ++a) {
    if (twin.choices(a) > kMostChoices) {
      return NotOnDevice(fmt::format("{} choices of an agent are not", twin.choices(a)),
                         fmt::format("it has at most {}; take --device cpu", kMostChoices));
    }
  }
  for (const ObservationMap& map : twin.spec().observation_maps) {
    if (!map.offsets.empty()) {
      return NotOnDevice("observations with offsets are not", "take replay=joint, or --device cpu");
    }
  }
  return {};
}

// Inputs of agent a's actor as sums of features of a record.
cuda::NetSpec ActorSpec(const EnvSpec& spec, bool compact, int64_t a, int64_t outputs) {
  cuda::NetSpec net;
  net.inputs = static_cast<int32_t>(spec.agents[static_cast<size_t>(a)].observation_size);
  net.outputs = static_cast<int32_t>(outputs);
  if (!compact) {
    const int64_t first = spec.observation_offset(a);
    for (int32_t i = 0; i < net.inputs; ++i) {
      net.terms.push_back({i, static_cast<int32_t>(first) + i, 1.0f});
    }
    return net;
  }
  for (const ObservationMap::Term& term : spec.observation_maps[static_cast<size_t>(a)].terms) {
    net.terms.push_back(
        {static_cast<int32_t>(term.input), static_cast<int32_t>(term.feature), term.factor});
  }
  return net;
}

// All observations in agent order, then all actions.
cuda::NetSpec CriticSpec(const EnvSpec& spec, const std::vector<cuda::NetSpec>& actors,
                         int64_t base) {
  cuda::NetSpec net{.inputs = 0, .outputs = 1};
  for (const cuda::NetSpec& actor : actors) {
    for (const cuda::NetSpec::Term& term : actor.terms) {
      net.terms.push_back({net.inputs + term.input, term.feature, term.factor});
    }
    net.inputs += actor.inputs;
  }
  for (int64_t i = 0; i < spec.action_size(); ++i) {
    net.terms.push_back({net.inputs++, static_cast<int32_t>(base + i), 1.0f});
  }
  return net;
}

cuda::EngineSpec SpecOf(const LearnerSetup& setup, OffPolicyAgents& twin,
                        const DeviceAlgorithm& algorithm) {
  const EnvSpec& spec = twin.spec();
  const OffPolicyOptions& options = twin.options();
  const RingImage ring = *twin.mutable_replay().image();
  const FeatureLayout& features = twin.replay().layout();
  cuda::EngineSpec engine{.agents = static_cast<int>(spec.num_agents()),
                          .critics = static_cast<int>(twin.num_critics()),
                          .lanes = static_cast<int>(setup.lanes),
                          .base = static_cast<int>(features.base),
                          .actions = static_cast<int>(features.actions),
                          .record = static_cast<int>(ring.record),
                          .ring = ring.shape,
                          .batch = static_cast<int>(options.batch),
                          .surplus = static_cast<int>(twin.sampler().surplus()),
                          .sampler = twin.sampler().settings(),
                          .skip_newest = options.skip_newest,
                          .ignore_done = options.ignore_done,
                          .act_with_target = options.act_with_target,
                          .gamma = options.gamma,
                          .tau = options.tau,
                          .epsilon = options.epsilon,
                          .tensorflow = options.adam == "tensorflow",
                          .clip = options.clip == "none"     ? 0
                                  : options.clip == "global" ? 2
                                                             : 1,
                          .clip_norm = options.clip_norm,
                          .entropy = algorithm.entropy,
                          .term_weight = algorithm.term_weight,
                          .together = options.together,
                          .precision = PrecisionOf(options.precision),
                          .seed = setup.seed};
  for (int64_t a = 0; a < spec.num_agents(); ++a) {
    engine.observation_size.push_back(
        static_cast<int>(spec.agents[static_cast<size_t>(a)].observation_size));
    engine.choices.push_back(static_cast<int>(twin.choices(a)));
    engine.actors.push_back(ActorSpec(spec, ring.compact, a, twin.choices(a)));
    engine.actors.back().rate = options.actor_rate;
  }
  engine.critic = CriticSpec(spec, engine.actors, features.base);
  engine.critic.rate = options.critic_rate;
  return engine;
}

}  // namespace

DeviceOffPolicy::DeviceOffPolicy(const LearnerSetup& setup, std::unique_ptr<OffPolicyAgents> twin,
                                 std::unique_ptr<cuda::OffPolicyEngine> engine)
    : setup_(setup),
      twin_(std::move(twin)),
      engine_(std::move(engine)),
      ring_(*twin_->mutable_replay().image()),
      kinds_(static_cast<size_t>(setup.lanes)) {}

Result<std::unique_ptr<Learner>> DeviceOffPolicy::Make(const LearnerSetup& setup,
                                                       std::unique_ptr<OffPolicyAgents> twin,
                                                       const DeviceAlgorithm& algorithm) {
  if (Result<void> checked = CheckSettings(*twin); !checked) return checked.error();
  Result<std::unique_ptr<cuda::OffPolicyEngine>> engine =
      cuda::OffPolicyEngine::Make(SpecOf(setup, *twin, algorithm));
  if (!engine) return engine.error();
  std::unique_ptr<DeviceOffPolicy> learner(
      new DeviceOffPolicy(setup, std::move(twin), std::move(*engine)));
  if (Result<void> uploaded = learner->Upload(); !uploaded) return uploaded.error();
  return std::unique_ptr<Learner>(std::move(learner));
}

Result<void> DeviceOffPolicy::Upload() {
  for (int64_t a = 0; a < twin_->num_agents(); ++a) {
    for (int64_t net = 0; net <= twin_->num_critics(); ++net) {
      if (Result<void> set =
              engine_->SetNet(static_cast<int>(a), static_cast<int>(net), twin_->ImageOf(a, net));
          !set) {
        return set;
      }
    }
  }
  if (Result<void> set = engine_->SetReplay(ring_.lanes, ring_.kinds, ring_.records); !set) {
    return set;
  }
  if (const std::span<const double> priorities = twin_->sampler().priorities();
      !priorities.empty()) {
    if (Result<void> set = engine_->SetPriorities(priorities, *twin_->sampler().top_priority());
        !set) {
      return set;
    }
  }
  for (int64_t a = 0; a < twin_->num_agents(); ++a) {
    const KeptBatch* const kept = twin_->sampler().kept(static_cast<uint64_t>(a));
    if (kept == nullptr) break;
    if (Result<void> set =
            engine_->SetBatch(static_cast<int>(a), kept->part, kept->slots, kept->weights);
        !set) {
      return set;
    }
  }
  return engine_->SetCounters(twin_->counters().round, twin_->counters().acts);
}

Result<void> DeviceOffPolicy::PrepareSave() {
  if (failed_) return *failed_;
  for (int64_t a = 0; a < twin_->num_agents(); ++a) {
    for (int64_t net = 0; net <= twin_->num_critics(); ++net) {
      if (Result<void> got =
              engine_->GetNet(static_cast<int>(a), static_cast<int>(net), twin_->ImageOf(a, net));
          !got) {
        return got;
      }
    }
  }
  twin_->ChangedNets();
  const int64_t slots = ring_.shape.lane_slots;
  for (int64_t l = 0; l < setup_.lanes; ++l) {
    const ReplayLane& lane = ring_.lanes[static_cast<size_t>(l)];
    const int64_t used = lane.wrapped ? slots : std::min(lane.head + 1, slots);
    if (Result<void> got = engine_->GetRecords(
            l * slots, ring_.records.subspan(static_cast<size_t>(l * slots * ring_.record),
                                             static_cast<size_t>(used * ring_.record)));
        !got) {
      return got;
    }
  }
  for (int64_t a = 0; a < twin_->num_agents(); ++a) {
    KeptBatch* const kept = twin_->sampler().kept(static_cast<uint64_t>(a));
    if (kept == nullptr) break;
    if (Result<void> got =
            engine_->GetBatch(static_cast<int>(a), &kept->part, kept->slots, kept->weights);
        !got) {
      return got;
    }
  }
  const std::span<double> priorities = twin_->sampler().priorities();
  if (priorities.empty()) return {};
  Result<void> got = engine_->GetPriorities(priorities, twin_->sampler().top_priority());
  twin_->sampler().ChangedPriorities();
  return got;
}

Result<void> DeviceOffPolicy::Load(const std::string& prefix, const TensorReader& reader) {
  if (Result<void> read = twin_->Load(prefix, reader); !read) return read;
  return Upload();
}

void DeviceOffPolicy::Act(int64_t rows, std::span<const float> observations, ActMode mode,
                          std::span<float> actions) {
  const PhaseScope scope(setup_.profiler, Phase::kActing);
  const bool explore = mode == ActMode::kExplore;
  if (explore) ++twin_->counters().acts;
  Result<void> acted = engine_->Act(rows, observations, explore, actions);
  if (acted) return;
  failed_ = acted.error();
  std::fill(actions.begin(), actions.end(), 0.0f);
}

Result<void> DeviceOffPolicy::Observe(const TransitionBatch& batch) {
  if (failed_) return *failed_;
  const PhaseScope scope(setup_.profiler, Phase::kOther);
  if (Result<void> checked = CheckRewards(twin_->spec(), batch.rewards); !checked) return checked;
  for (int64_t e = 0; e < setup_.lanes; ++e) {
    kinds_[static_cast<size_t>(e)] = KindOf(batch.ends[static_cast<size_t>(e)]);
    AppendStep(ring_.shape, e, kinds_[static_cast<size_t>(e)], ring_.lanes[static_cast<size_t>(e)],
               ring_.kinds.data(), [](int64_t) {});
    twin_->CountSample(twin_->replay().size());
  }
  return engine_->Append(ring_.compact ? batch.states : batch.observations, batch.actions,
                         batch.rewards, ring_.compact ? batch.next_states : batch.next_observations,
                         kinds_);
}

Result<UpdateReport> DeviceOffPolicy::Update() {
  if (failed_) return *failed_;
  if (setup_.profiler != nullptr) return MeasuredUpdate();
  if (Result<void> started = engine_->StartRound(); !started) return started.error();
  twin_->EndRoundElsewhere();
  return Finish();
}

Result<UpdateReport> DeviceOffPolicy::Finish() {
  const Result<cuda::RoundLosses> losses = engine_->Finish();
  if (!losses) return losses.error();
  return UpdateReport{
      .q_loss = losses->q_loss, .p_loss = losses->p_loss, .entropy = losses->entropy};
}

Result<UpdateReport> DeviceOffPolicy::MeasuredUpdate() {
  const Result<cuda::OffPolicyEngine::Phases> phases = engine_->MeasureRound();
  if (!phases) return phases.error();
  twin_->EndRoundElsewhere();
  const std::pair<Phase, double> parts[] = {{Phase::kSampling, phases->sampling},
                                            {Phase::kTargetQ, phases->targets},
                                            {Phase::kQLoss, phases->critics + phases->critic_steps},
                                            {Phase::kPLoss, phases->actors + phases->actor_steps}};
  for (const auto& [phase, seconds] : parts) setup_.profiler->AddSeconds(phase, seconds);
  return Finish();
}

Result<cuda::OffPolicyEngine::Phases> DeviceOffPolicy::MeasureHostRound() {
  std::vector<float> weights;
  const auto draw = [&](int trainer, std::vector<int64_t>& slots) {
    twin_->sampler().Sample(twin_->replay(),
                            {.rows = twin_->options().batch,
                             .seed = setup_.seed,
                             .round = static_cast<uint64_t>(twin_->counters().round),
                             .trainer = static_cast<uint64_t>(trainer),
                             .skip_newest = twin_->options().skip_newest},
                            slots, weights);
  };
  Result<cuda::OffPolicyEngine::Phases> phases =
      engine_->MeasureHostRound({.records = ring_.records, .kinds = ring_.kinds, .draw = draw});
  twin_->EndRoundElsewhere();
  return phases;
}

int64_t DeviceOffPolicy::StepsToUpdate(int64_t most) const {
  const int64_t every = twin_->options().update_every;
  const int64_t left = every - twin_->counters().samples % every;
  return std::min(most, (left + setup_.lanes - 1) / setup_.lanes);
}

Result<void> DeviceOffPolicy::Play(cuda::WorldBatch& worlds, int64_t steps, int64_t horizon) {
  for (int64_t i = 0; i < steps; ++i) {
    // Worlds have taken as many steps as the learner has acted.
    const bool ends = ++twin_->counters().acts % horizon == 0;
    const SlotKind kind = ends ? SlotKind::kTruncated : SlotKind::kTransition;
    for (int64_t e = 0; e < setup_.lanes; ++e) {
      AppendStep(ring_.shape, e, kind, ring_.lanes[static_cast<size_t>(e)], ring_.kinds.data(),
                 [](int64_t) {});
      twin_->CountSample(twin_->replay().size());
    }
  }
  if (Result<void> played = engine_->PlaySteps(worlds, steps, twin_->UpdateDue()); !played) {
    return played;
  }
  if (twin_->UpdateDue()) twin_->EndRoundElsewhere();
  while (twin_->UpdateDue()) {
    if (Result<void> started = engine_->StartRound(); !started) return started;
    twin_->EndRoundElsewhere();
  }
  return {};
}

}  // namespace tessera
