// An exploration that is repeated from its folder: how far it got, and how it ended.
#ifndef TESSERA_EXPLORE_REPLAY_H_
#define TESSERA_EXPLORE_REPLAY_H_

#include <cstdint>

#include "tessera/map.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

struct Replay {
  int64_t turns = 0;
  MapStop stopped_by = MapStop::kProved;
  double seconds = 0;  // for doing things once more
};

// By the result in the folder.
Result<Replay> ReplayOf(const RunDirectory& directory);

}  // namespace tessera

#endif  // TESSERA_EXPLORE_REPLAY_H_
