// Recorded episodes of the particle worlds, one JSON object per line, and their recomputation.
#ifndef TESSERA_ENV_MPE_EPISODE_H_
#define TESSERA_ENV_MPE_EPISODE_H_

#include <string>
#include <string_view>

#include "tessera/result.h"

namespace tessera {

// Plays one recorded episode again and returns it as a line with the same keys: `pos`, `lm`,
// `obs0` and, at every step, `a`, `r`, `p`, `v`, `o`. Of each step only `a` is read: per agent an
// integer 0..4 or five weights. Without `pos` and `lm` the start is the one that the original
// program draws from `seed`. `compat` (the argument if absent), `local_ratio`, `predators`,
// `prey`, `agents` and `landmarks` describe the world (the last two may be left to the lengths of
// `pos` and `lm`); further keys are passed through.
Result<std::string> ReplayEpisode(std::string_view line, const Where& where,
                                  const std::string& compat = "openai");

}  // namespace tessera

#endif  // TESSERA_ENV_MPE_EPISODE_H_
