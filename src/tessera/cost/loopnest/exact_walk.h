// What has no closed form, counted by walking all visits of one parent's children: links with
// imperfect factors, and first partial sums of windows that coincide. Exact, and slow on large
// layers.
#ifndef TESSERA_COST_LOOPNEST_EXACT_WALK_H_
#define TESSERA_COST_LOOPNEST_EXACT_WALK_H_

#include <cstdint>
#include <vector>

#include "tessera/cost/loopnest/exact_count.h"

namespace tessera::loopnest {

// Visits that a walk would make: steps times instances of the child.
double VisitsToWalk(const ExactInput& input, int child);

// Longer walks than this are refused: they would take minutes.
inline constexpr double kMaxVisitsToWalk = 3e8;

// Walks the children of the instance of level child + 1 at `base`, neighbours helping. Adds to the
// network for `instances` such parents, adds to reads_by_child what each child hands on (children
// in the order of the spatial loops, innermost first), and returns the words that the parent hands
// out.
int64_t WalkLinked(const ExactInput& input, int v, int child, const int64_t* base,
                   int64_t instances, ExactScratch& scratch, ExactNetworkTensor& network,
                   std::vector<int64_t>& reads_by_child);

// The words of the groups below level i that reach the instance of `parent` at `base` for the first
// time.
int64_t WalkFirstWords(const ExactInput& input, int v, int child, int i, int parent,
                       const int64_t* base, ExactScratch& scratch);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_EXACT_WALK_H_
