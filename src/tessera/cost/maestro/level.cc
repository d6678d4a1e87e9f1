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

// PEs of one unit of the top level, however many there are.
double ClusterPes(const Dataflow& dataflow) {
  double product = 1;
  for (const DataflowDirective& d : dataflow.directives()) {
    if (d.kind == Kind::kCluster) product *= d.size;
  }
  return product;
}

// Builds one level from its group of directives and from the level above it.
class Builder {
 public:
  Builder(const Workload& workload, Level& level, const Level* above, int index, int64_t num_pes)
      : workload_(workload), level_(level), above_(above), index_(index), num_pes_(num_pes) {}

  // Every step returns false where it finds a broken rule; `violation` says which.
  bool Build(std::span<const DataflowDirective> group, int64_t units) {
    level_.units = units;
    return TakeGroup(group) && OutputToInput(kXOut, kX, kS) && OutputToInput(kYOut, kY, kR) &&
           TakeSizes() && Complete() && ApplyStride() && IndexMaps() && CheckUnits() &&
           ComputeExtents();
  }
  const Violation& violation() const { return violation_; }

 private:
  std::span<Map> maps() { return {level_.maps.data(), level_.num_maps}; }

  bool Fail(Rule rule, Dim dim = kOther, int64_t have = 0, int64_t limit = 0) {
    violation_ = Broken(rule, index_, dim, have, limit);
    return false;
  }

  // kOther has a bit of its own here, beyond those of a DimSet.
  bool Has(Dim dim) const { return (mapped_ >> Index(dim) & 1) != 0; }

  bool Append(const Map& map) {
    if (level_.num_maps == kMaxMaps) return Fail(Rule::kLevelCapacity);
    level_.maps[level_.num_maps++] = map;
    mapped_ |= 1u << Index(map.dim);
    return true;
  }

  bool CheckSize(const Map& map) {
    const int64_t largest = std::max(map.size, map.offset);
    return largest <= INT32_MAX || Fail(Rule::kOverflow, map.dim, largest, INT32_MAX);
  }

  bool TakeGroup(std::span<const DataflowDirective> group) {
    level_.num_maps = 0;
    for (const DataflowDirective& d : group) {
      if (!Append({d.kind == Kind::kSpatial, d.dim, d.size, d.offset})) return false;
    }
    return true;
  }

  // A tile of outputs becomes the tile of inputs that it needs; its offset stays.
  bool OutputToInput(Dim out, Dim in, Dim kernel) {
    if (!Has(out) || Has(in) || !workload_.convolution) return true;
    Map* first = nullptr;
    int64_t tile = 0, window = 0;
    for (Map& map : maps()) {
      if (map.dim == out) {
        if (first == nullptr) first = &map;
        tile = map.size;
      }
      if (map.dim == kernel) window = map.size;
    }
    if (window == 0) return Fail(Rule::kNoKernelMap, out);
    first->dim = in;
    first->size = tile + window - 1;
    mapped_ = 0;
    for (const Map& map : maps()) mapped_ |= 1u << Index(map.dim);
    return CheckSize(*first);
  }

  // At the top the dimensions are the layer's, elsewhere the tiles of the level above.
  bool TakeSizes() {
    if (above_ == nullptr) {
      level_.size = workload_.size;
      return true;
    }
    for (size_t i = 0; i < kDataflowDims; ++i) {
      if (!workload_.mapped.Has(static_cast<Dim>(i))) {
        level_.size[i] = 0;
        continue;
      }
      const Map& map = above_->maps[static_cast<size_t>(above_->first_map[i])];
      level_.size[i] = std::min(map.size, above_->size[i]);
    }
    return Inherit();
  }

  // Dimensions that the group leaves out keep the tile of the level above; they go in front, the
  // last one outermost.
  bool Inherit() {
    size_t num_missing = 0;
    std::array<uint8_t, kMaxMaps> missing;
    for (size_t i = 0; i < above_->num_maps; ++i) {
      if (Has(above_->maps[i].dim)) continue;
      mapped_ |= 1u << Index(above_->maps[i].dim);
      missing[num_missing++] = static_cast<uint8_t>(i);
    }
    if (num_missing == 0) return true;
    if (level_.num_maps + num_missing > kMaxMaps) return Fail(Rule::kLevelCapacity);
    std::copy_backward(maps().begin(), maps().end(), maps().end() + static_cast<int>(num_missing));
    level_.num_maps += num_missing;
    for (size_t i = 0; i < num_missing; ++i) {
      Map& map = level_.maps[num_missing - 1 - i];
      map = above_->maps[missing[i]];
      map.spatial = false;
    }
    return true;
  }

  // What is still missing is taken whole.
  bool Complete() {
    if ((workload_.mapped.bits() & ~mapped_) == 0) return true;
    for (size_t i = 0; i < kDataflowDims; ++i) {
      const Dim dim = static_cast<Dim>(i);
      if (!workload_.mapped.Has(dim) || Has(dim)) continue;
      if (!Append({false, dim, level_.size[i], level_.size[i]})) return false;
    }
    return true;
  }

