// Chains: what the order of the loops above a level adds to the bound of its frames. Of the order
// only the innermost loop counts (docs/optimality.md B1 to B3), so there is one chain for each
// choice of innermost loops, and the best of them bounds all orders.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/search/exact/bound.h"
#include "tessera/search/exact/ragged.h"
#include "tessera/search/exact/window.h"
#include "tessera/search/exact/word_cost.h"

namespace tessera::exact {
namespace {

// More chains than this are replaced by one that is at least as good as any of them (B10): each
// costs a bound at every node below, so the number of chains must not grow with that of orders.
constexpr size_t kMaxChains = 64;

// The first loop of a chain that stands for several.
constexpr int8_t kUnknown = -2;

// Accesses, by level, of one instance, in units.
struct Traffic {
  double reads[kMaxLevels] = {}, writes[kMaxLevels] = {};
};

// Iterations for which a tensor stays if an idle loop is innermost at the level: all idle loops
// there, and the run of the levels outside if nothing else is in between. B1.
double IdleRun(const TensorFrame& tensor, double outer_run) {
  return tensor.idle * (tensor.all_idle ? outer_run : 1);
}

// A tensor that the innermost loop leaves alone, a window that it moves, and loops that leave the
// one alone but bring another tile of the other. If one of these is inside the loops that move the
// tensor, so are the others that leave it alone, at most; else none of these. B3.
struct Rivals {
  int stays = -1, slides = -1;
  double others = 1;  // product of the loops that leave the tensor alone, without these
};

Rivals RivalsOf(const Model& model, const Frame& frame, int dim) {
  if (!model.exact || model.any || dim < 0) return {};
  for (int v = 0; v < model.num_tensors; ++v) {
    if (!Has(model.tensors[v].window, dim)) continue;
    for (int stays = 0; stays < model.num_tensors; ++stays) {
      if (Has(model.tensors[stays].dims, dim) || frame.tensors[stays].all_idle) continue;
      const uint32_t these = frame.loops & ~model.tensors[stays].dims & model.tensors[v].plain;
      if (these == 0) continue;
      Rivals rivals{.stays = stays, .slides = v, .others = frame.tensors[stays].idle};
      for (int d = 0; d < model.num_dims; ++d) {
        if (Has(these, d)) rivals.others /= frame.temporal[d];
      }
      return rivals;
    }
  }
  return {};
}

// Chooses `dim` as the innermost loop of the level.
void ChooseInnermost(const Model& model, const Frame& frame, const Chain& outer, int dim,
                     Inside inside, Chain& chain) {
  chain.dims[frame.level] = static_cast<int8_t>(dim);
  for (int v = 0; v < model.num_tensors; ++v) {
    const double here = frame.tensors[v].plain_visits;
    const bool moved = (frame.loops & model.tensors[v].plain) != 0;
    chain.plain_visits[v] = moved ? here : std::max(here, outer.plain_visits[v]);
  }
  if (dim < 0) return;
  chain.first_dim = static_cast<int8_t>(dim);
  chain.first_level = static_cast<int8_t>(frame.level);
  for (int v = 0; v < model.num_tensors; ++v) {
    const bool idle = !Has(model.tensors[v].dims, dim);
    chain.idle_run[v] = idle ? IdleRun(frame.tensors[v], outer.idle_run[v]) : 1;
  }
  if (inside == Inside::kAnything) return;
  const Rivals rivals = RivalsOf(model, frame, dim);
  if (inside == Inside::kNoneOfThese) {
    chain.idle_run[rivals.stays] = rivals.others;
  } else {
    double& visits = chain.plain_visits[rivals.slides];
    visits = std::max(visits, frame.visits / rivals.others);
  }
}

// What goes further in than the level below a frame: words of one instance of it, and their energy
// in all.
struct Inward {
  double words = 0, pj = 0;
  double outside_pj = 0;  // of pj, outside a Floor
};

// At least what arrives there, of `ratio` of all visits' tiles; and at visits for which the tile
// stays, what the levels inside had no room for. Of windows only advances of plain dimensions are
// sure to bring a whole tile. B6, B19.
Inward InwardOf(const Model& model, const Frame& frame, int v, double arriving, double ratio,
                double plain_visits) {
  const TensorFrame& tensor = frame.tensors[v];
  Inward inward{.words = arriving,
                .pj = arriving * tensor.later_pj,
                .outside_pj = arriving * tensor.outside_pj};
  if (tensor.stay_words == 0 && tensor.stay_pj == 0) return inward;
  const double moved = model.tensors[v].simple ? ratio : std::min(1.0, plain_visits / frame.visits);
  const double stays = frame.visits * (1 - moved), whole = tensor.words * moved;
  inward.words = std::max(inward.words, whole + stays * tensor.stay_words);
  inward.pj = std::max(inward.pj, whole * tensor.later_pj + stays * tensor.stay_pj);
  inward.outside_pj =
      std::max(inward.outside_pj, whole * tensor.outside_pj + stays * tensor.outside_stay_pj);
  return inward;
}

// A pair that an inner level closes: what its parent has to hand out in any case, if `passing`
// words pass the level. Returns the energy that depends on the words. B6, B9.
double AddOpenPair(const Model& model, const Frame& frame, int v, const Inward& passing,
                   Traffic& open) {
  const TensorFrame& tensor = frame.tensors[v];
  double words = tensor.open_words, pj = 0;
  if (tensor.later_pj > 0) {
    words = passing.words;
    pj = passing.pj;
  }
  const double requests = words * tensor.groups - (model.exact ? 0 : kRounded);
  if (requests > 0 && !model.linked_level) {
    const int parent = model.parent[frame.level][v];
    (model.tensors[v].read_write ? open.writes : open.reads)[parent] +=
        requests * model.levels[parent].of[v].units;
  }
  return pj;
}

// What the level below a frame, which holds the tensor, reads and writes for levels inside, in any
// case. B19.
void AddInside(const Model& model, const Frame& frame, int v, double words, Traffic& open) {
  const int child = frame.level - 1;
  if (!model.refills || child <= 0 || model.next_kept[child - 1][v] < 0) return;
  if (!PassesAsTile(model, v)) return;
  const double units = model.levels[child].of[v].units;
  if (!model.tensors[v].read_write) {
    open.reads[child] += words * units;
    return;
  }
  const TensorFrame& tensor = frame.tensors[v];
  const double first = model.tensors[v].elements * tensor.copies / frame.used_below;
  open.writes[child] += words * units;
  open.reads[child] += std::max(0.0, words - first) * units;
}

// Words of one tensor that each child gets, and as many as each child asks the parent for. Where
// few children share a request, what the parent itself got counts for more there. B3.
struct Delivery {
  double words = 0, requested = 0;
};

Delivery DeliveryOf(const Model& model, const Frame& frame, double parents, int v, double words,
                    double delivered) {
  if (!model.Followed(v)) return {words, words};
  const double requests = frame.tensors[v].groups * parents;
  return {std::max(words, delivered / frame.used_below), std::max(words, delivered / requests)};
}

// A pair that closes at the level: accesses of one instance of the parent and of the child. B4, B5,
// B8.
void AddClosedPair(const Model& model, std::span<const Frame> frames, const Frame& frame, int v,
                   const Delivery& delivery, Chain& chain) {
  const TensorFacts& tensor = model.tensors[v];
  const TensorFrame& pair = frame.tensors[v];
  const int level = frame.level, parent = model.parent[level][v], child = level - 1;
  const Frame& holder = frames[static_cast<size_t>(parent)];
  const bool rounded = !model.exact && (!tensor.simple || parent > level);
  const double words = delivery.words;
  double requests = delivery.requested * pair.groups - (rounded ? kRounded : 0);
  // Neighbours may serve them all. B4.
  if (model.linked_level && !tensor.read_write && parent == level && level > 0) requests = 0;
  const double units = model.levels[parent].of[v].units;
  if (!tensor.read_write) {
    chain.reads[parent] += requests * units;
  } else {
    chain.writes[parent] += requests * units;
    const double first = tensor.elements * holder.tensors[v].copies_here / holder.used;
    if (tensor.simple) chain.reads[parent] += std::max(0.0, requests - first) * units;
  }
  if (child < 0) return;
  const double child_units = model.levels[child].of[v].units;
  if (!tensor.read_write) {
    chain.writes[child] += (words * pair.fill_part - (rounded ? kCut : 0)) * child_units;
  } else if (tensor.simple) {
    chain.writes[child] += (words - tensor.elements * pair.copies / frame.used_below) * child_units;
  }
}

// Whether no rank of a window tensor is moved by two loops at or above the level, so that nothing
// else moves the tile as loop `dim` does (timeloop3). B2.
bool MovesAlone(const Model& model, std::span<const Frame> frames, const Frame& frame, int v,
                int dim) {
  const TensorFacts& tensor = model.tensors[v];
  if (model.exact || frame.level == 0 || tensor.shares) return false;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    int loops = 0;
    for (int k = 0; k < rank.num_terms; ++k) loops += Has(frame.loops_above, rank.dims[k]) ? 1 : 0;
    if (rank.num_terms != 1 && loops > 1) return false;
  }
  // The same dimension further out may move by as much, too.
  const Frame& outside = frames[static_cast<size_t>(frame.level) + 1];
  return !Has(tensor.dims, dim) || !Has(outside.loops_above, dim);
}

// Of a window's `ratio` of words, those that no child can have from one that holds the same tile:
// what the innermost loop brings, and whole tiles of plain dimensions. B4.
double WithoutResent(const TensorFrame& tensor, double ratio, double part, double count,
                     double plain) {
  return tensor.resend_risk ? std::min(ratio, part * (1 - 1 / count) + plain) : ratio;
}

// Makes the first chain one that is at least as good as any of them. B10.
void MergeIntoFirst(const Model& model, std::vector<Chain>& chains) {
  Chain& all = chains.front();
  for (const Chain& chain : chains) {
    all.closed_pj = std::min(all.closed_pj, chain.closed_pj);
    all.cycles = std::min(all.cycles, chain.cycles);
    for (int v = 0; v < model.num_tensors; ++v) {
      all.idle_run[v] = std::max(all.idle_run[v], chain.idle_run[v]);
      all.delivered[v] = std::min(all.delivered[v], chain.delivered[v]);
      all.plain_visits[v] = std::min(all.plain_visits[v], chain.plain_visits[v]);
    }
    for (int k = 0; k < model.num_levels; ++k) {
      all.reads[k] = std::min(all.reads[k], chain.reads[k]);
      all.writes[k] = std::min(all.writes[k], chain.writes[k]);
    }
  }
  all.first_dim = kUnknown;
  chains.resize(1);
}

}  // namespace

