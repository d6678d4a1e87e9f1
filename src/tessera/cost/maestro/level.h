// The levels of a mapped layer, built from the dataflow top to bottom, with the constants that
// every volume is made of. Section names (c.2, c.3) are those of docs/cost-maestro.md.
#ifndef TESSERA_COST_MAESTRO_LEVEL_H_
#define TESSERA_COST_MAESTRO_LEVEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/accelerator.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/rules.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping.h"

namespace tessera::maestro {

inline constexpr size_t kMaxLevels = 4;  // MAESTRO's table of networks has four entries
inline constexpr size_t kMaxMaps = 16;   // per level: all dimensions and a few given twice

// One loop of a level.
struct Map {
  bool spatial = false;
  Dim dim = Dim::kOther;
  int64_t size = 1;
  int64_t offset = 1;
};

// The extent of a dimension in one unit's tile. `unique` is what the tile does not share with the
// one before; the edge values belong to the last, partially filled tile. Those of X' and Y' follow
// from X and Y and may be zero or negative.
struct Extent {
  int64_t full = 1;
  int64_t unique = 1;
  int64_t edge_full = 1;
  int64_t edge_unique = 1;
};

struct Level {
  size_t num_maps = 0;
  std::array<Map, kMaxMaps> maps;  // outermost loop first
  int64_t units = 1;               // sub-units, over which the SpatialMaps spread their dimension
  int64_t edge_units = 1;          // how many of them work in the last spatial iteration
  PerDim<int64_t> size;            // nominal dimensions; 0: not a dimension of this level
  PerDim<Extent> extent;           // of mapped dimensions, and of X' and Y'

  // A dimension may be mapped twice (shipped row-stationary mappings do). The first map decides
  // whether it counts as spatial; the last one decides its iteration state and extents.
  PerDim<int8_t> first_map, last_map;  // index into maps; -1: not mapped
  size_t num_spatial = 0;
  std::array<uint8_t, 2> spatial;  // indices of the SpatialMaps; the first one is "the" spatial map
  bool tile_above_dim = false;     // a tile is larger than its dimension

  // The level below is visited with the full tile or with the edge tile of each dimension. A
  // visit's key has the bits of those at an edge; 0 for a dimension whose edge tile is full.
  PerDim<uint32_t> edge_bit;

  // Upper bounds, to see beforehand that no count can overflow: of any volume of a case, and of the
  // occurrences of all cases together.
  double volume_bound = 1, iteration_bound = 1;

  bool Mapped(Dim dim) const { return first_map[Index(dim)] >= 0; }
  bool FirstIsSpatial(Dim dim) const {
    return maps[static_cast<size_t>(first_map[Index(dim)])].spatial;
  }
};

// Checks the dataflow and builds its levels into `levels`; their number goes into `num_levels`.
// Returns the first rule that is broken, in the order in which MAESTRO would notice.
Violation BuildLevels(const Workload& workload, const PeArray& array, MaestroVersion version,
                      const Dataflow& dataflow, std::span<Level, kMaxLevels> levels,
                      size_t& num_levels);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_LEVEL_H_
