// Frames: the bound of the levels that are decided. Each tensor is handled by the state of its pair
// at the level: it opens where the level holds the tensor, stays open where it does not, and closes
// where the level below does, or at the MACs.
#include "tessera/search/exact/bound.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/base/divisors.h"
#include "tessera/search/exact/ragged.h"
#include "tessera/search/exact/window.h"
#include "tessera/search/exact/word_cost.h"

namespace tessera::exact {
namespace {

int32_t LeastPrime(int32_t number) { return static_cast<int32_t>(SmallestPrime(number)); }

// One tensor at the level that becomes a frame: what the cases below know and what they set.
struct TensorStep {
  const Model& model;
  const int v;
  const Frame& parent;  // of the level outside
  const Tile& tile;     // of the level inside
  Frame& frame;
  OperandCosts& operands;
  LeastHops& hops;
  const int floor;  // level of the floor, or -1

  double groups = 1;        // requests for different words among the children of one instance
  double moving_space = 1;  // product of the parallel factors that move a window of the tensor
  double idle_extents = 1;  // product of the tile's extents that leave it alone

  const TensorFacts& tensor() const { return model.tensors[v]; }
  const TensorFrame& outside() const { return parent.tensors[v]; }
  TensorFrame& out() const { return frame.tensors[v]; }
  int level() const { return frame.level; }
  int child() const { return frame.level - 1; }
  const LevelFacts& facts() const { return model.levels[frame.level]; }
  const ElementFacts& element() const { return facts().of[v]; }
  bool opens() const { return model.Keeps(frame.level, v); }
};

// Requests for different words among the children of one instance, at least. B4.
double GroupsBelow(std::span<const Frame> frames, const TensorStep& step) {
  const TensorFacts& tensor = step.tensor();
  const Frame& frame = step.frame;
  double groups = 1;
  for (int d = 0; d < step.model.num_dims; ++d) {
    if (Has(tensor.simple ? tensor.dims : tensor.plain, d)) groups *= frame.spatial[d];
  }
  // Where neighbours can hand on words, or children coincide in two ranks at once, only plain
  // dimensions are sure to tell children apart.
  if (tensor.simple || tensor.shares || step.out().link_risk) return groups;
  // Under exact semantics groups of several networks on the way are not a product.
  if (step.model.exact && !OnlyNetwork(step.model, frames.data(), step.level(), step.v)) {
    return groups;
  }
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    if (rank.num_terms == 1) continue;
    // There are as many offsets as sums of positions.
    int32_t different = 1;
    for (int k = 0; k < rank.num_terms; ++k) different += frame.spatial[rank.dims[k]] - 1;
    groups *= different;
  }
  return groups;
}

// Visits at which an index of a plain dimension changes: with loops over such dimensions, those of
// one visit of the level outside begin with another index than those before ended with. B3.
double PlainVisits(const Model& model, double outside, double visits_outside, double factors) {
  const bool all = model.exact && !model.any && factors > 1;
  return (all ? visits_outside : outside) * factors;
}

// What follows from the factors alone: runs, copies and groups of the tensor. B1, B4, B5.
void SetFactors(std::span<const Frame> frames, TensorStep& step) {
  const TensorFacts& tensor = step.tensor();
  const Frame& frame = step.frame;
  TensorFrame& out = step.out();
  double idle_space = 1;
  out.idle = 1;
  double plain_time = 1;
  for (int d = 0; d < step.model.num_dims; ++d) {
    if (!Has(tensor.dims, d)) {
      idle_space *= frame.spatial[d];
      out.idle *= frame.temporal[d];
      step.idle_extents *= step.tile.extents[d];
    } else if (Has(tensor.window, d)) {
      step.moving_space *= frame.spatial[d];
    }
    if (Has(tensor.plain, d)) plain_time *= frame.temporal[d];
  }
  out.plain_visits =
      PlainVisits(step.model, step.outside().plain_visits, step.parent.visits, plain_time);
  out.all_idle = (frame.loops & tensor.dims) == 0;
  out.copies_here = step.outside().copies;
  out.copies = step.outside().copies * idle_space;
  out.closes = step.level() == 0 || step.model.Keeps(step.child(), step.v);
  out.resend_risk = ResendRisk(step.model, frames, step.v, frame);
  out.link_risk = out.resend_risk || LinkRisk(step.model, frames, step.v, frame);
  step.groups = GroupsBelow(frames, step);
  out.groups = (step.opens() ? 1 : step.outside().groups) * step.groups;
}

// The pair opens: the level reads the words that it hands out, or updates with those that come
// back; a simple tensor's sums are read as well, except the first of each element. B5, B8.
double Open(const TensorStep& step) {
  const TensorFacts& tensor = step.tensor();
  const ElementFacts& level = step.element();
  Frame& frame = step.frame;
  const double share = frame.used * step.model.Share(step.level(), frame.used);
  double pj = share * (tensor.read_write ? level.update_pj : level.read_pj);
  if (tensor.read_write && tensor.simple) {
    pj += share * level.read_rw_pj;
    frame.fixed_pj -=
        tensor.elements * step.out().copies_here / frame.used * share * level.read_rw_pj;
  }
  frame.fixed_pj -= RoundedPast(step.model, step.v, step.out().closes) * pj;
  return pj;
}

// Hops in the network of a frame, while levels further in may not be decided. B16.
double HopsBelow(std::span<const Frame> frames, const TensorStep& step) {
  const TensorFacts& tensor = step.tensor();
  double factors[kMaxDims];
  for (int d = 0; d < step.model.num_dims; ++d) factors[d] = step.frame.spatial[d];
  const bool known =
      tensor.simple || (!tensor.read_write && step.model.exact &&
                        OnlyNetwork(step.model, frames.data(), step.level(), step.v));
  if (!known) return 0;
  if (!TellsChildrenApart(tensor, factors)) return 0;
  const int parent = step.model.parent[step.level()][step.v];
  return HopCost(step.model, step.level(), step.v,
                 tensor.read_write && !step.model.levels[parent].reduces, step.frame.spatial,
                 step.hops);
}

// Per request of one child: what was pending, and the network below, once for each group. B4, B8.
double PassNetwork(std::span<const Frame> frames, const TensorStep& step, double pending_pj) {
  const TensorFacts& tensor = step.tensor();
  const LevelFacts& level = step.facts();
  Frame& frame = step.frame;
  const EnterCost enter =
      EnterCostOf(step.model, step.v, step.level(), frame.used, step.out().copies_here);
  frame.fixed_pj += enter.fixed_pj;
  const bool served_by_neighbours = step.model.linked_level && !tensor.read_write && step.opens() &&
                                    step.out().closes && step.level() > 0;
  if (!served_by_neighbours) {
    return (pending_pj + frame.used * (enter.word_pj + HopsBelow(frames, step))) * step.groups;
  }
  // Neighbours can serve all but the first request for a word. B4.
  if (tensor.simple) {
    frame.fixed_pj += tensor.elements *
                      (level.least_share * level.of[step.v].read_pj + level.of[step.v].enter_pj);
  }
  return 0;
}

// Of words that arrive at level `c`, which holds them, what they cost further in but outside the
// floor. B21.
struct OutsideCost {
  double word_pj = 0, elided_pj = 0;
};
OutsideCost OutsideOf(const TensorStep& step, int c) {
  const Model& model = step.model;
  if (step.floor < 0 || step.level() <= step.floor || c < step.floor) return {};
  const int crossed = model.parent[step.floor][step.v];
  return {.word_pj = model.inner_pj[c][step.v] - model.inner_pj[crossed][step.v],
          .elided_pj = model.inner_elided_pj[c][step.v] - model.inner_elided_pj[crossed][step.v]};
}

// The pair closes at the MACs: nothing is filled, and nothing follows.
void CloseAtMacs(const TensorStep& step) { step.out().close_pj = step.out().pending_pj; }

// The pair closes at the level below, which is filled; from there words go further in. B6, B8.
void CloseAtChild(const TensorStep& step) {
  const Model& model = step.model;
  const TensorFacts& tensor = step.tensor();
  Frame& frame = step.frame;
  TensorFrame& out = step.out();
  const int v = step.v, child = step.child();
  const LevelFacts& below = model.levels[child];
  const double share = model.Share(child, frame.used_below);
  // Words from neighbours are divided among too many instances, where there are several parents.
  if (out.link_risk && !model.exact && frame.used > 1) out.fill_part = 1 / step.moving_space;
  double fill_pj = frame.used_below * share * below.of[v].fill_pj;
  if (tensor.read_write && tensor.simple) {
    // First sums are not filled. B5.
    frame.fixed_pj -= tensor.elements * out.copies * share * below.of[v].fill_pj;
  } else if (tensor.read_write) {
    fill_pj = 0;  // Sums of windows can meet, so how many are first is not known. B5.
  } else if (!model.exact && (!tensor.simple || model.parent[step.level()][v] > step.level())) {
    frame.fixed_pj -= kCut * fill_pj;
  }
  out.close_pj = out.pending_pj + fill_pj * out.fill_part;
  out.later_pj = model.inner_pj[child][v] * frame.used_below;
  const Refill refill = RefillOf(model, v, child, step.tile.words[v]);
  out.stay_words = refill.words;
  out.stay_pj = refill.pj * frame.used_below;
  frame.later_fixed_pj -= model.inner_elided_pj[child][v] * tensor.elements * out.copies +
                          model.inner_slack_pj[child][v];
  const OutsideCost outside = OutsideOf(step, child);
  out.outside_pj = outside.word_pj * frame.used_below;
  if (outside.word_pj > 0) {
    out.outside_stay_pj =
        RefillOf(model, v, child, step.tile.words[v], step.floor).pj * frame.used_below;
  }
  frame.outside_fixed_pj -= outside.elided_pj * tensor.elements * out.copies;
  step.operands.AddInside(v, step.level(), out.copies, step.idle_extents);
}

// The pair stays open and no level further in holds the tensor: the MACs ask, at least once for
// each operation of all MACs below. B6.
void StayOpenToMacs(std::span<const Frame> frames, const TensorStep& step) {
  TensorFrame& out = step.out();
  const Multicast most =
      MostMulticast(step.model, step.v, step.tile.extents, step.model.fan_below[step.level()]);
  const double asked = step.model.macs / step.frame.used_below;
  const int parent = step.model.parent[step.level()][step.v];
  const Frame& holder = parent == step.level() ? step.frame : frames[static_cast<size_t>(parent)];
  out.open_words = asked / most.Most();
  step.operands.AddOpen(
      {.v = step.v,
       .words = asked,
       .word_pj = out.pending_pj,
       .level = parent,
       .of_one_instance = out.groups,
       .first = step.tensor().elements * holder.tensors[step.v].copies_here / holder.used},
      most);
}

// The pair stays open: what passes this level has to arrive further in, and to be handed on there,
// as often as the tile of the level it passes changes. B6.
void StayOpen(const TensorStep& step, int next) {
  const TensorFacts& tensor = step.tensor();
  Frame& frame = step.frame;
  TensorFrame& out = step.out();
  const InnerCost inner = InnerCostOf(step.model, step.v, next);
  const double word_pj = out.pending_pj + frame.used_below * inner.word_pj;
  out.open_words = 0;
  if (PassesAsTile(step.model, step.v)) {
    out.later_pj = word_pj;
    const Refill refill = RefillOf(step.model, step.v, step.child(), step.tile.words[step.v]);
    out.stay_words = refill.words;
    out.stay_pj = refill.words * out.pending_pj + refill.pj * frame.used_below;
    frame.later_fixed_pj -= inner.elided_pj * tensor.elements * out.copies;
    if (step.floor >= 0 && step.level() > step.floor && next >= step.floor) {
      const double fill_pj = inner.word_pj - step.model.inner_pj[next][step.v];
      const OutsideCost outside = OutsideOf(step, next);
      out.outside_pj = out.pending_pj + frame.used_below * (fill_pj + outside.word_pj);
      const Refill beyond =
          RefillOf(step.model, step.v, step.child(), step.tile.words[step.v], step.floor);
      out.outside_stay_pj = beyond.words * out.pending_pj + beyond.pj * frame.used_below;
      frame.outside_fixed_pj -= inner.elided_pj * tensor.elements * out.copies;
    }
  } else if (!step.model.any) {
    // Of windows, only advances of plain dimensions are sure to bring a whole tile. B2, B3.
    out.open_words = step.tile.plain_words[step.v] * out.plain_visits;
    frame.later_fixed_pj += word_pj * out.open_words;
  }
  frame.later_fixed_pj -= inner.slack_pj;
  step.operands.AddInside(step.v, step.level(), out.copies, step.idle_extents);
}

// A window that passed several networks: what each of them, and the parent, handed out for one
// request of every child. Children ask once where their offsets are equal, and those of all
// networks together are as many as sums of positions. B4 (exact).
void CloseSeveralNetworks(std::span<const Frame> frames, const TensorStep& step) {
  const Model& model = step.model;
  const TensorFacts& tensor = step.tensor();
  const int parent = model.parent[step.level()][step.v];
  double plain = 1, factors[kMaxDims], pending_pj = 0;
  std::fill_n(factors, model.num_dims, 1.0);
  for (int i = step.level(); i <= parent; ++i) {
    const Frame& frame = frames[static_cast<size_t>(i)];
    double windows = 1;
    for (int d = 0; d < model.num_dims; ++d) {
      if (Has(tensor.plain, d)) plain *= frame.spatial[d];
      factors[d] *= frame.spatial[d];
    }
    for (int d = 0; d < model.num_dims; ++d) windows *= Has(tensor.window, d) ? factors[d] : 1;
    const double groups = plain * windows / WindowMulticast(model, step.v, factors);
    const LevelFacts& level = model.levels[i];
    double word_pj = level.of[step.v].enter_pj;
    if (i == parent) word_pj += model.Share(i, frame.used) * level.of[step.v].read_pj;
    if (TellsChildrenApart(tensor, factors)) {
      word_pj += HopCost(model, i, step.v, /*both_ways=*/false, frame.spatial, step.hops);
    }
    step.out().parent_pj = frame.used * word_pj * groups;
    pending_pj += step.out().parent_pj;
    step.out().groups = groups;
  }
  step.out().pending_pj = pending_pj;
}

// No level so far holds the tensor: its home is further in, and hands out what the tile of the
// level below has, as often as that changes. B12.
void NotYetOpen(const TensorStep& step) {
  const TensorFacts& tensor = step.tensor();
  Frame& frame = step.frame;
  TensorFrame& out = step.out();
  const int home = step.model.home[step.v];
  out.closes = false;
  out.pending_pj = out.close_pj = out.open_words = out.stay_words = out.stay_pj = 0;
  out.outside_pj = out.outside_stay_pj = 0;
  out.fill_part = 1;
  out.words = frame.visits * step.tile.words[step.v];
  out.later_pj = step.model.inner_pj[home][step.v] * frame.used_below;
  frame.later_fixed_pj -= step.model.inner_elided_pj[home][step.v] * tensor.elements * out.copies;
  step.operands.AddInside(step.v, step.level(), out.copies, step.idle_extents);
}

// Words for one child if each visit brings a tile, by the average over all instances. Of windows
// only what arrived further out is known (B3). R2.
double RaggedWords(const TensorStep& step) {
  if (!step.tensor().simple) return 0;
  double words = 1;
  for (int d = 0; d < step.model.num_dims; ++d) {
    const RaggedDim& dim = step.frame.ragged[d];
    words *= (Has(step.tensor().dims, d) ? step.model.bounds[d] : dim.tiles) / dim.instances;
  }
  return words;
}

void AddTensor(std::span<const Frame> frames, TensorStep step) {
  TensorFrame& out = step.out();
  SetFactors(frames, step);
  if (step.model.Outside(step.level(), step.v)) return NotYetOpen(step);
  out.pending_pj = PassNetwork(frames, step, step.opens() ? Open(step) : step.outside().pending_pj);
  out.parent_pj = out.pending_pj;
  if (!step.opens() && out.closes && step.model.Followed(step.v)) {
    CloseSeveralNetworks(frames, step);
  }
  if (step.model.any) {
    SetRagged(step.model, step.parent, step.v, step.frame);
    out.words = RaggedWords(step);
  } else {
    out.words = step.frame.visits * (step.level() == 0 ? 1 : step.tile.words[step.v]);
  }
  out.close_pj = out.later_pj = out.outside_pj = 0;
  out.stay_words = out.stay_pj = out.outside_stay_pj = 0;
  out.fill_part = 1;
  if (step.level() == 0) return CloseAtMacs(step);
  if (out.closes) return CloseAtChild(step);
  const int next = step.model.next_kept[step.child()][step.v];
  if (next < 0 && !step.model.mac_links) return StayOpenToMacs(frames, step);
  StayOpen(step, next);
}

}  // namespace

