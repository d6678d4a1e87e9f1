// Records the edges of an ONNX graph while it is imported: one node after another becomes a node
// with MACs, a vector node or a view of the network's graph (docs/graphs.md).
#ifndef TESSERA_WORKLOAD_ONNX_GRAPH_H_
#define TESSERA_WORKLOAD_ONNX_GRAPH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/network.h"
#include "tessera/workload/onnx/op.h"
#include "tessera/workload/onnx/value.h"
#include "tessera/workload/unique_names.h"

namespace tessera::onnx {

class GraphRecorder {
 public:
  using Layers = std::vector<std::pair<std::string, Layer>>;

  // An input of the network, which gets its tensor.
  void AddInput(Value& value);

  // A node whose results are known as far as they can be; those that are no constants get tensors.
  // It has given the layers from `first` on.
  void AddNode(Op& op, const std::string& name, const std::vector<const Value*>& inputs,
               const Layers& layers, size_t first);

  // A result of the network.
  void AddOutput(const Value& value);

  // The graph cannot be told: a subgraph, a shape that is known at run time only.
  void GiveUp() { known_ = false; }

  // The finished graph, whose nodes have the numbers of their layers in the list; without nodes if
  // it could not be told.
  Graph Take();

 private:
  int32_t AddTensor(std::string name, std::vector<int64_t> shape, TensorKind kind);
  int32_t WeightOf(const Value& value, std::vector<int64_t> shape);
  std::optional<std::vector<int64_t>> ShapeOf(const Value& value);
  void AddLayers(const std::string& name, const std::vector<const Value*>& inputs, Op& op,
                 const Layers& layers, size_t first);
  void AddPlain(Op& op, const std::string& name, const std::vector<const Value*>& inputs);
  GraphNode PlainNode(Op& op, const std::vector<const Value*>& inputs,
                      const std::vector<const Value*>& activations);
  void SetWindow(Op& op, GraphNode& node);
  void AddOutputs(Op& op, GraphNode& node);
  void DropUnused();

  Graph graph_;
  bool known_ = true;
  UniqueNames tensor_names_, node_names_;
  std::unordered_map<std::string, int32_t> weights_;
};

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_GRAPH_H_
