// Reading of graphs and steps in native network files.
#include "tessera/workload/native_graph.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/workload/graph_tools.h"

namespace tessera {
namespace {

constexpr int64_t kMostBits = 128;

// A name, or a list of names.
Result<std::vector<std::string>> ReadNames(const Node& node) {
  std::vector<std::string> names;
  if (node.kind == Node::Kind::kScalar) {
    Result<std::string> name = node.AsString();
    if (!name) return name.error();
    names.push_back(*std::move(name));
    return names;
  }
  if (node.kind != Node::Kind::kSequence) {
    return node.ErrorHere(ErrorKind::kBadValue, "expected a name or a list of names");
  }
  for (const Node& item : node.items) {
    Result<std::string> name = item.AsString();
    if (!name) return name.error();
    names.push_back(*std::move(name));
  }
  return names;
}

Result<TensorKind> ReadKind(const Node& node) {
  const Result<std::string> name = node.AsString();
  if (!name) return name.error();
  const auto found = std::find(kTensorKindNames.begin(), kTensorKindNames.end(), *name);
  if (found != kTensorKindNames.end()) {
    return static_cast<TensorKind>(found - kTensorKindNames.begin());
  }
  return node.ErrorHere(ErrorKind::kUnknownName,
                        fmt::format("unknown kind of tensor {}", Quoted(*name)),
                        DidYouMean(*name, kTensorKindNames));
}

// What a node writes, known before its shapes are: for references to nodes further down.
struct Outline {
  const Node* at = nullptr;
  std::string name = {};
  std::vector<std::string> in = {}, out = {};
};

class GraphReader {
 public:
  GraphReader(const Node& node, const SizeReader& size, Network& network)
      : node_(node), size_(size), network_(network) {}

  Result<void> Read() {
    MapReader top(node_, "graph");
    if (Result<void> ok = top.Check(); !ok) return ok;
    if (const Node* bits = top.Find("bits")) {
      const Result<int64_t> value = bits->AsInt(0, kMostBits);
      if (!value) return value.error();
      bits_ = *value;
    }
    const Node* const inputs = top.Find("inputs");
    const Node* const tensors = top.Find("tensors");
    const Node* const outputs = top.Find("outputs");
    const Result<const Node*> nodes = top.Require("nodes");
    if (Result<void> ok = top.Finish(); !ok) return ok;
    if (!nodes) return nodes.error();
    if (Result<void> ok = ReadTensors(inputs, TensorKind::kInput); !ok) return ok;
    if (Result<void> ok = ReadTensors(tensors, TensorKind::kWeight); !ok) return ok;
    if (Result<void> ok = ReadNodes(**nodes); !ok) return ok;
    if (Result<void> ok = ReadOutputs(outputs); !ok) return ok;
    SortTensors(network_.graph);
    int32_t bad = -1;
    Result<void> valid = ValidateGraph(network_, bad);
    if (valid) return {};
    Error error = valid.error();
    error.where = (bad >= 0 ? *outlines_[static_cast<size_t>(bad)].at : node_).where();
    return error;
  }

 private:
  Graph& graph() { return network_.graph; }

  Result<std::vector<int64_t>> ReadShape(const Node& node) const {
    if (node.kind != Node::Kind::kSequence) {
      return node.ErrorHere(ErrorKind::kBadValue, "expected a list of sizes");
    }
    std::vector<int64_t> shape;
    for (const Node& item : node.items) {
      const Result<int64_t> size = size_(item, "a size", 1);
      if (!size) return size.error();
      shape.push_back(*size);
    }
    return shape;
  }

  Result<int32_t> Add(const Node& at, GraphTensor tensor) {
    const auto index = static_cast<int32_t>(graph().tensors.size());
    if (!index_.emplace(tensor.name, index).second) {
      return at.ErrorHere(ErrorKind::kBadValue,
                          fmt::format("a second tensor named {}", Quoted(tensor.name)));
    }
    graph().tensors.push_back(std::move(tensor));
    return index;
  }

