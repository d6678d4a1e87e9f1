// Which operator is what in a graph, and the recording of nodes.
#include "tessera/workload/onnx/graph.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"
#include "tessera/workload/graph_tools.h"
#include "tessera/workload/onnx/operators.h"
#include "tessera/workload/onnx/window.h"

namespace tessera::onnx {
namespace {

enum class Class : uint8_t {
  kView,         // of its first input, whatever else it reads
  kElementwise,  // a view if it reads one tensor, otherwise a vector node
  kVector,
  kSkip,     // says something about shapes
  kControl,  // has subgraphs or sequences: not followed
};

struct Entry {
  std::string_view type;  // in the graph; empty: the operator's name in lower case
  Class kind;
};

const std::unordered_map<std::string_view, Entry>& Table() {
  static const auto* const table = new std::unordered_map<std::string_view, Entry>{
      {"Reshape", {"reshape", Class::kView}},
      {"Squeeze", {"reshape", Class::kView}},
      {"Unsqueeze", {"reshape", Class::kView}},
      {"Flatten", {"flatten", Class::kView}},
      {"Transpose", {"transpose", Class::kView}},
      {"DepthToSpace", {"transpose", Class::kView}},
      {"SpaceToDepth", {"transpose", Class::kView}},
      {"Identity", {"identity", Class::kView}},
      {"Cast", {"identity", Class::kView}},
      {"CastLike", {"identity", Class::kView}},
      {"Dropout", {"dropout", Class::kView}},
      {"Slice", {"slice", Class::kView}},
      {"Split", {"slice", Class::kView}},
      {"Expand", {"expand", Class::kView}},
      {"Tile", {"expand", Class::kView}},
      {"BatchNormalization", {"batchnorm", Class::kView}},
      {"RotaryEmbedding", {"rope", Class::kView}},
      {"QuantizeLinear", {"quantise", Class::kView}},
      {"DequantizeLinear", {"quantise", Class::kView}},
      {"DynamicQuantizeLinear", {"quantise", Class::kView}},
      {"Trilu", {"mask", Class::kView}},
      {"Relu", {"relu", Class::kElementwise}},
      {"Sigmoid", {"sigmoid", Class::kElementwise}},
      {"HardSwish", {"hardswish", Class::kElementwise}},
      {"Gelu", {"gelu", Class::kElementwise}},
      {"FastGelu", {"gelu", Class::kElementwise}},
      {"QuickGelu", {"gelu", Class::kElementwise}},
      {"BiasGelu", {"gelu", Class::kElementwise}},
      {"Tanh", {"tanh", Class::kElementwise}},
      {"Clip", {"clip", Class::kElementwise}},
      {"Swish", {"silu", Class::kElementwise}},
      {"Add", {"add", Class::kElementwise}},
      {"Sum", {"add", Class::kElementwise}},
      {"QLinearAdd", {"add", Class::kElementwise}},
      {"Sub", {"sub", Class::kElementwise}},
      {"Mul", {"mul", Class::kElementwise}},
      {"QLinearMul", {"mul", Class::kElementwise}},
      {"Div", {"div", Class::kElementwise}},
      {"Where", {"select", Class::kElementwise}},
      {"MaxPool", {"maxpool", Class::kVector}},
      {"AveragePool", {"avgpool", Class::kVector}},
      {"GlobalAveragePool", {"avgpool", Class::kVector}},
      {"GlobalMaxPool", {"maxpool", Class::kVector}},
      {"QLinearAveragePool", {"avgpool", Class::kVector}},
      {"QLinearGlobalAveragePool", {"avgpool", Class::kVector}},
      {"Concat", {"concat", Class::kVector}},
      {"QLinearConcat", {"concat", Class::kVector}},
      {"Softmax", {"softmax", Class::kVector}},
      {"LogSoftmax", {"softmax", Class::kVector}},
      {"QLinearSoftmax", {"softmax", Class::kVector}},
      {"LayerNormalization", {"norm", Class::kVector}},
      {"InstanceNormalization", {"norm", Class::kVector}},
      {"GroupNormalization", {"norm", Class::kVector}},
      {"GroupNorm", {"norm", Class::kVector}},
      {"RMSNormalization", {"norm", Class::kVector}},
      {"SimplifiedLayerNormalization", {"norm", Class::kVector}},
      {"SkipLayerNormalization", {"norm", Class::kVector}},
      {"SkipSimplifiedLayerNormalization", {"norm", Class::kVector}},
      {"LpNormalization", {"norm", Class::kVector}},
      {"MeanVarianceNormalization", {"norm", Class::kVector}},
      {"LRN", {"norm", Class::kVector}},
      {"Resize", {"resize", Class::kVector}},
      {"Upsample", {"resize", Class::kVector}},
      {"Gather", {"gather", Class::kVector}},
      {"EmbedLayerNormalization", {"embedding", Class::kVector}},
      {"Shape", {"", Class::kSkip}},
      {"Size", {"", Class::kSkip}},
      {"If", {"", Class::kControl}},
      {"Loop", {"", Class::kControl}},
      {"Scan", {"", Class::kControl}},
      {"SequenceEmpty", {"", Class::kControl}},
      {"SequenceConstruct", {"", Class::kControl}},
      {"SequenceInsert", {"", Class::kControl}},
      {"SequenceErase", {"", Class::kControl}},
      {"SequenceAt", {"", Class::kControl}},
      {"SequenceLength", {"", Class::kControl}},
      {"SplitToSequence", {"", Class::kControl}},
      {"ConcatFromSequence", {"", Class::kControl}},
  };
  return *table;
}

// Operators of the default kind: elementwise functions keep the shape of what they read.
Entry EntryOf(const std::string& op, Op& node) {
  const auto found = Table().find(op);
  if (found != Table().end()) return found->second;
  if (op.starts_with("Reduce")) return {"reduce", Class::kVector};
  const bool same = node.num_outputs() == 1 && node.Has(0) && node.Input(0).dims &&
                    node.Output(0).dims == node.Input(0).dims;
  const std::set<std::string_view> moves = {"ScatterElements", "ScatterND", "Scatter",
                                            "CumSum",          "CumProd",   "ReverseSequence",
                                            "TensorScatter"};
  return {"", same && !moves.contains(op) ? Class::kElementwise : Class::kVector};
}

bool IsConstant(const Value& value) {
  return value.tensor < 0 && (value.parameter || value.data != nullptr);
}

// Whether a result of which some elements are known is made of activations, too: a class token that
// is put before them, say. Shapes are integers, and their open sizes are no activations.
bool JoinsActivations(const std::vector<const Value*>& inputs, const Value& result) {
  if (!IsReal(result.type) || result.data == nullptr) return false;
  return !std::ranges::all_of(*result.data, &Number::known) &&
         std::ranges::any_of(
             inputs, [](const Value* input) { return input != nullptr && input->tensor >= 0; });
}

int64_t WordsOf(const std::vector<int64_t>& shape) {
  int64_t words = 1;
  for (const int64_t size : shape) words *= size;
  return words;
}

}  // namespace

int32_t GraphRecorder::AddTensor(std::string name, std::vector<int64_t> shape, TensorKind kind) {
  graph_.tensors.push_back(
      {.name = tensor_names_.Add(Printable(name)), .shape = std::move(shape), .kind = kind});
  return static_cast<int32_t>(graph_.tensors.size() - 1);
}

// The sizes of a tensor that the graph needs to know.
std::optional<std::vector<int64_t>> GraphRecorder::ShapeOf(const Value& value) {
  std::vector<int64_t> shape;
  bool known = value.dims.has_value();
  for (const Dim& dim : value.dims.value_or(Dims())) {
    known = known && dim.known() && dim.size >= 1 && dim.size <= kMaxSize;
    shape.push_back(dim.size);
  }
  if (known) return shape;
  GiveUp();
  return std::nullopt;
}

void GraphRecorder::AddInput(Value& value) {
  // An input that nothing can be said about matters only if a node reads it.
  std::vector<int64_t> shape;
  if (!value.dims) return;
  for (const Dim& dim : *value.dims) {
    if (!dim.known() || dim.size < 1 || dim.size > kMaxSize) return;
    shape.push_back(dim.size);
  }
  value.tensor = AddTensor(std::string(value.name), std::move(shape), TensorKind::kInput);
}

int32_t GraphRecorder::WeightOf(const Value& value, std::vector<int64_t> shape) {
  const std::string key = fmt::format("{}/{}", value.name, fmt::join(shape, "x"));
  const auto [known, fresh] = weights_.try_emplace(key, 0);
  if (fresh)
    known->second = AddTensor(std::string(value.name), std::move(shape), TensorKind::kWeight);
  return known->second;
}

void GraphRecorder::AddOutputs(Op& op, GraphNode& node) {
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    Value& output = op.Output(i);
    const std::string_view name = op.OutputName(i);
    if (name.empty() || (i > 0 && IsConstant(output))) continue;
    // Further results that nothing is known about, masks and the like, matter only if they are
    // read.
    if (i > 0 && !output.dims) continue;
    std::optional<std::vector<int64_t>> shape = ShapeOf(output);
    if (!shape) return;
    output.tensor = AddTensor(std::string(name), *std::move(shape), TensorKind::kActivation);
    node.outputs.push_back(output.tensor);
  }
}