Bounder::Bounder(const Model& model, const Limits& limits, Shared* shared)
    : model_(model), limits_(limits), shared_(shared) {
  for (int v = 0; v < model.num_tensors; ++v) {
    window_outputs_ |= model.tensors[v].read_write && !model.tensors[v].simple;
  }
}

Shared& Bounder::SharedParts() {
  if (shared_ == nullptr) {
    own_ = std::make_unique<Shared>(model_, /*one_choice=*/true);
    shared_ = own_.get();
  }
  return *shared_;
}

std::span<const ParallelPoint> Bounder::ParallelOf(int level, const int16_t* positions) {
  ParallelFronts& fronts = SharedParts().fronts;
  ParallelFronts::Table*& table = tables_[level];
  if (table == nullptr) table = &fronts.TableOf(level, model_.operands_from);
  return fronts.Of(*table, positions);
}

Frame Bounder::Root() const {
  Frame root{.level = model_.num_levels, .fixed_pj = model_.macs * model_.setup->machine.mac_pj};
  for (int d = 0; d < model_.num_dims; ++d) {
    root.extents[d] = root.least[d] = model_.bounds[d];
    root.ragged[d].last = model_.bounds[d];
    root.positions[d] = static_cast<int16_t>(model_.divisors[d].values.size() - 1);
  }
  for (int v = 0; v < model_.num_tensors; ++v) {
    root.tensors[v] = {.copies = 1, .copies_here = 1, .plain_visits = 1, .groups = 1};
  }
  return root;
}

