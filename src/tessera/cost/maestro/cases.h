// The iteration cases of one visit to a level, in MAESTRO's order, with the factors of their
// volumes. A visit is a level with the actual sizes of its dimensions, which at edges of the level
// above are smaller than the nominal ones.
#ifndef TESSERA_COST_MAESTRO_CASES_H_
#define TESSERA_COST_MAESTRO_CASES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/cost/maestro/level.h"
#include "tessera/cost/maestro/spatial.h"
#include "tessera/cost/maestro/states.h"
#include "tessera/cost/maestro/workload.h"

namespace tessera::maestro {

// What one case is made of. Volumes are products: egress = out * SpatialFactors::egress, MACs and
// critical path likewise with `all`.
struct Case {
  uint32_t occurrences = 1;  // wraps around at 2^32, as MAESTRO's does
  uint32_t code = 0;         // of the spatial states
  uint32_t edge_key = 0;     // Level::edge_bit of dimensions whose temporal loop is at an edge
  uint32_t step = 0;         // which loop advanced: 0 for none, else 1 + index of its map
  int64_t all = 1;           // temporal loops of every dimension
  int64_t out = 1;           // temporal loops of the output's dimensions
};

// A loop of a level over one actual size: its states, and what each of them contributes to a case.
struct Loop {
  uint8_t num_states = 1;
  bool unrolled = false;
  std::array<State, 3> state;
  std::array<Case, 3> part;        // by state
  std::array<int64_t, 2> ingress;  // extent, for input and filter, unless it is what advanced
};

// A level, prepared for any number of visits: what does not depend on the actual sizes, and what
// was computed for some of them and can be used again.
class LevelTables {
 public:
  // `above` is the level that visits this one, null for the top.
  void Reset(const Workload& workload, const Level& level, const Level* above);

  const Level& level() const { return *level_; }

  // The size of a dimension in the visit with this key: bits as in edge_bit of the level above.
  int64_t ActualSize(Dim dim, uint32_t key) const {
    if (above_ == nullptr) return level_->size[Index(dim)];
    const Extent& extent = above_->extent[Index(dim)];
    return (key & above_->edge_bit[Index(dim)]) != 0 ? extent.edge_full : extent.full;
  }

  // Of a live map.
  const Loop& LoopOf(size_t map, uint32_t key) {
    const size_t edge = (key & infos_[map].key_bit) != 0 ? 1 : 0;
    if ((loops_ready_[edge] >> map & 1) == 0) MakeLoop(map, key, edge);
    return loops_[edge][map];
  }

  const SpatialFactors& Factors(size_t code) {
    if ((factors_ready_ >> code & 1) == 0) {
      factors_ready_ |= uint64_t{1} << code;
      factors_[code] = spatial_.FactorsOf(code);
    }
    return factors_[code];
  }

  // What a dimension contributes to a case, but for its state: with full tiles, and at an edge.
  struct Parts {
    Case full = {}, edge = {};
  };

  // What is known of a live map before its states are.
  struct MapInfo {
    std::array<bool, 2> coupled;  // the dimension indexes input, filter
    bool spatial;
    IngressMode spatial_bit;  // of a SpatialMap
    uint8_t deciding;         // the last map of the dimension
    uint32_t key_bit;         // edge_bit of the dimension in the level above
    int64_t unique;
    uint32_t code_weight;  // of the dimension's state in the spatial code
    Parts parts;           // nothing if another map of the dimension decides
  };
  const MapInfo& info(size_t map) const { return infos_[map]; }

  // Most loops are the same in all visits and have one state; they stand here, multiplied out. The
  // others are live: outermost first.
  size_t num_live() const { return num_live_; }
  size_t live(size_t i) const { return live_[i]; }
  bool IsLive(size_t map) const;
  // States of any map; LoopOf keeps those of live ones.
  LoopStates States(size_t map, uint32_t key) const;
  const Case& fixed_part() const { return fixed_part_; }
  const std::array<int64_t, 2>& fixed_ingress() const { return fixed_ingress_; }

 private:
  void MakeLoop(size_t map, uint32_t key, size_t edge);
  void AddFixed(const Map& map);
  void FillInfo(size_t map, uint32_t key_bit);
  Parts PartsOf(Dim dim) const;