// Words that a child tile of `level` gets, at least, as a part of all tiles of all visits.
double Bounder::Ratio(std::span<const Frame> frames, int level, int v, const Chain& chain) {
  const TensorFacts& tensor = model_.tensors[v];
  if (model_.any) return RaggedRatio(frames, level, v, chain, false);
  const Frame& frame = frames[static_cast<size_t>(level)];
  if (level == 0) {
    // MACs hold nothing; but neighbouring ones can pass operands on under timeloop3. B4.
    if (model_.exact || frame.parallel == 0) return 1;
    return tensor.simple ? 1 / chain.idle_run[v] : frame.tensors[v].plain_visits / frame.visits;
  }
  const bool slides = !tensor.simple && (tensor.window & frame.loops_above) != 0;
  return slides ? WindowRatio(frames, level, v, chain) : 1 / chain.idle_run[v];
}

// The same with any factors: a tile stays for as many visits as idle loops inside the first loop
// that moves the tensor make, except where that loop has one iteration only. R3.
double Bounder::RaggedRatio(std::span<const Frame> frames, int level, int v, const Chain& chain,
                            bool further_in) const {
  if (level == 0) return 1;
  const TensorFrame& tensor = frames[static_cast<size_t>(level)].tensors[v];
  const bool here = chain.first_level == level && chain.first_dim >= 0 &&
                    !Has(model_.tensors[v].dims, chain.first_dim) && !tensor.all_idle;
  const double once = OncePart(frames, further_in ? level - 1 : level, v, chain);
  const double run = here ? tensor.ragged.stays : chain.idle_run[v];
  return std::max(1 / run, tensor.ragged.least) * (1 - once) + tensor.ragged.least * once;
}

