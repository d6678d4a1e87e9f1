// Words that a child tile receives while the loops around it run, as Timeloop counts them: every
// loop is walked for two iterations, the second one standing for all further ones, and the overlap
// with the previous tile counts only while the tile moves by the same stride.
#ifndef TESSERA_COST_LOOPNEST_TIMELOOP_WALK_H_
#define TESSERA_COST_LOOPNEST_TIMELOOP_WALK_H_

#include <cstdint>

#include "tessera/cost/loopnest/nest.h"
#include "tessera/cost/loopnest/problem_data.h"

namespace tessera::loopnest {

struct WalkRules {
  // Timeloop v4: a step that does not move the tile leaves the remembered stride alone.
  bool v4 = false;

  // False: walk every iteration instead of two per loop.
  bool extrapolate = true;
};

// The temporal loops around a tile, inner to outer, as one tensor sees them.
struct TileWalk {
  int num_loops = 0, num_ranks = 0;
  int64_t extents[kMaxRanks] = {};             // of the tile
  int64_t counts[kMaxLoops];                   // of the loops
  int64_t displacement[kMaxLoops][kMaxRanks];  // by which the tile moves when the loop advances

  // Words of the visits at which neighbours cannot help, and of those at which loop j advanced and
  // they can, if some neighbour holds what lies displacement[j] away.
  int64_t plain_words = 0;
  int64_t linkable_words[kMaxLoops];
};

// Sets the loops of `walk`: those of levels >= level.
void SetLoops(const Nest& nest, int level, const TensorData& tensor, int num_ranks,
              const WalkRules& rules, TileWalk& walk);

// Sums the visits of a tile of walk.extents. Takes time linear in the number of loops, although
// the visits are exponentially many.
void SumVisits(const WalkRules& rules, TileWalk& walk);

// The same for operands of MACs, which hold nothing: each visit receives its one element.
void SumOperandVisits(TileWalk& walk);

// Sum over all visits for a tensor whose ranks are single dimensions: `tile_words` per change.
int64_t SumSimpleVisits(const Nest& nest, int level, uint32_t relevant_dims, int64_t tile_words);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_TIMELOOP_WALK_H_
