// The bound of a tile before the level above it has parallel factors. Each parallel factor makes
// the parent hand out fewer words of one tensor, so tensors compete for the fan-out. Proofs:
// docs/optimality.md, B7, and the sections named there.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/base/divisors.h"
#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/ragged.h"
#include "tessera/search/exact/tile_terms.h"
#include "tessera/search/exact/window.h"
#include "tessera/search/exact/word_cost.h"

namespace tessera::exact {
namespace {

// One tensor above a tile: what the cases below know.
struct TileStep {
  const Model& model;
  const int v;
  const Frame& parent;  // of the level outside the one that hands out the tile
  const Tile& tile;
  OperandCosts& operands;
  const int floor;  // level of the floor, or -1

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
      continue;
    }
    terms.idle_ratio *= part;
    step.idle_extents *= step.tile.extents[d];
    terms.words *= TilesOf(model, step.tile, d);
    terms.least_words *= step.parent.ragged[d].tiles;
  }
  terms.most_multicast = std::min(fan, tensor.simple ? terms.idle_ratio : ratio / step.plain_ratio);
}

// Of the visits of all children below one instance, those at which an index of a plain dimension
// changes: more factors than there can be children are not all parallel. B3.
double PlainVisits(const TileStep& step) {
  const bool in_time = step.model.exact && step.plain_ratio > step.model.levels[step.level()].fan;
  return step.plain_ratio * (in_time ? step.parent.visits : step.outside().plain_visits);
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
  terms.visits = parent.visits * ratio * step.used();
  terms.words = tile_words * terms.visits;
  terms.least_words = tensor.simple
                          ? tile_words * parent.visits * (ratio / terms.idle_ratio) * step.used()
                          : tile_words * PlainVisits(step) * step.used();
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
      // When the loop starts over, another one can undo its way; but not at the other steps.
      if (window && !terms.one_per_rank) {
        const int64_t fewest = SmallestPrime(step.parent.extents[d] / extents[d]);
        if (fewest > 1) terms.step_part[d] *= 1 - 1 / static_cast<double>(fewest);
      }
      terms.least_part = std::min(terms.least_part, terms.step_part[d]);
    }
  }
}

// What the words cost where they are handed out: the pair opens here, or is open already and comes
// with what is pending. B5, B8.
void SetParent(std::span<const Frame> frames, const TileStep& step, TileTerms& terms) {
  const Model& model = step.model;
  const TensorFacts& tensor = step.tensor();
  const ElementFacts& level = model.levels[step.level()].of[step.v];
  const EnterCost enter = EnterCostOf(model, step.v, step.level(), step.used(), step.copies());
  terms.own_network =
      !model.exact || (step.closes() && OnlyNetwork(model, frames.data(), step.level(), step.v));
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
  terms.elided_pj += first * elided_pj;
}

// What the levels inside have no room for. B19.
void SetRefill(const TileStep& step, double further_in_pj, TileTerms& terms) {
  const Refill refill = RefillOf(step.model, step.v, step.child(), step.tile.words[step.v]);
  terms.stay_words = refill.words;
  terms.stay_pj = refill.pj;
  terms.further_in_pj = further_in_pj;
}

void AddOperandsBelow(const TileStep& step, const TileTerms& terms) {
  step.operands.AddInside(step.v, step.level(), step.copies() * terms.most_multicast,
                          step.idle_extents);
}

// Of what words cost that arrive at level `c`, which holds them, what is outside the floor; those
// of a pair across it are not. B21.
void SetOutside(const TileStep& step, int c, double further_in_pj, TileTerms& terms) {
  if (step.floor < 0 || step.level() <= step.floor || c < step.floor) return;
  const int crossed = step.model.parent[step.floor][step.v];
  const double inside_pj = step.model.inner_pj[crossed][step.v];
  // With any factors what goes further in is apart.
  if (step.model.any && step.closes()) {
    terms.outside_child_pj = terms.child_pj;
    terms.outside_inner_pj = terms.inner_pj - inside_pj;
  } else {
    terms.outside_child_pj = terms.child_pj - inside_pj;
  }
  terms.outside_parent_pj = terms.parent_pj;
  const Refill refill =
      RefillOf(step.model, step.v, step.child(), step.tile.words[step.v], step.floor);
  terms.outside_stay_words = refill.words;
  terms.outside_stay_pj = refill.pj;
  terms.outside_further_in_pj = further_in_pj - inside_pj;
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
  terms.child_pj =
      below.least_share * below.of[v].fill_pj + (model.any ? 0 : model.inner_pj[child][v]);
  if (model.any) terms.inner_pj = model.inner_pj[child][v];
  SetOutside(step, child, model.inner_pj[child][v], terms);
  SetRefill(step, model.inner_pj[child][v], terms);
  if (tensor.read_write) {
    Elide(step, below.least_share * below.of[v].fill_pj + model.inner_elided_pj[child][v], terms);
  } else if (!model.exact && (!tensor.simple || model.parent[step.level()][v] > step.level())) {
    const double instances = std::min(step.used() * model.levels[step.level()].fan, below.clusters);
    terms.fixed.Add(-(instances * below.of[v].fill_pj));
  }
}

