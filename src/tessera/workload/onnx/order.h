// The order in which a graph's nodes are evaluated: each after the nodes whose results it reads.
#ifndef TESSERA_WORKLOAD_ONNX_ORDER_H_
#define TESSERA_WORKLOAD_ONNX_ORDER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"

namespace tessera::onnx {

namespace schema {
class Node;
}

using Nodes = std::vector<const schema::Node*>;

// The nodes of a graph (or function body), file order kept where it is already right, which ONNX
// asks for but not every tool honours. `is_given` tells whether a tensor exists without a node:
// inputs, initialisers, tensors of surrounding graphs. Errors: a tensor that nothing produces or
// that two nodes produce, and a cycle.
Result<Nodes> EvaluationOrder(const Nodes& nodes,
                              const std::function<bool(std::string_view)>& is_given);

// "node 'conv1' (Conv)"; a node without name goes by its first output.
std::string Describe(const schema::Node& node);
std::string_view NameOf(const schema::Node& node);

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_ORDER_H_