  Result<void> ReadTensors(const Node* list, TensorKind kind) {
    if (list == nullptr) return {};
    if (list->kind != Node::Kind::kSequence) {
      return list->ErrorHere(ErrorKind::kBadValue, "expected a list of tensors");
    }
    for (const Node& item : list->items) {
      MapReader map(item, "tensor");
      if (Result<void> ok = map.Check(); !ok) return ok;
      GraphTensor tensor{.kind = kind, .bits = bits_};
      const Result<const Node*> name = map.Require("name"), shape = map.Require("shape");
      const Node* const own = kind == TensorKind::kInput ? nullptr : map.Find("kind");
      const Node* const bits = map.Find("bits");
      if (Result<void> ok = map.Finish(); !ok) return ok;
      if (!name) return name.error();
      if (!shape) return shape.error();
      Result<std::string> text = (*name)->AsString();
      if (!text) return text.error();
      tensor.name = *std::move(text);
      Result<std::vector<int64_t>> sizes = ReadShape(**shape);
      if (!sizes) return sizes.error();
      tensor.shape = *std::move(sizes);
      if (own != nullptr) {
        const Result<TensorKind> given = ReadKind(*own);
        if (!given) return given.error();
        tensor.kind = *given;
      }
      if (Result<void> ok = ReadBits(bits, tensor.bits); !ok) return ok;
      if (const Result<int32_t> added = Add(item, std::move(tensor)); !added) return added.error();
    }
    return {};
  }

  static Result<void> ReadBits(const Node* node, int64_t& bits) {
    if (node == nullptr) return {};
    const Result<int64_t> value = node->AsInt(0, kMostBits);
    if (!value) return value.error();
    bits = *value;
    return {};
  }

  Result<void> ReadNodes(const Node& list) {
    if (list.kind != Node::Kind::kSequence || list.items.empty()) {
      return list.ErrorHere(ErrorKind::kBadValue, "expected a list of one or more nodes");
    }
    for (const Node& item : list.items) {
      if (Result<void> ok = ReadOutline(item); !ok) return ok;
    }
    for (size_t i = 0; i < network_.layers.size(); ++i) {
      const NetworkLayer& entry = network_.layers[i];
      layers_.emplace(entry.name, static_cast<int32_t>(i));
      for (const std::string& name : entry.also) layers_.emplace(name, static_cast<int32_t>(i));
    }
    for (size_t i = 0; i < outlines_.size(); ++i) {
      if (Result<void> ok = ReadNode(i); !ok) return ok;
    }
    return {};
  }

  Result<void> ReadOutline(const Node& item) {
    MapReader map(item, "node");
    if (Result<void> ok = map.Check(); !ok) return ok;
    Outline outline{.at = &item};
    const Result<const Node*> name = map.Require("name");
    if (!name) return name.error();
    Result<std::string> text = (*name)->AsString();
    if (!text) return text.error();
    if (text->empty()) return (*name)->ErrorHere(ErrorKind::kBadValue, "a node's name is empty");
    outline.name = *std::move(text);
    if (const Node* in = map.Find("in")) {
      Result<std::vector<std::string>> names = ReadNames(*in);
      if (!names) return names.error();
      outline.in = *std::move(names);
    }
    outline.out = {outline.name};
    if (const Node* out = map.Find("out")) {
      Result<std::vector<std::string>> names = ReadNames(*out);
      if (!names) return names.error();
      outline.out = *std::move(names);
    }
    for (const std::string& written : outline.out) {
      const auto [other, fresh] = writers_.emplace(written, outlines_.size());
      if (fresh) continue;
      return item.ErrorHere(
          ErrorKind::kBadValue,
          fmt::format("node {} writes {}, which the node on line {} writes, too",
                      Quoted(outline.name), Quoted(written), outlines_[other->second].at->line));
    }
    outlines_.push_back(std::move(outline));
    return {};
  }

  // A tensor that is read before it is written: a mistake in the order, or a cycle.
  Error OrderError(const Outline& reader, const std::string& tensor) const {
    const Outline& writer = outlines_[writers_.at(tensor)];
    if (const std::string cycle = FindCycle(); !cycle.empty()) {
      return reader.at->ErrorHere(ErrorKind::kBadValue, "the graph has a cycle: " + cycle);
    }
    return reader.at->ErrorHere(
        ErrorKind::kBadValue,
        fmt::format("node {} reads {}, which node {} on line {} writes only later",
                    Quoted(reader.name), Quoted(tensor), Quoted(writer.name), writer.at->line),
        "list the nodes in the order in which they run");
  }

