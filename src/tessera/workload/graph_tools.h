// What importers of graphs share: the usual shapes and names, the order of tensors, and a check
// that says which node is wrong.
#ifndef TESSERA_WORKLOAD_GRAPH_TOOLS_H_
#define TESSERA_WORKLOAD_GRAPH_TOOLS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

// The shape that a layer's output has unless its source says otherwise: N K P Q; N K; H M N.
std::vector<int64_t> UsualOutputShape(const Layer& layer);

// The shape of a layer's weight: K C/groups R S; K C. Without value for products of activations.
std::optional<std::vector<int64_t>> UsualWeightShape(const Layer& layer);

// The shape that a node without MACs gives to its output from what it reads, unless its source says
// otherwise: that of the window for pooling (rounded down), the sum along axis 1 for
// concatenations, the first input's for all others. Without value where nothing follows.
std::optional<std::vector<int64_t>> UsualOutputShape(
    const GraphNode& node, const std::vector<const std::vector<int64_t>*>& inputs);

// Whether nodes of this type are views unless their source says otherwise: relu, reshape, ...
bool IsUsualView(std::string_view type);

// Types of nodes without MACs that files may name without saying whether they are views: the usual
// ones, and operators of ONNX in lower case.
const std::vector<std::string_view>& KnownNodeTypes();
bool IsKnownNodeType(std::string_view type);

// Sorts tensors by where they are first mentioned, nodes in order, inputs before outputs: graphs
// that say the same are then equal.
void SortTensors(Graph& graph);

// ValidateGraph; where one node is to blame, `node` is its index afterwards, otherwise -1.
Result<void> ValidateGraph(const Network& network, int32_t& node);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_GRAPH_TOOLS_H_
