// Frames: the bound of the levels that are decided; docs/optimality.md gives the reasons, in the
// same order. chain_bound.cc adds the order of their loops.
#include "tessera/search/exact/bound.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::exact {

Bounder::Bounder(const Model& model, double max_cycles) : model_(model), max_cycles_(max_cycles) {
  for (int v = 0; v < model.num_tensors; ++v) {
    window_outputs_ |= model.tensors[v].read_write && !model.tensors[v].simple;
  }
}

Frame Bounder::Root() const {
  Frame root{.level = model_.num_levels, .fixed_pj = model_.macs * model_.setup->machine.mac_pj};
  for (int d = 0; d < model_.num_dims; ++d) {
    root.extents[d] = model_.bounds[d];
    root.positions[d] = static_cast<int16_t>(model_.divisors[d].values.size() - 1);
  }
  for (int v = 0; v < model_.num_tensors; ++v) {
    root.copies[v] = root.copies_here[v] = root.plain_visits[v] = root.groups[v] = 1;
  }
  return root;
}

Chain Bounder::RootChain() const {
  Chain chain;
  for (int v = 0; v < model_.num_tensors; ++v) chain.idle_run[v] = 1;
  for (int8_t& dim : chain.dims) dim = -1;
  return chain;
}

bool Bounder::Fits(int level, const int32_t* extents) {
  const LevelFacts& facts = model_.levels[level];
  if (!facts.limited) return true;
  double words = 0;
  for (int v = 0; v < model_.num_tensors; ++v) {
    if (model_.Keeps(level, v)) words += TileWords(model_, v, extents, touched_);
  }
  return words <= static_cast<double>(facts.entries);
}

void Bounder::Measure(Tile& tile) {
  tile.product = 1;
  for (int d = 0; d < model_.num_dims; ++d) tile.product *= tile.extents[d];
  for (int v = 0; v < model_.num_tensors; ++v) {
    tile.words[v] = TileWords(model_, v, tile.extents, touched_);
    tile.plain_words[v] = 1;
    for (int d = 0; d < model_.num_dims; ++d) {
      if (Has(model_.tensors[v].plain, d)) tile.plain_words[v] *= tile.extents[d];
    }
  }
}

// Calls use(displacement, dim) for every way in which an advance of a loop at or above `level` can
// move rank r of a window tensor: its own step, less those of the loops inside it. Inside it are
// all loops of the levels further in, and any of its own level. `first_dim` at `first_level` is the
// innermost loop of all, if one is chosen (-1). Loops outside a loop over other ranks that may not
// move (`still`) are left out. Stops and returns true as soon as `use` does.
template <typename Use>
bool Bounder::AnyDisplacement(std::span<const Frame> frames, int level, int v, int r,
                              uint32_t still, int first_level, int first_dim,
                              const Use& use) const {
  const RankTerms& rank = model_.tensors[v].ranks[r];
  double inside = 0;  // steps of the levels further in
  for (int k = level; k < model_.num_levels; ++k) {
    const Frame& frame = frames[static_cast<size_t>(k)];
    double steps[4] = {}, back[4] = {};
    for (int t = 0; t < rank.num_terms; ++t) {
      const int d = rank.dims[t];
      if (frame.temporal[d] == 1) continue;
      steps[t] = rank.coefficients[t] * frame.extents[d] * frame.spatial[d];
      // Timeloop walks every loop for two iterations, semantics exact to its end.
      back[t] = steps[t] * (model_.exact ? frame.temporal[d] - 1 : 1);
      if (k == first_level && d == first_dim) {
        inside += back[t];
        steps[t] = back[t] = 0;
      }
    }
    for (int subset = 0; subset < 1 << rank.num_terms; ++subset) {
      double sum = inside;
      for (int t = 0; t < rank.num_terms; ++t)
        sum += Has(static_cast<uint32_t>(subset), t) ? back[t] : 0;
      for (int t = 0; t < rank.num_terms; ++t) {
        if (steps[t] == 0 || Has(static_cast<uint32_t>(subset), t)) continue;
        if (use(steps[t] - sum, rank.dims[t])) return true;
      }
      if (use(-sum, -1)) return true;
    }
    if ((frame.loops & still) != 0) return false;
    for (const double step : back) inside += step;
  }
  return false;
}