  // "'a' -> 'b' -> 'a'", or nothing if the nodes can be put in order.
  std::string FindCycle() const {
    const size_t count = outlines_.size();
    std::vector<std::vector<size_t>> users(count), producers(count);
    std::vector<size_t> waiting(count, 0), ready;
    for (size_t i = 0; i < count; ++i) {
      for (const std::string& name : outlines_[i].in) {
        const auto writer = writers_.find(name);
        if (writer == writers_.end()) continue;
        users[writer->second].push_back(i);
        producers[i].push_back(writer->second);
        ++waiting[i];
      }
      if (waiting[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const size_t i = ready.back();
      ready.pop_back();
      for (const size_t user : users[i]) {
        if (--waiting[user] == 0) ready.push_back(user);
      }
    }
    const auto first = std::find_if(waiting.begin(), waiting.end(), [](size_t n) { return n > 0; });
    if (first == waiting.end()) return "";
    // Every node that waits has a producer that waits: going back long enough ends on a cycle.
    const auto back = [&](size_t i) {
      return *std::find_if(producers[i].begin(), producers[i].end(),
                           [&](size_t p) { return waiting[p] > 0; });
    };
    auto at = static_cast<size_t>(first - waiting.begin());
    for (size_t step = 0; step < count; ++step) at = back(at);
    std::vector<size_t> cycle = {at};
    for (size_t i = back(at); i != at; i = back(i)) cycle.push_back(i);
    std::reverse(cycle.begin(), cycle.end());
    constexpr size_t kShown = 8;
    std::string text;
    for (size_t i = 0; i < std::min(kShown, cycle.size()); ++i) {
      text += Quoted(outlines_[cycle[i]].name) + " -> ";
    }
    if (cycle.size() > kShown) text += "... -> ";
    return text + Quoted(outlines_[cycle[0]].name);
  }

  Result<void> ReadInputs(const Outline& outline, GraphNode& node) {
    for (const std::string& name : outline.in) {
      const auto known = index_.find(name);
      if (known != index_.end()) {
        node.inputs.push_back(known->second);
        continue;
      }
      if (writers_.contains(name)) return OrderError(outline, name);
      std::vector<std::string_view> names;
      for (const auto& [written, unused] : writers_) names.push_back(written);
      for (const auto& [declared, unused] : index_) names.push_back(declared);
      std::sort(names.begin(), names.end());
      names.erase(std::unique(names.begin(), names.end()), names.end());
      return outline.at->ErrorHere(
          ErrorKind::kUnknownName,
          fmt::format("node {} reads {}, which nothing writes", Quoted(node.name), Quoted(name)),
          DidYouMean(name, names));
    }
    return {};
  }

  Result<void> ReadPair(const Node* node, std::string_view key, Pair& pair) const {
    if (node == nullptr) return {};
    const bool list = node->kind == Node::Kind::kSequence;
    if (list && node->items.size() != 2) {
      return node->ErrorHere(ErrorKind::kBadValue,
                             fmt::format("{} is a list of {}", key, node->items.size()),
                             "give one size, or [y, x]");
    }
    const Result<int64_t> y = size_(list ? node->items[0] : *node, key, 1);
    if (!y) return y.error();
    const Result<int64_t> x = size_(list ? node->items[1] : *node, key, 1);
    if (!x) return x.error();
    pair = {*y, *x};
    return {};
  }

  Result<void> ReadPadding(const Node* node, Padding& pad) const {
    if (node == nullptr) return {};
    std::vector<const Node*> parts = {node, node, node, node};
    if (node->kind == Node::Kind::kSequence) {
      const size_t given = node->items.size();
      if (given != 2 && given != 4) {
        return node->ErrorHere(ErrorKind::kBadValue, fmt::format("pad is a list of {}", given),
                               "give one size, [y, x] or [top, left, bottom, right]");
      }
      for (size_t i = 0; i < 4; ++i) parts[i] = &node->items[i % given];
    }
    int64_t* const fields[] = {&pad.top, &pad.left, &pad.bottom, &pad.right};
    for (size_t i = 0; i < 4; ++i) {
      const Result<int64_t> value = size_(*parts[i], "pad", 0);
      if (!value) return value.error();
      *fields[i] = *value;
    }
    return {};
  }

  // The layer that a node is an occurrence of: the one that it names, or, for a node without a
  // type, the one of its own name.
  Result<void> ReadLayer(const Node* layer, const Node* type, const Outline& outline,
                         GraphNode& node) {
    if (type != nullptr && layer == nullptr) {
      Result<std::string> text = type->AsString();
      if (!text) return text.error();
      node.type = *std::move(text);
      return {};
    }
    std::string name = node.name;
    if (layer != nullptr) {
      Result<std::string> text = layer->AsString();
      if (!text) return text.error();
      name = *std::move(text);
    }
    const auto found = layers_.find(name);
    if (found == layers_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, unused] : layers_) names.push_back(known);
      std::sort(names.begin(), names.end());
      return (layer != nullptr ? layer : outline.at)
          ->ErrorHere(ErrorKind::kUnknownName,
                      fmt::format("node {} has no type, and there is no layer {}",
                                  Quoted(node.name), Quoted(name)),
                      DidYouMean(name, names));
    }
    node.layer = found->second;
    node.type = TypeName(network_.layers[static_cast<size_t>(node.layer)].layer);
    if (type == nullptr) return {};
    const Result<std::string> text = type->AsString();
    if (!text) return text.error();
    if (*text == node.type) return {};
    return type->ErrorHere(
        ErrorKind::kBadValue,
        fmt::format("layer {} is of type {}, not {}", Quoted(name), node.type, Quoted(*text)));
  }

