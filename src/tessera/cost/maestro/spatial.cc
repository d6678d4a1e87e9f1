#include "tessera/cost/maestro/spatial.h"

#include <algorithm>

namespace tessera::maestro {

void SpatialLoops::Reset(const Workload& workload, const Level& level) {
  num_ = level.num_spatial;
  units_ = level.units;
  edge_units_ = level.edge_units;
  last_ = {};
  for (size_t q = 0; q < num_; ++q) {
    const Dim dim = level.maps[level.spatial[q]].dim;
    const Dim other = level.maps[level.spatial[0]].dim;
    Loop& loop = loops_[q];
    loop.in = level.extent[Index(dim)];
    loop.out = level.extent[Index(workload.OutputDimOf(dim))];
    for (const size_t t : {kInput, kFilter, kOutput}) {
      loop.coupled[t] = workload.coupled[t].Has(dim);
      if (workload.order[t][Index(dim)] > workload.order[t][Index(other)]) last_[t] = 1;
    }
    loop.spreads = level.FirstIsSpatial(dim);
    loop.repeated = q == 1 && dim == other;
    loop.edge_bit = level.edge_bit[Index(dim)];
  }
}

SpatialFactors SpatialLoops::FactorsOf(size_t code) const {
  const States states = StatesOf(code);
  SpatialFactors factors;
  const IngressMode num_modes = num_ == 1 ? 2 : 4;
  const bool all_init = IsInit(states[0]) && IsInit(states[1]);
  for (const size_t t : {kInput, kFilter}) {
    const ByUnit units = UnitsOf(t, states);
    for (IngressMode mode = 0; mode < num_modes; ++mode) {
      factors.ingress[t][mode] = Sum(units, Ingress(t, mode, states));
    }
    factors.ingress[t][kAllInit] = all_init ? Sum(units, Ingress(t, kAllInit, states)) : 0;
  }
  const ByUnit output_units = UnitsOf(kOutput, states);
  factors.egress = Sum(output_units, Outputs(states, /*reuse=*/true));
  const ByUnit macs = Macs(states);
  factors.macs = Sum(AllUnits(states), macs);
  factors.critical = output_units.first_cut != 0 ? macs.first_cut : macs.first;
  factors.active = IsEdge(states[0]) ? edge_units_ : units_;
  factors.edge_edge = IsEdgeEdge(states[0]);
  factors.edge_key = 0;
  for (size_t q = 0; q < num_; ++q) {
    if (loops_[q].spreads && IsEdge(states[q])) factors.edge_key |= loops_[q].edge_bit;
  }
  return factors;
}

UnitSum SpatialLoops::IngressSum(size_t tensor, IngressMode mode, size_t code) const {
  return {UnitsOf(tensor, StatesOf(code)), Ingress(tensor, mode, StatesOf(code))};
}

UnitSum SpatialLoops::EgressSum(size_t code) const {
  return {UnitsOf(kOutput, StatesOf(code)), Outputs(StatesOf(code), /*reuse=*/true)};
}

UnitSum SpatialLoops::MacsSum(size_t code) const {
  return {AllUnits(StatesOf(code)), Macs(StatesOf(code))};
}

// Outputs of a unit, over all loops.
ByUnit SpatialLoops::Outputs(const States& states, bool reuse) const {
  ByUnit outputs = {1, 1, 1, 1};
  for (size_t q = 0; q < num_; ++q) {
    const Loop& loop = loops_[q];
    if (!loop.coupled[kOutput] || !loop.spreads || loop.repeated) continue;
    outputs = Product(outputs, Output(loop, states[q], reuse));
  }
  return outputs;
}

// MACs of a unit. MAESTRO lets all units with a full tile do what the first one does.
ByUnit SpatialLoops::Macs(const States& states) const {
  ByUnit macs = Outputs(states, /*reuse=*/false);
  for (size_t q = 0; q < num_; ++q) {
    if (!loops_[q].coupled[kOutput]) macs = Product(macs, Reduction(loops_[q], states[q]));
  }
  macs.later = macs.first;
  return macs;
}

// For the MACs any loop counts, and the last one says whether a unit is cut off.
ByUnit SpatialLoops::AllUnits(const States& states) const {
  bool edge = false, cut = false;
  for (size_t q = 0; q < num_; ++q) {
    edge |= IsEdge(states[q]);
    cut = IsEdgeEdge(states[q]);
  }
  return UnitsAt(edge, cut);
}

ByUnit SpatialLoops::Product(const ByUnit& a, const ByUnit& b) {
  return {a.first * b.first, a.first_cut * b.first_cut, a.later * b.later,
          a.later_cut * b.later_cut};
}

int64_t SpatialLoops::Sum(const ByUnit& weights, const ByUnit& values) {
  return weights.first * values.first + weights.first_cut * values.first_cut +
         weights.later * values.later + weights.later_cut * values.later_cut;
}

// How many units of each kind work, where loops are at an edge or not and the last one is cut off.
ByUnit SpatialLoops::UnitsAt(bool edge, bool cut) const {
  if (!edge) return {1, 0, units_ - 1, 0};
  if (edge_units_ == 1) return {cut ? 0 : 1, cut ? 1 : 0, 0, 0};
  const int64_t num_cut = cut ? 1 : 0;
  return {1, 0, std::max<int64_t>(edge_units_ - 1 - num_cut, 0), num_cut};
}

// The same for the loops over a tensor's dimensions. Without one, one copy of the data reaches all
// units.
ByUnit SpatialLoops::UnitsOf(size_t tensor, const States& states) const {
  bool spread = false, edge = false, cut = false;
  for (size_t q = 0; q < num_; ++q) {
    if (!loops_[q].spreads || !loops_[q].coupled[tensor]) continue;
    if (!spread || last_[tensor] == q) cut = IsEdgeEdge(states[q]);
    spread = true;
    edge |= IsEdge(states[q]);
  }
  return spread ? UnitsAt(edge, cut) : ByUnit{1, 0, 0, 0};
}

// What a unit needs of an input tensor.
ByUnit SpatialLoops::Ingress(size_t tensor, IngressMode mode, const States& states) const {
  ByUnit volume = {1, 1, 1, 1};
  for (size_t q = 0; q < num_; ++q) {
    if (!loops_[q].coupled[tensor]) continue;
    const Extent& e = loops_[q].in;
    if (mode == kAllInit) {
      volume = Product(volume, AllInit(e, states[q]));
    } else if ((mode >> q & 1) == 0) {
      volume = Product(volume, {e.full, e.edge_full, e.full, e.edge_full});
    } else {
      volume = Product(volume, {e.full, e.edge_full, e.unique, e.edge_unique});
    }
  }
  return volume;
}

ByUnit SpatialLoops::AllInit(const Extent& e, State state) const {
  if (!IsEdge(state)) return {e.full, e.full, e.full, e.full};
  if (edge_units_ == 1) return {e.edge_full, e.edge_full, 1, e.edge_full};
  return {e.full, e.edge_full, e.full, e.edge_full};
}

// Outputs of a unit along one loop. `reuse` leaves out of a cut-off tile what the neighbour has.
ByUnit SpatialLoops::Output(const Loop& loop, State state, bool reuse) const {
  if (!IsInit(state)) return Advanced(loop.in, loop.out, state);
  const Extent& e = loop.out;
  const int64_t later = e.unique != 0 ? e.unique : 1;
  if (!IsEdge(state)) return {e.full, e.full, later, later};
  const int64_t cut = edge_units_ == 1 || !reuse ? e.edge_full : e.edge_unique;
  return {e.full, cut, later, cut};
}

// Products that a unit adds up for each output.
ByUnit SpatialLoops::Reduction(const Loop& loop, State state) const {
  if (!IsInit(state)) return Advanced(loop.in, loop.in, state);
  const Extent& e = loop.in;
  const int64_t later = e.unique != 0 ? e.unique : 1;
  if (!IsEdge(state)) return {e.full, e.full, later, later};
  return {e.full, e.edge_full, later, e.edge_full};
}

// A loop that has advanced. MAESTRO takes the input-centric size where one unit is left.
ByUnit SpatialLoops::Advanced(const Extent& in, const Extent& out, State state) const {
  const int64_t later = out.unique != 0 ? out.unique : 1;
  if (state == State::kSteady) return {out.full, out.full, later, later};
  if (edge_units_ == 1) return {in.edge_full, in.edge_full, 1, in.edge_full};
  return {out.full, out.edge_unique, later, out.edge_unique};
}

}  // namespace tessera::maestro