// Whether a neighbour can hold what a child asks for: two children lie as far apart as some step
// moves a rank.
bool Bounder::LinkRisk(std::span<const Frame> frames, int v, const Frame& frame) const {
  if (frame.parallel == 0) return false;
  const TensorFacts& tensor = model_.tensors[v];
  if (model_.exact) return model_.linked_level && !tensor.read_write && frame.level > 0;
  if (frame.level == 0) return true;
  if (tensor.simple) return false;
  if (tensor.shares) return true;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    uint32_t dims = 0;
    for (int k = 0; k < rank.num_terms; ++k) dims |= 1u << rank.dims[k];
    const uint32_t space = dims & frame.parallel, time = dims & frame.loops_above;
    if (space == 0 || time == 0) continue;
    // With the same dimension in time and space, steps are longer than the array.
    if ((time & ~space) == 0 && std::popcount(space) == 1) continue;
    if (rank.num_terms > 2) return true;
    const double step[2] = {rank.coefficients[0] * frame.extents[rank.dims[0]],
                            rank.coefficients[1] * frame.extents[rank.dims[1]]};
    const int32_t count[2] = {frame.spatial[rank.dims[0]], frame.spatial[rank.dims[1]]};
    const auto apart = [&](double distance, int /*dim*/) {
      if (distance == 0) return false;
      for (int32_t a = 1 - count[0]; a < count[0]; ++a) {
        const double left = distance - a * step[0];
        const double b = std::nearbyint(left / step[1]);
        if (std::abs(b) < count[1] && b * step[1] == left) return true;
      }
      return false;
    };
    if (AnyDisplacement(frames, frame.level, v, r, tensor.plain, -1, -1, apart)) return true;
  }
  return false;
}

// Requests for different words among the children of one instance, at least.
double Bounder::Groups(int v, const Frame& frame) const {
  const TensorFacts& tensor = model_.tensors[v];
  double groups = 1;
  for (int d = 0; d < model_.num_dims; ++d) {
    if (Has(tensor.simple ? tensor.dims : tensor.plain, d)) groups *= frame.spatial[d];
  }
  if (tensor.simple || tensor.shares || frame.link_risk[v]) return groups;
  // Under exact semantics groups of several networks on the way are not a product.
  const int i = frame.level;
  if (model_.exact && !(model_.Keeps(i, v) && (i == 0 || model_.Keeps(i - 1, v)))) return groups;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    if (rank.num_terms == 1) continue;
    int32_t different = 1;
    for (int k = 0; k < rank.num_terms; ++k) {
      different = std::max(different, frame.spatial[rank.dims[k]]);
    }
    groups *= different;
  }
  return groups;
}

// What the MACs' operands cost at least at the innermost level that holds a tensor, if that level
// is further in than `level`. `copies` of that level's parent are known, `idle_extents` bound how
// many more there can be.
double Bounder::OperandCost(int v, int level, double copies, double idle_extents) const {
  const TensorFacts& tensor = model_.tensors[v];
  int innermost = 0;
  while (!model_.Keeps(innermost, v)) ++innermost;
  if (innermost >= level || model_.mac_links) return 0;
  const LevelFacts& facts = model_.levels[innermost];
  const double words = model_.macs / model_.fan_below[innermost + 1];
  double pj = 0;
  if (!tensor.read_write) {
    pj = words * facts.read_pj;
  } else {
    const double more =
        std::min(model_.fan_below[level] / model_.fan_below[innermost + 1], idle_extents);
    const double elided = tensor.elements * copies * more;
    pj = words * facts.update_pj;
    if (tensor.simple) pj += std::max(0.0, words - elided) * facts.read_rw_pj;
  }
  pj *= facts.least_share;
  for (int k = 0; k <= innermost; ++k) {
    pj += model_.macs / model_.fan_below[k + 1] * model_.levels[k].enter_pj;
  }
  return pj;
}