void GraphRecorder::AddNode(Op& op, const std::string& name,
                            const std::vector<const Value*>& inputs, const Layers& layers,
                            size_t first) {
  if (!known_) return;
  bool constant = true;
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    const Value& result = op.Output(i);
    constant = constant && IsConstant(result) && !JoinsActivations(inputs, result);
  }
  if (layers.size() > first) {
    AddLayers(name, inputs, op, layers, first);
  } else if (!constant) {
    AddPlain(op, name, inputs);
  }
}

void GraphRecorder::AddLayers(const std::string& name, const std::vector<const Value*>& inputs,
                              Op& op, const Layers& layers, size_t first) {
  std::vector<int32_t> activations;
  const Value* weight = nullptr;  // the largest constant: scales and biases are smaller
  int64_t weight_words = 0;
  for (const Value* const input : inputs) {
    if (input == nullptr) continue;
    if (!IsConstant(*input)) {
      if (input->tensor < 0) return GiveUp();
      activations.push_back(input->tensor);
      continue;
    }
    if (!input->dims) continue;
    const std::optional<Dim> words = ElementCount(*input->dims);
    if (words && words->known() && words->size > weight_words) {
      weight = input;
      weight_words = words->size;
    }
  }
  // Products of a fused operator go on with what the one before has given: a projection gives
  // query, key and value; scores meet the values, the third input.
  int32_t values =
      activations.empty() ? -1 : activations[std::min<size_t>(2, activations.size() - 1)];
  for (size_t i = first; i < layers.size(); ++i) {
    const Layer& layer = layers[i].second;
    const bool alone = layers.size() - first == 1;
    const bool scores = !alone && layers[i].first.ends_with("/qk");
    GraphNode node{.name = node_names_.Add(alone ? name : Printable(layers[i].first)),
                   .type = std::string(TypeName(layer)),
                   .inputs = activations,
                   .layer = static_cast<int32_t>(i)};
    if (scores && node.inputs.size() > 2) node.inputs.resize(2);
    if (const auto shape = UsualWeightShape(layer)) {
      if (weight != nullptr) node.inputs.push_back(WeightOf(*weight, *shape));
    } else if (node.inputs.size() < 2 && weight != nullptr && i == first) {
      node.inputs.push_back(WeightOf(*weight, {layer.h, layer.k, layer.n}));
    } else if (node.inputs.size() == 1) {
      node.inputs.push_back(node.inputs[0]);  // both operands are parts, or copies, of one tensor
    }
    if (i + 1 == layers.size()) {
      AddOutputs(op, node);
    } else {
      node.outputs = {
          AddTensor(node.name + ".out", UsualOutputShape(layer), TensorKind::kActivation)};
    }
    if (!known_ || node.outputs.empty()) return GiveUp();
    const int32_t output = node.outputs[0];
    graph_.nodes.push_back(std::move(node));
    if (!scores) {
      activations = {output};
      values = output;
      continue;
    }
    GraphNode softmax{.name = node_names_.Add(name + "/softmax"),
                      .type = "softmax",
                      .inputs = {output},
                      .outputs = {AddTensor(name + "/softmax.out", UsualOutputShape(layer),
                                            TensorKind::kActivation)}};
    activations = {softmax.outputs[0], values};
    graph_.nodes.push_back(std::move(softmax));
  }
}

