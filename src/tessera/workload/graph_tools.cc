// Shapes that follow from others, and the order of tensors.
#include "tessera/workload/graph_tools.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tessera/workload/onnx/operators.h"

namespace tessera {

std::vector<int64_t> UsualOutputShape(const Layer& layer) {
  switch (layer.type) {
    case LayerType::kMatmul: return {layer.h, layer.m, layer.n};
    case LayerType::kFullyConnected: return {layer.n, layer.k};
    case LayerType::kConv:
    case LayerType::kTransposedConv: break;
  }
  const Pair size = OutputSize(layer);
  return {layer.n, layer.k, size.y, size.x};
}

std::optional<std::vector<int64_t>> UsualWeightShape(const Layer& layer) {
  if (layer.type == LayerType::kMatmul) return std::nullopt;
  if (layer.type == LayerType::kFullyConnected) return std::vector<int64_t>{layer.k, layer.c};
  return std::vector<int64_t>{layer.k, layer.c / layer.groups, layer.r, layer.s};
}

std::optional<std::vector<int64_t>> UsualOutputShape(
    const GraphNode& node, const std::vector<const std::vector<int64_t>*>& inputs) {
  if (inputs.empty()) return std::nullopt;
  std::vector<int64_t> shape = *inputs[0];
  if (node.type == "concat") {
    const size_t axis = shape.size() > 1 ? 1 : 0;
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i]->size() != shape.size() || shape.empty()) return std::nullopt;
      if (__builtin_add_overflow(shape[axis], (*inputs[i])[axis], &shape[axis])) {
        return std::nullopt;
      }
    }
  } else if (node.type == "maxpool" || node.type == "avgpool") {
    if (shape.size() != 4) return std::nullopt;
    const int64_t y =
        shape[2] + node.pad.top + node.pad.bottom - node.dilation.y * (node.kernel.y - 1) - 1;
    const int64_t x =
        shape[3] + node.pad.left + node.pad.right - node.dilation.x * (node.kernel.x - 1) - 1;
    if (y < 0 || x < 0) return std::nullopt;
    shape[2] = y / node.stride.y + 1;
    shape[3] = x / node.stride.x + 1;
  }
  return shape;
}

namespace {

constexpr std::array<std::string_view, 22> kViews = {
    "bias",     "clip",  "dropout",  "elementwise", "expand",  "flatten",  "gelu",  "hardswish",
    "identity", "relu",  "quantise", "relu6",       "reshape", "rope",     "scale", "sigmoid",
    "silu",     "slice", "tanh",     "transpose",   "mask",    "batchnorm"};

constexpr std::array<std::string_view, 14> kVectorTypes = {
    "maxpool", "avgpool", "add",    "sub",       "mul",    "div",    "concat",
    "softmax", "norm",    "resize", "embedding", "gather", "reduce", "select"};

}  // namespace

bool IsUsualView(std::string_view type) {
  return std::find(kViews.begin(), kViews.end(), type) != kViews.end();
}

const std::vector<std::string_view>& KnownNodeTypes() {
  static const auto* const types = [] {
    static const auto* const operators =
        new std::vector<std::string>(onnx::OperatorNamesInLowerCase());
    auto* const made = new std::vector<std::string_view>(kViews.begin(), kViews.end());
    made->insert(made->end(), kVectorTypes.begin(), kVectorTypes.end());
    made->insert(made->end(), operators->begin(), operators->end());
    std::sort(made->begin(), made->end());
    made->erase(std::unique(made->begin(), made->end()), made->end());
    return made;
  }();
  return *types;
}

bool IsKnownNodeType(std::string_view type) {
  return std::binary_search(KnownNodeTypes().begin(), KnownNodeTypes().end(), type);
}

void SortTensors(Graph& graph) {
  std::vector<int32_t> place(graph.tensors.size(), -1);
  std::vector<GraphTensor> sorted;
  sorted.reserve(graph.tensors.size());
  const auto take = [&](int32_t& tensor) {
    const auto index = static_cast<size_t>(tensor);
    if (place[index] < 0) {
      place[index] = static_cast<int32_t>(sorted.size());
      sorted.push_back(std::move(graph.tensors[index]));
    }
    tensor = place[index];
  };
  for (GraphNode& node : graph.nodes) {
    for (int32_t& input : node.inputs) take(input);
    for (int32_t& output : node.outputs) take(output);
  }
  for (int32_t i = 0; i < std::ssize(place); ++i) {
    int32_t tensor = i;
    if (place[static_cast<size_t>(i)] < 0) take(tensor);
  }
  graph.tensors = std::move(sorted);
}

}  // namespace tessera
