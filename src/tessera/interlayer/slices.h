// Rows of a chain that runs in slices: who computes how many of them when, and how many have to be
// kept between two nodes. docs/graphs.md, "Slices".
#ifndef TESSERA_INTERLAYER_SLICES_H_
#define TESSERA_INTERLAYER_SLICES_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tessera/interlayer/graph_problem.h"

namespace tessera::interlayer {

// What one node does in all slices of a group.
struct SlicedNode {
  std::map<int64_t, int64_t> times = {};  // rows that it computes in a slice -> slices
  // Vector nodes: for the same slices, rows of the input that are read.
  std::map<std::pair<int64_t, int64_t>, int64_t> reads = {};  // (rows, input rows) -> slices
  int64_t buffer_rows = 0;  // of its output, kept for the next node; 0: the last one
};

// `slices` is between 1 and the rows of the last node.
std::vector<SlicedNode> Slice(std::span<const Node> chain, int64_t slices);

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_SLICES_H_
