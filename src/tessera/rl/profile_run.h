// A short run that measures the phases of an algorithm: replay is filled by random play, then
// update rounds follow with the steps between them.
#ifndef TESSERA_RL_PROFILE_RUN_H_
#define TESSERA_RL_PROFILE_RUN_H_

#include <cstdint>

#include "tessera/env.h"
#include "tessera/result.h"
#include "tessera/rl/profiler.h"

namespace tessera {

inline constexpr int64_t kStepsPerRound = 100;

struct ProfileRunOptions {
  int64_t fill = 100'000;  // transitions in replay before the first measured round
  int64_t rounds = 5;      // that are measured, after one that is not
  uint64_t seed = 1;
  // Counts the memory traffic of sampling in one more round; may be null. Default: null.
  CacheSimulator* caches = nullptr;
};

// The profiler is that of the learner's setup; it ends with the totals of each phase in the round
// in which it was fastest, because whatever else a machine does can only make a phase slower. For
// algorithms with replay: their Update may be called at any time after the fill.
Result<void> ProfileRun(Env& env, Learner& learner, Profiler& profiler,
                        const ProfileRunOptions& options);

}  // namespace tessera

#endif  // TESSERA_RL_PROFILE_RUN_H_