  // Tiles of Y and X are cut to whole steps of the stride; a tile below the kernel stays.
  bool ApplyStride() {
    for (const Map& map : maps()) {
      // Output dimensions at the top are looked up later: see CheckUnits.
      const bool later = above_ == nullptr && (map.dim == kXOut || map.dim == kYOut);
      if (!later && (map.dim == kOther || level_.size[Index(map.dim)] == 0)) {
        return Fail(Rule::kUnknownDimension, map.dim);
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
      if (!CheckSize(target)) return false;
    }
    return true;
  }

  bool IndexMaps() {
    level_.first_map.fill(-1);
    level_.last_map.fill(-1);
    level_.num_spatial = 0;
    for (size_t i = 0; i < level_.num_maps; ++i) {
      const size_t dim = Index(level_.maps[i].dim);
      if (level_.first_map[dim] < 0) level_.first_map[dim] = static_cast<int8_t>(i);
      level_.last_map[dim] = static_cast<int8_t>(i);
      if (!level_.maps[i].spatial) continue;
      if (level_.num_spatial < 2) level_.spatial[level_.num_spatial] = static_cast<uint8_t>(i);
      ++level_.num_spatial;
    }
    if (level_.num_spatial == 0) return Fail(Rule::kNoSpatialMap);
    return level_.num_spatial <= 2 ||
           Fail(Rule::kThreeSpatialMaps, kOther, static_cast<int64_t>(level_.num_spatial), 2);
  }

  bool CheckUnits() {
    if (level_.units == 0) return Fail(Rule::kNoUnits, kOther, 0, num_pes_);
    for (const Dim dim : {kXOut, kYOut}) {
      if (Has(dim) && level_.Mapped(dim) && level_.size[Index(dim)] == 0) {
        return Fail(Rule::kUnknownDimension, dim);
      }
    }
    level_.edge_units = EdgeUnits();
    return true;
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

  bool ComputeExtents() {
    level_.tile_above_dim = false;
    level_.volume_bound = 2 * static_cast<double>(level_.units);
    level_.iteration_bound = 1;
    for (const Map& map : maps()) ComputeExtent(map);
    if (workload_.convolution) {
      for (const Dim dim : {kX, kY}) ComputeOutputExtent(dim);
    }
    for (const Map& map : maps()) BoundVolume(level_.extent[Index(map.dim)]);
    AssignEdgeBits();
    return true;
  }

  void ComputeExtent(const Map& map) {
    const size_t dim = Index(map.dim);
    const int64_t size = level_.size[dim];
    Extent& extent = level_.extent[dim];
    extent.full = map.size;
    if (size <= map.size) {
      // Everything in one tile, which MAESTRO sizes in its own way if it is too large.
      const int64_t edge = size < map.offset ? size : size - map.offset;
      extent.unique = map.spatial ? std::min(map.size, map.offset) : 0;
      extent.edge_full = size < map.size ? edge : map.size;
      extent.edge_unique = std::max<int64_t>(0, map.offset - (map.size - edge));
      if (size < map.size) level_.tile_above_dim = true;
    } else {
      const int64_t steps = (size - map.size) / map.offset;
      const int64_t rest = size - (steps + 1) * map.offset;
      const int64_t edge = rest < 0 ? size : rest;
      extent.unique = std::min(map.size, map.offset);
      extent.edge_full = steps * map.offset + map.size < size ? edge : map.size;
      extent.edge_unique = std::max<int64_t>(0, map.offset - (map.size - edge));
    }
    int64_t actual = size;
    if (above_ != nullptr) {
      const Extent& visited = above_->extent[dim];
      actual = std::max({size, visited.full, visited.edge_full});
    }
    if (actual > map.size) {
      level_.iteration_bound *=
          2 + static_cast<double>(actual - map.size) / static_cast<double>(map.offset);
    }
  }

  // With the extents that count in the end: of a dimension that is mapped twice those of the last
  // map, of X' and Y' beside X and Y those that follow from X and Y.
  void BoundVolume(const Extent& e) {
    const int64_t largest = std::max({e.full, e.edge_full, e.unique, e.edge_unique});
    const int64_t least = std::min({e.full, e.edge_full, e.unique, e.edge_unique});
    level_.volume_bound *= static_cast<double>(std::max({largest, -least, int64_t{1}}));
  }

  void ComputeOutputExtent(Dim dim) {
    if (!level_.Mapped(dim)) return;
    const Map& map = level_.maps[static_cast<size_t>(level_.last_map[Index(dim)])];
    const Extent& in = level_.extent[Index(dim)];
    const Extent& kernel = level_.extent[Index(KernelDim(dim))];
    const int64_t edge = in.edge_full - kernel.edge_full + 1;
    Extent& out = level_.extent[Index(OutputDim(dim))];
    out = {.full = in.full - kernel.full + 1,
           .unique = std::min(map.offset, map.size),
           .edge_full = edge,
           .edge_unique = std::min(map.offset, edge)};
    // An output can only be larger than its input in absolute value, if the kernel is.
    const int64_t larger = std::max(kernel.full, kernel.edge_full);
    level_.volume_bound *= static_cast<double>(std::max<int64_t>(larger, 1));
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
  unsigned mapped_ = 0;
  Violation violation_;
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
                    array.num_pes);
    if (!builder.Build(rest.first(length), units[i])) {
      Violation broken = builder.violation();
      if (broken.rule == static_cast<int16_t>(Rule::kNoUnits)) broken.have = ClusterPes(dataflow);
      return broken;
    }
    rest = rest.subspan(std::min(length + 1, rest.size()));
  }
  return kFine;
}

}  // namespace tessera::maestro
