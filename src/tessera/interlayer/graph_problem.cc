// Views disappear, tensors get their lifetimes, and chains are found.
#include "tessera/interlayer/graph_problem.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "tessera/mapping/widths.h"

namespace tessera::interlayer {
namespace {

bool IsPooling(std::string_view type) { return type == "maxpool" || type == "avgpool"; }

int SlotOf(const LoopProblem& problem, TensorRole role) {
  for (int v = 0; v < problem.num_tensors; ++v) {
    if (problem.tensors[static_cast<size_t>(v)].role == role) return v;
  }
  return -1;
}

bool Allows(const Hierarchy& hierarchy, size_t level, std::string_view tensor) {
  return hierarchy.keeps.empty() ||
         std::ranges::find(hierarchy.keeps[level], tensor) != hierarchy.keeps[level].end();
}

class Maker {
 public:
  Maker(const Network& network, const Hierarchy& hierarchy)
      : network_(network), graph_(network.graph), links_(Links(network.graph)) {
    made_.hierarchy = hierarchy;
  }

  Result<GraphProblem> Run() {
    for (const NetworkLayer& entry : network_.layers) {
      const Result<LoopProblem> problem = MakeLoopProblem(entry.layer);
      if (!problem) {
        Error error = problem.error();
        error.message = fmt::format("layer '{}': {}", entry.name, error.message);
        return error;
      }
      made_.layers.push_back(*problem);
      made_.input_slot.push_back(SlotOf(*problem, TensorRole::kInput));
      made_.weight_slot.push_back(SlotOf(*problem, TensorRole::kWeight));
      made_.output_slot.push_back(SlotOf(*problem, TensorRole::kOutput));
      made_.input_words.push_back(InputElements(entry.layer));
      made_.weight_words.push_back(WeightElements(entry.layer));
      made_.output_words.push_back(OutputElements(entry.layer));
      made_.layer_rows.push_back(FindDimension(*problem, "P") ? OutputSize(entry.layer).y : 0);
    }
    AddHomes();
    AddTensors();
    for (const GraphNode& node : graph_.nodes) {
      if (!node.view) AddNode(node);
    }
    for (Tensor& tensor : made_.tensors) {
      tensor.last = tensor.consumers.empty() ? tensor.producer : tensor.consumers.back();
      tensor.may_stay = tensor.may_stay && tensor.producer >= 0;
    }
    FindChains();
    return std::move(made_);
  }

 private:
  void AddHomes() {
    for (size_t i = 0; i + 1 < made_.hierarchy.levels.size(); ++i) {
      if (made_.hierarchy.levels[i].instances() != 1) continue;
      if (!Allows(made_.hierarchy, i, "Inputs") || !Allows(made_.hierarchy, i, "Outputs")) continue;
      made_.homes.push_back(static_cast<int>(i));
      made_.holds_weights.push_back(Allows(made_.hierarchy, i, "Weights"));
    }
  }

  // One tensor for each that a node writes or nobody does; views have that of their root.
  void AddTensors() {
    tensor_of_.assign(graph_.tensors.size(), -1);
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto root = static_cast<size_t>(links_.root[i]);
      if (root != i) continue;
      tensor_of_[i] = static_cast<int>(made_.tensors.size());
      made_.tensors.push_back(
          {.name = graph_.tensors[i].name, .words = Words(graph_.tensors[i]), .may_stay = true});
    }
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      Tensor& tensor = TensorOf(static_cast<int32_t>(i));
      if (graph_.tensors[i].kind != TensorKind::kActivation) tensor.may_stay = false;
    }
  }

  int IndexOf(int32_t tensor) const {
    return tensor_of_[static_cast<size_t>(links_.root[static_cast<size_t>(tensor)])];
  }
  Tensor& TensorOf(int32_t tensor) { return made_.tensors[static_cast<size_t>(IndexOf(tensor))]; }

  void AddNode(const GraphNode& from) {
    const int index = static_cast<int>(made_.nodes.size());
    Node node{.name = from.name, .layer = from.layer, .concat = from.type == "concat"};
    for (const int32_t input : from.inputs) {
      node.inputs.push_back(IndexOf(input));
      std::vector<int>& consumers = TensorOf(input).consumers;
      if (consumers.empty() || consumers.back() != index) consumers.push_back(index);
    }
    for (const int32_t output : from.outputs) {
      node.outputs.push_back(IndexOf(output));
      TensorOf(output).producer = index;
    }
    if (from.macs()) {
      SetLayer(from, node);
    } else {
      node.elements = VectorElements(graph_, from);
      if (IsPooling(from.type)) SetPooling(from, node);
    }
    made_.nodes.push_back(std::move(node));
  }

