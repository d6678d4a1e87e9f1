// Dynamic programming over dimensions. What matters of those counted so far is how many loops each
// level has, of each kind, and how much of each fan-out they use.
#include "tessera/search/exact/count.h"

#include <cstdint>
#include <map>
#include <vector>

#include "tessera/search/exact/model.h"

namespace tessera::exact {
namespace {

// Per level: temporal loops; and X and Y loops with the products of their factors.
using Key = std::vector<int32_t>;

struct Counter {
  const Hierarchy& hierarchy;
  size_t levels;

  static constexpr size_t kPerLevel = 5;  // temporal, x, y, product of x, product of y

  // All ways to split one dimension, as changes of a key.
  void Split(int64_t bound, std::map<Key, long double>& ways) const {
    Key key(levels * kPerLevel, 0);
    for (size_t i = 0; i < levels; ++i) key[i * kPerLevel + 3] = key[i * kPerLevel + 4] = 1;
    const DivisorTable table = MakeDivisors(bound);
    const auto level = [&](const auto& self, size_t i, size_t rest) -> void {
      if (i == levels) {
        if (rest == 0) ways[key] += 1;
        return;
      }
      int32_t* at = &key[i * kPerLevel];
      const auto temporal = [&](size_t left) {
        for (const int16_t part : table.parts[left]) {
          at[0] = part > 0 ? 1 : 0;
          self(self, i + 1, static_cast<size_t>(table.quotients[left][static_cast<size_t>(part)]));
        }
        at[0] = 0;
      };
      temporal(rest);
      const int64_t fans[2] = {FanoutX(hierarchy, i), FanoutY(hierarchy, i)};
      for (int axis = 0; axis < 2; ++axis) {
        for (const int16_t part : table.parts[rest]) {
          const int32_t factor = table.values[static_cast<size_t>(part)];
          if (factor == 1 || factor > fans[axis]) continue;
          at[1 + axis] = 1;
          at[3 + axis] = factor;
          temporal(static_cast<size_t>(table.quotients[rest][static_cast<size_t>(part)]));
          at[1 + axis] = 0;
          at[3 + axis] = 1;
        }
      }
    };
    level(level, 0, table.values.size() - 1);
  }

  bool Combine(const Key& a, const Key& b, Key& sum) const {
    for (size_t i = 0; i < levels; ++i) {
      const size_t at = i * kPerLevel;
      for (size_t k = 0; k < 3; ++k) sum[at + k] = a[at + k] + b[at + k];
      for (size_t k = 3; k < kPerLevel; ++k) sum[at + k] = a[at + k] * b[at + k];
      if (sum[at + 3] > FanoutX(hierarchy, i) || sum[at + 4] > FanoutY(hierarchy, i)) return false;
    }
    return true;
  }
};

}  // namespace

double CountMappings(const LoopProblem& problem, const Hierarchy& hierarchy) {
  const Counter counter{hierarchy, hierarchy.levels.size()};
  std::map<Key, long double> counts;
  Key none(counter.levels * Counter::kPerLevel, 0);
  for (size_t i = 0; i < counter.levels; ++i) {
    none[i * Counter::kPerLevel + 3] = none[i * Counter::kPerLevel + 4] = 1;
  }
  counts[none] = 1;
  Key sum(none.size());
  for (const LoopDimension& dim : problem.dims()) {
    if (dim.bound == 1) continue;
    std::map<Key, long double> ways, next;
    counter.Split(dim.bound, ways);
    for (const auto& [key, count] : counts) {
      for (const auto& [way, number] : ways) {
        if (counter.Combine(key, way, sum)) next[sum] += count * number;
      }
    }
    counts = std::move(next);
  }
  long double total = 0;
  for (const auto& [key, count] : counts) {
    long double orders = count;
    for (size_t i = 0; i < counter.levels; ++i) {
      for (size_t k = 0; k < 3; ++k) {
        for (int32_t n = 2; n <= key[i * Counter::kPerLevel + k]; ++n) orders *= n;
      }
    }
    total += orders;
  }
  return static_cast<double>(total);
}

}  // namespace tessera::exact
