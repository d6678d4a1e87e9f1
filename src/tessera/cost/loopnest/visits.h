// What one memory gets at each of its visits, sorted by what happened since the visit before: the
// numbers behind a count, for explanations. Evaluation itself does not walk.
#ifndef TESSERA_COST_LOOPNEST_VISITS_H_
#define TESSERA_COST_LOOPNEST_VISITS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/cost/loopnest/evaluation.h"

namespace tessera::loopnest {

// Visits at which the same loop advanced and the same number of words was new.
struct VisitClass {
  int loop = -1;          // index in Nest::temporal of the loop that advanced; -1: the first visit
  int64_t times = 0;      // how often
  int64_t words = 0;      // of the tile
  int64_t new_words = 0;  // that the memory did not hold before

  // Timeloop: the tile moved by another stride than before, so that their overlap is forgotten.
  bool forgotten = false;
};

// Classes of the visits of the first instance of level `child`, inner loops first. None if there
// are too many to walk, or if a dimension occurs in two ranks of the tensor.
std::optional<std::vector<VisitClass>> ClassifyVisits(const Setup& setup, const Nest& nest,
                                                      int tensor, int child);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_VISITS_H_
