// What parallel factors can really come to: not every number up to the fan-out is a product of
// divisors that fit the axes of the levels, a factor that lets one tensor be shared is no use to
// another, and words have to travel to where they are used. docs/optimality.md, B15, B16.
#ifndef TESSERA_SEARCH_EXACT_PARALLEL_H_
#define TESSERA_SEARCH_EXACT_PARALLEL_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tessera/search/exact/least_hops.h"
#include "tessera/search/exact/model.h"

namespace tessera::exact {

// One choice of parallel factors of several levels together, or one that is as good as several.
struct ParallelPoint {
  double product = 1;                  // children that work at a time
  double hop_pj = 0;                   // of the MACs' operands, for each operation, at least
  double multicast[kMaxTensors] = {};  // that a word of a tensor serves, at most

  // Whether no purpose is served better by the other choice.
  bool Covers(const ParallelPoint& other, int num_tensors) const {
    for (int v = 0; v < num_tensors; ++v) {
      if (multicast[v] < other.multicast[v]) return false;
    }
    return product >= other.product && hop_pj <= other.hop_pj;
  }
  friend bool operator==(const ParallelPoint&, const ParallelPoint&) = default;
};
using ParallelFront = std::vector<ParallelPoint>;

// What operands of the MACs cost more than at least, and the cycles that this takes: less of the
// one for more of the other.
struct OperandPoint {
  double more_pj = 0, cycles = 0;
};
struct OperandFront {
  static constexpr int kMost = 12;
  int count = 0;  // 0: nothing is known
  OperandPoint points[kMost] = {};

  void Add(const OperandPoint& point);
  // Whether a point is no better in anything than one that is there.
  bool Covers(const OperandPoint& point) const;
};

// All parallel factors of one level, in one placement that fits, and what they mean for each tensor
// in that level's network: children that one word serves, at most, and hops for each of these
// children, at least. docs/optimality.md, B20.
struct LevelSplit {
  int32_t factors[kMaxDims] = {};
  int16_t positions[kMaxDims] = {};  // of these in the divisor tables
  double product = 1;
  double serves[kMaxTensors] = {}, way_pj[kMaxTensors] = {};
};

// The best of these choices, found when they are asked for. Of one thread; choices of kept tensors
// share it. With any factors, and where dimensions have very many divisors, nothing is known. Most
// of the extents have the front of others, so each front is kept once.
class ParallelFronts {
 public:
  // `model` outlives it; tensors that its levels hold do not matter. `detailed`: also which level
  // has which factors, and hops. That takes longer, once for each choice of levels that hand out
  // operands. `stopped` is asked while fronts are looked for, which may take a second for the first
  // one of a table; true: nothing is known of it this time. Empty: never.
  ParallelFronts(const Model& model, bool detailed, LeastHops& hops,
                 std::function<bool()> stopped = {});

  // For the levels inside one, and tensors that the MACs get from some level.
  class Table {
    friend ParallelFronts;
    int level = 0;
    int from[kMaxTensors] = {};  // the innermost level that holds a tensor; -1: it does not matter
    bool by_level = false;       // which level has which factors makes a difference
    // By the number of the extents; pages are made when something on them is asked for.
    static constexpr size_t kPage = 128;
    std::vector<std::unique_ptr<std::array<const ParallelFront*, kPage>>> pages = {};
  };
  Table& TableOf(int level, const int* operands_from);

  // All factors of the levels of a table together, if each dimension has so many iterations to
  // split (positions in the divisor tables): choices of which one covers each that there is.
  std::span<const ParallelPoint> Of(Table& table, const int16_t* positions);

  // The factors that one level can have if each dimension has so many iterations to split, one by
  // one, without those that others cover; those with most children first. Empty: nothing is known.
  std::span<const LevelSplit* const> SplitsOf(int level, const int16_t* positions);

  // What all this takes.
  int64_t bytes() const { return bytes_; }

 private:
  struct HashOfFront {
    size_t operator()(const ParallelFront& front) const;
  };

  // Of one level: all its splits, and those of extents that have been asked for.
  struct LevelSplits {
    bool known = false;
    std::vector<LevelSplit> all = {};
    std::unordered_map<uint64_t, std::vector<const LevelSplit*>> of = {};
  };

  // Factors on their way from the MACs outwards.
  struct Splitting {
    double factors[kMaxDims] = {};  // of the levels so far
    ParallelPoint point = {};
  };

  const ParallelFront& Find(Table& table, int16_t* positions, uint64_t key);
  const ParallelFront*& PlaceOf(Table& table, uint64_t key);
  const ParallelFront* Keep(ParallelFront front);
  bool Fits(int level, const int16_t* positions) const;
  bool FitsLevel(int level, const int32_t* factors) const;
  ParallelPoint PointOf(const Table& table, const int16_t* positions) const;
  void AddSplits(const Table& table, const int16_t* positions, ParallelFront& points);
  void SplitLevel(const Table& table, int level, const int16_t* rest, const Splitting& inside,
                  ParallelFront& points);
  bool AddLevel(const Table& table, int level, const int32_t* factors, Splitting& splitting);
  double MulticastOf(int v, const double* factors) const;
  void ListSplits(int level, LevelSplits& splits);
  bool CanHaveMore(int level, const LevelSplit& split, const int16_t* positions) const;

  const Model& model_;
  const bool detailed_;
  LeastHops& hops_;
  const std::function<bool()> stopped_;
  bool known_ = true, cut_ = false;
  uint32_t looks_ = 0;
  int64_t bytes_ = 0;
  uint64_t strides_[kMaxDims] = {}, extents_ = 1;  // all extents there are
  // By dimension and position: positions of the divisor over each of its primes.
  std::vector<std::vector<int16_t>> lesser_[kMaxDims];
  ParallelFront anything_;
  std::unordered_set<ParallelFront, HashOfFront> fronts_;
  std::map<std::array<int, kMaxTensors + 1>, Table> tables_;
  std::map<int, LevelSplits> splits_;
};

// Whether children that differ by these parallel factors in dimensions of the tensor always ask for
// different words: no rank is moved by two of them.
bool TellsChildrenApart(const TensorFacts& tensor, const double* factors);

// What a word of a tensor pays at least on its way through the network below a level, beyond the
// first router, if children are told apart. `both_ways`: it may be a sum that comes back. B16.
double HopCost(const Model& model, int level, int v, bool both_ways, const int32_t* spatial,
               LeastHops& hops);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_PARALLEL_H_