Chain Bounder::RootChain() {
  Chain chain;
  for (int v = 0; v < model_.num_tensors; ++v) {
    chain.idle_run[v] = chain.plain_visits[v] = 1;
    if (model_.Followed(v)) chain.delivered[v] = TileWords(model_, v, model_.bounds, touched_);
  }
  for (int8_t& dim : chain.dims) dim = -1;
  return chain;
}

double Bounder::UnitsHeld(int level, const int32_t* extents) {
  double units = 0;
  for (int v = 0; v < model_.num_tensors; ++v) {
    if (!model_.Keeps(level, v) || model_.setup->machine.Resident(level, v)) continue;
    units += TileWords(model_, v, extents, touched_) * model_.levels[level].of[v].units;
  }
  return units;
}

bool Bounder::Fits(int level, const int32_t* extents) {
  const LevelFacts& facts = model_.levels[level];
  return !facts.limited || UnitsHeld(level, extents) <= static_cast<double>(facts.entries);
}

bool Bounder::HasRoom(int level, const int32_t* extents) {
  const int inside = model_.room_level[level];
  double iterations = 1;
  for (int d = 0; d < model_.num_dims; ++d) iterations *= extents[d];
  if (iterations > model_.room_iterations[level]) return false;
  return inside < 0 || UnitsHeld(inside, extents) <= model_.room_units[level];
}

