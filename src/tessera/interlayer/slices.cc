// The recurrences of docs/graphs.md, from the last node of a chain to the first.
#include "tessera/interlayer/slices.h"

#include <algorithm>

namespace tessera::interlayer {
namespace {

// Rows of the input that output rows [from, to) of a node touch.
int64_t RowsRead(const Node& node, int64_t from, int64_t to) {
  const RowWindow& w = node.window;
  const int64_t first = std::max<int64_t>(0, from * w.stride - w.top);
  const int64_t end =
      std::min(node.input_rows, (to - 1) * w.stride - w.top + w.dilation * (w.kernel - 1) + 1);
  return std::max<int64_t>(0, end - first);
}

}  // namespace

std::vector<SlicedNode> Slice(std::span<const Node> chain, int64_t slices) {
  const size_t count = chain.size();
  const auto turns = static_cast<size_t>(slices);
  // done[k][t]: rows of node k after slice t.
  std::vector<std::vector<int64_t>> done(count, std::vector<int64_t>(turns + 1, 0));
  for (size_t t = 1; t <= turns; ++t) {
    const auto at = static_cast<int64_t>(t);
    done.back()[t] = (at * chain.back().rows + slices - 1) / slices;
  }
  for (size_t k = count - 1; k-- > 0;) {
    const RowWindow& next = chain[k + 1].window;
    for (size_t t = 1; t <= turns; ++t) {
      const int64_t needed =
          (done[k + 1][t] - 1) * next.stride + next.dilation * (next.kernel - 1) + 1 - next.top;
      done[k][t] = std::min(chain[k].rows, std::max(done[k][t - 1], needed));
    }
    done[k][turns] = chain[k].rows;
  }
  std::vector<SlicedNode> sliced(count);
  for (size_t k = 0; k < count; ++k) {
    for (size_t t = 1; t <= turns; ++t) {
      const int64_t rows = done[k][t] - done[k][t - 1];
      if (k + 1 < count) {
        const RowWindow& next = chain[k + 1].window;
        const int64_t used = std::max<int64_t>(0, done[k + 1][t - 1] * next.stride - next.top);
        sliced[k].buffer_rows =
            std::max(sliced[k].buffer_rows, done[k][t] - std::min(done[k][t - 1], used));
      }
      if (rows == 0) continue;
      ++sliced[k].times[rows];
      if (chain[k].layer >= 0) continue;
      // In one slice it is the node itself, which reads every word of its input.
      const int64_t read =
          slices == 1 ? chain[k].input_rows : RowsRead(chain[k], done[k][t - 1], done[k][t]);
      ++sliced[k].reads[{rows, read}];
    }
  }
  return sliced;
}

}  // namespace tessera::interlayer
