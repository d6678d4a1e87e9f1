// Episodes to look at: played by trained agents or at random, as frames of text and as a drawing.
#ifndef TESSERA_ENV_PLAY_H_
#define TESSERA_ENV_PLAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/env.h"
#include "tessera/result.h"
#include "tessera/rl/learner.h"

namespace tessera {

struct PlayedEpisode {
  std::vector<std::string> frames = {};  // text, the start included
  std::string svg = {};                  // the whole episode, animated
  double team_return = 0;                // rewards of all agents over all steps
};

// Plays an episode in the first environment of a batch, greedily or (learner null) at random; a
// function of the environment, the learner and the seed. The error is for environments without a
// view: only the particle worlds have one.
Result<PlayedEpisode> PlayEpisode(Env& env, Learner* learner, uint64_t seed);

}  // namespace tessera

#endif  // TESSERA_ENV_PLAY_H_
