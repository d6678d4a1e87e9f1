// The fronts of a network's layers: which mappings trade cycles against energy, with what is proved
// about each.
#ifndef TESSERA_MAPPER_PARETO_H_
#define TESSERA_MAPPER_PARETO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/cost.h"
#include "tessera/mapper/map_network.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

// No mapping with at most `cost.cycles` needs less energy than `bound_pj`.
struct FrontPoint {
  LoopMapping mapping = {};
  Cost cost = {};
  double bound_pj = 0;
  MapStatus status = MapStatus::kBounded;
};

struct LayerFront {
  std::string name = {};
  int64_t count = 1;
  Layer layer = {};
  std::vector<FrontPoint> points = {};  // from the least energy to the fewest cycles
  bool complete = false;                // all points are optimal, and there are no others
  int64_t evaluations = 0;
};

struct NetworkFronts {
  std::vector<LayerFront> layers = {};
  bool interrupted = false;
  double seconds = 0;
};

// The front of every layer, one point after the other: the least energy with fewer cycles than the
// last one. The job's objective is that of the points: energy. Seconds are shared between layers;
// rounds (0: no limit) are for each point. A point that is not proved within its limits is BOUNDED.
Result<NetworkFronts> FindFronts(const MapJob& job, int threads, const MapHooks& hooks);

}  // namespace tessera

#endif  // TESSERA_MAPPER_PARETO_H_
