// Scratch of the counter for imperfect factors, kept by the thread between evaluations.
#ifndef TESSERA_COST_LOOPNEST_EXACT_RESIDUAL_H_
#define TESSERA_COST_LOOPNEST_EXACT_RESIDUAL_H_

#include <cstdint>
#include <vector>

#include "tessera/cost/loopnest/residual_dims.h"
#include "tessera/cost/loopnest/residual_groups.h"
#include "tessera/cost/loopnest/touched.h"

namespace tessera::loopnest {

// Sums over tiles of a component, by what the tile has in common with the one before it.
enum Family : int {
  kTile,         // elements of all tiles
  kOverlapping,  // of those that have something in common
  kSame,         // of those that are the same
  kCommon,       // only the common elements
  kFamilies,
};

// One sum for each family.
struct FamilySums {
  int64_t sums[kFamilies] = {};

  int64_t& operator[](int family) { return sums[family]; }
  int64_t operator[](int family) const { return sums[family]; }
};

// Where a spatial index puts a child: its place in the loop of the level at hand, and how far along
// the dimension.
struct Placement {
  int64_t place = 0;
  int64_t shift = 0;
};

// The different tiles of one dimension, and how often each occurs: times[tile * places + place].
struct ShapeList {
  std::vector<DimTile> tiles = {};
  std::vector<int64_t> times = {};
};

// What one component contributes to the words of an instance, by the classes of its dimensions:
// elements of its tiles, and those that were there before. For a dimension that the tensor does not
// have `tile` is the number of visits.
struct ComponentFactor {
  std::vector<int64_t> tile = {}, common = {};
};

// Weighted sums over the groups below one instance of a level.
struct GroupWeights {
  FamilySums total;
  FamilySums columns;                    // times the column
  std::vector<int64_t> rows[kFamilies];  // by row
};

// Children that one word reaches through dimensions that its tensor does not have.
struct Spread {
  int64_t times = 1;  // how often, over all visits
  int64_t children = 1;
  int64_t last_column = 0, columns = 1, depth = 0;
};

// One dimension at one visit of one child.
struct DimStep {
  DimVisit visit;
  size_t first_kind = 0, num_kinds = 0;  // in ResidualScratch::kinds
};

struct ResidualScratch {
  DimWalk walks[kMaxDims];
  std::vector<BaseClass> bases[kMaxLevels][kMaxDims];
  std::vector<DimStep> steps[kMaxLevels + 1];  // by child + 1; visit by visit, all dimensions
  std::vector<VisitKind> kinds, some_kinds;
  std::vector<int64_t> raw_words;  // that each class of the child receives, nothing elided
  // Children of the network at hand by dimension: below the parent, below one instance of the
  // network's level, and those instances below the parent.
  std::vector<Placement> placements[kMaxDims], below[kMaxDims], above[kMaxDims];
  ShapeList shapes[kMaxDims];
  std::vector<int64_t> weights[kFamilies];
  std::vector<int64_t> row_sums;
  GroupWeights groups;
  std::vector<Spread> spreads, more_spreads;
  std::vector<int64_t> reached;
  std::vector<JointChild> children;
  JointGroups joint;
  std::vector<int64_t> handed_on;
  ComponentFactor factors[kMaxRanks + kMaxDims];  // components, then dimensions
  std::vector<int64_t> elements, more_elements, indices;
};

void Reserve(size_t children, size_t usual, ResidualScratch& scratch);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_EXACT_RESIDUAL_H_
