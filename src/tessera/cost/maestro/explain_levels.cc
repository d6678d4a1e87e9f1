#include "tessera/cost/maestro/explain_levels.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::maestro {
namespace {

using Kind = DataflowDirective::Kind;

constexpr std::string_view kHowToRead =
    "\nhow to read the levels\n"
    "  full         the size of a tile\n"
    "  unique       what a tile does not share with the one before: min(size, offset), but 0 for "
    "a\n"
    "               TemporalMap whose tile holds the dimension\n"
    "  edge full    the last tile if it is cut off: dimension - (int((dimension - size) / offset) "
    "+ "
    "1) * offset,\n"
    "               or the dimension where that is negative; otherwise as full\n"
    "  edge unique  max(0, offset - (size - that rest))\n"
    "  outputs      X' = X - S + 1 and Y' = Y - R + 1 of full and of edge full; unique = "
    "min(offset, "
    "size);\n"
    "               edge unique = min(offset, edge full)\n"
    "  units        a SpatialMap gives tile after tile to the units, in rounds\n"
    "\nhow to read the cases: each loop is in one of up to three states\n"
    "  start        once; at an edge if the tile is larger than what there is\n"
    "  steady       TemporalMap: int((dimension - size) / offset) times;\n"
    "               SpatialMap: int((int((dimension - size) / offset) + 1) / units) - 1 times\n"
    "  edge         once, if something is left over\n";

// The directives of one level.
std::vector<DataflowDirective> GroupOf(const Dataflow& dataflow, size_t level) {
  std::vector<DataflowDirective> group;
  for (const DataflowDirective& d : dataflow.directives()) {
    if (d.kind == Kind::kCluster && level-- == 0) break;
    if (d.kind != Kind::kCluster && level == 0) group.push_back(d);
  }
  return group;
}

const DataflowDirective* Find(const std::vector<DataflowDirective>& group, Dim dim) {
  for (const DataflowDirective& d : group) {
    if (d.dim == dim) return &d;
  }
  return nullptr;
}

class LevelText {
 public:
  LevelText(const Workload& workload, const PeArray& array, const Dataflow& dataflow,
            std::span<const Level> levels)
      : workload_(workload), array_(array), dataflow_(dataflow), levels_(levels) {}

  std::string Text() {
    Add("{}", kHowToRead);
    for (size_t i = 0; i < levels_.size(); ++i) AddLevel(i);
    return text_;
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void AddLevel(size_t index) {
    const Level& level = levels_[index];
    Add("\nlevel {}\n", index);
    if (index == 0) {
      Add("  units {} = int({} / {})  [PEs / PEs of a cluster]\n", level.units, array_.num_pes,
          ClusterPes());
    } else {
      Add("  units {}  [size of the Cluster]\n", level.units);
    }
    AddEdgeUnits(level);
    Add("  {:<12} {:<3} {:>8} {:>8} {:>10} {:>8} {:>8} {:>10} {:>12}  {}\n", "loop", "dim", "size",
        "offset", "dimension", "full", "unique", "edge full", "edge unique", "from");
    for (size_t i = 0; i < level.num_maps; ++i) {
      const Map& map = level.maps[i];
      const Extent& e = level.extent[Index(map.dim)];
      Add("  {:<12} {:<3} {:>8} {:>8} {:>10} {:>8} {:>8} {:>10} {:>12}  {}\n",
          map.spatial ? "SpatialMap" : "TemporalMap", ToString(map.dim), map.size, map.offset,
          level.size[Index(map.dim)], e.full, e.unique, e.edge_full, e.edge_unique,
          OriginOf(index, map));
    }
    for (const Dim dim : {Dim::kX, Dim::kY}) {
      if (!workload_.convolution || !level.Mapped(dim)) continue;
      const Extent& e = level.extent[Index(OutputDim(dim))];
      Add("  {:<12} {:<3} {:>8} {:>8} {:>10} {:>8} {:>8} {:>10} {:>12}\n", "outputs",
          ToString(OutputDim(dim)), "", "", "", e.full, e.unique, e.edge_full, e.edge_unique);
    }
  }

  int64_t ClusterPes() const {
    int64_t product = 1;
    for (const DataflowDirective& d : dataflow_.directives()) {
      if (d.kind == Kind::kCluster) product *= d.size;  // at most the number of PEs
    }
    return product;
  }

  // How many units work in the last round.
  void AddEdgeUnits(const Level& level) {
    const Map& map = level.maps[level.spatial[0]];
    const int64_t size = level.size[Index(map.dim)];
    const std::string_view dim = ToString(map.dim);
    Add("  units at the edge {}", level.edge_units);
    if (size <= map.size) {
      Add("  [{} {} fits in one tile of {}]\n", dim, size, map.size);
      return;
    }
    const int64_t covered = map.offset * (level.units - 1) + map.size;
    if (size <= covered) {
      const int64_t whole = (size - map.size) / map.offset + 1;
      Add(" = int(({} - {}) / {}) + 1{}  [tiles of {} in the only round{}]\n", size, map.size,
          map.offset, whole < level.edge_units ? " + 1" : "", dim,
          whole < level.edge_units ? ", the last one cut off" : "");
      return;
    }
    const int64_t rounds = ((size - map.size) / map.offset + 1) / level.units;
    const int64_t rest = size - rounds * map.offset * level.units;
    if (rest >= map.size) Add(" = int(({} - {}) / {}) + 1", rest, map.size, map.offset);
    Add("  [after {} = int((int(({} - {}) / {}) + 1) / {}) rounds; {} = {} - {} * {} * {} of {} "
        "are "
        "left]\n",
        rounds, size, map.size, map.offset, level.units, rest, size, rounds, map.offset,
        level.units, dim);
  }

  // Where a loop of a level comes from (c.2).
  std::string OriginOf(size_t index, const Map& map) const {
    const std::vector<DataflowDirective> group = GroupOf(dataflow_, index);
    const auto cut = [&map](int64_t size, int64_t offset) {
      return map.size == size && map.offset == offset ? "" : ", cut to whole strides";
    };
    if (const DataflowDirective* given = Find(group, map.dim)) {
      return fmt::format("given{}", cut(given->size, given->offset));
    }
    const Dim out = workload_.OutputDimOf(map.dim);
    if (const DataflowDirective* given = out == map.dim ? nullptr : Find(group, out)) {
      const Dim kernel = KernelDim(map.dim);
      const int64_t window = Find(group, kernel)->size;
      return fmt::format("given as {} {}, plus {} - 1{}", ToString(out), given->size,
                         ToString(kernel), cut(given->size + window - 1, given->offset));
    }
    if (index > 0 && levels_[index - 1].Mapped(map.dim)) return "level above";
    return "whole dimension";
  }

  const Workload& workload_;
  const PeArray& array_;
  const Dataflow& dataflow_;
  std::span<const Level> levels_;
  std::string text_;
};

}  // namespace

std::string ExplainLevels(const Workload& workload, const PeArray& array, const Dataflow& dataflow,
                          std::span<const Level> levels) {
  return LevelText(workload, array, dataflow, levels).Text();
}

}  // namespace tessera::maestro
