// An iteration exists exactly if its indices, read from the outermost loop inwards, do not come
// after those of the last one. So what matters of an index is whether it is below, at or above the
// last one's, and only as long as all indices before it were at it (docs/cost-loopnest.md, C1 to
// C3).
#include "tessera/cost/loopnest/residual_dims.h"

#include <algorithm>

namespace tessera::loopnest {
namespace {

// Iterations of the temporal loops inside loop k that may be anywhere, and the shift of the first.
struct FreeLoops {
  int64_t times = 1;
  int64_t shift = 0;
};

FreeLoops FreeInside(const DimWalk& walk, int k, int child, int visit) {
  FreeLoops free;
  for (int i = k + 1; i < walk.num_loops; ++i) {
    const DimLoop& loop = walk.loops[i];
    if (loop.spatial || loop.level <= child || (visit >= 0 && loop.index < visit)) continue;
    free.times *= loop.index == visit ? loop.count - 1 : loop.count;
    free.shift += loop.index == visit ? loop.step : 0;
  }
  return free;
}

}  // namespace

DimWalk MakeDimWalk(const Nest& nest, int dim, int64_t bound) {
  DimWalk walk;
  walk.bound = bound;
  const auto add = [&](const Loop& loop, int index, bool spatial) {
    walk.loops[walk.num_loops++] = {.count = loop.count,
                                    .step = loop.step,
                                    .level = loop.level,
                                    .index = index,
                                    .spatial = spatial};
  };
  for (int i = nest.num_levels - 1; i >= 0; --i) {
    for (int j = nest.first_temporal[i]; j < nest.first_temporal[i + 1]; ++j) {
      if (nest.temporal[j].dim == dim) add(nest.temporal[j], j, /*spatial=*/false);
    }
    for (int s = nest.first_spatial[i]; s < nest.first_spatial[i + 1]; ++s) {
      if (nest.spatial[s].dim == dim) add(nest.spatial[s], s, /*spatial=*/true);
    }
  }
  int64_t rest = bound - 1;
  for (int k = 0; k < walk.num_loops; ++k) {
    walk.loops[k].last = rest / walk.loops[k].step;
    rest %= walk.loops[k].step;
  }
  return walk;
}

void ListKinds(const DimWalk& walk, int child, int visit, std::vector<VisitKind>& kinds) {
  kinds.clear();
  int64_t passed = 0;
  bool spread = false;  // whether instances differ in a loop further out
  for (int k = 0; k < walk.num_loops && visit != kFirstVisit; ++k) {
    const DimLoop& loop = walk.loops[k];
    if (loop.level <= child) break;
    if (loop.spatial) {
      spread = true;
      continue;
    }
    if (visit >= 0 && loop.index < visit) break;
    const int64_t lowest = loop.index == visit ? 1 : 0;
    const FreeLoops free = FreeInside(walk, k, child, visit);
    const auto add = [&](int64_t index, int64_t times) {
      if (times > 0) {
        kinds.push_back({.left = walk.bound - passed - index * loop.step - free.shift,
                         .times = times * free.times});
      }
    };
    // Below the last one's index nothing inside is cut. Above it only instances have work whose
    // index in a spatial loop further out is below the last one's.
    add(lowest, loop.last - lowest);
    const int64_t above = std::max(loop.last + 1, lowest);
    if (spread) add(above, loop.count - above);
    if (loop.last < lowest) return;
    passed += loop.last * loop.step;
  }
  kinds.push_back({.left = walk.bound - passed});
}

DimVisit MakeDimVisit(const DimWalk& walk, int child, int visit, int64_t extent) {
  DimVisit made;
  made.extent = extent;
  int64_t reach = 0;
  for (int k = 0; k < walk.num_loops; ++k) {
    const DimLoop& loop = walk.loops[k];
    if (loop.spatial || loop.level <= child) continue;
    if (loop.index == visit) {
      made.own = true;
      made.backward = loop.step;
    } else if (visit >= 0 && loop.index < visit) {
      made.counts[made.num_inner] = loop.count;
      made.steps[made.num_inner++] = loop.step;
      reach += (loop.count - 1) * loop.step;
    }
  }
  made.backward -= reach;
  made.regular_left = made.own ? extent : reach + extent;
  return made;
}

void ListBases(const DimWalk& walk, int level, std::vector<BaseClass>& bases) {
  bases.clear();
  int64_t base = 0;
  bool timed = false;  // whether a temporal loop lies further out, so that idleness can end (C2)
  for (int k = 0; k < walk.num_loops; ++k) {
    const DimLoop& loop = walk.loops[k];
    if (loop.level <= level) break;
    if (!loop.spatial) {
      timed = true;
      continue;
    }
    int64_t inside = 1;
    for (int i = k + 1; i < walk.num_loops; ++i) {
      if (walk.loops[i].spatial && walk.loops[i].level > level) inside *= walk.loops[i].count;
    }
    if (loop.last > 0) bases.push_back({.base = base, .instances = loop.last * inside});
    const int64_t above = loop.count - 1 - loop.last;
    if (timed && above > 0) {
      bases.push_back({.base = base + (loop.last + 1) * loop.step, .instances = above * inside});
    }
    base += loop.last * loop.step;
  }
  bases.push_back({.base = base});
}

void ListInstances(const DimWalk& walk, int level, std::vector<BaseClass>& bases) {
  bases.assign(1, {});
  for (int k = walk.num_loops - 1; k >= 0; --k) {
    const DimLoop& loop = walk.loops[k];
    if (!loop.spatial || loop.level <= level) continue;
    const size_t inner = bases.size();
    for (int64_t n = 1; n < loop.count; ++n) {
      for (size_t b = 0; b < inner; ++b) bases.push_back({.base = bases[b].base + n * loop.step});
    }
  }
}

}  // namespace tessera::loopnest
