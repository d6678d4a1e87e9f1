// Factors, axes and orders against bounds, fan-outs and constraints.
#include "tessera/search/exact/membership.h"

#include <algorithm>
#include <vector>

namespace tessera::exact {

bool InSpace(const Model& model, const LoopMapping& mapping) {
  if (mapping.num_levels != model.num_levels) return false;
  int64_t product[kMaxDims];
  std::fill_n(product, kMaxDims, 1);
  for (int i = 0; i < model.num_levels; ++i) {
    const LoopLevel& level = mapping.levels[static_cast<size_t>(i)];
    int64_t used[2] = {1, 1};
    std::vector<uint8_t> loops, parallel[2];
    for (size_t k = 0; k < static_cast<size_t>(model.num_dims); ++k) {
      const uint8_t t = level.temporal_order[k], s = level.spatial_order[k];
      const bool on_y = k >= level.split;
      const int32_t temporal = level.temporal[t], spatial = level.spatial[s];
      if (temporal < 1 || spatial < 1) return false;
      product[t] *= temporal;
      product[s] *= spatial;
      used[on_y ? 1 : 0] *= spatial;
      if (temporal > 1) loops.push_back(t);
      if (spatial > 1) parallel[on_y ? 1 : 0].push_back(s);
      if (!model.restrictions->AllowsTemporal(i, t, temporal) ||
          !model.restrictions->AllowsSpatial(i, s, spatial) ||
          (spatial > 1 && !model.restrictions->AllowsAxis(i, s, on_y))) {
        return false;
      }
    }
    if (used[0] > model.levels[i].fan_x || used[1] > model.levels[i].fan_y) return false;
    if (!model.restrictions->AllowsTemporalOrder(i, loops) ||
        !model.restrictions->AllowsSpatialOrder(i, parallel[0], parallel[1])) {
      return false;
    }
    const auto value = [&](const Restrictions::Factor& factor) {
      const LoopLevel& at = mapping.levels[static_cast<size_t>(factor.level)];
      const auto dim = static_cast<size_t>(factor.dim);
      return factor.spatial ? at.spatial[dim] : at.temporal[dim];
    };
    if (!PairsHold(*model.restrictions, i, value) ||
        !EnoughParallel(*model.restrictions, i, mapping.num_levels, model.num_dims, value)) {
      return false;
    }
  }
  if (!model.any) return std::equal(product, product + model.num_dims, model.bounds);
  // Loops stop at the bound.
  return std::equal(product, product + model.num_dims, model.bounds,
                    [](int64_t have, int32_t bound) { return have >= bound; });
}

bool Contains(const Model& model, const LoopMapping& mapping) {
  if (mapping.num_levels != model.num_levels) return false;
  const auto all = static_cast<uint8_t>((1u << model.num_tensors) - 1);
  for (int i = 0; i < model.num_levels; ++i) {
    const uint8_t keep = mapping.levels[static_cast<size_t>(i)].keep;
    if (((keep ^ model.keep[i]) & all) != 0) return false;
  }
  return InSpace(model, mapping);
}

}  // namespace tessera::exact
