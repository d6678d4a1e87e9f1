// Episodes to look at.
#ifndef TESSERA_CLI_PLAY_H_
#define TESSERA_CLI_PLAY_H_

#include "tessera/env.h"
#include "tessera/report/output.h"
#include "tessera/result.h"

namespace tessera {

// Plays an episode in the first environment of a batch, greedily or (learner null) at random, and
// shows its frames. Only environments with a view can be drawn.
Result<void> ShowEpisode(Env& env, Learner* learner, uint64_t seed, const std::string& svg_path,
                         Output& output);
Result<void> ShowEpisode(Env& env, Learner& learner, Output& output);

}  // namespace tessera

#endif  // TESSERA_CLI_PLAY_H_
