#include "tessera/cli/play.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/env.h"
#include "tessera/part.h"

namespace tessera {

Result<void> ShowEpisode(Env& env, Learner* learner, uint64_t seed, const std::string& svg_path,
                         Output& output) {
  const Result<PlayedEpisode> episode = PlayEpisode(env, learner, seed);
  if (!episode) return episode.error();
  // First of all: who reads only the beginning of the text wants the drawing all the same.
  if (!svg_path.empty()) {
    if (Result<void> written = WriteFileAtomically(svg_path, episode->svg); !written)
      return written;
  }
  for (const std::string& frame : episode->frames) {
    if (Result<void> shown = output.ShowText(frame); !shown) return shown;
  }
  output.Set("team_return", episode->team_return);
  return output.ShowText(fmt::format("team return {:.3f}\n", episode->team_return));
}

Result<void> ShowEpisode(Env& env, Learner& learner, Output& output) {
  return ShowEpisode(env, &learner, /*seed=*/1, "", output);
}

}  // namespace tessera
