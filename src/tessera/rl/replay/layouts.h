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

// A number of a saved buffer, which lies in least..most unless the buffer had another capacity.
Result<int64_t> ReadWithin(const TensorReader& reader, const std::string& name, int64_t least,
                           int64_t most);

}  // namespace tessera

#endif  // TESSERA_RL_REPLAY_LAYOUTS_H_
