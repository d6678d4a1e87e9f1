// The bound of a tile before the level above it has parallel factors. Each parallel factor makes
// the parent hand out fewer words of one tensor, so tensors compete for the fan-out. Proofs:
// docs/optimality.md, B7, and the sections named there.
#include <algorithm>
#include <cmath>

#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/ragged.h"
#include "tessera/search/exact/window.h"
#include "tessera/search/exact/word_cost.h"

namespace tessera::exact {
namespace {

// Energy that does not depend on the number of words, in the two cases that a tile tells apart.
struct FixedEnergy {
  double moving_pj = 0;   // the tensor moves at every visit
  double staying_pj = 0;  // it stays while the innermost loop advances

  void Add(double pj) { Add(pj, pj); }
  void Add(double if_moving_pj, double if_staying_pj) {
    moving_pj += if_moving_pj;
    staying_pj += if_staying_pj;
  }
};

// One tensor: cost = words delivered * (child_pj + parent_pj / multicast) + fixed.
struct TileTerms {
  bool shared = false;     // takes part in the competition for the fan-out
  bool delivers = true;    // whether words are counted at all
  double words = 0;        // delivered to all children together, if nothing stays
  double least_words = 0;  // if it stays as long as it can, whatever outer loops do
  double idle_ratio = 1;   // of extents above and below, over dimensions that leave it alone
  double most_multicast = 1;
  double child_pj = 0, parent_pj = 0;
  FixedEnergy fixed = {};
  // Windows.
  bool one_per_rank = true;         // no rank is moved by two dimensions
  bool own_network = true;          // words pass only one network
  double step_part[kMaxDims] = {};  // new, at least, when a loop over the dimension advances
  double served_part = 1;           // of that, what surely comes from the parent
  double least_part = 1;            // and when anything advances that is not idle
  // Any factors.
  double once[kMaxDims] = {};  // part of a dimension for which its loop may have one iteration
  double once_outside = 0;     // the same of the loops outside; of the chain that is looked at
};

// One tensor above a tile: what the cases below know.
struct TileStep {
  const Model& model;
  const int v;
  const Frame& parent;  // of the level outside the one that hands out the tile
  const Tile& tile;
  OperandCosts& operands;

  double plain_ratio = 1;   // of extents above and below, over plain dimensions
  double idle_extents = 1;  // product of the tile's extents that leave the tensor alone