void GraphRecorder::SetWindow(Op& op, GraphNode& node) {
  const Value& input = op.Input(0);
  const std::optional<std::vector<int64_t>> in = ShapeOf(input), out = ShapeOf(op.Output(0));
  if (!in || !out) return;
  if (node.type == "reduce" || in->size() != 4 || op.type().ends_with("Concat")) {
    const bool images = node.type == "reduce" && op.type() == "ReduceMean" && in->size() == 4 &&
                        WordsOf(*out) == (*in)[0] * (*in)[1] && (*out)[0] == (*in)[0];
    if (images && (*in)[2] * (*in)[3] > 1) {
      node.type = "avgpool";
      node.kernel = node.stride = {(*in)[2], (*in)[3]};
    } else {
      node.type = "reduce";
      node.kernel = {std::max<int64_t>(1, WordsOf(*in) / WordsOf(*out)), 1};
    }
    return;
  }
  if (op.type().find("Global") != std::string::npos) {
    node.kernel = node.stride = {(*in)[2], (*in)[3]};
    return;
  }
  const std::optional<std::vector<int64_t>> kernel = op.Ints("kernel_shape");
  if (!kernel || kernel->size() != 2) return GiveUp();
  const std::optional<Window> window =
      ReadWindow(op, *kernel, Dims(input.dims->begin() + 2, input.dims->end()));
  if (!window) return GiveUp();
  node.kernel = {window->kernel[0], window->kernel[1]};
  node.stride = {window->stride[0], window->stride[1]};
  node.dilation = {window->dilation[0], window->dilation[1]};
  node.pad = {window->before[0], window->before[1], window->after[0], window->after[1]};
}