  // The weight of a layer, which is named after the node unless the file says otherwise.
  Result<void> ReadWeight(const Node* weight, const Outline& outline, GraphNode& node) {
    if (!node.macs()) return {};
    std::optional<std::vector<int64_t>> shape =
        UsualWeightShape(network_.layers[static_cast<size_t>(node.layer)].layer);
    if (!shape) return {};
    std::string name = node.name + ".weight";
    if (weight != nullptr) {
      Result<std::string> text = weight->AsString();
      if (!text) return text.error();
      name = *std::move(text);
      if (name == "none") return {};
    }
    if (const auto known = index_.find(name); known != index_.end()) {
      node.inputs.push_back(known->second);
      return {};
    }
    const Result<int32_t> added = Add(*outline.at, {.name = std::move(name),
                                                    .shape = *std::move(shape),
                                                    .kind = TensorKind::kWeight,
                                                    .bits = bits_});
    if (!added) return added.error();
    node.inputs.push_back(*added);
    return {};
  }

  Result<std::vector<int64_t>> OutputShape(const Outline& outline, const GraphNode& node) {
    if (node.macs()) {
      return UsualOutputShape(network_.layers[static_cast<size_t>(node.layer)].layer);
    }
    std::vector<const std::vector<int64_t>*> inputs;
    for (const int32_t input : node.inputs) {
      inputs.push_back(&graph().tensors[static_cast<size_t>(input)].shape);
    }
    std::optional<std::vector<int64_t>> shape = UsualOutputShape(node, inputs);
    if (shape) return *std::move(shape);
    return outline.at->ErrorHere(
        ErrorKind::kBadValue,
        fmt::format("the shape of {} does not follow from what node {} reads",
                    Quoted(outline.out[0]), Quoted(node.name)),
        "give it as 'shape'");
  }