// Requests of one child by words that it gets, where that is known: each of them serves as many
// children as there are, also where fewer of them work. R2.
double Bounder::AskedBy(std::span<const Frame> frames, int level, int v, const Chain& chain) const {
  const TensorFrame& tensor = frames[static_cast<size_t>(level)].tensors[v];
  if (!model_.any || !model_.tensors[v].simple || !model_.Keeps(level, v)) return 1;
  if (level == 0) return tensor.ragged.asked;
  if (chain.first_level != level || chain.first_dim < 0) return 1;
  if (Has(model_.tensors[v].dims, chain.first_dim)) return tensor.ragged.asked;
  return tensor.all_idle ? 1 : tensor.ragged.asked_stays;
}

// The part of a tensor for which the first loop that moves it, from the inside, may have one
// iteration only; its tile can stay longer then. R3.
double Bounder::OncePart(std::span<const Frame> frames, int level, int v,
                         const Chain& chain) const {
  if (chain.first_dim == kUnknown) return 1;
  for (int k = chain.first_level; k >= 0 && k < model_.num_levels; ++k) {
    const int dim = chain.dims[k];
    const Frame& frame = frames[static_cast<size_t>(k)];
    const auto once = [&](int d) {
      return k == level ? frame.ragged[d].once_here : frame.ragged[d].once_below;
    };
    if (dim < 0) continue;
    if (Has(model_.tensors[v].dims, dim)) return once(dim);
    if (frame.tensors[v].all_idle) continue;
    double part = 1;
    for (uint32_t rest = frame.loops & model_.tensors[v].dims; rest != 0; rest &= rest - 1) {
      part *= once(std::countr_zero(rest));
    }
    return part;
  }
  return 0;
}