  const TensorFacts& tensor() const { return model.tensors[v]; }
  const TensorFrame& outside() const { return parent.tensors[v]; }
  int level() const { return parent.level - 1; }
  int child() const { return parent.level - 2; }
  double used() const { return parent.used_below; }
  double copies() const { return outside().copies; }
  bool opens() const { return model.Keeps(level(), v); }
  bool closes() const { return model.Keeps(child(), v); }
};

// Words between both extremes of what parallel factors can be, with any factors. R2, R3.
void SetRaggedWords(TileStep& step, TileTerms& terms) {
  const Model& model = step.model;
  const TensorFacts& tensor = step.tensor();
  const double fan = model.levels[step.level()].fan;
  double ratio = 1;
  terms.words = terms.least_words = tensor.simple ? 1 : 0;
  for (int d = 0; d < model.num_dims; ++d) {
    const double part = RatioOf(model, step.parent, step.tile, d).most;
    ratio *= part;
    if (Has(tensor.plain, d)) step.plain_ratio *= part;
    if (Has(tensor.dims, d)) {
      terms.words *= model.bounds[d];
      terms.least_words *= model.bounds[d];
      terms.once[d] = MostOnce(model, step.parent, step.tile, d, fan);
      continue;
    }
    terms.idle_ratio *= part;
    step.idle_extents *= step.tile.extents[d];
    terms.words *= TilesOf(model, step.tile, d);
    terms.least_words *= step.parent.ragged[d].tiles;
  }
  terms.most_multicast =
      std::min(fan, tensor.simple ? terms.idle_ratio : ratio / step.plain_ratio);
}

// Words between both extremes of what parallel factors can be. B1, B7.
void SetWords(TileStep& step, TileTerms& terms) {
  if (step.model.any) return SetRaggedWords(step, terms);
  const TensorFacts& tensor = step.tensor();
  const Frame& parent = step.parent;
  const double tile_words = step.tile.words[step.v];
  double ratio = 1;
  for (int d = 0; d < step.model.num_dims; ++d) {
    const double part = parent.extents[d] / step.tile.extents[d];
    ratio *= part;
    if (Has(tensor.plain, d)) step.plain_ratio *= part;
    if (Has(tensor.dims, d)) continue;
    terms.idle_ratio *= part;
    step.idle_extents *= step.tile.extents[d];
  }
  terms.words = tile_words * parent.visits * ratio * step.used();
  terms.least_words =
      tensor.simple ? tile_words * parent.visits * (ratio / terms.idle_ratio) * step.used()
                    : tile_words * step.outside().plain_visits * step.plain_ratio * step.used();
  // All parallel factors over dimensions that can make children coincide, as far as they fit.
  terms.most_multicast = std::min(step.model.levels[step.level()].fan,
                                  tensor.simple ? terms.idle_ratio : ratio / step.plain_ratio);
}

// Whether two dimensions with loops somewhere outside the tile move one rank. B7.
bool MovesOnePerRank(const TileStep& step) {
  const TensorFacts& tensor = step.tensor();
  for (int r = 0; r < tensor.num_ranks; ++r) {
    int moved_by = 0;
    for (int k = 0; k < tensor.ranks[r].num_terms; ++k) {
      const int d = tensor.ranks[r].dims[k];
      moved_by += step.model.bounds[d] > step.tile.extents[d] ? 1 : 0;
    }
    if (moved_by > 1 || tensor.shares) return false;
  }
  return true;
}

// With parallel factors a loop steps further than its tile. That brings more only without holes.
// B7.
void SetStepParts(const TileStep& step, TileTerms& terms, loopnest::TouchedScratch& scratch) {
  const Model& model = step.model;
  const TensorFacts& tensor = step.tensor();
  const int32_t* extents = step.tile.extents;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    const bool window = rank.num_terms > 1;
    const bool holes =
        window && model.exact && (tensor.shares || HasHoles(model, step.v, r, extents, scratch));
    for (int k = 0; k < rank.num_terms; ++k) {
      const int d = rank.dims[k];
      if (model.bounds[d] == extents[d]) continue;
      terms.step_part[d] = holes ? 0 : NewPart(model, step.v, extents, d, extents[d], scratch);
      if (!model.exact) continue;
      // When the loop starts over, another one can undo its way; at least every second step does
      // not start over.
      if (window && !terms.one_per_rank) terms.step_part[d] /= 2;
      terms.least_part = std::min(terms.least_part, terms.step_part[d]);
    }
  }
}

// What the words cost where they are handed out: the pair opens here, or is open already and comes
// with what is pending. B5, B8.
void SetParent(const TileStep& step, TileTerms& terms) {
  const Model& model = step.model;
  const TensorFacts& tensor = step.tensor();
  const LevelFacts& level = model.levels[step.level()];
  const EnterCost enter = EnterCostOf(model, step.v, step.level(), step.used(), step.copies());
  terms.own_network = !model.exact || (step.opens() && step.closes());
  terms.fixed.Add(enter.fixed_pj);
  if (step.opens()) {
    const double share = model.Share(step.level(), step.used());
    terms.parent_pj = share * (tensor.read_write ? level.update_pj : level.read_pj);
    if (tensor.read_write && tensor.simple) {
      terms.parent_pj += share * level.read_rw_pj;
      terms.fixed.Add(-(tensor.elements * step.copies() * share * level.read_rw_pj));
    }
    terms.fixed.Add(-(RoundedPast(model, step.v, step.closes()) * step.used() * terms.parent_pj));
  } else {
    terms.parent_pj = step.outside().pending_pj / step.used();
  }
  terms.parent_pj += enter.word_pj;
  // Neighbours can serve all but the first request for a word. B4.
  const bool served_by_neighbours =
      model.linked_level && !tensor.read_write && step.opens() && step.closes();
  if (served_by_neighbours) terms.parent_pj = 0;
}

// First sums pay nothing: each of as many copies as parallel factors can make, or, if the tensor
// stays (its idle loops are temporal then), of those that there are. B5.
void Elide(const TileStep& step, double elided_pj, TileTerms& terms) {
  const double first = step.tensor().elements * step.copies();
  terms.fixed.Add(-(first * terms.most_multicast * elided_pj), -(first * elided_pj));
}

void AddOperandsBelow(const TileStep& step, const TileTerms& terms) {
  step.operands.AddInside(step.v, step.level(), step.copies() * terms.most_multicast,
                          step.idle_extents);
}

// The pair closes at the level below, which is filled; from there words go further in. B6, B8.
void CloseAtChild(const TileStep& step, TileTerms& terms) {
  const Model& model = step.model;
  const TensorFacts& tensor = step.tensor();
  const int v = step.v, child = step.child();
  const LevelFacts& below = model.levels[child];
  terms.shared = tensor.simple;
  terms.fixed.Add(-model.inner_slack_pj[child][v]);
  AddOperandsBelow(step, terms);
  // Sums of windows can meet, so how many are first is not known. B5.
  if (tensor.read_write && !tensor.simple) return;
  terms.child_pj = below.least_share * below.fill_pj + model.inner_pj[child][v];
  if (tensor.read_write) {
    Elide(step, below.least_share * below.fill_pj + model.inner_elided_pj[child][v], terms);
  } else if (!model.exact && (!tensor.simple || model.parent[step.level()][v] > step.level())) {
    const double instances = std::min(step.used() * model.levels[step.level()].fan, below.clusters);
    terms.fixed.Add(-(instances * below.fill_pj));
  }
}

// The pair stays open and no level further in holds the tensor: the MACs ask, at least once for
// each operation of all MACs below. B6.
void StayOpenToMacs(const TileStep& step, TileTerms& terms) {
  const double fan = step.model.fan_below[step.level() + 1];
  step.operands.AddOpen(step.model.macs, terms.parent_pj,
                        MostMulticast(step.model, step.v, step.parent.extents, fan));
  terms.delivers = false;
}

// The pair stays open: what passes has to arrive further in, and to be handed on there. B6.
void StayOpen(const TileStep& step, int next, TileTerms& terms) {
  const InnerCost inner = InnerCostOf(step.model, step.v, next);
  terms.fixed.Add(-inner.slack_pj);
  AddOperandsBelow(step, terms);
  if (PassesAsTile(step.model, step.v)) {
    terms.shared = step.tensor().simple;
    terms.child_pj = inner.word_pj;
    Elide(step, inner.elided_pj, terms);
    return;
  }
  terms.delivers = false;
  if (step.model.any) return;
  // Of windows, only advances of plain dimensions are sure to bring a whole tile. B2, B3.
  const double words =
      step.tile.plain_words[step.v] * step.outside().plain_visits * step.plain_ratio * step.used();
  terms.fixed.Add(words * (terms.parent_pj + inner.word_pj));
}

// No level so far holds the tensor. B12.
void NotYetOpen(const TileStep& step, TileTerms& terms) {
  const int home = step.model.home[step.v];
  AddOperandsBelow(step, terms);
  if (!step.tensor().simple) {
    terms.delivers = false;
    return;
  }
  terms.shared = true;
  terms.child_pj = step.model.inner_pj[home][step.v];
  Elide(step, step.model.inner_elided_pj[home][step.v], terms);
}

void SetTerms(TileStep step, loopnest::TouchedScratch& scratch, TileTerms& terms) {
  SetWords(step, terms);
  if (step.model.Outside(step.level(), step.v)) return NotYetOpen(step, terms);
  terms.one_per_rank = MovesOnePerRank(step);
  // Where two loops move a rank, the outer one can leave the tile in place: then children that
  // share it hand it to each other. At least every second visit is the innermost loop's. B4.
  const bool may_resend = !step.model.exact && step.model.levels[step.level()].fan > 1;
  if (may_resend && !terms.one_per_rank) terms.served_part = 0.5;
  if (!step.tensor().simple && !step.model.any) SetStepParts(step, terms, scratch);
  SetParent(step, terms);
  if (step.closes()) return CloseAtChild(step, terms);
  const int next = step.model.next_kept[step.child()][step.v];
  if (next < 0 && !step.model.mac_links) return StayOpenToMacs(step, terms);
  StayOpen(step, next, terms);
}

// Tensors that move compete for the fan-out: each wants it for its own multicast. With more than
// two, or where one factor can serve several, all get all of it. B7.
class FanoutShares {
 public:
  FanoutShares(bool disjoint, double fan) : disjoint_(disjoint), fan_(fan) {}

