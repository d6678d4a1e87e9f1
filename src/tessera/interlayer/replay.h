// A plan once more, by walking: node by node, slice by slice, row by row, with every tensor that
// lives on chip accounted for. Small layers are walked loop by loop (cost/loopnest/interpreter.h),
// large ones priced by the model. Slow and plain on purpose, and built from nothing else of
// interlayer/: it is what plans are tested against, and what `tessera verify` prices them with.
#ifndef TESSERA_INTERLAYER_REPLAY_H_
#define TESSERA_INTERLAYER_REPLAY_H_

#include <cstdint>
#include <string>

#include "tessera/map.h"

namespace tessera::interlayer {

struct Replayed {
  std::string error = {};  // what is wrong with the plan; empty: nothing
  double cycles = 0, energy_pj = 0;
  int64_t walked = 0, priced = 0;  // mappings, by loop and by the model
};

// `walked_macs`: layers with more MACs are priced by the model.
Replayed Replay(const Network& network, const Hierarchy& hierarchy, const InterLayerPlan& plan,
                int64_t walked_macs);

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_REPLAY_H_
