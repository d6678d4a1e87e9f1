// A short run that measures the phases of an algorithm: replay is filled by random play, then
// update rounds follow with the steps between them.
#ifndef TESSERA_RL_PROFILE_RUN_H_
#define TESSERA_RL_PROFILE_RUN_H_

#include <cstdint>

#include "tessera/env.h"
#include "tessera/result.h"
#include "tessera/rl/profiler.h"

namespace tessera {

inline constexpr int64_t kProfileStepsPerRound = 100;

struct ProfileOptions {
  // Transitions in replay before the first measured round. Default: 100'000.
  int64_t fill = 100'000;

  // Update rounds that are measured, after one that is not. Default: 5.
  int64_t rounds = 5;

  // Default: 1.
  uint64_t seed = 1;
};

// The profiler is that of the learner's setup; it ends with the totals of each phase in the round
// in which it was fastest, because whatever else a machine does can only make a phase slower. For
// algorithms with replay: their Update may be called at any time after the fill.
Result<void> ProfileRun(Env& env, Learner& learner, Profiler& profiler,
                        const ProfileOptions& options);

}  // namespace tessera

#endif  // TESSERA_RL_PROFILE_RUN_H_
