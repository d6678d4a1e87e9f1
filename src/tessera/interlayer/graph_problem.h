// A network as the inter-layer optimizer sees it: the nodes that are executed, in order, the
// tensors that live between them, the levels at which tensors can stay, and the chains that can run
// in slices. docs/graphs.md has the rules.
#ifndef TESSERA_INTERLAYER_GRAPH_PROBLEM_H_
#define TESSERA_INTERLAYER_GRAPH_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera::interlayer {

// A tensor with all its views, which share one home.
struct Tensor {
  std::string name = {};  // of the one that a node writes
  int64_t words = 0;
  bool may_stay = false;  // may have a home on chip: neither in nor out of the network, no constant
  int producer = -1;      // node; -1: none
  int last = -1;          // node that reads it last; the producer if none does
  std::vector<int> consumers = {};  // nodes, each once
};

// How a node of a chain moves over the rows of its input.
struct RowWindow {
  int64_t stride = 1, kernel = 1, dilation = 1, top = 0;
};

struct Node {
  std::string name = {};
  int layer = -1;                              // of Network::layers; -1: a vector node
  bool concat = false;                         // a view where all homes are one
  bool may_slice = false;                      // conv, dwconv, pooling
  std::vector<int> inputs = {}, outputs = {};  // tensors; inputs as often as they are read
  std::vector<int> slots = {};  // nodes with MACs: the tensor of each loop tensor; -1: home 0
  int64_t elements = 0;         // operations of a vector node
  RowWindow window = {};
  int64_t rows = 1, input_rows = 1;            // of output and input, where it may be sliced
  int64_t row_words = 0, input_row_words = 0;  // words of one of them
  int64_t row_elements = 0;                    // operations of a vector node for one row
};

struct GraphProblem {
  Hierarchy hierarchy = {};
  std::vector<LoopProblem> layers = {};  // by index of Network::layers
  std::vector<int> input_slot = {}, weight_slot = {}, output_slot = {};  // their loop tensors
  std::vector<int64_t> input_words = {}, weight_words = {}, output_words = {};
  std::vector<int64_t> layer_rows = {};  // of the output; 0: it has none
  std::vector<Tensor> tensors = {};
  std::vector<Node> nodes = {};

  std::vector<int> homes = {};  // levels on chip at which tensors can stay, innermost first
  std::vector<bool> holds_weights = {};  // by index of `homes`

  int outermost() const { return static_cast<int>(hierarchy.levels.size()) - 1; }
  // Words that a home can hold; a very large number where it has no limit.
  int64_t EntriesOf(size_t home) const;

  // The last node of the longest chain that begins at a node and can run in slices; the node before
  // it if not even the node itself can.
  std::vector<int> chain_end = {};
};

inline constexpr int64_t kUnlimitedWords = int64_t{1} << 60;

// Errors: networks without a graph, machines without a hierarchy, layers that cannot be loops.
Result<GraphProblem> MakeGraphProblem(const Network& network, const Accelerator& accelerator);

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_GRAPH_PROBLEM_H_