  // Takes what a tensor's words cost at the parent if nothing is shared. Returns what it costs by
  // itself, if it does not take part in the competition.
  double Add(double pj, double most_multicast) {
    if (!disjoint_ || count_ == 2) return pj / most_multicast;
    pj_[count_] = pj;
    most_[count_++] = most_multicast;
    return 0;
  }

  double Least() const {
    if (count_ == 0) return 0;
    if (count_ == 1) return pj_[0] / most_[0];
    return LeastShared(pj_, most_, fan_);
  }

 private:
  const bool disjoint_;
  const double fan_;
  int count_ = 0;
  double pj_[2] = {}, most_[2] = {1, 1};
};

// A simple tensor if the innermost loop of the level is `dim`; -1: it has no temporal loops. B1.
void AddShared(const TileTerms& terms, bool moves, int dim, double idle_run, FanoutShares& shares,
               double& energy) {
  if (dim >= 0 && !moves) {
    const double words = terms.least_words / idle_run * (1 - terms.once_outside);
    energy += words * (terms.child_pj + terms.parent_pj) + terms.fixed.staying_pj;
    return;
  }
  const double words = dim >= 0 ? terms.words * (1 - terms.once[dim])
                                : terms.words / idle_run * (1 - terms.once_outside);
  energy += words * terms.child_pj + terms.fixed.moving_pj;
  energy += shares.Add(words * terms.parent_pj, terms.most_multicast);
}

// A window that is delivered: what is new in a tile bounds the words that move, and what can be
// multicast those that are read; and no fewer than were delivered further out. B2, B3, B7.
double WindowEnergy(const TileTerms& terms, bool moves, int dim, double idle_run,
                    double delivered) {
  double moved = std::max(terms.least_words, delivered), served = moved;
  if (dim >= 0 && moves) {
    const double part = terms.step_part[dim];
    moved = std::max(moved, part * terms.words);
    served = std::max(served, terms.served_part * part * terms.words / terms.most_multicast);
  } else if (dim >= 0 && terms.one_per_rank) {
    moved = std::max(moved, terms.least_part * terms.words / (terms.idle_ratio * idle_run));
    if (terms.own_network) served = moved;
  }
  return moved * terms.child_pj + served * terms.parent_pj;
}

// Energy if the innermost loop of the level is `dim`; -1: it has no temporal loops.
double EnergyOf(const Model& model, const TileTerms* terms, double fan, const Chain& chain,
                int dim) {
  FanoutShares shares(model.disjoint, fan);
  double energy = 0;
  for (int v = 0; v < model.num_tensors; ++v) {
    const bool moves = dim >= 0 && Has(model.tensors[v].dims, dim);
    if (terms[v].shared) {
      AddShared(terms[v], moves, dim, chain.idle_run[v], shares, energy);
      continue;
    }
    energy += terms[v].fixed.moving_pj;
    if (terms[v].delivers) {
      energy += WindowEnergy(terms[v], moves, dim, chain.idle_run[v], chain.delivered[v]);
    }
  }
  return energy + shares.Least();
}

}  // namespace

