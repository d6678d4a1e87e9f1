// Least energies of words beyond the levels that are decided.
#include "tessera/search/exact/word_cost.h"

#include <algorithm>
#include <cmath>

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
  // A word serves at most all MACs below an instance that can use it, in one step. B6.
  const Multicast most = MostMulticast(model_, v, extents_, model_.fan_below[innermost + 1]);
  double word_pj = tensor.read_write ? facts.of[v].update_pj : facts.of[v].read_pj;
  double elided_pj = 0, elided = 0;
  if (tensor.read_write && tensor.simple) {
    // First sums: as many as there can be copies of an element. B5.
    const double more =
        std::min(model_.fan_below[level] / model_.fan_below[innermost + 1], idle_extents);
    elided = tensor.elements * copies * more;
    elided_pj = facts.of[v].read_rw_pj * facts.least_share;
  }
  word_pj *= facts.least_share;
  Add(model_.macs, word_pj, elided, elided_pj, most);
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
  }
}

void OperandCosts::AddOpen(double words, double word_pj, const Multicast& most) {
  Add(words, word_pj, 0, 0, most);
}

void OperandCosts::Add(double words, double word_pj, double elided, double elided_pj,
                       const Multicast& most) {
  const double least = words / most.Most();
  const double alone = least * word_pj + std::max(0.0, least - elided) * elided_pj;
  alone_pj_ += alone;
  if (!model_.disjoint || count_ == 2 || most.idle <= 1) {
    rest_pj_ += alone;
    return;
  }
  pj_[count_] = words * (word_pj + elided_pj) / most.windows;
  most_[count_++] = most.idle;
  rest_pj_ -= elided * elided_pj;
}

double OperandCosts::Least() const {
  if (count_ < 2) return alone_pj_;
  return std::max(alone_pj_, rest_pj_ + LeastShared(pj_, most_, fan_));
}

}  // namespace tessera::exact
