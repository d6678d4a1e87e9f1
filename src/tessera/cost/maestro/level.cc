// Level construction (c.2) and per-level constants (c.3).
#include "tessera/cost/maestro/level.h"

#include <algorithm>

namespace tessera::maestro {
namespace {

using enum DataflowDim;
using Kind = DataflowDirective::Kind;

constexpr Violation kFine = {};

bool IsFine(const Violation& violation) { return violation.rule == 0; }

// Version head refuses R and S unless every TemporalMap takes them whole, wherever it stands.
Violation CheckKernelMaps(const Workload& workload, const Dataflow& dataflow) {
  int level = 0;
  for (const DataflowDirective& d : dataflow.directives()) {
    if (d.kind == Kind::kCluster) ++level;
    if (d.kind != Kind::kTemporal || (d.dim != kR && d.dim != kS)) continue;
    if (d.size != d.offset) return Broken(Rule::kKernelOffset, level, d.dim, d.size, d.offset);
    const int64_t size = workload.size[Index(d.dim)];
    if (workload.declared.Has(d.dim) && size != d.size) {
      return Broken(Rule::kKernelSize, level, d.dim, d.size, size);
    }
  }
  return kFine;
}

// Sub-units of each level: the cluster sizes, and at the top what they leave of the PEs.
Violation CountUnits(const Dataflow& dataflow, int64_t num_pes,
                     std::array<int64_t, kMaxLevels>& units, size_t& num_levels) {
  int64_t clusters = 0, per_top_unit = 1;
  for (const DataflowDirective& d : dataflow.directives()) {
    if (d.kind != Kind::kCluster) continue;
    ++clusters;
    if (clusters < static_cast<int64_t>(kMaxLevels)) units[static_cast<size_t>(clusters)] = d.size;
    // Above the number of PEs the exact product no longer matters.
    if (per_top_unit <= num_pes) per_top_unit *= d.size;
  }
  if (clusters > 4) return Broken(Rule::kTooManyClusters, 0, kOther, clusters, 3);
  if (clusters == 4) return Broken(Rule::kFourClusters, 0, kOther, clusters, 3);
  num_levels = static_cast<size_t>(clusters) + 1;
  units[0] = num_pes / per_top_unit;
  return kFine;
}

// Builds one level after the other; `maps_` of the level above is what a level inherits.
class Builder {
 public:
  Builder(const Workload& workload, Level& level, const Level* above, int index, int64_t units,
          int64_t num_pes)
      : workload_(workload), level_(level), above_(above), index_(index), num_pes_(num_pes) {
    level_.num_maps = 0;
    level_.units = units;
  }

  Violation Build(std::span<const DataflowDirective> group) {
    if (Violation v = TakeGroup(group); !IsFine(v)) return v;
    if (Violation v = OutputToInput(kXOut, kX, kS); !IsFine(v)) return v;
    if (Violation v = OutputToInput(kYOut, kY, kR); !IsFine(v)) return v;
    if (above_ == nullptr) {
      level_.size = workload_.size;
    } else {
      NominalSizes();
      if (Violation v = Inherit(); !IsFine(v)) return v;
    }
    if (Violation v = Complete(); !IsFine(v)) return v;
    if (Violation v = ApplyStride(); !IsFine(v)) return v;
    if (Violation v = IndexMaps(); !IsFine(v)) return v;
    if (level_.units == 0) return Broken(Rule::kNoUnits, index_, kOther, 0, num_pes_);
    level_.edge_units = EdgeUnits();
    ComputeExtents();
    AssignEdgeBits();
    return kFine;
  }

 private:
  std::span<Map> maps() { return {level_.maps.data(), level_.num_maps}; }

  bool Has(Dim dim) {
    return std::any_of(maps().begin(), maps().end(), [dim](const Map& m) { return m.dim == dim; });
  }

  Violation Append(const Map& map) {
    if (level_.num_maps == kMaxMaps) return Broken(Rule::kLevelCapacity, index_);
    level_.maps[level_.num_maps++] = map;
    return kFine;
  }

  Violation TakeGroup(std::span<const DataflowDirective> group) {
    for (const DataflowDirective& d : group) {
      const Map map{d.kind == Kind::kSpatial, d.dim, d.size, d.offset};
      if (Violation v = Append(map); !IsFine(v)) return v;
    }
    return kFine;
  }