bool Bounder::IsNew(int level, const int32_t* extents) {
  const LevelFacts& facts = model_.levels[level];
  return facts.known_units < 0 ||
         UnitsHeld(level, extents) > static_cast<double>(facts.known_units);
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

void Bounder::MakeFrame(std::span<Frame> frames, int level, const Tile& tile,
                        const int32_t* spatial) {
  const Frame& parent = frames[static_cast<size_t>(level) + 1];
  int32_t temporal[kMaxDims];
  for (int d = 0; d < model_.num_dims; ++d) {
    temporal[d] = parent.extents[d] / (tile.extents[d] * spatial[d]);
  }
  MakeFrame(frames, level, tile, spatial, temporal);
}

bool Bounder::CanGrow(int level, const Tile& tile, int dim, int32_t factor) const {
  if (!model_.grows || Has(model_.outward[level], dim)) return false;
  const LevelFacts& facts = model_.levels[level];
  if (!facts.limited) return true;
  double units = 0;
  for (int v = 0; v < model_.num_tensors; ++v) {
    if (!model_.Keeps(level, v)) continue;
    const double words = Has(model_.tensors[v].dims, dim) ? factor * tile.words[v] : tile.words[v];
    units += words * facts.of[v].units;
  }
  return units <= static_cast<double>(facts.entries);
}

uint32_t Bounder::MayBeInnermost(int level, uint32_t loops, uint32_t grows) const {
  if (grows == 0) return loops;
  uint32_t may = 0;
  for (uint32_t rest = loops; rest != 0; rest &= rest - 1) {
    const int d = std::countr_zero(rest);
    if ((grows & model_.growing[level - 1][d]) == 0) may |= 1u << d;
  }
  return may;
}

bool Bounder::FitsLarger(const Frame& frame, int dim, int32_t factor) {
  int32_t extents[kMaxDims];
  std::copy_n(frame.extents, model_.num_dims, extents);
  extents[dim] *= factor;
  return Fits(frame.level - 1, extents);
}

bool Bounder::CouldHoldMore(std::span<const Frame> frames, int level, const Chain& chain) {
  const int dim = chain.first_dim, first = chain.first_level;
  if (!model_.grows_in_order || dim < 0 || Has(model_.outward[level], dim)) return false;
  if (level + 1 == model_.num_levels || Has(frames[static_cast<size_t>(level)].loops, dim)) {
    return false;
  }
  const int32_t prime = LeastPrime(frames[static_cast<size_t>(first)].temporal[dim]);
  for (int i = level + 1; i <= first; ++i) {
    const Frame& frame = frames[static_cast<size_t>(i)];
    if (frame.spatial[dim] > 1 && !Has(model_.labels, dim)) return false;
    if (!FitsLarger(frame, dim, prime)) return false;
  }
  return true;
}

bool Bounder::CanGrow(std::span<const Frame> frames, int level, const Chain& chain) {
  const int dim = chain.first_dim, first = chain.first_level;
  if (!model_.grows || level == 0 || dim < 0 || Has(model_.outward[level - 1], dim)) return false;
  const int32_t prime = LeastPrime(frames[static_cast<size_t>(first)].temporal[dim]);
  // All tiles in between become larger with it.
  for (int i = level; i <= first; ++i) {
    if (!FitsLarger(frames[static_cast<size_t>(i)], dim, prime)) return false;
  }
  return true;
}

void Bounder::MakeFrame(std::span<Frame> frames, int level, const Tile& tile,
                        const int32_t* spatial, const int32_t* temporal) {
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
    frame.temporal[d] = temporal[d];
    if (frame.temporal[d] > 1) frame.loops |= 1u << d;
    if (frame.spatial[d] > 1) frame.parallel |= 1u << d;
    frame.visits *= frame.temporal[d];
    frame.used_below *= frame.spatial[d];
  }
  for (int d = 0; d < model_.num_dims && model_.any; ++d) {
    frame.open[d] = tile.open[d];
    frame.least[d] = tile.least[d];
    SetRagged(model_, parent, tile, d, frame);
  }
  uint32_t grows = 0;
  for (uint32_t rest = level > 0 && model_.grows ? frame.loops : 0; rest != 0; rest &= rest - 1) {
    const int d = std::countr_zero(rest);
    if (CanGrow(level - 1, tile, d, LeastPrime(frame.temporal[d]))) grows |= 1u << d;
  }
  frame.innermost = MayBeInnermost(level, frame.loops, grows);
  frame.loops_above = parent.loops_above | frame.loops;
  // Below the level at most min(tile, fan-out) MACs work at a time for each of its children. B9.
  const double at_once = std::min(tile.product, model_.fan_below[frame.level]);
  const double operations =
      model_.any ? RaggedOperations(model_, frame) : model_.macs / frame.used_below;
  frame.fixed_pj = parent.fixed_pj;
  frame.later_fixed_pj = frame.outside_fixed_pj = 0;
  OperandCosts operands(model_, tile.extents, model_.fan_below[level]);
  for (int v = 0; v < model_.num_tensors; ++v) {
    AddTensor(frames, {.model = model_,
                       .v = v,
                       .parent = parent,
                       .tile = tile,
                       .frame = frame,
                       .operands = operands,
                       .hops = SharedParts().hops,
                       .floor = floor_.level});
  }
  frame.later_fixed_pj +=
      operands.SetFront(ParallelOf(level, tile.positions), operations, frame.front);
  frame.cycles = CeilCycles(operations / at_once);
  // The last point has the fewest cycles.
  if (frame.front.count > 0) {
    frame.cycles = std::max(frame.cycles, frame.front.points[frame.front.count - 1].cycles);
  }
}

}  // namespace tessera::exact
