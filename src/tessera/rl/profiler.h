// Where training time goes, divided as "Towards Efficient Multi-Agent Learning Systems" divides it.
#ifndef TESSERA_RL_PROFILER_H_
#define TESSERA_RL_PROFILER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tessera {

enum class Phase {
  kEnvironment,  // left out of shares, as in the paper
  kActing,       // action selection
  kSampling,     // update all trainers: mini-batch sampling
  kTargetQ,      // update all trainers: target Q
  kQLoss,        // update all trainers: critic
  kPLoss,        // update all trainers: actor
  kOther,        // replay insertion, target networks, bookkeeping
};
inline constexpr size_t kNumPhases = 7;
inline constexpr std::array<std::string_view, kNumPhases> kPhaseNames = {
    "environment", "acting", "sampling", "target_q", "q_loss", "p_loss", "other"};

class CacheSimulator;
class HardwareCounters;

struct PhaseCounts {
  double seconds = 0;
  int64_t bytes = 0;  // read and written by copies of replay data
  int64_t flops = 0;
  int64_t cache_misses = 0, dtlb_misses = 0;  // if hardware counters are on
};

using AllPhases = std::array<PhaseCounts, kNumPhases>;

// Used by one thread. Costs two clock readings per phase.
class Profiler {
 public:
  // With counters, also two system calls per phase. They must outlive the profiler.
  explicit Profiler(HardwareCounters* counters = nullptr) : counters_(counters) {}

  // From now on seconds are those of the processor, of all threads of the program.
  void set_processor_time(bool processor_time) { processor_time_ = processor_time; }

  void Begin(Phase phase);
  void End(Phase phase);
  void Add(Phase phase, int64_t bytes, int64_t flops) {
    PhaseCounts& totals = totals_[static_cast<size_t>(phase)];
    totals.bytes += bytes;
    totals.flops += flops;
  }

  // Of a phase that somebody else measured.
  void AddSeconds(Phase phase, double seconds) {
    totals_[static_cast<size_t>(phase)].seconds += seconds;
  }

  const PhaseCounts& totals(Phase phase) const { return totals_[static_cast<size_t>(phase)]; }
  double UpdateSeconds() const;    // update all trainers
  double TrainingSeconds() const;  // everything but the environment
  const AllPhases& all() const { return totals_; }
  void set_all(const AllPhases& totals) { totals_ = totals; }
  void Clear() { totals_ = {}; }

  // Where the memory traffic of sampling goes as a trace, which takes longer than sampling itself;
  // null: nowhere. The simulator must outlive its use.
  void set_caches(CacheSimulator* caches) { caches_ = caches; }
  CacheSimulator* caches() const { return caches_; }

 private:
  double Now() const;  // seconds

  HardwareCounters* const counters_;
  CacheSimulator* caches_ = nullptr;
  AllPhases totals_ = {};
  bool processor_time_ = false;
  double begin_ = 0;
  int64_t begin_cache_misses_ = 0, begin_dtlb_misses_ = 0;
};

// One phase of a scope; a null profiler makes it free.
class PhaseScope {
 public:
  PhaseScope(Profiler* profiler, Phase phase) : profiler_(profiler), phase_(phase) {
    if (profiler_ != nullptr) profiler_->Begin(phase_);
  }
  ~PhaseScope() {
    if (profiler_ != nullptr) profiler_->End(phase_);
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Profiler* const profiler_;
  const Phase phase_;
};

}  // namespace tessera

#endif  // TESSERA_RL_PROFILER_H_
