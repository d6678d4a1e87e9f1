// Clock and counter readings at the ends of phases.
#include "tessera/rl/profiler.h"

#include "tessera/rl/hardware_counters.h"

namespace tessera {

void Profiler::Begin(Phase /*phase*/) {
  if (counters_ != nullptr) {
    begin_cache_misses_ = counters_->CacheMisses();
    begin_dtlb_misses_ = counters_->DtlbMisses();
  }
  begin_ = Clock::now();
}

void Profiler::End(Phase phase) {
  PhaseCounts& totals = totals_[static_cast<size_t>(phase)];
  totals.seconds += std::chrono::duration<double>(Clock::now() - begin_).count();
  if (counters_ != nullptr) {
    totals.cache_misses += counters_->CacheMisses() - begin_cache_misses_;
    totals.dtlb_misses += counters_->DtlbMisses() - begin_dtlb_misses_;
  }
}

double Profiler::UpdateSeconds() const {
  double seconds = 0;
  for (const Phase phase : {Phase::kSampling, Phase::kTargetQ, Phase::kQLoss, Phase::kPLoss}) {
    seconds += totals(phase).seconds;
  }
  return seconds;
}

double Profiler::TrainingSeconds() const {
  return UpdateSeconds() + totals(Phase::kActing).seconds + totals(Phase::kOther).seconds;
}

}  // namespace tessera