// Per word of the network below a level; `fixed_pj` takes what does not depend on words.
double Bounder::EnterCost(int v, int level, double used, double copies, double& fixed_pj) const {
  const TensorFacts& tensor = model_.tensors[v];
  const LevelFacts& facts = model_.levels[level];
  const bool reduces =
      model_.exact ? model_.levels[model_.parent[level][v]].reduces : facts.reduces;
  if (!tensor.read_write || reduces) return facts.enter_pj;
  if (!tensor.simple || (level == 0 && model_.mac_links)) {
    // Timeloop takes the partition off every key, of which there can be many.
    constexpr double kManyKeys = 128;
    fixed_pj -= kManyKeys * tensor.elements * used * facts.enter_pj;
    return 0;
  }
  fixed_pj -= tensor.elements * copies * facts.enter_pj;
  return 2 * facts.enter_pj;
}

// Of a word that arrives at level `next`, coming from beyond the level outside it.
Bounder::InnerCost Bounder::InnerCostOf(int v, int next) const {
  if (next < 0) return {};
  const TensorFacts& tensor = model_.tensors[v];
  const LevelFacts& level = model_.levels[next];
  const double fill_pj = level.least_share * level.fill_pj;
  InnerCost cost{.word_pj = model_.inner_pj[next][v],
                 .elided_pj = model_.inner_elided_pj[next][v],
                 .slack_pj = model_.inner_slack_pj[next][v]};
  if (tensor.read_write && !tensor.simple) return cost;
  cost.word_pj += fill_pj;
  if (tensor.read_write) cost.elided_pj += fill_pj;
  if (!model_.exact && !tensor.read_write) cost.slack_pj += level.clusters * level.fill_pj;
  return cost;
}

void Bounder::AddTensor(std::span<const Frame> frames, int v, const Tile& tile, Frame& frame) {
  const TensorFacts& tensor = model_.tensors[v];
  const int i = frame.level;
  const Frame& parent = frames[static_cast<size_t>(i) + 1];
  const LevelFacts& level = model_.levels[i];
  const bool kept = model_.Keeps(i, v);
  double idle_space = 1, moving_space = 1, idle_extents = 1;
  frame.idle[v] = 1;
  frame.plain_visits[v] = parent.plain_visits[v];
  for (int d = 0; d < model_.num_dims; ++d) {
    if (!Has(tensor.dims, d)) {
      idle_space *= frame.spatial[d];
      frame.idle[v] *= frame.temporal[d];
      idle_extents *= tile.extents[d];
    } else if (Has(tensor.window, d)) {
      moving_space *= frame.spatial[d];
    }
    if (Has(tensor.plain, d)) frame.plain_visits[v] *= frame.temporal[d];
  }
  frame.all_idle[v] = (frame.loops & tensor.dims) == 0;
  frame.copies_here[v] = parent.copies[v];
  frame.copies[v] = parent.copies[v] * idle_space;
  frame.link_risk[v] = LinkRisk(frames, v, frame);
  const double groups = Groups(v, frame);
  frame.groups[v] = (kept ? 1 : parent.groups[v]) * groups;

  // The words that the parent hands out.
  double pending = parent.pending_pj[v];
  if (kept) {
    const double share = frame.used * model_.Share(i, frame.used);
    pending = share * (tensor.read_write ? level.update_pj : level.read_pj);
    if (tensor.read_write && tensor.simple) {
      pending += share * level.read_rw_pj;
      frame.fixed_pj -=
          tensor.elements * frame.copies_here[v] / frame.used * share * level.read_rw_pj;
    }
  }
  const int above = model_.parent[i][v];
  const double enter_pj = EnterCost(v, i, frame.used, frame.copies_here[v], frame.fixed_pj);
  pending = (pending + frame.used * enter_pj) * groups;
  const int child = i - 1;
  const bool closes = i == 0 || model_.Keeps(child, v);
  if (model_.linked_level && !tensor.read_write && kept && closes && i > 0) {
    // Neighbours can serve all but the first request for a word.
    pending = 0;
    if (tensor.simple) {
      frame.fixed_pj += tensor.elements * (level.least_share * level.read_pj + level.enter_pj);
    }
  }
  frame.pending_pj[v] = pending;
  frame.closes[v] = closes;
  frame.words[v] = frame.visits * (i == 0 ? 1 : tile.words[v]);
  frame.close_pj[v] = frame.later_pj[v] = 0;
  frame.fill_part[v] = 1;
  if (i == 0) {
    frame.close_pj[v] = pending;
    return;
  }
  if (!closes) {
    const int next = model_.next_kept[child][v];
    frame.open_words[v] = 0;
    if (next < 0 && !model_.mac_links) {
      frame.open_words[v] = model_.macs / (frame.used_below * model_.fan_below[i]);
      frame.later_fixed_pj += pending * frame.open_words[v];
      return;
    }
    // What passes this level has to arrive further in, and to be handed on there.
    const InnerCost inner = InnerCostOf(v, next);
    const double word_pj = pending + frame.used_below * inner.word_pj;
    if (tensor.simple) {
      frame.later_pj[v] = word_pj;
      frame.later_fixed_pj -= inner.elided_pj * tensor.elements * frame.copies[v];
    } else {
      frame.open_words[v] = tile.plain_words[v] * frame.plain_visits[v];
      frame.later_fixed_pj += word_pj * frame.open_words[v];
    }
    frame.later_fixed_pj += OperandCost(v, i, frame.copies[v], idle_extents) - inner.slack_pj;
    return;
  }
  const LevelFacts& below = model_.levels[child];
  const double share = model_.Share(child, frame.used_below);
  // Words from neighbours are divided among too many instances, where there are several parents.
  if (frame.link_risk[v] && !model_.exact && frame.used > 1) frame.fill_part[v] = 1 / moving_space;
  double fill_pj = frame.used_below * share * below.fill_pj;
  if (tensor.read_write) {
    if (tensor.simple) {
      frame.fixed_pj -= tensor.elements * frame.copies[v] * share * below.fill_pj;
    } else {
      fill_pj = 0;
    }
  } else if (!model_.exact && (!tensor.simple || above > i)) {
    frame.fixed_pj -= kCut * fill_pj;
  }
  frame.close_pj[v] = pending + fill_pj * frame.fill_part[v];
  frame.later_pj[v] = model_.inner_pj[child][v] * frame.used_below;
  frame.later_fixed_pj -= model_.inner_elided_pj[child][v] * tensor.elements * frame.copies[v] +
                          model_.inner_slack_pj[child][v];
  frame.later_fixed_pj += OperandCost(v, i, frame.copies[v], idle_extents);
}