// The pair stays open and no level further in holds the tensor: the MACs ask, at least once for
// each operation of all MACs below. B6.
void StayOpenToMacs(std::span<const Frame> frames, const TileStep& step, TileTerms& terms) {
  const double fan = step.model.fan_below[step.level() + 1];
  const int parent = step.model.parent[step.level()][step.v];
  double copies = step.copies(), used = step.used(), groups = 1;
  if (!step.opens()) {
    const Frame& holder = frames[static_cast<size_t>(parent)];
    copies = holder.tensors[step.v].copies_here;
    used = holder.used;
    groups = step.outside().groups;
  }
  step.operands.AddOpen({.v = step.v,
                         .words = step.model.macs,
                         .word_pj = terms.parent_pj,
                         .level = parent,
                         .of_one_instance = groups / step.used(),
                         .first = step.tensor().elements * copies / used},
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
    terms.passes = true;
    SetOutside(step, next, inner.word_pj, terms);
    SetRefill(step, inner.word_pj, terms);
    Elide(step, inner.elided_pj, terms);
    return;
  }
  terms.delivers = false;
  if (step.model.any) return;
  // Of windows, only advances of plain dimensions are sure to bring a whole tile. B2, B3.
  const double words =
      step.tile.plain_words[step.v] * step.outside().plain_visits * step.plain_ratio * step.used();
  terms.passing_pj = words * (terms.parent_pj + inner.word_pj);
  terms.fixed.Add(terms.passing_pj);
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

void SetTerms(std::span<const Frame> frames, TileStep step, loopnest::TouchedScratch& scratch,
              TileTerms& terms) {
  SetWords(step, terms);
  if (step.model.Outside(step.level(), step.v)) return NotYetOpen(step, terms);
  terms.one_per_rank = MovesOnePerRank(step);
  // Where two loops move a rank, the outer one can leave the tile in place: then children that
  // share it hand it to each other. At least every second visit is the innermost loop's. B4.
  const bool may_resend = !step.model.exact && step.model.levels[step.level()].fan > 1;
  if (may_resend && !terms.one_per_rank) terms.served_part = 0.5;
  if (!step.tensor().simple && !step.model.any) SetStepParts(step, terms, scratch);
  SetParent(frames, step, terms);
  if (step.closes()) return CloseAtChild(step, terms);
  const int next = step.model.next_kept[step.child()][step.v];
  if (next < 0 && !step.model.mac_links) return StayOpenToMacs(frames, step, terms);
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

// Children that a word of each tensor can serve: by factors that are decided, and by the others.
struct Serves {
  double decided[kMaxTensors] = {}, others[kMaxTensors] = {};
  double copies[kMaxTensors] = {};                        // that there are in any case
  double once[kMaxDims] = {}, once_below[kMaxDims] = {};  // as in TileCosts
};

// Children that one word serves. B7, B14, B20.
double ServedBy(const TileTerms& terms, const Serves& serves, int v, const LevelSplit* joint) {
  const double most = serves.decided[v] * serves.others[v];
  // Children of a window that meet on several networks are not a product. B4.
  const bool known = joint != nullptr && (terms.shared || terms.own_network);
  return known ? std::min(most, joint->serves[v]) : most;
}

// Visits of all children for which the tile stays, if at least the part `moved` brings a new one.
// B19.
double Stays(const TileTerms& terms, double moved) {
  return terms.visits * std::max(0.0, 1 - moved);
}

// A simple tensor if the innermost loop of the level is `dim`; -1: it has no temporal loops. With
// one choice of parallel factors nothing is left to compete for. B1, B20.
void AddShared(const TileTerms& terms, bool moves, int dim, double idle_run, double once,
               const Serves& serves, int v, const LevelSplit* joint, FanoutShares& shares,
               double& energy) {
  const double decided = serves.decided[v], others = serves.others[v];
  const double served = ServedBy(terms, serves, v, joint);
  if (dim >= 0 && !moves) {
    const double words = terms.least_words / idle_run * (1 - once);
    energy += words * ((terms.child_pj + terms.inner_pj) * serves.copies[v] + terms.parent_pj) +
              terms.fixed.staying_pj - terms.elided_pj * (decided - 1);
    if (terms.stay_pj == 0) return;
    const double moved = words * serves.copies[v] / terms.words;
    energy += Stays(terms, moved) * terms.stay_pj;
    if (!terms.passes) return;
    const double arriving = words * serves.copies[v] + Stays(terms, moved) * terms.stay_words;
    energy += std::max(0.0, arriving / served - words) * terms.parent_pj;
    if (joint != nullptr) energy += arriving * joint->way_pj[v];
    return;
  }
  const double inside =
      dim >= 0 ? terms.words * (1 - serves.once_below[dim]) : terms.words / idle_run * (1 - once);
  const double words = dim >= 0 && !terms.passes ? terms.words * (1 - serves.once[dim]) : inside;
  energy += words * terms.child_pj + inside * terms.inner_pj + terms.fixed.moving_pj +
            terms.elided_pj * (terms.most_multicast - served);
  const double stays = dim < 0 ? Stays(terms, 1 / idle_run) : 0;
  energy += stays * terms.stay_pj;
  const double again = terms.passes ? stays * terms.stay_words : 0;
  if (joint != nullptr) {
    energy += (words + again) * (terms.parent_pj / served + joint->way_pj[v]);
  } else {
    energy += shares.Add((words + again) * terms.parent_pj / decided, others);
  }
}

// A window that is delivered: what is new in a tile bounds the words that move, and what can be
// multicast those that are read; and no fewer than were delivered further out. B2, B3, B7.
double WindowEnergy(const TileTerms& terms, bool moves, int dim, double idle_run, double delivered,
                    double most_multicast, double way_pj) {
  double moved = std::max(terms.least_words, delivered), served = moved, way = 0;
  if (dim >= 0 && moves) {
    const double part = terms.step_part[dim];
    moved = std::max(moved, part * terms.words);
    served = std::max(served, terms.served_part * part * terms.words / most_multicast);
    if (terms.own_network) way = part * terms.words * way_pj;
  } else if (dim >= 0 && terms.one_per_rank) {
    moved = std::max(moved, terms.least_part * terms.words / (terms.idle_ratio * idle_run));
    if (terms.own_network) served = moved;
  }
  double energy = moved * terms.child_pj;
  if (terms.stay_pj > 0) {
    // Advances of plain dimensions bring whole tiles.
    const double stays = Stays(terms, terms.least_words / terms.words);
    energy +=
        std::max(0.0, (terms.least_words - moved) * terms.further_in_pj + stays * terms.stay_pj);
    const double arriving = terms.least_words + stays * terms.stay_words;
    if (terms.passes) served = std::max(served, arriving / most_multicast);
  }
  return energy + served * terms.parent_pj + way;
}

// Energy if the innermost loop of the level is `dim`; -1: it has no temporal loops. `joint`: with
// that choice of parallel factors.
double EnergyOf(const Model& model, const TileTerms* terms, const Serves& serves, double fan,
                const ChainSummary& outside, int dim, const LevelSplit* joint) {
  FanoutShares shares(model.disjoint, fan);
  double energy = 0;
  for (int v = 0; v < model.num_tensors; ++v) {
    const bool moves = dim >= 0 && Has(model.tensors[v].dims, dim);
    if (terms[v].shared) {
      AddShared(terms[v], moves, dim, outside.idle_run[v], outside.once[v], serves, v, joint,
                shares, energy);
      continue;
    }
    energy += terms[v].fixed.moving_pj;
    if (terms[v].delivers) {
      energy += WindowEnergy(terms[v], moves, dim, outside.idle_run[v], outside.delivered[v],
                             ServedBy(terms[v], serves, v, joint),
                             joint != nullptr ? joint->way_pj[v] : 0);
    }
  }
  return energy + shares.Least();
}

// Whether parallel factors over a dimension can make children of a tensor coincide.
bool CanCoincide(const TensorFacts& tensor, int dim) {
  return !Has(tensor.simple ? tensor.dims : tensor.plain, dim);
}

}  // namespace

uint32_t Bounder::Innermost(const Frame& parent, int level, const Tile& tile) const {
  const uint32_t all = (1u << model_.num_dims) - 1;
  if (!model_.grows) return all;
  uint32_t may = all, grows = 0;
  for (int d = 0; d < model_.num_dims; ++d) {
    const DivisorTable& table = model_.divisors[d];
    const int16_t ratio = table.quotients[static_cast<size_t>(parent.positions[d])]
                                         [static_cast<size_t>(tile.positions[d])];
    // Whatever of it is in time, that has a prime which is no larger than this one.
    const int32_t prime = table.largest_prime[static_cast<size_t>(ratio)];
    if (prime == 1 || !CanGrow(level - 1, tile, d, prime)) continue;
    may &= ~(1u << d);
    // More than the fan-out is in time in any case.
    if (table.values[static_cast<size_t>(ratio)] > model_.levels[level].fan) grows |= 1u << d;
  }
  return MayBeInnermost(level, may, grows);
}

void Bounder::Prepare(std::span<const Frame> frames, int level, const Tile& tile,
                      TileCosts& costs) {
  const Frame& parent = frames[static_cast<size_t>(level) + 1];
  const double fan = model_.levels[level].fan;
  OperandCosts& operands =
      costs.operands.emplace(model_, tile.extents, model_.fan_below[level + 1]);
  costs.joint_set = costs.outside_set = false;
  costs.level = level;
  for (int v = 0; v < model_.num_tensors; ++v) {
    TileTerms& terms = costs.tensors[v];
    terms = {};
    SetTerms(frames,
             {.model = model_,
              .v = v,
              .parent = parent,
              .tile = tile,
              .operands = operands,
              .floor = floor_.level},
             touched_, terms);
    // Links make fills of windows uncertain where there are several parents. B4.
    const bool uncertain = !model_.exact && parent.used_below > 1 && fan > 1;
    if (uncertain && !model_.tensors[v].simple) terms.words = terms.least_words;
  }
  costs.least_ratio = 1;
  for (int d = 0; d < model_.num_dims; ++d) {
    const ExtentRatio part = model_.any ? RatioOf(model_, parent, tile, d)
                                        : ExtentRatio(parent.extents[d] / tile.extents[d]);
    costs.ratios[d] = part.most;
    costs.least_ratio *= part.least;
    const OnceParts once = model_.any ? MostOnce(model_, parent, tile, d) : OnceParts();
    costs.once[d] = once.here;
    costs.once_below[d] = once.below;
  }
  costs.innermost = Innermost(parent, level, tile);
  costs.operations =
      model_.any ? RaggedOperations(model_, parent) : model_.macs / parent.used_below;
  costs.inside = std::min(model_.fan_below[level], tile.product);
  double reached = 0;
  for (const ParallelPoint& point : ParallelOf(level, tile.positions)) {
    reached = std::max(reached, point.product);
  }
  costs.inside = std::min(costs.inside, reached);
  // What the level and those inside deal out: the tile where the level has one child, and what is
  // not in the tile where those inside have one.
  for (int d = 0; d < model_.num_dims; ++d) {
    const int16_t whole = parent.positions[d], part = tile.positions[d];
    const bool innermost_network = !model_.any && fan > 1 && model_.fan_below[level] == 1;
    costs.dealt_out[d] =
        fan <= 1 ? part
        : innermost_network
            ? model_.divisors[d].quotients[static_cast<size_t>(whole)][static_cast<size_t>(part)]
            : whole;
  }
  costs.operands_pj =
      operands.SetFront(ParallelOf(level + 1, costs.dealt_out), costs.operations, costs.front);
}

// The choices of parallel factors of a level, where those inside have none: each with what the
// MACs' operands cost then. B20.
void Bounder::SetJoint(int level, TileCosts& costs) {
  costs.joint_set = true;
  costs.joint.clear();
  if (!model_.exact || model_.any || model_.linked_level) return;
  if (model_.levels[level].fan <= 1 || model_.fan_below[level] > 1) return;
  // Elsewhere words that go further in compete among themselves only (B7).
  const auto comes_from = [&](int from) { return from >= level; };
  const int* const from = model_.operands_from;
  if (std::none_of(from, from + model_.num_tensors, comes_from)) return;
  const double least = costs.operands->Least();
  for (const LevelSplit* split : SharedParts().fronts.SplitsOf(level, costs.dealt_out)) {
    ParallelPoint point{.product = split->product};
    for (int v = 0; v < model_.num_tensors; ++v) {
      point.multicast[v] = comes_from(from[v]) ? split->serves[v] : 1;
      point.hop_pj += comes_from(from[v]) ? split->way_pj[v] : 0;
    }
    const OperandPoint cost = costs.operands->CostOf(point, costs.operations);
    costs.joint.push_back({.split = split,
                           .operands_pj = std::max(least, cost.more_pj),
                           .cycles = cost.cycles + model_.latency_cycles});
  }
}

// The same terms without what a floor counts. B21.
void Bounder::SetOutsideTerms(TileCosts& costs) const {
  costs.outside_set = true;
  for (int v = 0; v < model_.num_tensors; ++v) {
    TileTerms& terms = costs.outside[v];
    terms = costs.tensors[v];
    terms.child_pj = terms.outside_child_pj;
    terms.inner_pj = terms.outside_inner_pj;
    terms.parent_pj = terms.outside_parent_pj;
    terms.stay_words = terms.outside_stay_words;
    terms.stay_pj = terms.outside_stay_pj;
    terms.further_in_pj = terms.outside_further_in_pj;
    terms.fixed.Add(-terms.passing_pj);
  }
}

// Adds what a tile costs to a front: of each choice of parallel factors where these are looked at
// one by one, energy and cycles. B21.
template <typename Energy>
void Bounder::AddAll(TileCosts& costs, double known_pj, double alone_pj, double cycles,
                     const Energy& least_energy, OperandFront& front) {
  const auto least_cycles = [&](double more) {
    return std::max(cycles, more + model_.latency_cycles) - model_.latency_cycles;
  };
  const OperandFront alone = costs.front;
  bool covered = alone.count > 0;
  for (int k = 0; k < alone.count; ++k) {
    covered =
        covered && front.Covers({known_pj + costs.operands_pj + alone.points[k].more_pj + alone_pj,
                                 least_cycles(alone.points[k].cycles)});
  }
  if (covered) return;
  SetJoint(costs.level, costs);
  for (const JointPoint& point : costs.joint) {
    OperandPoint cost{known_pj + point.operands_pj + alone_pj,
                      least_cycles(point.cycles - model_.latency_cycles)};
    if (front.Covers(cost)) continue;
    cost.more_pj = known_pj + point.operands_pj + least_energy(point.split);
    front.Add(cost);
  }
  for (int k = 0; k < alone.count && costs.joint.empty(); ++k) {
    front.Add({known_pj + costs.operands_pj + alone.points[k].more_pj + alone_pj,
               least_cycles(alone.points[k].cycles)});
  }
}

double Bounder::SplitBound(const Frame& parent, const ChainSummary& outside, TileCosts& costs,
                           const PartialSplit& split, Goal goal, double limit,
                           OperandFront* floor) {
  double ratio = 1, rest[kMaxTensors];
  std::fill_n(rest, model_.num_tensors, 1.0);
  uint32_t open = split.in_time;
  for (int d = split.decided; d < model_.num_dims; ++d) {
    if (costs.ratios[d] == 1) continue;
    ratio *= costs.ratios[d];
    open |= 1u << d;
    for (int v = 0; v < model_.num_tensors; ++v) {
      if (CanCoincide(model_.tensors[v], d)) rest[v] *= costs.ratios[d];
    }
  }
  Serves serves;
  for (int d = 0; d < model_.num_dims; ++d) {
    serves.once[d] = d < split.decided ? split.once[d] : costs.once[d];
    serves.once_below[d] = d < split.decided ? split.once_below[d] : costs.once_below[d];
  }
  for (int v = 0; v < model_.num_tensors; ++v) {
    serves.decided[v] = split.multicast[v];
    serves.copies[v] = split.copies[v];
    serves.others[v] = std::min(split.left, rest[v]);
  }
  const double below = std::min(split.left, ratio) * costs.inside;
  const double compute = CeilCycles(costs.operations / (split.cut * below));
  const double cycles = std::max(compute, outside.cycles) + model_.latency_cycles;
  // Nothing in time: what is decided has none, and the rest may fit.
  const bool at_once =
      split.in_time == 0 && (split.decided == 0 ? costs.least_ratio : 1) <= split.left;
  const TileTerms* terms = costs.tensors;
  const auto least_energy = [&](const LevelSplit* joint) {
    double energy = kInfinity;
    if (at_once) {
      energy = EnergyOf(model_, terms, serves, split.left, outside, -1, joint);
    }
    for (uint32_t dims = open & costs.innermost; dims != 0; dims &= dims - 1) {
      energy = std::min(energy, EnergyOf(model_, terms, serves, split.left, outside,
                                         std::countr_zero(dims), joint));
    }
    return energy;
  };
  const double known_pj = outside.closed_pj + parent.fixed_pj;
  const double alone_pj = least_energy(nullptr);
  if (floor != nullptr) {
    AddAll(costs, known_pj, alone_pj, cycles, least_energy, *floor);
    return 0;
  }
  double value = ValueOf({.energy_pj = known_pj + costs.operands_pj + alone_pj, .cycles = cycles},
                         goal, costs.front);
  if (value >= limit) return value;
  if (floor_.level >= 0 && parent.level - 1 > floor_.level) {
    if (!costs.outside_set) SetOutsideTerms(costs);
    terms = costs.outside;
    const Bound bound{.energy_pj = known_pj + least_energy(nullptr), .cycles = cycles};
    value = std::max(value, ValueOf(bound, goal, floor_));
    terms = costs.tensors;
  }
  if (!costs.joint_set) SetJoint(parent.level - 1, costs);
  if (costs.joint.empty()) return value;
  double joint = kInfinity;
  for (const JointPoint& point : costs.joint) {
    // Where words travel for nothing, one with larger factors stands for lesser ones.
    const bool all = model_.levels[parent.level - 1].placement_matters;
    bool possible = true;
    for (int d = 0; d < split.decided && possible; ++d) {
      const int32_t factor = point.split->factors[d], decided = split.factors[d];
      possible = costs.ratios[d] == 1 || (all ? factor == decided : factor % decided == 0);
    }
    if (!possible) continue;
    Bound bound{.energy_pj = known_pj + point.operands_pj + alone_pj,
                .cycles = std::max(cycles, point.cycles)};
    double least = ValueOf(bound, goal);
    if (least < limit && least < joint) {
      bound.energy_pj += least_energy(point.split) - alone_pj;
      least = std::max(least, ValueOf(bound, goal));
    }
    joint = std::min(joint, least);
  }
  return std::max(value, joint);
}

double Bounder::TileBound(std::span<const Frame> frames, int level, std::span<const Chain> chains,
                          const Tile& tile, Goal goal, double limit) {
  Prepare(frames, level, tile, costs_);
  const Frame& parent = frames[static_cast<size_t>(level) + 1];
  const PartialSplit nothing = NothingDecided(level);
  double least = kInfinity;
  for (const Chain& chain : chains) {
    const ChainSummary outside = Summarize(frames, level + 1, {&chain, 1});
    least = std::min(least, SplitBound(parent, outside, costs_, nothing, goal, limit));
  }
  return least;
}

PartialSplit Bounder::NothingDecided(int level) const {
  PartialSplit split{.left = model_.levels[level].fan};
  std::fill_n(split.multicast, kMaxTensors, 1.0);
  std::fill_n(split.copies, kMaxTensors, 1.0);
  return split;
}

void Bounder::Decide(const TileCosts& costs, const SplitFactors& factors, double left,
                     PartialSplit& split) const {
  const int dim = split.decided++;
  split.left = left;
  split.cut *= factors.cut;
  split.factors[dim] = factors.spatial;
  split.once[dim] = factors.once;
  split.once_below[dim] = factors.once_below;
  if (factors.temporal > 1) split.in_time |= 1u << dim;
  if (costs.ratios[dim] == 1) return;
  for (int v = 0; v < model_.num_tensors; ++v) {
    if (CanCoincide(model_.tensors[v], dim)) split.multicast[v] *= factors.spatial;
    if (!Has(model_.tensors[v].dims, dim)) split.copies[v] *= factors.copies;
  }
}

}  // namespace tessera::exact
