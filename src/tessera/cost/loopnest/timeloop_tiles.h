// First half of the Timeloop semantics: the words that every level exchanges with its child, tensor
// by tensor, after bypassing.
#ifndef TESSERA_COST_LOOPNEST_TIMELOOP_TILES_H_
#define TESSERA_COST_LOOPNEST_TIMELOOP_TILES_H_

#include "tessera/cost/loopnest/timeloop.h"

namespace tessera::loopnest {

// One tensor at one level, per instance.
struct TimeloopTile {
  int64_t size = 0;       // words held; 0 where bypassed
  int64_t partition = 0;  // share of the tensor that one instance ever sees
  double content = 0;     // words handed to the children
  double share = 0;       // words received from the parent
  double peer = 0;        // words received from neighbours
  double links = 0;       // words that the children pass among themselves
  int64_t fanout = 0;
  int32_t first_ingress = 0, num_ingresses = 0;  // in the list given to AnalyseTiles
};

// The tiles of one tensor at all levels; appends to `ingresses`.
void AnalyseTiles(const ProblemData& data, const Machine& machine, const LoopMapping& mapping,
                  const Nest& nest, const WalkRules& rules, int tensor, TimeloopScratch& scratch,
                  std::vector<Ingress>& ingresses, TimeloopTile* tiles);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_TIMELOOP_TILES_H_