// The same for a window that some loop moves; by what its innermost loop is. B2, B3.
double Bounder::WindowRatio(std::span<const Frame> frames, int level, int v, const Chain& chain) {
  const TensorFacts& tensor = model_.tensors[v];
  const Frame& frame = frames[static_cast<size_t>(level)];
  // Advances of plain dimensions bring the whole tile, whatever the order.
  const double least = chain.plain_visits[v] / frame.visits;
  const InnermostLoop innermost{.level = chain.first_level, .dim = chain.first_dim};
  const int dim = innermost.dim;
  if (dim == kUnknown) return least;
  if (Has(tensor.plain, dim)) return 1;
  if (!Has(tensor.dims, dim)) {
    if (model_.exact) {
      const double part = LeastNewPart(model_, frames, level, v, innermost, touched_);
      return least + std::max(0.0, 1 / chain.idle_run[v] - least) * part;
    }
    return MayMatch(model_, frames, level, v, innermost) ? least : 1 / chain.idle_run[v];
  }
  const Frame& first = frames[static_cast<size_t>(innermost.level)];
  const double count = first.temporal[dim];
  const double part =
      NewPart(model_, v, frame.extents, dim,
              static_cast<double>(first.extents[dim]) * first.spatial[dim], touched_);
  if (model_.exact) {
    const double other = LeastNewPart(model_, frames, level, v, innermost, touched_);
    return part * (1 - 1 / count) + least + std::max(0.0, 1 / count - least) * other;
  }
  const double ratio = MayMatch(model_, frames, level, v, innermost) ? part + (1 - part) * least
                                                                     : part + (1 - part) / count;
  return WithoutResent(frame.tensors[v], ratio, part, count, least);
}

