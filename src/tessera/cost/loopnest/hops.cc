// A group is a product of columns and rows here, so the sum over all groups splits by axis.
#include "tessera/cost/loopnest/hops.h"

#include <algorithm>

namespace tessera::loopnest {

int64_t SumHalfHops(std::span<const Loop> loops, uint32_t relevant_dims, int64_t fan_y,
                    std::vector<int64_t>& places) {
  if (loops.empty()) return 0;
  // Along X: groups begin at one of `starts` columns and use `columns` of them.
  int64_t starts = 1, columns = 1, first_column_sum = 0, last_column = 0, stride_x = 1;
  // Along Y: rows at which groups begin, and how far below that they end.
  places.assign(1, 0);
  int64_t depth = 0, stride_y = 1;
  for (const Loop& loop : loops) {
    const bool relevant = (relevant_dims >> loop.dim & 1) != 0;
    int64_t& stride = loop.on_y ? stride_y : stride_x;
    const int64_t reach = (loop.count - 1) * stride;
    if (loop.on_y && relevant) {
      const size_t inner = places.size();
      for (int64_t i = 1; i < loop.count; ++i) {
        for (size_t k = 0; k < inner; ++k) places.push_back(places[k] + i * stride);
      }
    } else if (loop.on_y) {
      depth += reach;
    } else if (relevant) {
      starts *= loop.count;
      first_column_sum += reach;  // the mean first column is half of this
    } else {
      columns *= loop.count;
      last_column += reach;
    }
    stride *= loop.count;
  }
  const int64_t centre = fan_y - 1;  // in half rows
  int64_t vertical = 0;
  for (const int64_t row : places) {
    vertical +=
        std::max<int64_t>(0, centre - 2 * row) + std::max<int64_t>(0, 2 * (row + depth) - centre);
  }
  const int64_t horizontal = starts * (first_column_sum + 2 * last_column);
  return std::ssize(places) * horizontal + starts * columns * vertical;
}

}  // namespace tessera::loopnest
