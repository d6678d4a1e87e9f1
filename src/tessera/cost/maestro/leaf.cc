#include "tessera/cost/maestro/leaf.h"

#include <algorithm>

namespace tessera::maestro {
namespace {

constexpr uint8_t kNoAxis = 255;

}  // namespace

bool LeafWalk::Add(LevelTables& tables, uint32_t key, const Speeds& speeds, LeafSum& sum) {
  if (!FindAxes(tables, key) || !LookInside(tables)) return false;
  if (!AddFirst(tables, speeds, sum)) return false;
  for (size_t i = 0; i < num_axes_; ++i) {
    if (!AddAxis(tables, axes_[i], speeds, sum)) return false;
    if (i + 1 < num_axes_) TakeIn(*axes_[i].loop);
  }
  return true;
}

// Sorts the loops into axes and into those with one state, which go into the first group.
bool LeafWalk::FindAxes(LevelTables& tables, uint32_t key) {
  num_axes_ = 0;
  num_groups_ = 1;
  const Case& fixed = tables.fixed_part();
  Group& first = groups_[0];
  first = {.all = fixed.all, .out = fixed.out, .occurrences = 1, .code = fixed.code};
  std::array<int64_t, 2> ingress = tables.fixed_ingress();
  double occurrences = 1;
  for (size_t i = 0; i < tables.num_live(); ++i) {
    const Loop& loop = tables.LoopOf(tables.live(i), key);
    loops_[i] = &loop;
    before_[i] = ingress;
    ingress[kInput] *= loop.ingress[kInput];
    ingress[kFilter] *= loop.ingress[kFilter];
    if (loop.num_states == 1) {
      axis_of_live_[i] = kNoAxis;
      first.all *= loop.part[0].all;
      first.out *= loop.part[0].out;
      first.code += loop.part[0].code;
      continue;
    }
    if (num_axes_ == kMaxAxes || loop.part[1].step == 0) return false;
    occurrences *= loop.part[1].occurrences;
    axis_of_live_[i] = static_cast<uint8_t>(num_axes_);
    axes_[num_axes_++].loop = &loop;
  }
  all_ingress_ = ingress;
  return occurrences <= INT32_MAX;
}

// c.5, as in CaseWalk::MakeSteps, and what the loops further in contribute at their start.
bool LeafWalk::LookInside(const LevelTables& tables) {
  int64_t all = 1, out = 1;
  uint32_t code = 0;
  std::array<int64_t, 2> after = {1, 1};
  std::array<bool, 2> restarts = {false, false};
  IngressMode further_in = 0;
  for (size_t i = tables.num_live(); i-- > 0;) {
    const LevelTables::MapInfo& info = tables.info(tables.live(i));
    const Loop& loop = *loops_[i];
    if (axis_of_live_[i] != kNoAxis) {
      Axis& axis = axes_[axis_of_live_[i]];
      for (const size_t t : {kInput, kFilter}) {
        const bool only_new = info.coupled[t] && !restarts[t];
        const bool replaces = only_new && !info.spatial;
        if (replaces && info.unique == 0) return false;
        const int64_t own = replaces ? info.unique : loop.ingress[t];
        axis.ingress[t] = info.coupled[t] ? before_[i][t] * own * after[t] : 0;
        axis.mode[t] = only_new ? further_in | info.spatial_bit : further_in;
      }
      axis.all_inside = all;
      axis.out_inside = out;
      axis.code_inside = code;
      all *= loop.part[0].all;
      out *= loop.part[0].out;
      code += loop.part[0].code;
    }
    for (const size_t t : {kInput, kFilter}) {
      after[t] *= loop.ingress[t];
      // Axes are the last map of their dimension: FindAxes saw to it.
      restarts[t] |= info.coupled[t] && !loop.unrolled;
    }
    further_in |= info.spatial_bit;
  }
  return true;
}

// The case in which every loop is at its start.
bool LeafWalk::AddFirst(LevelTables& tables, const Speeds& speeds, LeafSum& sum) {
  Group all = groups_[0];
  for (size_t i = 0; i < num_axes_; ++i) {
    const Case& part = axes_[i].loop->part[0];
    all.all *= part.all;
    all.out *= part.out;
    all.code += part.code;
  }
  const SpatialFactors& factors = tables.Factors(all.code);
  const int64_t critical = all.all * factors.critical;
  if (critical <= 0) return false;
  const int64_t ingress = all_ingress_[kInput] * factors.ingress[kInput][kAllInit] +
                          all_ingress_[kFilter] * factors.ingress[kFilter][kAllInit];
  sum = {.occurrences = 1,
         .cycles = speeds.ComputeCycles(critical) + speeds.DelayCycles(ingress),
         .busy_units = factors.active};
  return true;
}

// The cases in which this axis is the last to have advanced.
bool LeafWalk::AddAxis(LevelTables& tables, const Axis& axis, const Speeds& speeds, LeafSum& sum) {
  for (size_t s = 1; s < axis.loop->num_states; ++s) {
    const Case& part = axis.loop->part[s];
    const int64_t all = part.all * axis.all_inside, out = part.out * axis.out_inside;
    const uint32_t code = part.code + axis.code_inside;
    for (size_t g = 0; g < num_groups_; ++g) {
      const Group& group = groups_[g];
      const SpatialFactors& factors = tables.Factors(group.code + code);
      const int64_t critical = group.all * all * factors.critical;
      const int64_t egress = group.out * out * factors.egress;
      const int64_t ingress = axis.ingress[kInput] * factors.ingress[kInput][axis.mode[kInput]] +
                              axis.ingress[kFilter] * factors.ingress[kFilter][axis.mode[kFilter]];
      if (critical <= 0 || std::min(ingress, egress) < 0) return false;
      // From 0 on the delay grows with the volume, so one division does.
      const int64_t cycles =
          std::max(speeds.ComputeCycles(critical), speeds.DelayCycles(std::max(ingress, egress)));
      const int64_t occurrences = group.occurrences * part.occurrences;
      sum.occurrences += occurrences;
      sum.cycles += occurrences * cycles;
      sum.busy_units += occurrences * factors.active;
    }
  }
  return true;
}

// The groups get one more loop, which doubles them if it has an edge.
void LeafWalk::TakeIn(const Loop& loop) {
  const size_t last = loop.num_states - 1u;
  const Case& start = loop.part[0];
  const Case& edge = loop.part[last];
  const bool has_edge = IsEdge(loop.state[last]);
  const bool has_steady = loop.state[1] == State::kSteady;
  const int64_t whole_tiles = 1 + (has_steady ? int64_t{loop.part[1].occurrences} : 0);
  for (size_t g = 0; g < num_groups_; ++g) {
    Group& group = groups_[g];
    if (has_edge) {
      groups_[num_groups_ + g] = {.all = group.all * edge.all,
                                  .out = group.out * edge.out,
                                  .occurrences = group.occurrences,
                                  .code = group.code + edge.code};
    }
    group.all *= start.all;
    group.out *= start.out;
    group.occurrences *= whole_tiles;
    group.code += start.code;
  }
  if (has_edge) num_groups_ *= 2;
}

}  // namespace tessera::maestro
