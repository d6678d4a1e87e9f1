// Moves of factors, loops, axes and kept tensors, and when they are taken.
#include "tessera/search/exact/anneal.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/search/exact/membership.h"
#include "tessera/search/exact/neighbours.h"

namespace tessera::exact {
namespace {

// Of equal values the one that costs less otherwise is nearer to a better one: fewer words make
// room in memories and on networks. Small enough to decide between equals only.
constexpr double kOtherWeight = 0.02;

// Of a mapping beyond its limits, by the logarithm of how far.
constexpr double kBeyondLimit = 10;

double Beyond(double cost, double limit) {
  return cost <= limit ? 0 : kBeyondLimit * (1 + std::log(cost / limit));
}

double ScoreOf(const Candidate& candidate, Goal goal, const Limits& limits) {
  constexpr double kLeast = 1e-300;  // of what costs nothing
  const double cycles = std::log(std::max(candidate.cycles, 1.0));
  const double energy = std::log(std::max(candidate.energy_pj, kLeast));
  const double beyond = Beyond(candidate.cycles, limits.cycles) +
                        Beyond(candidate.energy_pj, limits.energy_pj) +
                        Beyond(candidate.cycles * candidate.energy_pj, limits.edp);
  switch (goal) {
    case Goal::kCycles: return cycles + kOtherWeight * energy + beyond;
    case Goal::kEnergy: return energy + kOtherWeight * cycles + beyond;
    case Goal::kEdp: break;
  }
  return energy + cycles + beyond;
}

}  // namespace

Annealer::Annealer(const Model& model, const AnnealSpace& space, std::function<bool()> stopped)
    : model_(model), space_(space), stopped_(std::move(stopped)), rng_(0, 0) {
  for (int i = 0; i < model.num_levels; ++i) {
    slots_.push_back({static_cast<uint8_t>(i), false});
    if (model.levels[i].fan > 1) slots_.push_back({static_cast<uint8_t>(i), true});
    for (int v = 0; v < model.num_tensors; ++v) {
      if (Has(space.open[static_cast<size_t>(i)], v)) open_.push_back({i, v});
    }
  }
  for (int d = 0; d < model.num_dims; ++d) {
    primes_[d] = PrimesOf(model.bounds[d]);
    if (model.bounds[d] > 1) dims_.push_back(d);
  }
}

// Whether the parallel factors of a level of next_ fit its fan-out.
bool Annealer::FitsAxes(int level) const {
  const LoopLevel& loops = next_.levels[static_cast<size_t>(level)];
  int64_t used[2] = {1, 1};
  for (size_t k = 0; k < static_cast<size_t>(model_.num_dims); ++k) {
    used[k < loops.split ? 0 : 1] *= loops.spatial[loops.spatial_order[k]];
  }
  return used[0] <= model_.levels[level].fan_x && used[1] <= model_.levels[level].fan_y;
}

// A prime factor of a loop, or all of it.
int32_t Annealer::DrawFactor(int dim, int32_t of) {
  constexpr int kWhole = 4;  // one time in so many
  if (Draw(kWhole) == 0) return of;
  if (model_.any) {
    const std::vector<int32_t> primes = PrimesOf(of);
    return primes[static_cast<size_t>(Draw(primes.size()))];
  }
  const std::vector<int32_t>& primes = primes_[dim];
  for (;;) {
    const int32_t prime = primes[static_cast<size_t>(Draw(primes.size()))];
    if (of % prime == 0) return prime;
  }
}

// Moves a factor from one place to another, on the axis that has room.
bool Annealer::Shift(int dim, int32_t factor, Slot from, Slot to) {
  At(from, dim) /= factor;
  int32_t& target = At(to, dim);
  const bool fresh = target == 1;
  target *= factor;
  if (!to.spatial) return true;
  LoopLevel& level = next_.levels[to.level];
  const bool first = Draw(2) == 0;
  if (fresh) PlaceParallel(level, model_.num_dims, dim, first);
  if (FitsAxes(to.level)) return true;
  PlaceParallel(level, model_.num_dims, dim, !first);
  if (FitsAxes(to.level)) return true;
  if (fresh) return false;
  PlaceParallel(level, model_.num_dims, dim, first);
  return FitsAxes(to.level);
}

bool Annealer::MoveFactor() {
  const int dim = dims_[static_cast<size_t>(Draw(dims_.size()))];
  const Slot from = slots_[static_cast<size_t>(Draw(slots_.size()))];
  const Slot to = slots_[static_cast<size_t>(Draw(slots_.size()))];
  const int32_t all = At(from, dim);
  if (all == 1 || (from.level == to.level && from.spatial == to.spatial)) return false;
  return Shift(dim, DrawFactor(dim, all), from, to);
}

// Two factors change places: memories and arrays that are full stay so.
bool Annealer::SwapFactors() {
  const Slot here = slots_[static_cast<size_t>(Draw(slots_.size()))];
  const Slot there = slots_[static_cast<size_t>(Draw(slots_.size()))];
  if (here.level == there.level && here.spatial == there.spatial) return false;
  const int out = dims_[static_cast<size_t>(Draw(dims_.size()))];
  const int in = dims_[static_cast<size_t>(Draw(dims_.size()))];
  const int32_t leaves = At(here, out), comes = At(there, in);
  if (leaves == 1 || comes == 1 || out == in) return false;
  const int32_t leaving = DrawFactor(out, leaves), coming = DrawFactor(in, comes);
  At(here, out) /= leaving;
  At(there, out) *= leaving;
  At(there, in) /= coming;
  At(here, in) *= coming;
  for (const auto& [slot, dim] : {std::pair{there, out}, std::pair{here, in}}) {
    if (!slot.spatial) continue;
    LoopLevel& level = next_.levels[slot.level];
    const bool first = Draw(2) == 0;
    PlaceParallel(level, model_.num_dims, dim, first);
    if (!FitsAxes(slot.level)) PlaceParallel(level, model_.num_dims, dim, !first);
    if (!FitsAxes(slot.level)) return false;
  }
  return true;
}

// Another factor, whether it divides or not; the outermost level makes up for it, and loops beyond
// the size of the dimension are cut.
bool Annealer::ChangeFactor() {
  const int dim = dims_[static_cast<size_t>(Draw(dims_.size()))];
  const Slot slot = slots_[static_cast<size_t>(Draw(slots_.size()))];
  const Slot outermost = {static_cast<uint8_t>(model_.num_levels - 1), false};
  if (slot.level == outermost.level && !slot.spatial) return false;
  const int32_t bound = model_.bounds[dim], before = At(slot, dim);
  const int32_t steps[] = {before + 1, before - 1, before * 2, before / 2, 1 + Draw(16)};
  const int32_t factor = std::clamp(steps[Draw(std::size(steps))], 1, bound);
  if (factor == before) return false;
  At(slot, dim) = factor;
  const bool first = Draw(2) == 0;
  if (slot.spatial && before == 1) {
    PlaceParallel(next_.levels[slot.level], model_.num_dims, dim, first);
  }
  CutLoops(dim);
  return !slot.spatial || FitsAxes(slot.level);
}

// From the MACs outwards, parallel loops inside those in time: no loop goes on beyond the size of
// the dimension, and the outermost one reaches it.
void Annealer::CutLoops(int dim) {
  int64_t extent = 1;
  for (int i = 0; i < model_.num_levels; ++i) {
    for (const bool spatial : {true, false}) {
      const int64_t most = CeilDiv(model_.bounds[dim], extent);
      int32_t& count = At({static_cast<uint8_t>(i), spatial}, dim);
      const bool last = i + 1 == model_.num_levels && !spatial;
      count = static_cast<int32_t>(last ? most : std::min<int64_t>(count, most));
      extent *= count;
    }
  }
}

// Another order of the loops of a level; as often as not another innermost loop.
bool Annealer::MoveLoop() {
  LoopLevel& loops = next_.levels[static_cast<size_t>(Draw(static_cast<size_t>(next_.num_levels)))];
  uint8_t places[kMaxDims];
  size_t count = 0;
  for (int k = 0; k < model_.num_dims; ++k) {
    const auto at = static_cast<size_t>(k);
    if (loops.temporal[loops.temporal_order[at]] > 1) places[count++] = static_cast<uint8_t>(k);
  }
  if (count < 2) return false;
  const size_t from = places[Draw(count)];
  const size_t to = Draw(2) == 0 ? places[0] : places[Draw(count)];
  if (from == to) return false;
  uint8_t* const order = loops.temporal_order.data();
  if (from > to) {
    std::rotate(order + to, order + from, order + from + 1);
  } else {
    std::rotate(order + from, order + from + 1, order + to + 1);
  }
  return true;
}

bool Annealer::MoveAxis() {
  const Slot slot = slots_[static_cast<size_t>(Draw(slots_.size()))];
  const int dim = dims_[static_cast<size_t>(Draw(dims_.size()))];
  LoopLevel& level = next_.levels[slot.level];
  if (!slot.spatial || level.spatial[static_cast<size_t>(dim)] == 1) return false;
  PlaceParallel(level, model_.num_dims, dim, Draw(2) == 0);
  return FitsAxes(slot.level);
}

bool Annealer::ToggleKeep() {
  const auto& [level, tensor] = open_[static_cast<size_t>(Draw(open_.size()))];
  uint8_t& keep = next_.levels[static_cast<size_t>(level)].keep;
  keep = static_cast<uint8_t>(keep ^ (1u << tensor));
  return true;
}

bool Annealer::Change(bool same_keep) {
  constexpr int kKinds = 20;
  const int kind = Draw(kKinds);
  if (model_.any && Draw(2) == 0) return ChangeFactor();
  if (kind < 13) {
    if (!(kind < 9 ? MoveFactor() : SwapFactors())) return false;
    for (size_t k = 0; k < dims_.size() && model_.any; ++k) CutLoops(dims_[k]);
    return true;
  }
  if (kind < 17) return MoveLoop();
  if (kind < 18) return MoveAxis();
  return !same_keep && !open_.empty() && ToggleKeep();
}

// Sets priced_ and returns true if the model accepts next_.
bool Annealer::Price() {
  ++evaluations_;
  const loopnest::Workspace& done = EvaluateOnThread(*model_.setup, next_);
  if (done.nest_error.kind != loopnest::NestError::Kind::kNone) return false;
  if (model_.exact) {
    if (done.exact.status != loopnest::ExactResult::Status::kOk) return false;
    priced_.cycles = static_cast<double>(done.exact.cycles);
    priced_.energy_pj = done.exact.energy;
  } else {
    if (done.timeloop.status != loopnest::TimeloopResult::Status::kOk) return false;
    priced_.cycles = static_cast<double>(done.timeloop.cycles);
    priced_.energy_pj = done.timeloop.energy;
  }
  const Bound cost{.energy_pj = priced_.energy_pj, .cycles = priced_.cycles};
  priced_.value = space_.limits.Allow(cost) ? cost.Value(space_.goal) : kInfinity;
  return true;
}

Candidate Annealer::Walk(const LoopMapping& start, const AnnealSchedule& schedule) {
  rng_ = CounterRng(schedule.seed, StreamId("search.exact.anneal"));
  at_ = next_ = start;
  Candidate best;
  if (dims_.empty() || slots_.size() < 2 || !Price()) return best;
  double score = ScoreOf(priced_, space_.goal, space_.limits);
  const auto keep_best = [&] {
    if (priced_.value >= best.value) return;
    best = priced_;
    best.mapping = next_;
  };
  keep_best();
  const auto count = static_cast<double>(std::max<int64_t>(1, schedule.evaluations));
  const double cooling = std::pow(schedule.cold / schedule.hot, 1 / count);
  double temperature = schedule.hot;
  const auto levels = static_cast<size_t>(start.num_levels);
  const auto copy = [&](const LoopMapping& from, LoopMapping& to) {
    std::copy_n(from.levels.begin(), levels, to.levels.begin());
  };
  constexpr int64_t kLooks = 64, kMostIdle = 1000;
  int64_t idle = 0;  // changes in a row of which nothing came
  for (int64_t left = schedule.evaluations; left > 0;) {
    if (!Change(schedule.same_keep) || (!model_.restrictions->none && !InSpace(model_, next_))) {
      copy(at_, next_);
      if (++idle > kMostIdle) break;
      continue;
    }
    idle = 0;
    --left;
    temperature *= cooling;
    if (left % kLooks == 0 && stopped_ && stopped_()) break;
    if (Price()) {
      keep_best();
      const double next = ScoreOf(priced_, space_.goal, space_.limits);
      if (next <= score || rng_.Uniform() < std::exp((score - next) / temperature)) {
        score = next;
        copy(next_, at_);
        continue;
      }
    }
    copy(at_, next_);
  }
  return best;
}

}  // namespace tessera::exact
