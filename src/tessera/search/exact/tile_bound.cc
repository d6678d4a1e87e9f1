// The bound of a tile before the level above it has parallel factors. Each parallel factor makes
// the parent hand out fewer words of one tensor, so tensors compete for the fan-out.
#include <algorithm>
#include <cmath>

#include "tessera/search/exact/bound.h"

namespace tessera::exact {
namespace {

// Least a / m + b / n over m <= most_m, n <= most_n, m * n <= fan.
double SharedFanout(double a, double b, double most_m, double most_n, double fan) {
  if (most_m * most_n <= fan) return a / most_m + b / most_n;
  const double low = std::max(1.0, fan / most_n), high = most_m;
  const double m = std::clamp(std::sqrt(a * fan / std::max(b, 1e-300)), low, high);
  return a / m + b * m / fan;
}

}  // namespace

// One tensor: cost = words delivered * (child_pj + parent_pj / multicast).
struct Bounder::TileTerms {
  bool shared = false;     // takes part in the competition for the fan-out
  double words = 0;        // delivered to all children together, if nothing stays
  double least_words = 0;  // if it stays as long as it can, whatever outer loops do
  double idle_ratio = 1;   // of extents above and below, over dimensions that leave it alone
  double most_multicast = 1;
  double child_pj = 0, parent_pj = 0;
  double fixed_pj = 0;        // if the tensor moves at every visit
  double fixed_lucky_pj = 0;  // if it stays
  // Windows.
  bool one_per_rank = true;  // no rank is moved by two dimensions
  bool own_network = true;   // words pass only one network
  double step_part[kMaxDims] =
      {};                 // that is new, at least, when a loop over the dimension advances
  double least_part = 1;  // and when anything advances that is not idle
};

void Bounder::SetTileTerms(int v, const Frame& parent, const Tile& tile, TileTerms& terms) {
  const TensorFacts& tensor = model_.tensors[v];
  const int i = parent.level - 1, child = i - 1;
  const LevelFacts& level = model_.levels[i];
  const double used = parent.used_below, copies = parent.copies[v];
  double ratio = 1, plain_ratio = 1, idle_extents = 1;
  for (int d = 0; d < model_.num_dims; ++d) {
    const double part = parent.extents[d] / tile.extents[d];
    ratio *= part;
    if (Has(tensor.plain, d)) plain_ratio *= part;
    if (Has(tensor.dims, d)) continue;
    terms.idle_ratio *= part;
    idle_extents *= tile.extents[d];
  }
  terms.words = tile.words[v] * parent.visits * ratio * used;
  terms.least_words = tensor.simple
                          ? tile.words[v] * parent.visits * (ratio / terms.idle_ratio) * used
                          : tile.words[v] * parent.plain_visits[v] * plain_ratio * used;
  terms.most_multicast =
      std::min(level.fan, tensor.simple ? terms.idle_ratio : ratio / plain_ratio);
  for (int r = 0; r < tensor.num_ranks; ++r) {
    int moved_by = 0;
    for (int k = 0; k < tensor.ranks[r].num_terms; ++k) {
      const int d = tensor.ranks[r].dims[k];
      moved_by += model_.bounds[d] > tile.extents[d] ? 1 : 0;
    }
    if (moved_by > 1 || tensor.shares) terms.one_per_rank = false;
  }
  if (!tensor.simple) SetStepParts(v, tile, terms);

  double fixed = 0;
  const double enter_pj = EnterCost(v, i, used, copies, fixed);
  const bool kept = model_.Keeps(i, v), closes = model_.Keeps(child, v);
  terms.own_network = !model_.exact || (kept && closes);
  if (kept) {
    const double share = model_.Share(i, used);
    terms.parent_pj = share * (tensor.read_write ? level.update_pj : level.read_pj);
    if (tensor.read_write && tensor.simple) {
      terms.parent_pj += share * level.read_rw_pj;
      fixed -= tensor.elements * copies * share * level.read_rw_pj;
    }
  } else {
    terms.parent_pj = parent.pending_pj[v] / used;
  }
  terms.parent_pj += enter_pj;
  if (model_.linked_level && !tensor.read_write && kept && closes) terms.parent_pj = 0;
  terms.fixed_pj = terms.fixed_lucky_pj = fixed;
  if (!closes) {
    const int next = model_.next_kept[child][v];
    if (next < 0 && !model_.mac_links) {
      const double words =
          terms.parent_pj * model_.macs / (terms.most_multicast * model_.fan_below[i]);
      terms.fixed_pj += words;
      terms.fixed_lucky_pj += words;
      terms.words = terms.least_words = 0;
      return;
    }
    const InnerCost inner = InnerCostOf(v, next);
    const double operands =
        OperandCost(v, i, copies * terms.most_multicast, idle_extents) - inner.slack_pj;
    terms.fixed_pj += operands;
    terms.fixed_lucky_pj += operands;
    if (tensor.simple) {
      terms.shared = true;
      terms.child_pj = inner.word_pj;
      terms.fixed_pj -= tensor.elements * copies * terms.most_multicast * inner.elided_pj;
      terms.fixed_lucky_pj -= tensor.elements * copies * inner.elided_pj;
      return;
    }
    const double words = tile.plain_words[v] * parent.plain_visits[v] * plain_ratio * used;
    terms.fixed_pj += words * (terms.parent_pj + inner.word_pj);
    terms.fixed_lucky_pj += words * (terms.parent_pj + inner.word_pj);
    terms.words = terms.least_words = 0;
    return;
  }
  const LevelFacts& below = model_.levels[child];
  terms.shared = tensor.simple;
  const double operands = OperandCost(v, i, copies * terms.most_multicast, idle_extents) -
                          model_.inner_slack_pj[child][v];
  terms.fixed_pj += operands;
  terms.fixed_lucky_pj += operands;
  if (tensor.read_write && !tensor.simple) return;
  terms.child_pj = below.least_share * below.fill_pj + model_.inner_pj[child][v];
  if (tensor.read_write) {
    const double elided_pj = below.least_share * below.fill_pj + model_.inner_elided_pj[child][v];
    terms.fixed_pj -= tensor.elements * copies * terms.most_multicast * elided_pj;
    terms.fixed_lucky_pj -= tensor.elements * copies * elided_pj;
  } else if (!model_.exact && (!tensor.simple || model_.parent[i][v] > i)) {
    const double cut = std::min(used * level.fan, below.clusters) * below.fill_pj;
    terms.fixed_pj -= cut;
    terms.fixed_lucky_pj -= cut;
  }
}

// With parallel factors a loop steps further than its tile. That brings more only without holes.
void Bounder::SetStepParts(int v, const Tile& tile, TileTerms& terms) {
  const TensorFacts& tensor = model_.tensors[v];
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    double extent = 1;
    for (int k = 0; k < rank.num_terms; ++k) {
      extent += rank.coefficients[k] * (tile.extents[rank.dims[k]] - 1);
    }
    const bool window = rank.num_terms > 1;
    const bool holes =
        window && model_.exact && (tensor.shares || TouchedOf(v, r, tile.extents) < extent);
    for (int k = 0; k < rank.num_terms; ++k) {
      const int d = rank.dims[k];
      if (model_.bounds[d] == tile.extents[d]) continue;
      terms.step_part[d] = holes ? 0 : NewPart(v, tile.extents, d, tile.extents[d]);
      if (!model_.exact) continue;
      // When the loop starts over, another one can undo its way; at least every second step does
      // not start over.
      if (window && !terms.one_per_rank) terms.step_part[d] /= 2;
      terms.least_part = std::min(terms.least_part, terms.step_part[d]);
    }
  }
}

