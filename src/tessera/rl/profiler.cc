// Clock and counter readings at the ends of phases.
#include "tessera/rl/profiler.h"

#include <chrono>
#include <ctime>

#include "tessera/rl/hardware_counters.h"

namespace tessera {

double Profiler::Now() const {
  if (!processor_time_) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Profiler::Begin(Phase /*phase*/) {
  if (counters_ != nullptr) {
    begin_cache_misses_ = counters_->CacheMisses();
    begin_dtlb_misses_ = counters_->DtlbMisses();
  }
  begin_ = Now();
}

void Profiler::End(Phase phase) {
  PhaseCounts& totals = totals_[static_cast<size_t>(phase)];
  totals.seconds += Now() - begin_;
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
