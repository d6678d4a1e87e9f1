// One dimension of a nest whose factors do not divide its bound: which iterations exist, and how
// the tiles at the end are cut. Iterations that behave alike are handled together, so all work is
// proportional to the number of loops, not of iterations.
#ifndef TESSERA_COST_LOOPNEST_RESIDUAL_DIMS_H_
#define TESSERA_COST_LOOPNEST_RESIDUAL_DIMS_H_

#include <cstdint>
#include <vector>

#include "tessera/cost/loopnest/nest.h"

namespace tessera::loopnest {

// A loop over the dimension.
struct DimLoop {
  int64_t count = 1, step = 1;
  int64_t last = 0;  // its index in the very last iteration of the dimension
  int level = 0;
  int index = 0;  // in Nest::temporal or Nest::spatial
  bool spatial = false;
};

struct DimWalk {
  int64_t bound = 1;
  int num_loops = 0;
  DimLoop loops[2 * kMaxLevels];  // outer to inner
};

DimWalk MakeDimWalk(const Nest& nest, int dim, int64_t bound);

// A visit of a child tile is named by the temporal loop that advanced to get there.
inline constexpr int kFirstVisit = -1;  // none did: all indices are 0
inline constexpr int kAnyVisit = -2;    // all visits together

// Visits of which every instance sees the same, up to a shift: `left` indices remain between the
// place where instance 0's tile starts and the bound. So an instance that is `s` further along has
// max(0, left - s).
struct VisitKind {
  int64_t left = 0;
  int64_t times = 1;
};

// Kinds of the visits at which `visit` advanced, in this dimension alone: loops inside it are at
// index 0, itself is at 1 or more, loops outside it are anywhere. `child` is the level of the tile,
// -1 for MACs. Visits in which no instance has anything left are not listed.
void ListKinds(const DimWalk& walk, int child, int visit, std::vector<VisitKind>& kinds);

// The child's tile and the one it held before, in one dimension.
struct DimTile {
  int64_t width = 0;           // 0: idle
  int64_t previous_shift = 0;  // where the previous tile started, relative to this one
  int64_t previous_width = 0;
};

// Facts about one dimension that hold for all kinds of one visit.
struct DimVisit {
  int64_t extent = 1;    // of a tile that is not cut
  int64_t backward = 0;  // own loop: how far back the previous tile started
  bool own = false;      // the advancing loop is one of this dimension
  int num_inner = 0;     // temporal loops that start again, outer to inner
  int64_t counts[kMaxLevels], steps[kMaxLevels];
  int64_t regular_left = 1;  // from here on nothing is cut, now or before
};

DimVisit MakeDimVisit(const DimWalk& walk, int child, int visit, int64_t extent);

// The tile of an instance with `left` > 0 indices remaining.
inline DimTile TileAt(const DimVisit& visit, int64_t left) {
  DimTile tile{.width = left < visit.extent ? left : visit.extent};
  if (visit.own) {
    tile.previous_shift = -visit.backward;
    tile.previous_width = visit.extent;
    return tile;
  }
  // The loops inside ran up to the last iteration that this instance had.
  int64_t passed = 0;
  for (int k = 0; k < visit.num_inner; ++k) {
    const int64_t most = (left - 1 - passed) / visit.steps[k];
    passed += (most < visit.counts[k] ? most : visit.counts[k] - 1) * visit.steps[k];
  }
  tile.previous_shift = passed;
  tile.previous_width = left - passed < visit.extent ? left - passed : visit.extent;
  return tile;
}

// Instances of a level that behave alike in this dimension: they start `base` after instance 0.
struct BaseClass {
  int64_t base = 0;
  int64_t instances = 1;
};

// Instances that never have anything to do are left out.
void ListBases(const DimWalk& walk, int level, std::vector<BaseClass>& bases);

// All instances one by one, also those without work; those of the innermost loop next to each
// other.
void ListInstances(const DimWalk& walk, int level, std::vector<BaseClass>& bases);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_RESIDUAL_DIMS_H_