// Energy if the innermost loop of the level is `dim`; -1: it has no temporal loops.
double Bounder::TileClass(const Chain& chain, const TileTerms* terms, int dim) {
  double energy = 0, a = 0, b = 0, most_a = 1, most_b = 1;
  int competing = 0;
  for (int v = 0; v < model_.num_tensors; ++v) {
    const TileTerms& t = terms[v];
    const TensorFacts& tensor = model_.tensors[v];
    if (t.shared) {
      const bool lucky = dim >= 0 && !Has(tensor.dims, dim);
      if (lucky) {
        energy += t.least_words / chain.idle_run[v] * (t.child_pj + t.parent_pj) + t.fixed_lucky_pj;
        continue;
      }
      const double words = dim >= 0 ? t.words : t.words / chain.idle_run[v];
      energy += words * t.child_pj + t.fixed_pj;
      const double pj = words * t.parent_pj;
      if (!model_.disjoint || competing == 2) {
        energy += pj / t.most_multicast;
      } else if (competing++ == 0) {
        a = pj;
        most_a = t.most_multicast;
      } else {
        b = pj;
        most_b = t.most_multicast;
      }
      continue;
    }
    energy += t.fixed_pj;
    if (t.words == 0) continue;
    double moved = t.least_words, served = t.least_words;
    if (dim >= 0 && Has(tensor.dims, dim)) {
      const double part = t.step_part[dim];
      moved = std::max(moved, part * t.words);
      served = std::max(served, part * t.words / t.most_multicast);
    } else if (dim >= 0 && t.one_per_rank) {
      moved = std::max(moved, t.least_part * t.words / (t.idle_ratio * chain.idle_run[v]));
      if (t.own_network) served = moved;
    }
    energy += moved * t.child_pj + served * t.parent_pj;
  }
  if (competing == 1) energy += a / most_a;
  if (competing == 2) energy += SharedFanout(a, b, most_a, most_b, tile_fan_);
  return energy;
}

double Bounder::TileBound(const Frame& parent, std::span<const Chain> chains, const Tile& tile,
                          Goal goal) {
  const int i = parent.level - 1;
  tile_fan_ = model_.levels[i].fan;
  TileTerms terms[kMaxTensors];
  for (int v = 0; v < model_.num_tensors; ++v) SetTileTerms(v, parent, tile, terms[v]);
  // Links make fills of windows uncertain where there are several parents.
  if (!model_.exact && parent.used_below > 1 && tile_fan_ > 1) {
    for (int v = 0; v < model_.num_tensors; ++v) {
      if (!model_.tensors[v].simple) terms[v].words = terms[v].least_words;
    }
  }
  double ratio = 1;
  uint32_t open = 0;
  for (int d = 0; d < model_.num_dims; ++d) {
    ratio *= parent.extents[d] / tile.extents[d];
    if (parent.extents[d] > tile.extents[d]) open |= 1u << d;
  }
  const double parallel =
      parent.used_below * std::min(tile_fan_, ratio) * std::min(model_.fan_below[i], tile.product);
  const double compute = std::ceil(model_.macs / parallel * (1 - 1e-12));
  double least = kInfinity;
  for (const Chain& chain : chains) {
    double energy = kInfinity;
    if (ratio <= tile_fan_) energy = TileClass(chain, terms, -1);
    for (int d = 0; d < model_.num_dims; ++d) {
      if (Has(open, d)) energy = std::min(energy, TileClass(chain, terms, d));
    }
    const Bound bound{.energy_pj = chain.closed_pj + parent.fixed_pj + energy,
                      .cycles = std::max(compute, chain.cycles) + model_.latency_cycles};
    least = std::min(least, ValueOf(bound, goal));
  }
  return least;
}

}  // namespace tessera::exact
