// Least energies of words beyond the levels that are decided.
#include "tessera/search/exact/word_cost.h"

#include <algorithm>
#include <cmath>

#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/frame.h"

namespace tessera::exact {
namespace {

// Timeloop lists the words of a network by the number of children that they reach. Items of that
// list, at most: one where all groups are of one size; else one for each size that groups can have
// at one visit, for each loop that can advance, and for the first visit. B5.
double MostIngresses(const Model& model, int v, int level) {
  const double fan = model.levels[level].fan;
  const bool one_size = level > 0 && model.setup->data.tensors[v].simple;
  if (fan <= 1 || one_size) return 1;
  const double sizes = std::floor((std::sqrt(8 * fan + 1) - 1) / 2);  // they add up to the fan-out
  return (model.most_loops + 1) * sizes;
}

// Timeloop scales the words of a network above a level that is passed by, and cuts the routers that
// they pass to whole numbers, once per item of the list. B8.
double CutRouters(const Model& model, int v, int level, double used) {
  if (model.exact || level == 0 || model.Keeps(level - 1, v)) return 0;
  return used * MostIngresses(model, v, level) * model.setup->machine.levels[level].router_pj;
}

}  // namespace

EnterCost EnterCostOf(const Model& model, int v, int level, double used, double copies) {
  const TensorFacts& tensor = model.tensors[v];
  const LevelFacts& facts = model.levels[level];
  const bool reduces = model.exact ? model.levels[model.parent[level][v]].reduces : facts.reduces;
  // One way: every word enters once. B8.
  const double cut_pj = CutRouters(model, v, level, used);
  if (!tensor.read_write || reduces) return {.word_pj = facts.of[v].enter_pj, .fixed_pj = -cut_pj};
  // Sums that are not added on the way come back down, except the first of each element: both ways
  // less one. Where elements can coincide, nothing is known but how many could be taken off. B5.
  if (!tensor.simple || (level == 0 && model.mac_links)) {
    const double first = MostIngresses(model, v, level) * tensor.elements * used;
    return {.fixed_pj = -(first * facts.of[v].enter_pj + cut_pj)};
  }
  return {.word_pj = 2 * facts.of[v].enter_pj,
          .fixed_pj = -(tensor.elements * copies * facts.of[v].enter_pj + cut_pj)};
}

InnerCost InnerCostOf(const Model& model, int v, int next) {
  if (next < 0) return {};
  const TensorFacts& tensor = model.tensors[v];
  const LevelFacts& level = model.levels[next];
  const double fill_pj = level.least_share * level.of[v].fill_pj;
  InnerCost cost{.word_pj = model.inner_pj[next][v],
                 .elided_pj = model.inner_elided_pj[next][v],
                 .slack_pj = model.inner_slack_pj[next][v]};
  // Sums of a window can meet where they arrive, so their fills are not bounded. B5.
  if (tensor.read_write && !tensor.simple) return cost;
  // A word that passes a level has to fill the next one that holds its tensor. B6.
  cost.word_pj += fill_pj;
  if (tensor.read_write) cost.elided_pj += fill_pj;
  // Timeloop cuts fills to whole words, one per instance at most. B8.
  if (!model.exact && !tensor.read_write) cost.slack_pj += level.clusters * level.of[v].fill_pj;
  return cost;
}

Refill RefillOf(const Model& model, int v, int level, double tile_words, int down_to) {
  Refill refill;
  if (!model.refills || !PassesAsTile(model, v)) return refill;
  int outside = model.Keeps(level, v) ? level : -1;
  for (int n = level - 1; n >= down_to; --n) {
    if (!model.Keeps(n, v)) continue;
    const double room =
        model.fan_below[level + 1] / model.fan_below[n + 1] * model.most_words[n][v];
    // Tiles that have to change during a visit begin anew at the next one; of windows, what lies in
    // the last and in the first of them may stay.
    const double kept = model.tensors[v].simple ? 0 : room;
    const double more = tile_words > room ? tile_words - kept : 0;
    const ElementFacts& element = model.levels[n].of[v];
    // The words that pass the tile's level are read elsewhere, at a price that is known there.
    refill.pj += more * (outside < 0 ? model.levels[n].least_share * element.fill_pj
                                     : model.arrival_pj[n][v]);
    if (outside < 0 || outside == level) refill.words = more;
    outside = n;
  }
  return refill;
}

double LeastShared(const double* pj, const double* most, double fan) {
  if (most[0] * most[1] <= fan) return pj[0] / most[0] + pj[1] / most[1];
  constexpr double kTiny = 1e-300;  // instead of 0, so that the quotient is large and no NaN
  const double m = std::clamp(std::sqrt(pj[0] * fan / std::max(pj[1], kTiny)),
                              std::max(1.0, fan / most[1]), most[0]);
  return pj[0] / m + pj[1] * m / fan;
}

double WindowMulticast(const Model& model, int v, const double* factors) {
  const TensorFacts& tensor = model.tensors[v];
  double multicast = 1;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    if (rank.num_terms < 2) continue;
    double product = 1, sum = 0;
    for (int k = 0; k < rank.num_terms; ++k) {
      product *= factors[rank.dims[k]];
      sum += factors[rank.dims[k]] - 1;
    }
    multicast *= product / (1 + sum);
  }
  return multicast;
}