void Bounder::MakeFrame(std::span<Frame> frames, int level, const Tile& tile,
                        const int32_t* spatial) {
  const Frame& parent = frames[static_cast<size_t>(level) + 1];
  Frame& frame = frames[static_cast<size_t>(level)];
  frame.level = level;
  frame.loops = frame.parallel = 0;
  frame.visits = parent.visits;
  frame.used = frame.used_below = parent.used_below;
  for (int d = 0; d < model_.num_dims; ++d) {
    frame.positions[d] = tile.positions[d];
    frame.extents[d] = tile.extents[d];
    frame.spatial[d] = spatial[d];
    frame.temporal[d] = parent.extents[d] / (tile.extents[d] * spatial[d]);
    if (frame.temporal[d] > 1) frame.loops |= 1u << d;
    if (frame.spatial[d] > 1) frame.parallel |= 1u << d;
    frame.visits *= frame.temporal[d];
    frame.used_below *= frame.spatial[d];
  }
  frame.loops_above = parent.loops_above | frame.loops;
  frame.cycles = CeilCycles(
      model_.macs / (frame.used_below * std::min(tile.product, model_.fan_below[frame.level])));
  frame.fixed_pj = parent.fixed_pj;
  frame.later_fixed_pj = 0;
  for (int v = 0; v < model_.num_tensors; ++v) AddTensor(frames, v, tile, frame);
}

// The part of a window tile that is new when loop `dim` advances by `step`.
double Bounder::NewPart(int v, const int32_t* extents, int dim, double step) {
  const TensorFacts& tensor = model_.tensors[v];
  double overlap = 1;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    double extent = 1, moved = 0;
    for (int k = 0; k < rank.num_terms; ++k) {
      extent += rank.coefficients[k] * (extents[rank.dims[k]] - 1);
      if (rank.dims[k] == dim) moved += rank.coefficients[k] * step;
    }
    if (moved == 0) continue;
    if (moved >= extent) return 1;
    if (model_.exact) {
      const loopnest::RankShape& shape = model_.setup->data.tensors[v].ranks[r];
      loopnest::TouchedBox box;
      for (int k = 0; k < shape.num_terms; ++k) box.widths[k] = extents[shape.dims[k]];
      const int64_t shift = shape.CoefficientOf(dim) * static_cast<int64_t>(step);
      overlap *= static_cast<double>(CountCommon(shape, box, box, shift, touched_)) /
                 static_cast<double>(CountTouched(shape, box, touched_));
    } else {
      overlap *= (extent - moved) / extent;
    }
  }
  return 1 - overlap;
}