  const Workload* workload_ = nullptr;
  const Level* level_ = nullptr;
  const Level* above_ = nullptr;
  std::array<MapInfo, kMaxMaps> infos_;
  std::array<uint32_t, 2> loops_ready_;  // a bit per map; by whether its dimension is at an edge
  std::array<std::array<Loop, kMaxMaps>, 2> loops_;
  SpatialLoops spatial_;
  uint64_t factors_ready_ = 0;  // a bit per spatial code
  std::array<SpatialFactors, kSpatialCodes> factors_;
  size_t num_live_ = 0;
  std::array<uint8_t, kMaxMaps> live_;
  Case fixed_part_;
  std::array<int64_t, 2> fixed_ingress_;
};

// How much of an input tensor must be brought in when a loop advances.
struct InputAdvance {
  std::array<int64_t, 2> temporal = {};  // factor of the temporal loops; 0: the tensor stays
  std::array<IngressMode, 2> mode = {};  // of the spatial loops
  bool unique_zero = false;              // MAESTRO ends here
};

inline constexpr int64_t kMaxCases = int64_t{1} << 20;

class CaseWalk {
 public:
  // Prepares a visit and returns its number of cases.
  int64_t Start(LevelTables& tables, uint32_t key);

  // Calls body(case, step) for each case until it returns false; whether it never did.
  //
  // MAESTRO's order: in case c a loop is in state ceil(c / f) mod s, where s is its number of
  // states and f the product of those further in. So a loop advances when all loops further in
  // leave their first state together, and the innermost runs through 0, then 1 to s-1 and 0 again
  // and again, without the last 0.
  template <typename Body>
  bool ForEachCase(const Body& body) {
    if (num_axes_ == 0) return body(prefix_[0], steps_[0]);
    const size_t last = num_axes_ - 1;
    Axis& inner = axes_[last];
    const size_t num_states = inner.loop->num_states;
    for (int64_t row = 0; row <= num_rows_; ++row) {
      if (row > 0) AdvanceOuter();
      const Case outer = prefix_[last];
      const size_t begin = row == 0 ? num_states : 1;
      const size_t end = row == num_rows_ ? num_states - 1 : num_states;
      for (size_t i = begin; i <= end; ++i) {
        inner.digit = i == num_states ? 0 : i;
        const Case c = Product(outer, inner.loop->part[inner.digit]);
        if (!body(c, steps_[c.step])) return false;
      }
    }
    return true;
  }

  // The state of a map in the current case, for explanations.
  State StateOfMap(LevelTables& tables, uint32_t key, size_t map) const;

 private:
  // A loop with more than one state, and where it is.
  struct Axis {
    const Loop* loop;
    size_t digit;
  };

  static Case Product(const Case& outer, const Case& part) {
    return {.occurrences = outer.occurrences * part.occurrences,
            .code = outer.code + part.code,
            .edge_key = outer.edge_key | part.edge_key,
            .step = std::max(outer.step, part.step),
            .all = outer.all * part.all,
            .out = outer.out * part.out};
  }

  // The axes outside the innermost go to their next combination.
  void AdvanceOuter() {
    size_t i = num_axes_ - 1;
    bool was_first = true;
    while (was_first && i > 0) {
      Axis& axis = axes_[--i];
      was_first = axis.digit == 0;
      axis.digit = axis.digit + 1 == axis.loop->num_states ? 0 : axis.digit + 1;
    }
    for (; i + 1 < num_axes_; ++i) {
      prefix_[i + 1] = Product(prefix_[i], axes_[i].loop->part[axes_[i].digit]);
    }
  }

  void MakeSteps(const LevelTables& tables);

  int64_t num_rows_ = 1;  // combinations of all axes but the innermost
  size_t num_axes_ = 0;
  std::array<Axis, kMaxMaps> axes_;
  std::array<Case, kMaxMaps> prefix_;  // [i]: of the axes before i and all single-state loops
  std::array<InputAdvance, kMaxMaps + 1> steps_;
  std::array<const Loop*, kMaxMaps> loops_;  // of the live maps, by map
};

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_CASES_H_
