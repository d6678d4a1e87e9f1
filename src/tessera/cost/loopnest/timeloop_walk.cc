// The walk as a recursion over loops. Visits are counted in binary (bit j: loop j is in its second
// iteration); going to the next visit advances loop j and restarts all inner loops, so a
// displacement belongs to a loop. Let f(k, state) be all visits of the k innermost loops but the
// first. It ends with an advance of loop 1, so the state it leaves is one of two: no stride
// remembered, or the one of loop 1. And the state it starts with matters only for the first
// advance, again of loop 1. A handful of states per k is therefore all there is: exits are found
// from the inside out, and how often each f(k, state) occurs from the outside in.
#include "tessera/cost/loopnest/timeloop_walk.h"

#include <cstdlib>

namespace tessera::loopnest {
namespace {

// What is remembered between visits: a stride, and the kind of the last delta, because links need
// two equal deltas in a row.
enum State : int {
  kNone,        // no stride; the last delta was the whole tile
  kFirst,       // the stride of loop 1, and its delta
  kOther,       // another loop's stride, and its delta, which is a part of the tile
  kOtherWhole,  // the same, but its delta was the whole tile
  kNoneIdle,    // no stride; the last visit received nothing (v4 only)
  kFirstIdle,   // the stride of loop 1; the last visit received nothing (v4 only)
  kStates,
};

// What there is to know about advancing one loop.
struct Advance {
  int64_t part_words = 0;   // tile minus previous tile
  bool whole = false;       // nothing overlaps
  bool like_first = false;  // moves as loop 1 does
  bool idle = false;        // moves not at all
};

struct Visit {
  bool whole;     // receives the whole tile, otherwise the part
  bool linkable;  // the delta has the shape of the last one
  State next;
};

class Walker {
 public:
  Walker(const WalkRules& rules, TileWalk& walk) : rules_(rules), walk_(walk) {
    whole_words_ = 1;
    for (int r = 0; r < walk.num_ranks; ++r) whole_words_ *= walk.extents[r];
    // Under v4's rule innermost loops that do not move the tile change nothing, except that no
    // later delta follows directly on an equal one.
    while (rules.v4 && first_ < walk.num_loops && IsZero(first_)) ++first_;
    for (int j = first_; j < walk.num_loops; ++j) advances_[j] = MakeAdvance(j);
  }

  void Sum() {
    walk_.plain_words = whole_words_;  // the first visit
    for (int j = 0; j < walk_.num_loops; ++j) walk_.linkable_words[j] = 0;
    FindExits();
    int64_t times[kStates] = {};
    times[kNone] = 1;
    for (int k = walk_.num_loops - 1; k >= first_; --k) {
      int64_t inner[kStates] = {};
      for (int s = 0; s < kStates; ++s) {
        if (times[s] != 0) AddVisits(k, static_cast<State>(s), times[s], inner);
      }
      for (int s = 0; s < kStates; ++s) times[s] = inner[s];
    }
  }

 private:
  bool IsZero(int j) const {
    for (int r = 0; r < walk_.num_ranks; ++r) {
      if (walk_.displacement[j][r] != 0) return false;
    }
    return true;
  }

  Advance MakeAdvance(int j) const {
    Advance advance{.like_first = true, .idle = IsZero(j)};
    int64_t overlap = 1;
    for (int r = 0; r < walk_.num_ranks; ++r) {
      const int64_t left = walk_.extents[r] - std::abs(walk_.displacement[j][r]);
      if (left <= 0) advance.whole = true;
      overlap *= left;
      if (walk_.displacement[j][r] != walk_.displacement[first_][r]) advance.like_first = false;
    }
    advance.part_words = advance.whole ? whole_words_ : whole_words_ - overlap;
    return advance;
  }

  Visit Step(State state, int k) const {
    const Advance& advance = advances_[k];
    if (rules_.v4 && advance.idle) {
      return {.whole = false, .linkable = false, .next = state == kNone ? kNoneIdle : kFirstIdle};
    }
    const State moved = advance.like_first ? kFirst : advance.whole ? kOtherWhole : kOther;
    switch (state) {
      case kNone: return {.whole = false, .linkable = advance.whole, .next = moved};
      case kNoneIdle: return {.whole = false, .linkable = false, .next = moved};
      case kFirst:
        if (advance.like_first) return {.whole = false, .linkable = true, .next = kFirst};
        return {.whole = true, .linkable = advances_[first_].whole, .next = kNone};
      case kFirstIdle: return {.whole = false, .linkable = false, .next = kFirst};
      case kOther: return {.whole = true, .linkable = false, .next = kNone};
      case kOtherWhole: return {.whole = true, .linkable = true, .next = kNone};
      case kStates: break;
    }
    return {};
  }