  // A tile of outputs becomes the tile of inputs that it needs; its offset stays.
  Violation OutputToInput(Dim out, Dim in, Dim kernel) {
    if (!workload_.convolution || Has(in)) return kFine;
    Map* first = nullptr;
    int64_t tile = 0, window = 0;
    for (Map& map : maps()) {
      if (map.dim == out) {
        if (first == nullptr) first = &map;
        tile = map.size;
      }
      if (map.dim == kernel) window = map.size;
    }
    if (first == nullptr) return kFine;
    if (window == 0) return Broken(Rule::kNoKernelMap, index_, out);
    first->dim = in;
    first->size = tile + window - 1;
    return CheckSize(*first);
  }

  Violation CheckSize(const Map& map) const {
    const int64_t largest = std::max(map.size, map.offset);
    return largest <= INT32_MAX ? kFine
                                : Broken(Rule::kOverflow, index_, map.dim, largest, INT32_MAX);
  }

  // The tile of the level above is this level's dimension.
  void NominalSizes() {
    level_.size.fill(0);
    for (size_t i = 0; i < kDataflowDims; ++i) {
      const Dim dim = static_cast<Dim>(i);
      if (!workload_.mapped.Has(dim)) continue;
      const Map& map = above_->maps[static_cast<size_t>(above_->first_map[i])];
      level_.size[i] = std::min(map.size, above_->size[i]);
    }
  }

  // Dimensions that the group leaves out keep the tile of the level above; they go in front, the
  // last one outermost.
  Violation Inherit() {
    std::array<Map, kMaxMaps> missing;
    size_t num_missing = 0;
    unsigned seen = 0;
    for (const Map& map : maps()) seen |= 1u << Index(map.dim);
    for (size_t i = 0; i < above_->num_maps; ++i) {
      const Map& map = above_->maps[i];
      if ((seen >> Index(map.dim) & 1) != 0) continue;
      seen |= 1u << Index(map.dim);
      missing[num_missing++] = {false, map.dim, map.size, map.offset};
    }
    if (level_.num_maps + num_missing > kMaxMaps) return Broken(Rule::kLevelCapacity, index_);
    std::copy_backward(maps().begin(), maps().end(), maps().end() + static_cast<int>(num_missing));
    std::reverse_copy(missing.begin(), missing.begin() + static_cast<int>(num_missing),
                      level_.maps.begin());
    level_.num_maps += num_missing;
    return kFine;
  }

  // What is still missing is taken whole.
  Violation Complete() {
    for (size_t i = 0; i < kDataflowDims; ++i) {
      const Dim dim = static_cast<Dim>(i);
      if (!workload_.mapped.Has(dim) || Has(dim)) continue;
      if (Violation v = Append({false, dim, level_.size[i], level_.size[i]}); !IsFine(v)) return v;
    }
    return kFine;
  }

  // Tiles of Y and X are cut to whole steps of the stride; a tile below the kernel stays.
  Violation ApplyStride() {
    for (const Map& map : maps()) {
      if (map.dim == kOther || level_.size[Index(map.dim)] == 0) {
        return Broken(Rule::kUnknownDimension, index_, map.dim);
      }
      if (!workload_.convolution || (map.dim != kX && map.dim != kY)) continue;
      const int64_t stride = workload_.stride[Index(map.dim)];
      const int64_t window = workload_.size[Index(KernelDim(map.dim))];
      if (stride == 1 || map.size < window) continue;
      const int64_t steps = (map.size + stride - window) / stride;
      Map& target = *std::find_if(maps().begin(), maps().end(),
                                  [&map](const Map& m) { return m.dim == map.dim; });
      target.size = steps * std::min(stride, window) + std::max<int64_t>(window - stride, 0);
      target.offset = steps * (above_ != nullptr && window < stride ? window : stride);
      if (Violation v = CheckSize(target); !IsFine(v)) return v;
    }
    return kFine;
  }

  Violation IndexMaps() {
    level_.first_map.fill(-1);
    level_.last_map.fill(-1);
    level_.num_spatial = 0;
    for (size_t i = 0; i < level_.num_maps; ++i) {
      const Map& map = level_.maps[i];
      const size_t dim = Index(map.dim);
      if (level_.first_map[dim] < 0) level_.first_map[dim] = static_cast<int8_t>(i);
      level_.last_map[dim] = static_cast<int8_t>(i);
      if (!map.spatial) continue;
      if (level_.num_spatial < level_.spatial.size()) {
        level_.spatial[level_.num_spatial] = static_cast<uint8_t>(i);
      }
      ++level_.num_spatial;
    }
    if (level_.num_spatial == 0) return Broken(Rule::kNoSpatialMap, index_);
    if (level_.num_spatial > 2) {
      return Broken(Rule::kThreeSpatialMaps, index_, kOther,
                    static_cast<int64_t>(level_.num_spatial), 2);
    }
    return kFine;
  }

