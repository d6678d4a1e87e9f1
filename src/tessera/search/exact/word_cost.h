// What words cost at least on the parts of their way that a partial mapping leaves open: in the
// network below a level, on levels further in, and at the MACs. Shared by the bounds of frames and
// of tiles; docs/optimality.md, B4 to B6 and B8.
#ifndef TESSERA_SEARCH_EXACT_WORD_COST_H_
#define TESSERA_SEARCH_EXACT_WORD_COST_H_

#include <algorithm>
#include <span>

#include "tessera/search/exact/model.h"
#include "tessera/search/exact/parallel.h"

namespace tessera::exact {

// Under Timeloop's rules read-only fills are cut to whole words, and other counts are rounded: a
// count can be less than its formula by as much. docs/optimality.md, B8.
inline constexpr double kCut = 1, kRounded = 0.5;

// Words of one instance that a level's count of a tensor can be rounded down by, where they pass
// the level below (`closes`: they do not). B8.
inline double RoundedPast(const Model& model, int v, bool closes) {
  return model.exact || closes || model.tensors[v].simple ? 0 : kRounded;
}

// Of the network below a level, for the words of one tensor that pass it.
struct EnterCost {
  double word_pj = 0;
  double fixed_pj = 0;  // whatever the number of words; negative: words that do not pay
};

// `used` instances of the level are in use, `copies` of them hold the same words.
EnterCost EnterCostOf(const Model& model, int v, int level, double used, double copies);

// Of words that pass a level which does not hold them; as the inner_* of Model.
struct InnerCost {
  double word_pj = 0, elided_pj = 0, slack_pj = 0;
};

// Of a word that arrives at level `next`, coming from beyond the level outside it (-1: no level
// further in holds the tensor).
InnerCost InnerCostOf(const Model& model, int v, int next);

// At each visit of a tile all of its elements are used, so what the levels inside cannot hold comes
// again, also where the tile stays. B19.
struct Refill {
  double words = 0;  // of one visit, that arrive at the next level inside which holds the tensor
  // Of all levels inside; without the reads of words that pass the tile's level.
  double pj = 0;
};
// Of the tile of `level`, which has so many words.
Refill RefillOf(const Model& model, int v, int level, double tile_words, int down_to = 0);

// How many children one word of a tensor can serve in one step, at most: those that differ in
// dimensions which leave the tensor alone, times those whose windows meet, and no more than all.
struct Multicast {
  double idle = 1, windows = 1;
  double fan = kInfinity;

  double Most() const { return std::min(fan, idle * windows); }
};

// Of `fan` children, if each dimension has so many iterations for them. B4, B6.
Multicast MostMulticast(const Model& model, int v, const int32_t* extents, double fan);

// The same of children whose windows meet, by parallel factors: as many offsets as there are sums
// of positions, and those are at least the sum of the factors less their number but one. B4.
double WindowMulticast(const Model& model, int v, const double* factors);

// What the MACs' operands cost at least where they are handed out, once the tile of a level is
// known. Tensors compete for the fan-out: each wants it for its own multicast. B6, B7.
class OperandCosts {
 public:
  // `extents` of the tile; `fan`: MACs below it.
  OperandCosts(const Model& model, const int32_t* extents, double fan)
      : model_(model), extents_(extents), fan_(fan) {}

  // A tensor whose innermost level lies further in than `level`. `copies` of that level's parent
  // are known, `idle_extents` bound how many more there can be.
  void AddInside(int v, int level, double copies, double idle_extents);

  // A tensor that the MACs ask a level for which is known.
  struct Open {
    int v;
    double words;  // if each MAC had its own
    double word_pj;
    int level;               // that hands them out
    double of_one_instance;  // of the words, those of one instance of it
    double first;            // of these, those that are first sums
  };
  void AddOpen(const Open& open, const Multicast& most);

  double Least() const;

  // The same for parallel factors that there can be; and, as `front`, what they cost more, and the
  // cycles that they and the `operations` of one child take. B15.
  double SetFront(std::span<const ParallelPoint> points, double operations,
                  OperandFront& front) const;

  // What they cost with one choice of parallel factors, and the cycles that it takes. B15.
  OperandPoint CostOf(const ParallelPoint& point, double operations) const;

 private:
  // Words of one tensor that are handed out, by parallel factors.
  struct Item {
    int v = 0;
    double words = 0, most_multicast = 1;
    double word_pj = 0;
    double elided = 0, elided_pj = 0;  // so many words do not pay elided_pj, which comes on top
    int level = 0;                     // that hands them out
    double of_one_instance = 0, first = 0;

    double PriceOf(double asked) const {
      return asked * word_pj + std::max(0.0, asked - elided) * elided_pj;
    }
    double Asked(const ParallelPoint& point) const {
      return words / std::min(most_multicast, point.multicast[v]);
    }
  };

  void Add(const Item& item, const Multicast& most);
  double Cycles(const ParallelPoint& point) const;

  const Model& model_;
  const int32_t* const extents_;
  const double fan_;
  double alone_pj_ = 0;  // if each tensor had the whole fan-out
  double rest_pj_ = 0;   // of what does not compete
  int count_ = 0;        // that compete
  double pj_[2] = {}, most_[2] = {1, 1};
  double fixed_pj_ = 0;  // whatever the parallel factors
  int num_items_ = 0;
  Item items_[kMaxTensors];
};

// Least pj[0] / m + pj[1] / n over m <= most[0], n <= most[1], m * n <= fan. B7.
double LeastShared(const double* pj, const double* most, double fan);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_WORD_COST_H_
