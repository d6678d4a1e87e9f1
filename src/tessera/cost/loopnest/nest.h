// A mapping's loops as a flat list, ready to be analysed: counts, steps and tile extents.
#ifndef TESSERA_COST_LOOPNEST_NEST_H_
#define TESSERA_COST_LOOPNEST_NEST_H_

#include <cstdint>

#include "tessera/cost/loopnest/machine.h"
#include "tessera/mapping.h"

namespace tessera::loopnest {

inline constexpr int kMaxLevels = Machine::kMaxLevels;
inline constexpr int kMaxDims = static_cast<int>(LoopProblem::kMaxDimensions);
inline constexpr int kMaxTensors = static_cast<int>(LoopProblem::kMaxTensors);
inline constexpr int kMaxRanks = static_cast<int>(LoopTensor::kMaxRanks);
inline constexpr int kMaxLoops = kMaxLevels * kMaxDims;  // of one kind

struct Loop {
  int32_t dim = 0;
  int32_t level = 0;
  int64_t count = 1;  // iterations, at least 2
  int64_t step = 1;   // by how much one iteration moves the dimension
  bool on_y = false;  // spatial loops: the axis
};

// Loops of count 1 are left out. Spatial loops of a level lie inside its temporal loops; X loops
// lie inside Y loops.
struct Nest {
  int num_levels = 0, num_dims = 0;

  // Inner to outer; those of level i are [first[i], first[i + 1]).
  int first_temporal[kMaxLevels + 1], first_spatial[kMaxLevels + 1];
  Loop temporal[kMaxLoops], spatial[kMaxLoops];

  // Tile extent of each dimension: after the loops of levels <= i, and after those of levels < i
  // and the spatial ones of level i.
  int64_t extent[kMaxLevels][kMaxDims], spatial_extent[kMaxLevels][kMaxDims];

  // Per level: product of the counts of its spatial loops, in all and by axis; and the same over
  // the levels above it, which is the number of instances in use.
  int64_t fanout[kMaxLevels], fanout_x[kMaxLevels], fanout_y[kMaxLevels];
  int64_t used[kMaxLevels], used_x[kMaxLevels], used_y[kMaxLevels];
  int64_t used_macs, used_macs_x, used_macs_y;

  bool perfect;  // whether the counts of each dimension multiply to its bound

  int num_temporal() const { return first_temporal[num_levels]; }
  bool HasSpatial(int level) const { return first_spatial[level + 1] > first_spatial[level]; }
};

// Why a mapping gives no nest.
struct NestError {
  enum class Kind : uint8_t { kNone, kFactors, kNoFanout } kind = Kind::kNone;
  int32_t dim = 0;      // kFactors: its counts do not multiply to the bound, or do not reach it
  int32_t level = 0;    // kNoFanout: it has spatial loops, but only one child
  int64_t product = 0;  // kFactors: of the counts
};

// The loops under Timeloop's rule: factors multiply exactly to the bound, and only levels with
// children to choose from have spatial loops. The mapping is valid and has the machine's levels.
NestError MakeTimeloopNest(const LoopProblem& problem, const Machine& machine,
                           const LoopMapping& mapping, Nest& nest);

// The loops under the rule of semantics `exact`: a loop stops at the bound (its count is
// min(factor, ceil(bound / step))), so factors may exceed or not divide what is left.
NestError MakeExactNest(const LoopProblem& problem, const LoopMapping& mapping, Nest& nest);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_NEST_H_
