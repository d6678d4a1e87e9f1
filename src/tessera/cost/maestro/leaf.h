// The innermost level in few steps. Most of MAESTRO's cases are there, and most of them are alike:
// a loop's first tile and the full ones after it differ only in what must be brought in, and that
// is decided by the one loop that advanced last. So cases are added up in groups, one for each loop
// that advances and each set of loops further out that are at an edge.
#ifndef TESSERA_COST_MAESTRO_LEAF_H_
#define TESSERA_COST_MAESTRO_LEAF_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/cost/maestro/cases.h"

namespace tessera::maestro {

// What the network and the PEs need for a case.
struct Speeds {
  int64_t latency_cycles = 0;
  int64_t elements_per_cycle = 1;
  int64_t lanes = 1;

  int64_t DelayCycles(int64_t elements) const {
    return latency_cycles + elements / elements_per_cycle +
           (elements % elements_per_cycle != 0 ? 1 : 0) - 1;
  }
  int64_t ComputeCycles(int64_t macs) const {
    return lanes == 1 ? macs : macs / lanes + (macs % lanes > 0 ? 1 : 0);
  }
};

struct LeafSum {
  int64_t occurrences = 0;
  int64_t cycles = 0;
  int64_t busy_units = 0;  // times occurrences
};

// Scratch memory for one visit at a time.
class LeafWalk {
 public:
  // Adds up the visit. False where a case is special (no partial sums, a negative volume,
  // occurrences that may leave 32 bits, a dimension mapped twice, ...): then they have to be walked
  // one by one.
  bool Add(LevelTables& tables, uint32_t key, const Speeds& speeds, LeafSum& sum);

 private:
  // A loop with more than one state.
  struct Axis {
    const Loop* loop;
    std::array<int64_t, 2> ingress;   // temporal factor when it advances; 0: the tensor stays
    std::array<IngressMode, 2> mode;  // of the spatial loops then
    int64_t all_inside = 1, out_inside = 1;  // loops further in, at their start
    uint32_t code_inside = 0;
  };
  // Loops further out, and how often they are so.
  struct Group {
    int64_t all, out, occurrences;
    uint32_t code;
  };
  static constexpr size_t kMaxAxes = 9;

  bool FindAxes(LevelTables& tables, uint32_t key);
  bool LookInside(const LevelTables& tables);
  bool AddFirst(LevelTables& tables, const Speeds& speeds, LeafSum& sum);
  bool AddAxis(LevelTables& tables, const Axis& axis, const Speeds& speeds, LeafSum& sum);
  void TakeIn(const Loop& loop);

  size_t num_axes_ = 0;
  std::array<Axis, kMaxAxes> axes_;
  std::array<uint8_t, kMaxMaps> axis_of_live_;           // by live map; kNoAxis: a single state
  std::array<const Loop*, kMaxMaps> loops_;              // by live map
  std::array<std::array<int64_t, 2>, kMaxMaps> before_;  // ingress of the live maps further out
  std::array<int64_t, 2> all_ingress_;
  size_t num_groups_ = 0;
  std::array<Group, size_t{1} << (kMaxAxes - 1)> groups_;
};

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_LEAF_H_