// Cycles of the level that takes longest for words of one instance. B9.
double Bounder::BusiestCycles(const double* reads, const double* writes) const {
  double cycles = 0;
  for (int k = 0; k < model_.num_levels; ++k) {
    const LevelFacts& facts = model_.levels[k];
    cycles = std::max({cycles, CeilCycles(reads[k] / facts.read_bw),
                       CeilCycles(writes[k] / facts.write_bw),
                       CeilCycles((reads[k] + writes[k]) / facts.shared_bw)});
  }
  return cycles;
}

bool Bounder::HasRivals(const Frame& frame, int dim) const {
  return RivalsOf(model_, frame, dim).stays >= 0;
}

Bound Bounder::ExtendBoth(std::span<const Frame> frames, int level, const Chain& chain, int dim,
                          Chain& out) {
  Bound bound = Extend(frames, level, chain, dim, out);
  if (!HasRivals(frames[static_cast<size_t>(level)], dim)) return bound;
  Chain scratch;
  const Bound none = Extend(frames, level, chain, dim, scratch, Inside::kNoneOfThese);
  const Bound some = Extend(frames, level, chain, dim, scratch, Inside::kSomeOfThese);
  return {.energy_pj = std::min(none.energy_pj, some.energy_pj),
          .cycles = std::min(none.cycles, some.cycles),
          .outside_pj = std::min(none.outside_pj, some.outside_pj)};
}

Bound Bounder::Extend(std::span<const Frame> frames, int level, const Chain& chain, int dim,
                      Chain& out, Inside inside) {
  const Frame& frame = frames[static_cast<size_t>(level)];
  out = chain;
  ChooseInnermost(model_, frame, chain, dim, inside, out);
  double later_pj = frame.later_fixed_pj, outside_pj = frame.outside_fixed_pj;
  Traffic open;
  for (int v = 0; v < model_.num_tensors; ++v) {
    const TensorFrame& tensor = frame.tensors[v];
    const bool counted = tensor.closes || tensor.later_pj > 0;
    const double ratio = counted ? Ratio(frames, level, v, out) : 0;
    const double words = tensor.words * ratio;
    const Frame& holder = frames[static_cast<size_t>(model_.parent[level][v])];
    Delivery delivery = DeliveryOf(model_, frame, holder.used, v, words, chain.delivered[v]);
    delivery.requested *= tensor.closes ? AskedBy(frames, level, v, out) : 1;
    // What instances further in, or beyond a level that does not hold it, surely get of it. R3.
    double further_in = delivery.words;
    if (model_.any && counted && model_.tensors[v].simple) {
      further_in = tensor.words * RaggedRatio(frames, level, v, out, /*further_in=*/true);
    }
    const Inward inward = InwardOf(model_, frame, v, further_in, ratio, out.plain_visits[v]);
    outside_pj += inward.outside_pj;
    if (!tensor.closes) {
      later_pj += AddOpenPair(model_, frame, v, inward, open);
      continue;
    }
    out.closed_pj +=
        delivery.words * tensor.close_pj + (delivery.requested - delivery.words) * tensor.parent_pj;
    later_pj += inward.pj;
    AddInside(model_, frame, v, inward.words, open);
    AddClosedPair(model_, frames, frame, v, delivery, out);
    if (model_.Followed(v)) out.delivered[v] = delivery.words * frame.used_below;
  }
  out.cycles = std::max({frame.cycles, chain.cycles, BusiestCycles(out.reads, out.writes)});
  for (int k = 0; k < model_.num_levels; ++k) {
    open.reads[k] += out.reads[k];
    open.writes[k] += out.writes[k];
  }
  const double cycles = std::max(out.cycles, BusiestCycles(open.reads, open.writes));
  return {.energy_pj = out.closed_pj + frame.fixed_pj + later_pj,
          .cycles = cycles + model_.latency_cycles,
          .outside_pj = out.closed_pj + frame.fixed_pj + outside_pj};
}

