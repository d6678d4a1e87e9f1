// Least energies of words beyond the levels that are decided.
#include "tessera/search/exact/word_cost.h"

#include <algorithm>
#include <cmath>

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
  if (!tensor.read_write || reduces) return {.word_pj = facts.enter_pj, .fixed_pj = -cut_pj};
  // Sums that are not added on the way come back down, except the first of each element: both ways
  // less one. Where elements can coincide, nothing is known but how many could be taken off. B5.
  if (!tensor.simple || (level == 0 && model.mac_links)) {
    const double first = MostIngresses(model, v, level) * tensor.elements * used;
    return {.fixed_pj = -(first * facts.enter_pj + cut_pj)};
  }
  return {.word_pj = 2 * facts.enter_pj,
          .fixed_pj = -(tensor.elements * copies * facts.enter_pj + cut_pj)};
}

InnerCost InnerCostOf(const Model& model, int v, int next) {
  if (next < 0) return {};
  const TensorFacts& tensor = model.tensors[v];
  const LevelFacts& level = model.levels[next];
  const double fill_pj = level.least_share * level.fill_pj;
  InnerCost cost{.word_pj = model.inner_pj[next][v],
                 .elided_pj = model.inner_elided_pj[next][v],
                 .slack_pj = model.inner_slack_pj[next][v]};
  // Sums of a window can meet where they arrive, so their fills are not bounded. B5.
  if (tensor.read_write && !tensor.simple) return cost;
  // A word that passes a level has to fill the next one that holds its tensor. B6.
  cost.word_pj += fill_pj;
  if (tensor.read_write) cost.elided_pj += fill_pj;
  // Timeloop cuts fills to whole words, one per instance at most. B8.
  if (!model.exact && !tensor.read_write) cost.slack_pj += level.clusters * level.fill_pj;
  return cost;
}

double OperandCost(const Model& model, int v, int level, double copies, double idle_extents) {
  const TensorFacts& tensor = model.tensors[v];
  int innermost = 0;
  while (!model.Keeps(innermost, v)) ++innermost;
  if (innermost >= level || model.mac_links) return 0;
  const LevelFacts& facts = model.levels[innermost];
  // A word serves at most all MACs below an instance, in one step. B6.
  const double words = model.macs / model.fan_below[innermost + 1];
  double pj = 0;
  if (!tensor.read_write) {
    pj = words * facts.read_pj;
  } else {
    // First sums: as many as there can be copies of an element. B5.
    const double more =
        std::min(model.fan_below[level] / model.fan_below[innermost + 1], idle_extents);
    const double elided = tensor.elements * copies * more;
    pj = words * facts.update_pj;
    if (tensor.simple) pj += std::max(0.0, words - elided) * facts.read_rw_pj;
  }
  pj *= facts.least_share;
  for (int k = 0; k <= innermost; ++k) {
    pj += model.macs / model.fan_below[k + 1] * model.levels[k].enter_pj;
    pj -= CutRouters(model, v, k, static_cast<double>(model.setup->machine.levels[k].instances));
  }
  return pj;
}

}  // namespace tessera::exact