  Result<void> ReadNode(size_t index) {
    const Outline& outline = outlines_[index];
    MapReader map(*outline.at, "node");
    GraphNode node{.name = outline.name};
    const Node* const type = map.Find("type");
    const Node* const layer = map.Find("layer");
    const Node* const weight = map.Find("weight");
    const Node* const shape = map.Find("shape");
    const Node* const shapes = map.Find("shapes");
    const Node* const view = map.Find("view");
    const Node* const kind = map.Find("kind");
    const Node* const bits = map.Find("bits");
    const Node* const kernel = map.Find("kernel");
    const Node* const stride = map.Find("stride");
    const Node* const dilation = map.Find("dilation");
    const Node* const pad = map.Find("pad");
    for (const std::string_view key : {"name", "in", "out"}) map.Find(key);
    if (Result<void> ok = map.Finish(); !ok) return ok;
    if (Result<void> ok = ReadLayer(layer, type, outline, node); !ok) return ok;
    if (Result<void> ok = ReadInputs(outline, node); !ok) return ok;
    if (node.macs() && node.inputs.empty()) {
      return outline.at->ErrorHere(
          ErrorKind::kBadValue,
          fmt::format("node {} ({}) reads nothing", Quoted(node.name), node.type),
          "give what it reads as 'in'");
    }
    if (Result<void> ok = ReadPair(kernel, "kernel", node.kernel); !ok) return ok;
    node.stride = node.kernel;  // of pooling, the most usual one
    if (node.type != "maxpool" && node.type != "avgpool") node.stride = {};
    if (Result<void> ok = ReadPair(stride, "stride", node.stride); !ok) return ok;
    if (Result<void> ok = ReadPair(dilation, "dilation", node.dilation); !ok) return ok;
    if (Result<void> ok = ReadPadding(pad, node.pad); !ok) return ok;
    if (view == nullptr && !node.macs() && !IsKnownNodeType(node.type)) {
      std::string hint = DidYouMean(node.type, KnownNodeTypes());
      if (hint.empty()) hint = "say with 'view' whether it costs nothing";
      return type->ErrorHere(ErrorKind::kUnknownName,
                             fmt::format("unknown type of node {}", Quoted(node.type)),
                             std::move(hint));
    }
    node.view = !node.macs() && IsUsualView(node.type);
    if (view != nullptr) {
      const Result<bool> value = view->AsBool();
      if (!value) return value.error();
      node.view = *value;
    }
    GraphTensor written{.bits = bits_};
    if (Result<void> ok = ReadBits(bits, written.bits); !ok) return ok;
    if (kind != nullptr) {
      const Result<TensorKind> given = ReadKind(*kind);
      if (!given) return given.error();
      written.kind = *given;
    }
    if (Result<void> ok = ReadWeight(weight, outline, node); !ok) return ok;
    if (shapes != nullptr && (shapes->kind != Node::Kind::kSequence ||
                              shapes->items.size() != outline.out.size() || shape != nullptr)) {
      return shapes->ErrorHere(ErrorKind::kBadValue, "'shapes' has one shape for each output");
    }
    for (size_t i = 0; i < outline.out.size(); ++i) {
      const Node* const given = shapes != nullptr ? &shapes->items[i] : shape;
      Result<std::vector<int64_t>> sizes =
          given != nullptr ? ReadShape(*given) : OutputShape(outline, node);
      if (!sizes) return sizes.error();
      GraphTensor tensor = written;
      tensor.name = outline.out[i];
      tensor.shape = *std::move(sizes);
      const Result<int32_t> added = Add(*outline.at, std::move(tensor));
      if (!added) return added.error();
      node.outputs.push_back(*added);
    }
    graph().nodes.push_back(std::move(node));
    return {};
  }

  Result<void> ReadOutputs(const Node* list) {
    if (list == nullptr) {
      return node_.ErrorHere(ErrorKind::kBadValue, "graph without 'outputs'",
                             "list the tensors that the network gives");
    }
    const Result<std::vector<std::string>> names = ReadNames(*list);
    if (!names) return names.error();
    for (const std::string& name : *names) {
      const auto known = index_.find(name);
      if (known == index_.end()) {
        return list->ErrorHere(ErrorKind::kUnknownName,
                               fmt::format("output {} is written by no node", Quoted(name)));
      }
      graph().tensors[static_cast<size_t>(known->second)].kind = TensorKind::kOutput;
    }
    return {};
  }

  const Node& node_;
  const SizeReader& size_;
  Network& network_;
  int64_t bits_ = 0;
  std::vector<Outline> outlines_;
  std::unordered_map<std::string, size_t> writers_;  // by tensor: the node that writes it
  std::unordered_map<std::string, int32_t> index_;   // of the tensors that are there already
  std::unordered_map<std::string, int32_t> layers_;
};

}  // namespace

Result<void> ReadNativeGraph(const Node& node, const SizeReader& size, Network& network) {
  return GraphReader(node, size, network).Read();
}

Result<void> ReadNativeStep(const Node& node, Network& network) {
  MapReader map(node, "step");
  if (Result<void> ok = map.Check(); !ok) return ok;
  LanguageStep step;
  const Result<const Node*> phase = map.Require("phase"), causal = map.Require("causal");
  const std::pair<std::string_view, int64_t*> numbers[] = {{"batch", &step.batch},
                                                           {"seq", &step.seq},
                                                           {"past", &step.past},
                                                           {"bits", &step.bits},
                                                           {"parameters", &step.parameters},
                                                           {"kv_bytes", &step.kv_bytes}};
  for (const auto& [key, value] : numbers) {
    const Result<const Node*> given = map.Require(key);
    if (!given) return given.error();
    const Result<int64_t> number = (*given)->AsInt(0, std::numeric_limits<int64_t>::max());
    if (!number) return number.error();
    *value = *number;
  }
  if (Result<void> ok = map.Finish(); !ok) return ok;
  for (const auto& [given, text] : {std::pair(&phase, &step.phase), {&causal, &step.causal}}) {
    if (!*given) return given->error();
    Result<std::string> word = (**given)->AsString();
    if (!word) return word.error();
    *text = *std::move(word);
  }
  network.step = std::move(step);
  return {};
}

}  // namespace tessera
