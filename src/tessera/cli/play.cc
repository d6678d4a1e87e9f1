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
  // Before anything is shown: whoever reads only the first lines wants the whole file.
  if (!svg_path.empty()) {
    if (episode->svg.empty()) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("environment {} has no view", env.spec().name)};
    }
    Result<void> written = WriteFileAtomically(svg_path, episode->svg);
    if (!written) return written;
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
