// Loops of a mapping, level by level from the MACs outwards.
#include "tessera/cost/loopnest/nest.h"

#include "tessera/base/checked.h"

namespace tessera::loopnest {
namespace {

// Products over the levels above each level, once the levels' own are known.
void SetUsed(Nest& nest) {
  int64_t all = 1, x = 1, y = 1;
  for (int i = nest.num_levels - 1; i >= 0; --i) {
    nest.used[i] = all;
    nest.used_x[i] = x;
    nest.used_y[i] = y;
    all *= nest.fanout[i];
    x *= nest.fanout_x[i];
    y *= nest.fanout_y[i];
  }
  nest.used_macs = all;
  nest.used_macs_x = x;
  nest.used_macs_y = y;
}

// `count(dim, factor, extent)` is the number of iterations of a loop, given the extent inside it.
template <typename Count>
void AddLoops(const LoopProblem& problem, const LoopMapping& mapping, const Count& count,
              Nest& nest) {
  const int num_dims = problem.num_dimensions;
  nest.num_levels = mapping.num_levels;
  nest.num_dims = num_dims;
  int64_t extent[kMaxDims];
  for (int d = 0; d < num_dims; ++d) extent[d] = 1;
  int num_temporal = 0, num_spatial = 0;
  for (int i = 0; i < mapping.num_levels; ++i) {
    const LoopLevel& level = mapping.levels[static_cast<size_t>(i)];
    nest.first_temporal[i] = num_temporal;
    nest.first_spatial[i] = num_spatial;
    int64_t axis[2] = {1, 1};
    for (int k = 0; k < num_dims; ++k) {
      const uint8_t dim = level.spatial_order[static_cast<size_t>(k)];
      if (level.spatial[dim] == 1) continue;
      const int64_t n = count(dim, level.spatial[dim], extent[dim]);
      if (n == 1) continue;
      const bool on_y = k >= level.split;
      nest.spatial[num_spatial++] = {dim, i, n, extent[dim], on_y};
      extent[dim] *= n;
      axis[on_y] *= n;
    }
    nest.fanout_x[i] = axis[0];
    nest.fanout_y[i] = axis[1];
    nest.fanout[i] = axis[0] * axis[1];
    for (int d = 0; d < num_dims; ++d) nest.spatial_extent[i][d] = extent[d];
    for (int k = 0; k < num_dims; ++k) {
      const uint8_t dim = level.temporal_order[static_cast<size_t>(k)];
      if (level.temporal[dim] == 1) continue;
      const int64_t n = count(dim, level.temporal[dim], extent[dim]);
      if (n == 1) continue;
      nest.temporal[num_temporal++] = {dim, i, n, extent[dim], false};
      extent[dim] *= n;
    }
    for (int d = 0; d < num_dims; ++d) nest.extent[i][d] = extent[d];
  }
  nest.first_temporal[mapping.num_levels] = num_temporal;
  nest.first_spatial[mapping.num_levels] = num_spatial;
  SetUsed(nest);
}

}  // namespace

NestError MakeTimeloopNest(const LoopProblem& problem, const Machine& machine,
                           const LoopMapping& mapping, Nest& nest) {
  // An extent beyond the bound is not multiplied further: it is wrong already, and it cannot
  // overflow. The loop it would have made does not matter, for the mapping is refused.
  const auto count = [&](uint8_t dim, int32_t factor, int64_t extent) -> int64_t {
    const int64_t bound = problem.dimensions[dim].bound;
    if (extent > bound) return 1;
    return factor == 0 ? bound : factor;
  };
  AddLoops(problem, mapping, count, nest);
  nest.perfect = true;
  for (int d = 0; d < nest.num_dims; ++d) {
    const int64_t product = nest.extent[nest.num_levels - 1][d];
    if (product == problem.dimensions[static_cast<size_t>(d)].bound) continue;
    return {.kind = NestError::Kind::kFactors, .dim = d, .product = product};
  }
  for (int i = 0; i < nest.num_levels; ++i) {
    if (!nest.HasSpatial(i) || machine.levels[i].fan_x * machine.levels[i].fan_y > 1) continue;
    return {.kind = NestError::Kind::kNoFanout, .level = i};
  }
  return {};
}

NestError MakeExactNest(const LoopProblem& problem, const LoopMapping& mapping, Nest& nest) {
  const auto count = [&](uint8_t dim, int32_t factor, int64_t extent) {
    const int64_t bound = problem.dimensions[dim].bound;
    if (extent >= bound) return int64_t{1};
    const int64_t most = CeilDiv(bound, extent);
    return factor == 0 || factor > most ? most : int64_t{factor};
  };
  AddLoops(problem, mapping, count, nest);
  nest.perfect = true;
  for (int d = 0; d < nest.num_dims; ++d) {
    const int64_t product = nest.extent[nest.num_levels - 1][d];
    const int64_t bound = problem.dimensions[static_cast<size_t>(d)].bound;
    if (product < bound) return {.kind = NestError::Kind::kFactors, .dim = d, .product = product};
    nest.perfect = nest.perfect && product == bound;
  }
  return {};
}

}  // namespace tessera::loopnest
