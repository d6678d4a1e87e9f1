// The memory layouts of buffer.cc, one file each.
#ifndef TESSERA_RL_REPLAY_LAYOUTS_H_
#define TESSERA_RL_REPLAY_LAYOUTS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/rl/replay/buffer.h"

namespace tessera {

std::unique_ptr<ReplayBuffer> MakeJointBuffer(ReplayLayout layout, const EnvSpec& spec,
                                              int64_t capacity, int64_t lanes);
std::unique_ptr<ReplayBuffer> MakePerAgentBuffer(ReplayLayout layout, const EnvSpec& spec,
                                                 int64_t capacity, int64_t lanes);

}  // namespace tessera

#endif  // TESSERA_RL_REPLAY_LAYOUTS_H_
