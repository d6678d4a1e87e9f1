// Profiles of training: environment and learner as a config asks for them, measured phase by phase.
#include <memory>
#include <optional>

#include "tessera/rl/cache_model.h"
#include "tessera/rl/calibration.h"
#include "tessera/rl/hardware_counters.h"
#include "tessera/rl/profile_run.h"
#include "tessera/rl/profiler.h"
#include "tessera/rl/replay/sampler.h"
#include "tessera/train.h"

namespace tessera {
namespace {

static_assert(kProfileStepsPerRound == kStepsPerRound);

PhaseTotals TotalsOf(const Profiler& profiler, Phase phase) {
  const PhaseCounts& counts = profiler.totals(phase);
  return {.seconds = counts.seconds,
          .bytes = counts.bytes,
          .flops = counts.flops,
          .cache_misses = counts.cache_misses,
          .dtlb_misses = counts.dtlb_misses};
}

SimulatedMisses MissesOf(const CacheCounts& counts) {
  return {.accesses = counts.accesses,
          .l1 = counts.l1_misses,
          .l2 = counts.l2_misses,
          .last_level = counts.last_misses,
          .dtlb = counts.dtlb_misses};
}

}  // namespace

std::vector<SimulatedMachine> SimulatedMachines() {
  std::vector<SimulatedMachine> machines;
  for (const CacheModel& model : CacheModels()) machines.push_back({model.name, model.summary});
  return machines;
}

std::vector<ReplaySampler> ReplaySamplers() {
  std::vector<ReplaySampler> samplers;
  for (const SamplerInfo* info : Samplers()) {
    samplers.push_back({.name = info->name,
                        .summary = info->summary,
                        .distribution = info->distribution,
                        .changes_distribution = info->changes_distribution,
                        .parameters = info->parameters()});
  }
  return samplers;
}

MachineSpeed MeasureMachine() {
  const Calibration calibration = Calibrate();
  return {.memcpy_gb_per_s = calibration.memcpy_gb_per_s,
          .fma_gflop_per_s = calibration.fma_gflop_per_s};
}

Result<void> HasHardwareCounters() {
  const auto counters = HardwareCounters::Open();
  return counters ? Result<void>() : counters.error();
}

Result<TrainingProfile> ProfileTraining(const TrainingConfig& config, const ProfileOptions& options,
                                        int threads, Device device) {
  const auto counters = HardwareCounters::Open();
  Profiler profiler(counters.ok() ? counters->get() : nullptr);
  profiler.set_processor_time(options.processor_time);
  const Result<Training> training = MakeTraining(config, threads, &profiler, device);
  if (!training) return training.error();
  std::optional<CacheSimulator> caches;
  if (!options.caches.empty()) {
    const Result<const CacheModel*> model = FindCacheModel(options.caches);
    if (!model) return model.error();
    caches.emplace(**model);
  }
  const Result<void> measured = ProfileRun(*training->env, *training->learner, profiler,
                                           {.fill = options.fill,
                                            .rounds = options.rounds,
                                            .seed = options.seed,
                                            .caches = caches ? &*caches : nullptr});
  if (!measured) return measured.error();
  return TrainingProfile{
      .environment = TotalsOf(profiler, Phase::kEnvironment),
      .acting = TotalsOf(profiler, Phase::kActing),
      .sampling = TotalsOf(profiler, Phase::kSampling),
      .target_q = TotalsOf(profiler, Phase::kTargetQ),
      .q_loss = TotalsOf(profiler, Phase::kQLoss),
      .p_loss = TotalsOf(profiler, Phase::kPLoss),
      .other = TotalsOf(profiler, Phase::kOther),
      .simulated = caches ? std::optional(MissesOf(caches->counts())) : std::nullopt,
      .update_seconds = profiler.UpdateSeconds(),
      .training_seconds = profiler.TrainingSeconds()};
}

}  // namespace tessera
