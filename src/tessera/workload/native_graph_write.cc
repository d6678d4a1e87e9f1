// Writing of graphs and steps in native network files: only what the reader would not guess.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"
#include "tessera/workload/graph_tools.h"
#include "tessera/workload/native_graph.h"

namespace tessera {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string PairText(const Pair& pair) {
  return pair.y == pair.x ? fmt::format("{}", pair.y) : fmt::format("[{}, {}]", pair.y, pair.x);
}

class GraphWriter {
 public:
  explicit GraphWriter(const Network& network) : network_(network), graph_(network.graph) {
    bits_ = graph_.tensors.empty() ? 0 : graph_.tensors[0].bits;
    for (const GraphTensor& tensor : graph_.tensors) {
      if (tensor.bits != bits_) bits_ = 0;
    }
    written_.resize(graph_.tensors.size(), false);
    automatic_.resize(graph_.tensors.size(), false);
    for (const GraphNode& node : graph_.nodes) {
      for (const int32_t output : node.outputs) written_[static_cast<size_t>(output)] = true;
      if (HasUsualWeight(node)) automatic_[static_cast<size_t>(node.inputs.back())] = true;
    }
  }

  std::string Text() const {
    std::string text = "graph:\n";
    if (bits_ != 0) text += fmt::format("  bits: {}\n", bits_);
    text += Tensors("inputs", [](const GraphTensor& t) { return t.kind == TensorKind::kInput; });
    text += Tensors("tensors", [](const GraphTensor& t) { return t.kind != TensorKind::kInput; });
    text += "  nodes:\n";
    for (const GraphNode& node : graph_.nodes) text += NodeLine(node);
    text += "  outputs: [";
    bool first = true;
    for (const GraphTensor& tensor : graph_.tensors) {
      if (tensor.kind != TensorKind::kOutput) continue;
      text += (first ? "" : ", ") + YamlScalar(tensor.name);
      first = false;
    }
    return text + "]\n";
  }

 private:
  const GraphTensor& Tensor(int32_t index) const {
    return graph_.tensors[static_cast<size_t>(index)];
  }

  // Whether the last input is the weight that the reader adds by itself.
  bool HasUsualWeight(const GraphNode& node) const {
    if (!node.macs() || node.inputs.empty()) return false;
    const GraphTensor& last = Tensor(node.inputs.back());
    return last.kind == TensorKind::kWeight && last.bits == bits_ &&
           UsualWeightShape(network_.layers[static_cast<size_t>(node.layer)].layer) == last.shape;
  }

  template <typename Choose>
  std::string Tensors(std::string_view key, const Choose& choose) const {
    std::string text;
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const GraphTensor& tensor = graph_.tensors[i];
      if (written_[i] || automatic_[i] || !choose(tensor)) continue;
      if (text.empty()) text = fmt::format("  {}:\n", key);
      text += fmt::format("  - {{name: {}, shape: {}", YamlScalar(tensor.name),
                          ShapeText(tensor.shape));
      if (tensor.kind == TensorKind::kCache) text += ", kind: cache";
      if (tensor.bits != bits_) text += fmt::format(", bits: {}", tensor.bits);
      text += "}\n";
    }
    return text;
  }

  std::string Names(const std::vector<int32_t>& tensors, size_t count) const {
    if (count == 1) return YamlScalar(Tensor(tensors[0]).name);
    std::string text = "[";
    for (size_t i = 0; i < count; ++i) {
      text += (i == 0 ? "" : ", ") + YamlScalar(Tensor(tensors[i]).name);
    }
    return text + "]";
  }

  std::string LayerText(const GraphNode& node, bool weight) const {
    const NetworkLayer& entry = network_.layers[static_cast<size_t>(node.layer)];
    std::string text;
    const bool own = entry.name == node.name ||
                     std::find(entry.also.begin(), entry.also.end(), node.name) != entry.also.end();
    if (!own) text += ", layer: " + YamlScalar(entry.name);
    if (!UsualWeightShape(entry.layer)) return text;
    if (!weight) return text + ", weight: none";
    const std::string& name = Tensor(node.inputs.back()).name;
    return name == node.name + ".weight" ? text : text + ", weight: " + YamlScalar(name);
  }