ChainSummary Bounder::Summarize(std::span<const Frame> frames, int level,
                                std::span<const Chain> chains) const {
  ChainSummary summary{.closed_pj = kInfinity, .cycles = kInfinity};
  std::fill_n(summary.delivered, kMaxTensors, kInfinity);
  for (const Chain& chain : chains) {
    summary.closed_pj = std::min(summary.closed_pj, chain.closed_pj);
    summary.cycles = std::min(summary.cycles, chain.cycles);
    for (int v = 0; v < model_.num_tensors; ++v) {
      summary.idle_run[v] = std::max(summary.idle_run[v], chain.idle_run[v]);
      summary.delivered[v] = std::min(summary.delivered[v], chain.delivered[v]);
      if (!model_.any) continue;
      // As seen from further in.
      summary.once[v] = std::max(summary.once[v], OncePart(frames, level - 1, v, chain));
    }
  }
  return summary;
}

// As Ratio, or less, if `dim` is the innermost loop of the level: displacements are not looked at,
// only whether there can be equal ones.
double Bounder::QuickRatio(std::span<const Frame> frames, int level, int v, int dim,
                           const ChainSummary& chains) {
  const TensorFacts& tensor = model_.tensors[v];
  const Frame& frame = frames[static_cast<size_t>(level)];
  const TensorFrame& pair = frame.tensors[v];
  if (level == 0 && (model_.exact || frame.parallel == 0)) return 1;
  const bool idle = !Has(tensor.dims, dim);
  if (model_.any) {
    double once = idle && pair.all_idle ? chains.once[v] : 1;
    if (!idle) once = frame.ragged[dim].once_below;
    for (uint32_t rest = idle ? frame.loops & tensor.dims : 0; rest != 0; rest &= rest - 1) {
      once *= frame.ragged[std::countr_zero(rest)].once_below;
    }
    const double run = idle ? IdleRun(pair, chains.idle_run[v]) : 1;
    return std::max((1 - once) / run, pair.ragged.least);
  }
  const bool slides = !tensor.simple && (level == 0 || (tensor.window & frame.loops_above) != 0);
  if (!slides) return idle ? 1 / IdleRun(pair, chains.idle_run[v]) : 1;
  if (Has(tensor.plain, dim)) return level == 0 ? pair.plain_visits / frame.visits : 1;
  const bool alone = MovesAlone(model_, frames, frame, v, dim);
  if (idle && alone) return 1 / IdleRun(pair, chains.idle_run[v]);
  const double least = pair.plain_visits / frame.visits;
  if (idle || level == 0) return least;
  const double count = frame.temporal[dim];
  const double part =
      NewPart(model_, v, frame.extents, dim,
              static_cast<double>(frame.extents[dim]) * frame.spatial[dim], touched_);
  if (model_.exact) return std::min(1.0, part * (1 - 1 / count) + least);
  return WithoutResent(pair, part + (1 - part) * (alone ? 1 / count : least), part, count, least);
}

double Bounder::QuickLeast(std::span<const Frame> frames, int level, const ChainSummary& chains,
                           Goal goal) {
  const Frame& frame = frames[static_cast<size_t>(level)];
  Bound bound{.energy_pj = 0, .cycles = std::max(frame.cycles, chains.cycles)};
  bound.cycles += model_.latency_cycles;
  if (goal == Goal::kCycles || !limits_.MayAllow(bound)) return ValueOf(bound, goal, frame.front);
  double least = kInfinity, least_outside = kInfinity;
  for (uint32_t rest = frame.innermost; rest != 0; rest &= rest - 1) {
    const int dim = std::countr_zero(rest);
    double energy = 0, outside = 0;
    for (int v = 0; v < model_.num_tensors; ++v) {
      const TensorFrame& tensor = frame.tensors[v];
      const double pj = tensor.close_pj + tensor.later_pj;
      if (pj == 0) continue;
      const double ratio = QuickRatio(frames, level, v, dim, chains);
      double words = tensor.words * ratio;
      if (model_.Followed(v)) words = std::max(words, chains.delivered[v] / frame.used_below);
      const Inward inward = InwardOf(model_, frame, v, words, ratio, tensor.plain_visits);
      energy += words * tensor.close_pj + inward.pj;
      outside += words * tensor.close_pj + inward.outside_pj;
    }
    least = std::min(least, energy);
    least_outside = std::min(least_outside, outside);
  }
  // The innermost loop is one of an outer level.
  if (frame.loops == 0) least = least_outside = 0;
  const double known_pj = chains.closed_pj + frame.fixed_pj;
  bound.energy_pj = known_pj + frame.later_fixed_pj + least;
  bound.outside_pj = known_pj + frame.outside_fixed_pj + least_outside;
  return ValueOf(bound, goal, frame.front, level);
}