  // The state after all visits of loops first_ .. k-1 from `state`.
  State Exit(int k, State state) const { return k == first_ ? state : exits_[k][state]; }

  // Calls use(state, n) for the states in which the further iterations of loop k start, n times.
  template <typename Use>
  State Iterate(int k, State state, const Use& use) const {
    State current = Exit(k, state);
    int64_t left = walk_.counts[k] - 1;
    while (left > 0) {
      const State after = Exit(k, Step(current, k).next);
      const int64_t n = rules_.extrapolate || after == current ? left : 1;
      use(current, n);
      left -= n;
      // From loop 2 on there are two states, so what does not stay alternates.
      if (left > 1 && k > first_ && Exit(k, Step(after, k).next) == current) {
        use(after, (left + 1) / 2);
        use(current, left / 2);
        return left % 2 == 1 ? current : after;
      }
      current = after;
    }
    return current;
  }

  void FindExits() {
    for (int k = first_; k < walk_.num_loops; ++k) {
      // Without v4's rule no visit is idle.
      for (int s = 0; s < (rules_.v4 ? kStates : kNoneIdle); ++s) {
        exits_[k + 1][s] = Iterate(k, static_cast<State>(s), [](State, int64_t) {});
      }
    }
  }

  // Adds the visits at which loop k itself advances while f(k + 1, state) runs `times` times, and
  // the runs of the loops inside it to `inner`.
  void AddVisits(int k, State state, int64_t times, int64_t* inner) {
    inner[state] += times;
    Iterate(k, state, [&](State start, int64_t n) {
      const Visit visit = Step(start, k);
      inner[visit.next] += times * n;
      const int64_t words = times * n * (visit.whole ? whole_words_ : advances_[k].part_words);
      // Where innermost idle loops were left out, an idle visit precedes every other one.
      const bool linkable = visit.linkable && first_ == 0;
      (linkable ? walk_.linkable_words[k] : walk_.plain_words) += words;
    });
  }

  const WalkRules rules_;
  TileWalk& walk_;
  int first_ = 0;
  int64_t whole_words_ = 1;
  Advance advances_[kMaxLoops];
  State exits_[kMaxLoops + 1][kStates];
};

}  // namespace

void SetLoops(const Nest& nest, int level, const TensorData& tensor, int num_ranks,
              const WalkRules& rules, TileWalk& walk) {
  const int first = nest.first_temporal[level];
  walk.num_loops = nest.num_temporal() - first;
  walk.num_ranks = num_ranks;
  int64_t passed[kMaxRanks] = {};  // how far the inner loops have moved the tile by their end
  for (int j = 0; j < walk.num_loops; ++j) {
    const Loop& loop = nest.temporal[first + j];
    walk.counts[j] = loop.count;
    const int64_t* coefficients = tensor.coefficients[loop.dim];
    for (int r = 0; r < num_ranks; ++r) {
      const int64_t step = coefficients[r] * loop.step;
      walk.displacement[j][r] = step - passed[r];
      passed[r] += rules.extrapolate ? step : step * (loop.count - 1);
    }
  }
}

void SumVisits(const WalkRules& rules, TileWalk& walk) { Walker(rules, walk).Sum(); }

void SumOperandVisits(TileWalk& walk) {
  walk.plain_words = 1;
  int64_t outer = 1;  // iterations of the loops outside loop j
  for (int j = walk.num_loops - 1; j >= 0; --j) {
    walk.linkable_words[j] = (walk.counts[j] - 1) * outer;
    outer *= walk.counts[j];
  }
}

int64_t SumSimpleVisits(const Nest& nest, int level, uint32_t relevant_dims, int64_t tile_words) {
  int j = nest.first_temporal[level];
  const int end = nest.num_temporal();
  while (j < end && (relevant_dims >> nest.temporal[j].dim & 1) == 0) ++j;
  int64_t words = tile_words;
  for (; j < end; ++j) words *= nest.temporal[j].count;
  return words;
}

}  // namespace tessera::loopnest