GraphNode GraphRecorder::PlainNode(Op& op, const std::vector<const Value*>& inputs,
                                   const std::vector<const Value*>& activations) {
  const Entry entry = EntryOf(op.type(), op);
  GraphNode node{.type = entry.type.empty() ? LowerCase(op.type()) : std::string(entry.type),
                 .view = entry.kind == Class::kView};
  std::vector<int32_t> distinct;
  for (const Value* const value : activations) {
    if (std::find(distinct.begin(), distinct.end(), value->tensor) == distinct.end()) {
      distinct.push_back(value->tensor);
    }
  }
  if (entry.kind == Class::kElementwise && distinct.size() == 1) {
    node.view = true;
    if (op.type() == "Add" || op.type() == "Sub") node.type = "bias";
    if (op.type() == "Mul" || op.type() == "Div") node.type = "scale";
    if (op.type() == "Where") node.type = "mask";
  }
  if (op.type() == "Gather") {
    const bool looked_up = !inputs.empty() && inputs[0] != nullptr && IsConstant(*inputs[0]);
    if (looked_up) {
      node.type = "embedding";
    } else if (distinct.size() == 1 && inputs[0] == activations[0]) {
      node.type = "slice";
      node.view = true;
    }
  }
  if (node.type == "maxpool" || node.type == "avgpool" || node.type == "reduce")
    SetWindow(op, node);
  node.inputs = node.view && !distinct.empty() ? std::vector<int32_t>{distinct[0]} : distinct;
  // A concatenation of a tensor with itself reads it twice.
  if (node.type == "concat") {
    node.inputs.clear();
    for (const Value* const value : activations) node.inputs.push_back(value->tensor);
  }
  return node;
}

