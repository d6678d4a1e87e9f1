// What learners refuse to learn from.
#ifndef TESSERA_RL_CHECK_REWARDS_H_
#define TESSERA_RL_CHECK_REWARDS_H_

#include <span>

#include "tessera/env.h"
#include "tessera/result.h"

namespace tessera {

// The error for a reward that is not finite, or nothing.
Result<void> CheckRewards(const EnvSpec& spec, std::span<const float> rewards);

}  // namespace tessera

#endif  // TESSERA_RL_CHECK_REWARDS_H_
