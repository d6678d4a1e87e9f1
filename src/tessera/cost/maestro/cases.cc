#include "tessera/cost/maestro/cases.h"

namespace tessera::maestro {

void LevelTables::Reset(const Workload& workload, const Level& level, const Level* above) {
  workload_ = &workload;
  level_ = &level;
  above_ = above;
  loops_ready_ = {};
  factors_ready_ = 0;
  spatial_.Reset(workload, level);
  num_live_ = 0;
  fixed_part_ = {};
  fixed_ingress_ = {1, 1};
  for (size_t i = 0; i < level.num_maps; ++i) {
    const Map& map = level.maps[i];
    const size_t dim = Index(map.dim);
    const uint32_t key_bit = above != nullptr ? above->edge_bit[dim] : 0;
    const bool mapped_once = level.first_map[dim] == level.last_map[dim];
    // A loop over its whole dimension has one state and never starts again.
    if (key_bit == 0 && mapped_once && !map.spatial && ActualSize(map.dim, 0) <= map.size) {
      AddFixed(map);
      continue;
    }
    live_[num_live_++] = static_cast<uint8_t>(i);
    FillInfo(i, key_bit);
  }
  for (size_t q = 0; q < level.num_spatial; ++q) {
    MapInfo& info = infos_[level.spatial[q]];
    info.spatial_bit = static_cast<IngressMode>(1u << q);
    infos_[info.deciding].code_weight += q == 0 ? 1 : uint32_t{kStates};
  }
}

void LevelTables::AddFixed(const Map& map) {
  const bool edge = ActualSize(map.dim, 0) < map.size;
  const Parts parts = PartsOf(map.dim);
  const Case& part = edge ? parts.edge : parts.full;
  fixed_part_.all *= part.all;
  fixed_part_.out *= part.out;
  fixed_part_.edge_key |= part.edge_key;
  const Extent& extent = level_->extent[Index(map.dim)];
  const int64_t tile = edge ? extent.edge_full : extent.full;
  for (const size_t t : {kInput, kFilter}) {
    if (workload_->coupled[t].Has(map.dim)) fixed_ingress_[t] *= tile;
  }
}

void LevelTables::FillInfo(size_t map, uint32_t key_bit) {
  const Map& m = level_->maps[map];
  MapInfo& info = infos_[map];
  info.coupled = {workload_->coupled[kInput].Has(m.dim), workload_->coupled[kFilter].Has(m.dim)};
  info.spatial = m.spatial;
  info.spatial_bit = 0;
  info.deciding = static_cast<uint8_t>(level_->last_map[Index(m.dim)]);
  info.key_bit = key_bit;
  info.unique = level_->extent[Index(m.dim)].unique;
  info.code_weight = 0;
  // Of a dimension that is mapped twice the last map decides; the others only repeat cases.
  info.parts = info.deciding == map ? PartsOf(m.dim) : Parts{};
}

// The factors of a dimension's temporal loops; its spatial ones are in SpatialFactors.
LevelTables::Parts LevelTables::PartsOf(Dim dim) const {
  const Level& level = *level_;
  Parts parts;
  const bool spreads = level.FirstIsSpatial(dim);
  if (!spreads) parts.edge.edge_key = level.edge_bit[Index(dim)];
  if (workload_->coupled[kOutput].Has(dim)) {
    if (spreads) return parts;
    const Extent& extent = level.extent[Index(workload_->OutputDimOf(dim))];
    parts.full.all = parts.full.out = extent.full;
    parts.edge.all = parts.edge.out = extent.edge_full;
    return parts;
  }
  const Extent& extent = level.extent[Index(dim)];
  for (int i = level.first_map[Index(dim)]; i <= level.last_map[Index(dim)]; ++i) {
    const Map& map = level.maps[static_cast<size_t>(i)];
    if (map.dim != dim || map.spatial) continue;
    parts.full.all *= extent.full;
    parts.edge.all *= extent.edge_full;
  }
  return parts;
}

bool LevelTables::IsLive(size_t map) const {
  return std::find(live_.begin(), live_.begin() + num_live_, map) != live_.begin() + num_live_;
}

LoopStates LevelTables::States(size_t map, uint32_t key) const {
  const Map& m = level_->maps[map];
  return StatesOf(m, level_->units, ActualSize(m.dim, key));
}

void LevelTables::MakeLoop(size_t map, uint32_t key, size_t edge) {
  loops_ready_[edge] |= 1u << map;
  const Map& m = level_->maps[map];
  const MapInfo& info = infos_[map];
  const LoopStates states = States(map, key);
  Loop& loop = loops_[edge][map];
  loop.num_states = states.num;
  loop.unrolled = states.unrolled;
  loop.state = states.state;
  for (size_t i = 0; i < states.num; ++i) {
    const State state = states.state[i];
    Case& part = loop.part[i];
    part = IsEdge(state) ? info.parts.edge : info.parts.full;
    part.occurrences = states.occurrences[i];
    part.code = info.code_weight * SpatialClass(state);
    part.step = i > 0 && info.deciding == map ? static_cast<uint32_t>(map) + 1 : 0;
  }

  // A loop that is not at its start, or not at an edge, always brings in full tiles.
  const Extent& extent = level_->extent[Index(m.dim)];
  const State start = info.deciding == map ? loop.state[0] : LoopOf(info.deciding, key).state[0];
  const int64_t tile = m.spatial ? 1 : IsEdge(start) ? extent.edge_full : extent.full;
  loop.ingress = {info.coupled[kInput] ? tile : 1, info.coupled[kFilter] ? tile : 1};
}

int64_t CaseWalk::Start(LevelTables& tables, uint32_t key) {
  num_axes_ = 0;
  num_rows_ = 1;
  int64_t num_cases = 1;
  Case fixed = tables.fixed_part();
  for (size_t i = 0; i < tables.num_live(); ++i) {
    const size_t map = tables.live(i);
    const Loop& loop = tables.LoopOf(map, key);
    loops_[map] = &loop;
    if (loop.num_states > 1) {
      axes_[num_axes_++] = {&loop, 0};
      num_rows_ = num_cases;
      num_cases *= loop.num_states;
    } else {
      fixed = Product(fixed, loop.part[0]);
    }
  }
  MakeSteps(tables);
  prefix_[0] = fixed;
  for (size_t i = 0; i + 1 < num_axes_; ++i) {
    prefix_[i + 1] = Product(prefix_[i], axes_[i].loop->part[0]);
  }
  return num_cases;
}

// c.5: an input tensor is brought in if the innermost loop that advanced runs over one of its
// dimensions: only what is new along that loop, unless a loop of the tensor further in starts
// again.
void CaseWalk::MakeSteps(const LevelTables& tables) {
  const size_t n = tables.num_live();
  std::array<std::array<int64_t, 2>, kMaxMaps + 1> before;  // product of the maps further out
  before[0] = tables.fixed_ingress();
  for (size_t i = 0; i < n; ++i) {
    const Loop& loop = *loops_[tables.live(i)];
    for (const size_t t : {kInput, kFilter}) before[i + 1][t] = before[i][t] * loop.ingress[t];
  }
  steps_[0] = {.temporal = before[n], .mode = {kAllInit, kAllInit}};

  std::array<int64_t, 2> after = {1, 1};
  std::array<bool, 2> restarts = {false, false};
  IngressMode further_in = 0;  // SpatialMaps further in bring in what is new only
  for (size_t i = n; i-- > 0;) {
    const size_t map = tables.live(i);
    const LevelTables::MapInfo& info = tables.info(map);
    const Loop& loop = *loops_[map];
    if (loop.num_states == 1) {
      for (const size_t t : {kInput, kFilter}) {
        after[t] *= loop.ingress[t];
        restarts[t] |= info.coupled[t] && !loops_[info.deciding]->unrolled;
      }
      further_in |= info.spatial_bit;
      continue;
    }
    InputAdvance& step = steps_[map + 1];
    step.unique_zero = false;
    for (const size_t t : {kInput, kFilter}) {
      const bool only_new = info.coupled[t] && !restarts[t];
      step.mode[t] = only_new ? further_in | info.spatial_bit : further_in;
      step.temporal[t] = 0;
      if (info.coupled[t]) {
        const bool replaces = only_new && !info.spatial;
        step.unique_zero |= replaces && info.unique == 0;
        step.temporal[t] = before[i][t] * (replaces ? info.unique : loop.ingress[t]) * after[t];
        restarts[t] |= !loops_[info.deciding]->unrolled;
      }
      after[t] *= loop.ingress[t];
    }
    further_in |= info.spatial_bit;
  }
}

State CaseWalk::StateOfMap(LevelTables& tables, uint32_t key, size_t map) const {
  if (!tables.IsLive(map)) return tables.States(map, key).state[0];  // its only one
  const Loop& loop = tables.LoopOf(map, key);
  for (size_t i = 0; i < num_axes_; ++i) {
    if (axes_[i].loop == &loop) return loop.state[axes_[i].digit];
  }
  return loop.state[0];
}

}  // namespace tessera::maestro