void GraphRecorder::AddPlain(Op& op, const std::string& name,
                             const std::vector<const Value*>& inputs) {
  const Entry entry = EntryOf(op.type(), op);
  if (entry.kind == Class::kControl) return GiveUp();
  if (entry.kind == Class::kSkip) return;
  std::vector<const Value*> activations;
  for (const Value* const input : inputs) {
    if (input == nullptr || IsConstant(*input)) continue;
    if (input->tensor >= 0) {
      activations.push_back(input);
    } else if (entry.kind != Class::kView || input == inputs[0]) {
      return GiveUp();
    }
  }
  GraphNode node = PlainNode(op, inputs, activations);
  if (!known_ || (node.view && node.inputs.empty())) return GiveUp();
  // Constants that become a part of what follows are tensors, too: class tokens, tables' rows.
  if (node.type == "concat") {
    node.inputs.clear();
    for (size_t i = op.type() == "Concat" ? 0 : 2; i < inputs.size();
         i += op.type() == "Concat" ? 1 : 3) {
      if (inputs[i] == nullptr) continue;
      if (!IsConstant(*inputs[i])) {
        node.inputs.push_back(inputs[i]->tensor);
      } else if (std::optional<std::vector<int64_t>> shape = ShapeOf(*inputs[i])) {
        node.inputs.push_back(WeightOf(*inputs[i], *std::move(shape)));
      }
    }
  }
  node.name = node_names_.Add(name);
  AddOutputs(op, node);
  if (!known_ || node.outputs.empty()) return GiveUp();
  if (node.type == "embedding") {
    const std::vector<int64_t> rows = graph_.tensors[static_cast<size_t>(node.outputs[0])].shape;
    node.inputs.push_back(AddTensor(node.name + ".rows", rows, TensorKind::kWeight));
  }
  const auto words = [&](int32_t tensor) {
    return Words(graph_.tensors[static_cast<size_t>(tensor)]);
  };
  if (node.view && words(node.inputs[0]) != words(node.outputs[0]) && node.type != "slice") {
    node.type = words(node.inputs[0]) < words(node.outputs[0]) ? "expand" : "slice";
  }
  graph_.nodes.push_back(std::move(node));
}

void GraphRecorder::AddOutput(const Value& value) {
  if (value.tensor < 0) return;
  GraphTensor& tensor = graph_.tensors[static_cast<size_t>(value.tensor)];
  if (tensor.kind == TensorKind::kActivation) tensor.kind = TensorKind::kOutput;
}

// Nodes whose results nobody reads are dropped, unless they have MACs: then the network gives them.
void GraphRecorder::DropUnused() {
  std::vector<bool> read(graph_.tensors.size(), false);
  std::vector<GraphNode> kept;
  const auto used = [&](int32_t tensor) {
    const auto index = static_cast<size_t>(tensor);
    return read[index] || graph_.tensors[index].kind == TensorKind::kOutput;
  };
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    std::vector<int32_t> outputs;
    for (const int32_t output : node->outputs) {
      if (used(output)) outputs.push_back(output);
    }
    if (outputs.empty() && node->macs()) {
      outputs = {node->outputs[0]};
      graph_.tensors[static_cast<size_t>(outputs[0])].kind = TensorKind::kOutput;
    }
    if (outputs.empty()) continue;
    // The first result of a layer is the one that has its size.
    if (node->macs() && outputs[0] != node->outputs[0]) {
      outputs.insert(outputs.begin(), node->outputs[0]);
      graph_.tensors[static_cast<size_t>(outputs[0])].kind = TensorKind::kOutput;
    }
    node->outputs = std::move(outputs);
    for (const int32_t input : node->inputs) read[static_cast<size_t>(input)] = true;
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph_.nodes = std::move(kept);
  std::vector<int32_t> place(graph_.tensors.size(), -1);
  std::vector<GraphTensor> tensors;
  for (const GraphNode& node : graph_.nodes) {
    for (const int32_t output : node.outputs) read[static_cast<size_t>(output)] = true;
  }
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    if (!read[i] && graph_.tensors[i].kind != TensorKind::kInput) continue;
    place[i] = static_cast<int32_t>(tensors.size());
    tensors.push_back(std::move(graph_.tensors[i]));
  }
  graph_.tensors = std::move(tensors);
  for (GraphNode& node : graph_.nodes) {
    for (int32_t& input : node.inputs) input = place[static_cast<size_t>(input)];
    for (int32_t& output : node.outputs) output = place[static_cast<size_t>(output)];
  }
}

Graph GraphRecorder::Take() {
  if (!known_) return {};
  DropUnused();
  SortTensors(graph_);
  return std::move(graph_);
}

}  // namespace tessera::onnx