  std::string WindowText(const GraphNode& node) const {
    std::string text;
    const bool pooling = node.type == "maxpool" || node.type == "avgpool";
    if (node.kernel != Pair{}) text += ", kernel: " + PairText(node.kernel);
    if (node.stride != (pooling ? node.kernel : Pair{})) {
      text += ", stride: " + PairText(node.stride);
    }
    if (node.dilation != Pair{}) text += ", dilation: " + PairText(node.dilation);
    if (node.pad == Padding{}) return text;
    if (node.pad.top == node.pad.bottom && node.pad.left == node.pad.right) {
      return text + ", pad: " + PairText({node.pad.top, node.pad.left});
    }
    return text + fmt::format(", pad: [{}, {}, {}, {}]", node.pad.top, node.pad.left,
                              node.pad.bottom, node.pad.right);
  }

  std::string ShapesText(const GraphNode& node) const {
    std::optional<std::vector<int64_t>> usual;
    if (node.macs()) {
      usual = UsualOutputShape(network_.layers[static_cast<size_t>(node.layer)].layer);
    } else {
      std::vector<const std::vector<int64_t>*> inputs;
      for (const int32_t input : node.inputs) inputs.push_back(&Tensor(input).shape);
      usual = UsualOutputShape(node, inputs);
    }
    const bool same = std::all_of(node.outputs.begin(), node.outputs.end(),
                                  [&](int32_t output) { return usual == Tensor(output).shape; });
    if (same) return "";
    if (node.outputs.size() == 1) return ", shape: " + ShapeText(Tensor(node.outputs[0]).shape);
    std::string text = ", shapes: [";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      text += (i == 0 ? "" : ", ") + ShapeText(Tensor(node.outputs[i]).shape);
    }
    return text + "]";
  }

  std::string NodeLine(const GraphNode& node) const {
    const bool weight = HasUsualWeight(node);
    std::string line = fmt::format("  - {{name: {}", YamlScalar(node.name));
    if (node.macs()) {
      line += LayerText(node, weight);
    } else {
      line += ", type: " + YamlScalar(node.type);
    }
    const size_t inputs = node.inputs.size() - (weight ? 1 : 0);
    if (inputs > 0) line += ", in: " + Names(node.inputs, inputs);
    if (node.outputs.size() != 1 || Tensor(node.outputs[0]).name != node.name) {
      line += ", out: " + Names(node.outputs, node.outputs.size());
    }
    line += WindowText(node);
    if (!node.macs() && (node.view != IsUsualView(node.type) || !IsKnownNodeType(node.type))) {
      line += fmt::format(", view: {}", node.view);
    }
    line += ShapesText(node);
    const GraphTensor& first = Tensor(node.outputs[0]);
    if (first.kind == TensorKind::kCache) line += ", kind: cache";
    if (first.bits != bits_) line += fmt::format(", bits: {}", first.bits);
    return line + "}\n";
  }

  const Network& network_;
  const Graph& graph_;
  int64_t bits_ = 0;
  std::vector<bool> written_;    // by tensor: a node writes it
  std::vector<bool> automatic_;  // by tensor: a weight that the reader adds by itself
};

}  // namespace

std::string NativeGraphText(const Network& network) {
  std::string text;
  if (network.step) {
    const LanguageStep& step = *network.step;
    text += fmt::format(
        "step: {{phase: {}, causal: {}, batch: {}, seq: {}, past: {}, bits: {}, parameters: {}, "
        "kv_bytes: {}}}\n",
        YamlScalar(step.phase), YamlScalar(step.causal), step.batch, step.seq, step.past, step.bits,
        step.parameters, step.kv_bytes);
  }
  if (!network.graph.empty()) text += GraphWriter(network).Text();
  return text;
}

}  // namespace tessera