// Whether some outer loop can move a window tile exactly as the innermost loop does (timeloop3).
bool Bounder::MayMatch(std::span<const Frame> frames, int level, int v, int first_level,
                       int dim) const {
  const TensorFacts& tensor = model_.tensors[v];
  if (tensor.shares) return true;
  const bool idle = !Has(tensor.dims, dim);
  const Frame& first = frames[static_cast<size_t>(first_level)];
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    if (rank.num_terms == 1) continue;
    uint32_t dims = 0;
    double moved = 0;
    for (int k = 0; k < rank.num_terms; ++k) {
      dims |= 1u << rank.dims[k];
      if (rank.dims[k] == dim) {
        moved = rank.coefficients[k] * first.extents[dim] * first.spatial[dim];
      }
    }
    if (!idle && !Has(dims, dim)) continue;
    // All other ranks have to stay, so nothing that moves them may lie inside.
    const auto same = [&](double distance, int by) { return by >= 0 && distance == moved; };
    if (AnyDisplacement(frames, level, v, r, tensor.dims & ~dims, first_level, dim, same)) {
      return true;
    }
  }
  return false;
}

// Elements of rank r of a tile, without holes (exact).
double Bounder::TouchedOf(int v, int r, const int32_t* extents) {
  const loopnest::RankShape& shape = model_.setup->data.tensors[v].ranks[r];
  loopnest::TouchedBox box;
  for (int k = 0; k < shape.num_terms; ++k) box.widths[k] = extents[shape.dims[k]];
  return static_cast<double>(CountTouched(shape, box, touched_));
}

// The part of rank r of a window tile that a move by `distance` leaves in place (exact).
double Bounder::RankOverlap(int v, int r, const int32_t* extents, double distance) {
  const RankTerms& rank = model_.tensors[v].ranks[r];
  double extent = 1;
  for (int k = 0; k < rank.num_terms; ++k) {
    extent += rank.coefficients[k] * (extents[rank.dims[k]] - 1);
  }
  if (std::abs(distance) >= extent) return 0;
  const loopnest::RankShape& shape = model_.setup->data.tensors[v].ranks[r];
  loopnest::TouchedBox box;
  for (int k = 0; k < shape.num_terms; ++k) box.widths[k] = extents[shape.dims[k]];
  // Shapes are divided by the common divisor of their coefficients; so are distances.
  const double scale =
      rank.coefficients[0] / static_cast<double>(shape.CoefficientOf(rank.dims[0]));
  const auto shift = static_cast<int64_t>(distance / scale);
  return static_cast<double>(CountCommon(shape, box, box, shift, touched_)) /
         static_cast<double>(CountTouched(shape, box, touched_));
}

// The part of a window tile that is new, at least, whenever something else than the innermost loops
// advances (exact): loop `dim` of `first_level`, or, if it leaves the tensor alone, the idle ones.
double Bounder::LeastNewPart(std::span<const Frame> frames, int level, int v, int first_level,
                             int dim) {
  const TensorFacts& tensor = model_.tensors[v];
  if (tensor.shares) return 0;
  const Frame& frame = frames[static_cast<size_t>(level)];
  const bool idle = !Has(tensor.dims, dim);
  double most = 0;
  for (int r = 0; r < tensor.num_ranks && most < 1; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    bool moved = false;
    for (int k = 0; k < rank.num_terms; ++k) moved |= rank.dims[k] == dim;
    // The rank of the innermost loop always moves; otherwise it can be any.
    if (rank.num_terms < 2 || (!idle && !moved)) continue;
    AnyDisplacement(frames, level, v, r, 0, first_level, dim, [&](double distance, int by) {
      if (distance != 0 || by >= 0) {
        most = std::max(most, RankOverlap(v, r, frame.extents, distance));
      }
      return most == 1;
    });
  }
  return 1 - most;
}

}  // namespace tessera::exact