double Bounder::Least(std::span<const Frame> frames, int level, std::span<const Chain> chains,
                      Goal goal, double limit, std::vector<Chain>& extended) {
  const Frame& frame = frames[static_cast<size_t>(level)];
  double least = kInfinity;
  extended.clear();
  Chain out;
  const auto extend_if = [&](const Chain& chain, int dim, Inside inside) {
    const double value =
        ValueOf(Extend(frames, level, chain, dim, out, inside), goal, frame.front, level);
    least = std::min(least, value);
    if (value < limit) extended.push_back(out);
  };
  const auto extend = [&](const Chain& chain, int dim) {
    if (!HasRivals(frame, dim)) return extend_if(chain, dim, Inside::kAnything);
    extend_if(chain, dim, Inside::kNoneOfThese);
    extend_if(chain, dim, Inside::kSomeOfThese);
  };
  for (const Chain& chain : chains) {
    if (CouldHoldMore(frames, level, chain)) continue;
    if (frame.loops == 0) {
      if (!CanGrow(frames, level, chain)) extend(chain, -1);
    } else if (!OrderMatters(frame)) {
      extend(chain, std::countr_zero(frame.loops));
    } else {
      for (uint32_t rest = frame.innermost; rest != 0; rest &= rest - 1) {
        extend(chain, std::countr_zero(rest));
      }
    }
  }
  if (extended.size() > kMaxChains) MergeIntoFirst(model_, extended);
  return least;
}

bool Bounder::PlacementMatters(const Frame& frame) const {
  if (frame.parallel == 0) return false;
  if (model_.levels[frame.level].placement_matters || model_.linked_level) return true;
  for (int v = 0; v < model_.num_tensors; ++v) {
    if (frame.tensors[v].link_risk) return true;
  }
  return false;
}

bool Bounder::OrderRisk(std::span<const Frame> frames, const Chain& chain) const {
  if (model_.linked_level || !model_.disjoint || window_outputs_) return true;
  if (model_.any && IsRagged(model_, frames.data()) && MayPassOnce(model_, frames.data())) {
    return true;
  }
  int first_level = -1;  // of the loops at and above a level
  for (int i = model_.num_levels - 1; i >= 0; --i) {
    const Frame& frame = frames[static_cast<size_t>(i)];
    if (frame.loops != 0) first_level = i;
    const loopnest::MachineLevel& machine = model_.setup->machine.levels[i];
    for (int v = 0; v < model_.num_tensors; ++v) {
      const TensorFacts& tensor = model_.tensors[v];
      const int above = model_.parent[i][v];
      if (frame.tensors[v].link_risk) return true;
      const bool bypassed = i > 0 && !model_.Keeps(i - 1, v);
      // Routers per word are rounded down, so fewer words can pass more of them; and past a bypass
      // Timeloop cuts them to whole numbers, after a division that depends on outer loops.
      if (machine.router_pj != 0) {
        const bool both_ways =
            tensor.read_write && (!machine.reduces || !model_.levels[above].reduces);
        if (frame.parallel != 0 && both_ways) return true;
        if (bypassed && !model_.exact) return true;
      }
      if (i == 0 || tensor.simple || (tensor.window & frame.loops_above) == 0) continue;
      if (bypassed && (model_.exact || frame.parallel == 0 || machine.hop_pj == 0)) continue;
      const InnermostLoop innermost{.level = first_level, .dim = chain.dims[first_level]};
      if (Has(tensor.plain, innermost.dim)) continue;
      if (model_.exact || bypassed || MayMatch(model_, frames, i, v, innermost)) return true;
    }
  }
  return false;
}

}  // namespace tessera::exact