  void SetLayer(const GraphNode& from, Node& node) {
    const auto at = static_cast<size_t>(from.layer);
    const Layer& layer = network_.layers[at].layer;
    node.slots.assign(static_cast<size_t>(made_.layers[at].num_tensors), -1);
    const auto set = [&](int slot, int tensor) {
      if (slot >= 0) node.slots[static_cast<size_t>(slot)] = tensor;
    };
    set(made_.input_slot[at], node.inputs[0]);
    if (node.inputs.size() > 1) set(made_.weight_slot[at], node.inputs[1]);
    set(made_.output_slot[at], node.outputs[0]);
    if (layer.type != LayerType::kConv) return;
    node.may_slice = true;
    node.window = {layer.stride.y, layer.r, layer.dilation.y, layer.pad.top};
    const Pair out = OutputSize(layer);
    node.rows = out.y;
    node.row_words = layer.n * layer.k * out.x;
    node.input_rows = layer.y;
    node.input_row_words = layer.n * layer.c * layer.x;
  }

  void SetPooling(const GraphNode& from, Node& node) {
    const std::vector<int64_t>& in = graph_.tensors[static_cast<size_t>(from.inputs[0])].shape;
    std::vector<int64_t> out = graph_.tensors[static_cast<size_t>(from.outputs[0])].shape;
    while (out.size() == 2 || out.size() == 3) out.push_back(1);  // a mean that drops its axes
    if (in.size() != 4 || out.size() != 4) return;
    node.may_slice = true;
    node.window = {from.stride.y, from.kernel.y, from.dilation.y, from.pad.top};
    node.rows = out[2];
    node.row_words = out[0] * out[1] * out[3];
    node.input_rows = in[2];
    node.input_row_words = in[0] * in[1] * in[3];
    node.row_elements = node.elements / node.rows;
  }

  // Whether what one node writes goes to the next one, as its input, and nowhere else.
  bool Continues(const Node& node, const Node& next, int next_index) const {
    const Tensor& between = made_.tensors[static_cast<size_t>(node.outputs[0])];
    return next.may_slice && next.inputs[0] == node.outputs[0] && between.may_stay &&
           between.consumers.size() == 1 && between.consumers[0] == next_index &&
           std::ranges::count(next.inputs, node.outputs[0]) == 1 && node.rows == next.input_rows &&
           node.row_words == next.input_row_words;
  }

  void FindChains() {
    made_.chain_end.assign(made_.nodes.size(), -1);
    for (size_t i = made_.nodes.size(); i-- > 0;) {
      const Node& node = made_.nodes[i];
      const int index = static_cast<int>(i);
      made_.chain_end[i] = node.may_slice ? index : index - 1;
      if (!node.may_slice || i + 1 == made_.nodes.size()) continue;
      if (Continues(node, made_.nodes[i + 1], index + 1)) {
        made_.chain_end[i] = made_.chain_end[i + 1];
      }
    }
  }

  const Network& network_;
  const Graph& graph_;
  const GraphLinks links_;
  std::vector<int> tensor_of_;
  GraphProblem made_;
};

}  // namespace

int64_t GraphProblem::EntriesOf(size_t home) const {
  return hierarchy.levels[static_cast<size_t>(homes[home])].entries.value_or(kUnlimitedWords);
}

Result<GraphProblem> MakeGraphProblem(const Network& network, const Accelerator& accelerator) {
  if (network.graph.empty()) {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .message = fmt::format("network '{}' is a list of layers without edges, so nothing "
                               "is known about what stays between them",
                               network.name),
        .hint =
            "use an ONNX file, a native YAML file with a graph or a network of the "
            "zoo, or --inter-layer none"};
  }
  if (!accelerator.hierarchy) {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .message = fmt::format("accelerator '{}' has no memory hierarchy", accelerator.name),
        .hint = "inter-layer mapping is for model loopnest"};
  }
  // Rooms, lifetimes and slices are counted in words here, so an element has to be one.
  for (const NetworkLayer& entry : network.layers) {
    const Result<LoopProblem> loops = MakeLoopProblem(entry.layer);
    for (size_t i = 0; loops && i < accelerator.hierarchy->levels.size(); ++i) {
      if (WidthsAt(*loops, *accelerator.hierarchy, i).plain(loops->num_tensors)) continue;
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("layer '{}': bits of tensors are not a word of {}, and "
                                          "inter-layer mapping counts words",
                                          entry.name, accelerator.hierarchy->levels[i].name),
                   .hint = "use --inter-layer none, or --bits machine"};
    }
  }
  if (Result<void> valid = ValidateGraph(network); !valid) return valid.error();
  Result<GraphProblem> problem = Maker(network, *accelerator.hierarchy).Run();
  if (!problem) return problem;
  // Each node looks at the tensors that live while it runs.
  constexpr int64_t kMostLooks = 20'000'000;
  int64_t looks = 0;
  for (const Tensor& tensor : problem->tensors) {
    if (tensor.may_stay) looks += tensor.last - tensor.producer;
  }
  if (looks <= kMostLooks) return problem;
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("network '{}' has {} pairs of a node and a tensor that lives "
                                      "while it runs, more than {}",
                                      network.name, looks, kMostLooks),
               .hint = "use --inter-layer none"};
}

}  // namespace tessera::interlayer
