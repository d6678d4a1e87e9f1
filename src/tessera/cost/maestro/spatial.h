// How the units of a level share the work. Volumes of a case (c.5, c.6) are products over its
// loops; the loops over time enter as plain factors (cases.h), the one or two loops over units as
// the factors here, which depend on their states alone.
#ifndef TESSERA_COST_MAESTRO_SPATIAL_H_
#define TESSERA_COST_MAESTRO_SPATIAL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/cost/maestro/level.h"
#include "tessera/cost/maestro/states.h"
#include "tessera/cost/maestro/workload.h"

namespace tessera::maestro {

// Which data of an input tensor the units after the first one need: with bit q, only what is new in
// the tile of SpatialMap q. kAllInit is the very first case, in which nothing was there before.
using IngressMode = uint8_t;
inline constexpr IngressMode kAllInit = 4;
inline constexpr size_t kIngressModes = 5;

// Factors of all units together.
struct SpatialFactors {
  std::array<std::array<int64_t, kIngressModes>, 2> ingress;  // by input tensor and mode
  int64_t egress;
  int64_t macs;
  int64_t critical;   // MACs of the unit that takes longest
  int64_t active;     // units that work
  uint32_t edge_key;  // Level::edge_bit of the dimensions that these loops leave at an edge
  bool edge_edge;     // one unit works on a smaller tile than the others
};

// The pair of states of a level's SpatialMaps as an index: SpatialClass of the first + kStates *
// SpatialClass of the second.
inline constexpr size_t kSpatialCodes = kStates * kStates;

// The SpatialMaps of a level, prepared for any states.
class SpatialLoops {
 public:
  void Reset(const Workload& workload, const Level& level);
  SpatialFactors FactorsOf(size_t code) const;

 private:
  // A value for each kind of unit: the first of the level or a later one, with a full tile or with
  // the one that is cut off. As weights: how many units of the kind there are.
  struct ByUnit {
    int64_t first, first_cut, later, later_cut;
  };
  struct Loop {
    Extent in, out;               // of the dimension, and of its output dimension
    std::array<bool, 3> coupled;  // by tensor: indexes it
    bool spreads;                 // the dimension counts as spatial (Level::FirstIsSpatial)
    bool repeated;                // the other loop is over the same dimension and comes first
    uint32_t edge_bit;
  };
  using States = std::array<State, 2>;

  static ByUnit Product(const ByUnit& a, const ByUnit& b);
  static int64_t Sum(const ByUnit& weights, const ByUnit& values);
  ByUnit UnitsAt(bool edge, bool cut) const;
  ByUnit UnitsOf(size_t tensor, const States& states) const;
  ByUnit Ingress(size_t tensor, IngressMode mode, const States& states) const;
  ByUnit AllInit(const Extent& extent, State state) const;
  ByUnit Output(const Loop& loop, State state, bool reuse) const;
  ByUnit Reduction(const Loop& loop, State state) const;
  ByUnit Advanced(const Extent& in, const Extent& out, State state) const;

  size_t num_ = 0;
  std::array<Loop, 2> loops_;
  std::array<uint8_t, 3> last_;  // by tensor: which of two spreading loops comes last in its order
  int64_t units_ = 1, edge_units_ = 1;
};

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_SPATIAL_H_