double Bounder::TileBound(std::span<const Frame> frames, int level, std::span<const Chain> chains,
                          const Tile& tile, Goal goal) {
  const int i = level;
  const Frame& parent = frames[static_cast<size_t>(level) + 1];
  const double fan = model_.levels[i].fan;
  TileTerms terms[kMaxTensors];
  OperandCosts operands(model_, tile.extents, model_.fan_below[i + 1]);
  for (int v = 0; v < model_.num_tensors; ++v) {
    SetTerms({.model = model_, .v = v, .parent = parent, .tile = tile, .operands = operands},
             touched_, terms[v]);
    // Links make fills of windows uncertain where there are several parents. B4.
    const bool uncertain = !model_.exact && parent.used_below > 1 && fan > 1;
    if (uncertain && !model_.tensors[v].simple) terms[v].words = terms[v].least_words;
  }
  double ratio = 1, least_ratio = 1;
  uint32_t open = 0;
  for (int d = 0; d < model_.num_dims; ++d) {
    if (model_.any) {
      const ExtentRatio part = RatioOf(model_, parent, tile, d);
      ratio *= part.most;
      least_ratio *= part.least;
      if (part.most > 1) open |= 1u << d;
      continue;
    }
    ratio *= parent.extents[d] / tile.extents[d];
    if (parent.extents[d] > tile.extents[d]) open |= 1u << d;
  }
  if (!model_.any) least_ratio = ratio;
  const double below = std::min(fan, ratio) * std::min(model_.fan_below[i], tile.product);
  const double compute = CeilCycles(model_.any ? RaggedOperations(model_, parent) / below
                                               : model_.macs / (parent.used_below * below));
  const double operands_pj = operands.Least();
  double least = kInfinity;
  for (const Chain& chain : chains) {
    double energy = kInfinity;
    for (int v = 0; v < model_.num_tensors && model_.any; ++v) {
      terms[v].once_outside = OncePart(frames, level, v, chain);
    }
    if (least_ratio <= fan) energy = EnergyOf(model_, terms, fan, chain, -1);
    for (int d = 0; d < model_.num_dims; ++d) {
      if (Has(open, d)) energy = std::min(energy, EnergyOf(model_, terms, fan, chain, d));
    }
    const Bound bound{.energy_pj = chain.closed_pj + parent.fixed_pj + operands_pj + energy,
                      .cycles = std::max(compute, chain.cycles) + model_.latency_cycles};
    least = std::min(least, ValueOf(bound, goal));
  }
  return least;
}

}  // namespace tessera::exact
