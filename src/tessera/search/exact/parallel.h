// What parallel factors can really come to: not every number up to the fan-out is a product of
// divisors that fit the axes of the levels, and a factor that lets one tensor be shared is no use
// to another. docs/optimality.md, B15.
#ifndef TESSERA_SEARCH_EXACT_PARALLEL_H_
#define TESSERA_SEARCH_EXACT_PARALLEL_H_

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/search/exact/model.h"

namespace tessera::exact {

// One choice of parallel factors of several levels together, or one that is as good as several.
struct ParallelPoint {
  double product = 1;                  // children that work at a time
  double multicast[kMaxTensors] = {};  // that a word of a tensor serves, at most

  // Whether no purpose is served better by the other choice.
  bool Covers(const ParallelPoint& other, int num_tensors) const {
    for (int v = 0; v < num_tensors; ++v) {
      if (multicast[v] < other.multicast[v]) return false;
    }
    return product >= other.product;
  }
};

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
};

// The best of these choices, found when they are asked for. Of one thread; choices of kept tensors
// share it. With any factors, and where dimensions have very many divisors, nothing is known.
class ParallelFronts {
 public:
  // `model` outlives it; tensors that its levels hold do not matter.
  explicit ParallelFronts(const Model& model);

  using Table = std::unordered_map<uint64_t, std::vector<ParallelPoint>>;
  // For the levels inside `level` and the multicasts of a set of tensors.
  Table& TableOf(int level, uint32_t tensors);

  // All factors of the levels of a table together, if each dimension has so many iterations to
  // split (positions in the divisor tables): choices of which one covers each that there is.
  std::span<const ParallelPoint> Of(Table& table, int level, uint32_t tensors,
                                    const int16_t* positions);

 private:
  const std::vector<ParallelPoint>& Find(Table& table, int level, uint32_t tensors,
                                         int16_t* positions, uint64_t key);
  bool Fits(int level, const int16_t* positions) const;
  ParallelPoint PointOf(uint32_t tensors, const int16_t* positions) const;

  const Model& model_;
  bool known_ = true;
  uint64_t strides_[kMaxDims] = {};
  // By dimension and position: positions of the divisor over each of its primes.
  std::vector<std::vector<int16_t>> lesser_[kMaxDims];
  std::vector<ParallelPoint> anything_;
  std::map<std::pair<int, uint32_t>, Table> tables_;
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_PARALLEL_H_