Multicast MostMulticast(const Model& model, int v, const int32_t* extents, double fan) {
  const TensorFacts& tensor = model.tensors[v];
  Multicast most;
  double idle = 1, factors[kMaxDims];
  for (int d = 0; d < model.num_dims; ++d) {
    factors[d] = extents[d];
    if (!Has(tensor.dims, d)) idle *= extents[d];
  }
  most.idle = std::min(fan, idle);
  if (tensor.simple) return most;
  if (!model.exact || tensor.shares) return {.idle = most.idle, .windows = fan, .fan = fan};
  most.windows = WindowMulticast(model, v, factors);
  most.fan = fan;
  return most;
}

void OperandCosts::AddInside(int v, int level, double copies, double idle_extents) {
  const TensorFacts& tensor = model_.tensors[v];
  int innermost = 0;
  while (!model_.Keeps(innermost, v)) ++innermost;
  if (innermost >= level || model_.mac_links) return;
  const LevelFacts& facts = model_.levels[innermost];
  const auto instances = static_cast<double>(model_.setup->machine.levels[innermost].instances);
  // A word serves at most all MACs below an instance that can use it, in one step. B6.
  const Multicast most = MostMulticast(model_, v, extents_, model_.fan_below[innermost + 1]);
  const double word_pj = tensor.read_write ? facts.of[v].update_pj : facts.of[v].read_pj;
  Item item{.v = v,
            .words = model_.macs,
            .word_pj = word_pj * facts.least_share,
            .level = innermost,
            .of_one_instance = 1 / instances};
  if (tensor.read_write && tensor.simple) {
    // First sums: as many as there can be copies of an element. B5.
    const double more =
        std::min(model_.fan_below[level] / model_.fan_below[innermost + 1], idle_extents);
    item.elided = tensor.elements * copies * more;
    item.elided_pj = facts.of[v].read_rw_pj * facts.least_share;
    item.first = item.elided / instances;
  }
  Add(item, most);
  for (int k = 0; k <= innermost; ++k) {
    const double enter_pj = model_.levels[k].of[v].enter_pj;
    double pj =
        -CutRouters(model_, v, k, static_cast<double>(model_.setup->machine.levels[k].instances));
    if (enter_pj > 0) {
      const Multicast below = MostMulticast(model_, v, extents_, model_.fan_below[k + 1]);
      pj += model_.macs / below.Most() * enter_pj;
    }
    alone_pj_ += pj;
    rest_pj_ += pj;
    fixed_pj_ += pj;
  }
}

void OperandCosts::AddOpen(const Open& open, const Multicast& most) {
  Add({.v = open.v,
       .words = open.words,
       .word_pj = open.word_pj,
       .level = open.level,
       .of_one_instance = open.of_one_instance,
       .first = open.first},
      most);
}

void OperandCosts::Add(const Item& item, const Multicast& most) {
  const double least = item.words / most.Most();
  const double alone = item.PriceOf(least);
  alone_pj_ += alone;
  items_[num_items_] = item;
  items_[num_items_++].most_multicast = most.Most();
  if (!model_.disjoint || count_ == 2 || most.idle <= 1) {
    rest_pj_ += alone;
    return;
  }
  pj_[count_] = item.words * (item.word_pj + item.elided_pj) / most.windows;
  most_[count_++] = most.idle;
  rest_pj_ -= item.elided * item.elided_pj;
}

double OperandCosts::Least() const {
  if (count_ < 2) return alone_pj_;
  return std::max(alone_pj_, rest_pj_ + LeastShared(pj_, most_, fan_));
}

// Of the busiest level that hands out operands, for these alone. B9, B15.
double OperandCosts::Cycles(const ParallelPoint& point) const {
  double cycles = 0;
  for (int k = 0; k < num_items_; ++k) {
    const int level = items_[k].level;
    double reads = 0, writes = 0;
    for (int j = 0; j < num_items_; ++j) {
      const Item& item = items_[j];
      if (item.level != level) continue;
      const TensorFacts& tensor = model_.tensors[item.v];
      const double units = model_.levels[level].of[item.v].units;
      const double asked = item.Asked(point) * item.of_one_instance;
      (tensor.read_write ? writes : reads) += asked * units;
      // Sums are read as well, but for the first of each element; of windows these are not known.
      if (tensor.read_write && tensor.simple) reads += std::max(0.0, asked - item.first) * units;
    }
    const LevelFacts& facts = model_.levels[level];
    cycles = std::max({cycles, reads / facts.read_bw, writes / facts.write_bw,
                       (reads + writes) / facts.shared_bw});
  }
  return cycles;
}

OperandPoint OperandCosts::CostOf(const ParallelPoint& point, double operations) const {
  double pj = fixed_pj_ + model_.macs * point.hop_pj;
  for (int k = 0; k < num_items_; ++k) pj += items_[k].PriceOf(items_[k].Asked(point));
  double cycles = operations / point.product;
  // Timeloop's counts are rounded (B8), and with any factors instances differ.
  if (model_.exact && !model_.any) cycles = std::max(cycles, Cycles(point));
  return {.more_pj = pj, .cycles = CeilCycles(cycles)};
}

double OperandCosts::SetFront(std::span<const ParallelPoint> points, double operations,
                              OperandFront& front) const {
  const double least = Least();
  double least_pj = kInfinity;
  front.count = 0;
  for (const ParallelPoint& point : points) {
    OperandPoint cost = CostOf(point, operations);
    cost.more_pj = std::max(cost.more_pj, least);
    least_pj = std::min(least_pj, cost.more_pj);
    front.Add(cost);
  }
  for (int k = 0; k < front.count; ++k) front.points[k].more_pj -= least_pj;
  return least_pj;
}

}  // namespace tessera::exact
