// Which samples a model learns from when it cannot take all of them.
#ifndef TESSERA_SEARCH_HISTORY_H_
#define TESSERA_SEARCH_HISTORY_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/part.h"

namespace tessera {

// Indices of at most `limit` of `count` samples: the `good` ones of least cost(index), best first,
// then a quarter of the limit of the newest others, then some at random. All of them, best first,
// if there are no more than `limit`.
template <typename CostOf>
std::vector<size_t> ChooseHistory(size_t count, size_t limit, size_t good, const CostOf& cost,
                                  CounterRng& rng) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto better = [&](size_t a, size_t b) {
    return cost(a) != cost(b) ? cost(a) < cost(b) : a < b;
  };
  if (count <= limit) {
    std::sort(order.begin(), order.end(), better);
    return order;
  }
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(good);
  std::partial_sort(order.begin(), middle, order.end(), better);
  std::sort(middle, order.end(), std::greater<>());
  for (size_t i = good + limit / 4; i < limit; ++i) {
    const int64_t left = static_cast<int64_t>(count - i);
    std::swap(order[i], order[i + static_cast<size_t>(rng.UniformInt(left))]);
  }
  order.resize(limit);
  return order;
}

}  // namespace tessera

#endif  // TESSERA_SEARCH_HISTORY_H_