  int64_t EdgeUnits() const {
    const Map& map = level_.maps[level_.spatial[0]];
    const int64_t size = level_.size[Index(map.dim)], units = level_.units;
    const int64_t covered = map.offset * (units - 1) + map.size;
    if (size <= map.size) return 1;
    if (size > covered) {
      const int64_t rounds = ((size - map.size) / map.offset + 1) / units;
      const int64_t rest = size - rounds * map.offset * units;
      return rest < map.size ? 1 : (rest - map.size) / map.offset + 1;
    }
    const int64_t whole = (size - map.size) / map.offset + 1;
    return map.offset * (whole - 1) + map.size < size ? whole + 1 : whole;
  }

  void ComputeExtents() {
    level_.tile_above_dim = false;
    for (const Map& map : maps()) {
      const int64_t size = level_.size[Index(map.dim)];
      const int64_t steps = size > map.size ? (size - map.size) / map.offset : 0;
      const bool has_edge = steps * map.offset + map.size < size || map.size > size;
      int64_t edge = size - (steps + 1) * map.offset;
      if (edge < 0) edge = size;
      const bool whole = !map.spatial && size <= map.size;
      level_.extent[Index(map.dim)] = {
          .full = map.size,
          .unique = whole ? 0 : std::min(map.size, map.offset),
          .edge_full = has_edge ? edge : map.size,
          .edge_unique = std::max<int64_t>(0, map.offset - (map.size - edge))};
      if (map.size > size) level_.tile_above_dim = true;
    }
    if (!workload_.convolution) return;
    for (const Map& map : maps()) {
      if (map.dim != kX && map.dim != kY) continue;
      const Extent& in = level_.extent[Index(map.dim)];
      const Extent& kernel = level_.extent[Index(KernelDim(map.dim))];
      const int64_t edge = in.edge_full - kernel.edge_full + 1;
      level_.extent[Index(OutputDim(map.dim))] = {.full = in.full - kernel.full + 1,
                                                  .unique = std::min(map.offset, map.size),
                                                  .edge_full = edge,
                                                  .edge_unique = std::min(map.offset, edge)};
    }
  }

  void AssignEdgeBits() {
    uint32_t next = 1;
    for (size_t i = 0; i < kDataflowDims; ++i) {
      const Extent& extent = level_.extent[i];
      const bool differs =
          workload_.mapped.Has(static_cast<Dim>(i)) && extent.full != extent.edge_full;
      level_.edge_bit[i] = differs ? next : 0;
      if (differs) next <<= 1;
    }
  }

  const Workload& workload_;
  Level& level_;
  const Level* above_;
  const int index_;
  const int64_t num_pes_;
};

}  // namespace

Violation BuildLevels(const Workload& workload, const PeArray& array, MaestroVersion version,
                      const Dataflow& dataflow, std::span<Level, kMaxLevels> levels,
                      size_t& num_levels) {
  if (version == MaestroVersion::kHead) {
    if (Violation v = CheckKernelMaps(workload, dataflow); !IsFine(v)) return v;
  }
  std::array<int64_t, kMaxLevels> units;
  if (Violation v = CountUnits(dataflow, array.num_pes, units, num_levels); !IsFine(v)) return v;

  std::span<const DataflowDirective> rest = dataflow.directives();
  for (size_t i = 0; i < num_levels; ++i) {
    const auto end = std::find_if(rest.begin(), rest.end(), [](const DataflowDirective& d) {
      return d.kind == Kind::kCluster;
    });
    const auto length = static_cast<size_t>(end - rest.begin());
    Builder builder(workload, levels[i], i == 0 ? nullptr : &levels[i - 1], static_cast<int>(i),
                    units[i], array.num_pes);
    if (Violation v = builder.Build(rest.first(length)); !IsFine(v)) return v;
    rest = rest.subspan(std::min(length + 1, rest.size()));
  }
  return kFine;
}

}  // namespace tessera::maestro
