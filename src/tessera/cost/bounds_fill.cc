// The best fill of the array, by dynamic programming over dimensions. What matters of the columns
// given away so far is how many are left for each further one: floor(columns / product), of which
// there are few different values.
#include <algorithm>
#include <limits>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/divisors.h"
#include "tessera/cost.h"
#include "tessera/cost/compute_cycles.h"

namespace tessera {
namespace {

// Numbers the values of floor(whole / k), k = 1, 2, ..., from 0; there are about 2 sqrt(whole).
class Rooms {
 public:
  explicit Rooms(int64_t whole) {
    for (int64_t k = 1; k <= whole;) {
      values_.push_back(whole / k);
      k = whole / (whole / k) + 1;
    }
  }

  size_t size() const { return values_.size(); }
  int64_t value(size_t number) const { return values_[number]; }
  size_t NumberOf(int64_t value) const {
    return static_cast<size_t>(
        std::lower_bound(values_.begin(), values_.end(), value, std::greater()) - values_.begin());
  }

 private:
  std::vector<int64_t> values_;  // falling
};

// The factors worth trying along one axis: the divisors; or, for each room left over, the largest.
std::vector<int64_t> Factors(int64_t room, int64_t bound, bool perfect) {
  if (perfect) return Divisors(bound, room);
  std::vector<int64_t> factors;
  for (int64_t f = 1; f <= room;) {
    const int64_t largest = room / (room / f);
    factors.push_back(std::min(largest, bound));
    if (largest >= bound) break;
    f = largest + 1;
  }
  return factors;
}

}  // namespace

int64_t FewestComputeCycles(const LoopProblem& problem, int64_t columns, int64_t rows,
                            bool perfect) {
  const Rooms wide(columns), high(rows);
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  // Fewest cycles of the dimensions so far, by the room that is left.
  std::vector<int64_t> best(wide.size() * high.size(), kNever);
  best[0] = 1;
  for (const LoopDimension& dim : problem.dims()) {
    if (dim.bound == 1) continue;
    std::vector<int64_t> next(best.size(), kNever);
    for (size_t w = 0; w < wide.size(); ++w) {
      for (const int64_t x : Factors(wide.value(w), dim.bound, perfect)) {
        const size_t left_w = wide.NumberOf(wide.value(w) / x);
        const int64_t rest = perfect ? dim.bound / x : CeilDiv(dim.bound, x);
        for (size_t h = 0; h < high.size(); ++h) {
          const int64_t cycles = best[w * high.size() + h];
          if (cycles == kNever) continue;
          for (const int64_t y : Factors(high.value(h), rest, perfect)) {
            const int64_t turns = perfect ? rest / y : CeilDiv(dim.bound, x * y);
            int64_t& known = next[left_w * high.size() + high.NumberOf(high.value(h) / y)];
            known = std::min(known, cycles * turns);
          }
        }
      }
    }
    best = std::move(next);
  }
  return *std::ranges::min_element(best);
}

}  // namespace tessera
