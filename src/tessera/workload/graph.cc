// What a graph is checked for, and what follows from one: links, live words.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/network.h"
#include "tessera/workload/graph_tools.h"

namespace tessera {
namespace {

bool IsReduction(std::string_view type) {
  return type == "maxpool" || type == "avgpool" || type == "reduce";
}

// The words of a shape, which Validate has found to fit.
int64_t WordsOf(const Graph& graph, int32_t tensor) {
  return Words(graph.tensors[static_cast<size_t>(tensor)]);
}

bool IsWritten(TensorKind kind) {
  return kind == TensorKind::kActivation || kind == TensorKind::kOutput;
}

class GraphChecker {
 public:
  GraphChecker(const Network& network, int32_t& node)
      : network_(network), graph_(network.graph), at_(node), written_(graph_.tensors.size(), -1) {
    at_ = -1;
  }

  Result<void> Run() {
    if (Result<void> ok = CheckTensors(); !ok) return ok;
    std::unordered_set<std::string_view> names;
    std::vector<int64_t> occurrences(network_.layers.size(), 0);
    std::vector<bool> read(graph_.tensors.size(), false);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& node = graph_.nodes[i];
      at_ = static_cast<int32_t>(i);
      if (node.name.empty() || !names.insert(node.name).second) {
        return Bad(node.name.empty() ? fmt::format("node {} has no name", i + 1)
                                     : fmt::format("two nodes are named {}", Quoted(node.name)));
      }
      if (Result<void> ok = CheckEdges(node, static_cast<int32_t>(i)); !ok) return ok;
      for (const int32_t input : node.inputs) read[static_cast<size_t>(input)] = true;
      if (Result<void> ok = CheckSizes(node); !ok) return ok;
      if (node.macs()) ++occurrences[static_cast<size_t>(node.layer)];
    }
    at_ = -1;
    if (Result<void> ok = CheckUse(read); !ok) return ok;
    for (size_t i = 0; i < occurrences.size(); ++i) {
      const NetworkLayer& entry = network_.layers[i];
      if (occurrences[i] == entry.count) continue;
      return Bad(fmt::format("layer {} occurs {} times, but the graph has {} nodes of it",
                             Quoted(entry.name), entry.count, occurrences[i]));
    }
    return {};
  }

 private:
  static Error Bad(std::string message) {
    return {.kind = ErrorKind::kBadValue, .message = "graph: " + std::move(message)};
  }
  static Error Bad(const GraphNode& node, std::string_view message) {
    return Bad(fmt::format("node {} ({}): {}", Quoted(node.name), Printable(node.type), message));
  }
  const GraphTensor& Tensor(int32_t index) const {
    return graph_.tensors[static_cast<size_t>(index)];
  }
  std::string Name(int32_t index) const { return Quoted(Tensor(index).name); }

  Result<void> CheckTensors() const {
    std::unordered_set<std::string_view> names;
    for (const GraphTensor& tensor : graph_.tensors) {
      if (tensor.name.empty()) return Bad("a tensor has no name");
      if (!names.insert(tensor.name).second) {
        return Bad(fmt::format("two tensors are named {}", Quoted(tensor.name)));
      }
      Checked words = 1;
      for (const int64_t size : tensor.shape) {
        if (size < 1 || size > kMaxSize) {
          return Bad(fmt::format("tensor {} has the size {}, but sizes are in 1..{}",
                                 Quoted(tensor.name), size, kMaxSize));
        }
        words = words * size;
      }
      if (!words.ok()) {
        return Error{.kind = ErrorKind::kOverflow,
                     .message = fmt::format("graph: the words of tensor {} do not fit in 64 bits",
                                            Quoted(tensor.name))};
      }
    }
    return {};
  }

  // Indices, order and producers.
  Result<void> CheckEdges(const GraphNode& node, int32_t index) {
    if (node.type.empty()) return Bad(node, "it has no type");
    if (node.outputs.empty()) return Bad(node, "it writes nothing");
    for (const auto* const list : {&node.inputs, &node.outputs}) {
      for (const int32_t tensor : *list) {
        if (tensor >= 0 && tensor < std::ssize(graph_.tensors)) continue;
        return Bad(node, fmt::format("there is no tensor {}", tensor));
      }
    }
    for (const int32_t output : node.outputs) {
      int32_t& writer = written_[static_cast<size_t>(output)];
      const TensorKind kind = Tensor(output).kind;
      if (kind == TensorKind::kInput || kind == TensorKind::kWeight) {
        return Bad(node, fmt::format("it writes {}, which is {} of the network", Name(output),
                                     kind == TensorKind::kInput ? "an input" : "a weight"));
      }
      if (writer >= 0) {
        return Bad(node, fmt::format("it writes {}, which node {} writes, too", Name(output),
                                     Quoted(graph_.nodes[static_cast<size_t>(writer)].name)));
      }
      writer = index;
    }
    for (const int32_t input : node.inputs) {
      const int32_t writer = written_[static_cast<size_t>(input)];
      if (writer == index)
        return Bad(node, fmt::format("it reads what it writes: {}", Name(input)));
      if (writer >= 0 || !IsWritten(Tensor(input).kind)) continue;
      return Bad(node, fmt::format("it reads {}, which no node before it writes", Name(input)));
    }
    if (node.view && (node.inputs.empty() || node.macs())) {
      return Bad(node, node.macs() ? "a view has no MACs" : "a view needs an input");
    }
    if (node.layer >= std::ssize(network_.layers)) {
      return Bad(node, fmt::format("there is no layer {}", node.layer));
    }
    return {};
  }

  Result<void> CheckSizes(const GraphNode& node) const {
    if (node.macs()) return CheckLayer(node);
    const int64_t written = WordsOf(graph_, node.outputs[0]);
    if (node.view) {
      const bool same = node.type != "slice" && node.type != "expand" && node.type != "concat";
      const int64_t words = WordsOf(graph_, node.inputs[0]);
      if (!same || words == written) return {};
      return Bad(node, fmt::format("{} has {} words, but {} has {}", Name(node.inputs[0]), words,
                                   Name(node.outputs[0]), written));
    }
    if (node.type == "concat") {
      Checked sum = 0;
      for (const int32_t input : node.inputs) sum = sum + WordsOf(graph_, input);
      if (sum.ok() && sum.value() == written) return {};
      return Bad(node, fmt::format("its inputs have {} words, but {} has {}",
                                   sum.get().value_or(-1), Name(node.outputs[0]), written));
    }
    if (node.type == "maxpool" || node.type == "avgpool") return CheckPooling(node);
    if (node.type == "add" || node.type == "mul" || node.type == "sub" || node.type == "div") {
      if (node.inputs.size() < 2) return Bad(node, "it needs two inputs");
      for (const int32_t input : node.inputs) {
        if (Repeats(input, node.outputs[0])) continue;
        if (const int64_t words = WordsOf(graph_, input); words > written) {
          return Bad(node, fmt::format("its inputs have {} words, but {} has {}", words,
                                       Name(node.outputs[0]), written));
        }
        return Bad(node, fmt::format("{} [{}] does not fit {} [{}]", Name(input),
                                     fmt::join(Tensor(input).shape, ", "), Name(node.outputs[0]),
                                     fmt::join(Tensor(node.outputs[0]).shape, ", ")));
      }
    }
    return {};
  }

  // Whether a tensor has as many words as another one, or can be repeated along some of its axes.
  bool Repeats(int32_t tensor, int32_t to) const {
    if (WordsOf(graph_, tensor) == WordsOf(graph_, to)) return true;
    const std::vector<int64_t>&from = Tensor(tensor).shape, &whole = Tensor(to).shape;
    if (from.size() > whole.size()) return false;
    for (size_t k = 1; k <= from.size(); ++k) {
      const int64_t size = from[from.size() - k];
      if (size != 1 && size != whole[whole.size() - k]) return false;
    }
    return true;
  }

  Result<void> CheckLayer(const GraphNode& node) const {
    const NetworkLayer& entry = network_.layers[static_cast<size_t>(node.layer)];
    const Layer& layer = entry.layer;
    if (node.type != TypeName(layer)) {
      return Bad(node, fmt::format("layer {} is of type {}", Quoted(entry.name), TypeName(layer)));
    }
    const bool product = layer.type == LayerType::kMatmul;
    if (node.inputs.empty() || (product && node.inputs.size() < 2)) {
      return Bad(node, fmt::format("it reads {} tensors, but needs {}", node.inputs.size(),
                                   product ? 2 : 1));
    }
    const auto check = [&](int32_t tensor, int64_t wanted) -> Result<void> {
      if (const int64_t words = WordsOf(graph_, tensor); words != wanted) {
        return Bad(node, fmt::format("{} has {} words, but layer {} has {} there", Name(tensor),
                                     words, Quoted(entry.name), wanted));
      }
      return {};
    };
    if (Result<void> ok = check(node.outputs[0], OutputElements(layer)); !ok) return ok;
    // Operands of products may be read in part (causal masks) or repeatedly (shared heads).
    if (product) return {};
    return check(node.inputs[0], InputElements(layer));
  }

  Result<void> CheckPooling(const GraphNode& node) const {
    if (node.inputs.empty()) return Bad(node, "it needs an input");
    const std::vector<int64_t>& in = Tensor(node.inputs[0]).shape;
    std::vector<int64_t> out = Tensor(node.outputs[0]).shape;
    while (out.size() == 2 || out.size() == 3) out.push_back(1);  // a mean that drops its axes
    const auto fits = [](int64_t size, int64_t pads, int64_t kernel, int64_t dilation,
                         int64_t stride, int64_t result) {
      const int64_t room = size + pads - dilation * (kernel - 1) - 1;
      return stride >= 1 && kernel >= 1 && room >= 0 &&
             (result == room / stride + 1 || result == CeilDiv(room, stride) + 1);
    };
    const bool images = in.size() == 4 && out.size() == 4;
    if (images && in[0] == out[0] && in[1] == out[1] &&
        fits(in[2], node.pad.top + node.pad.bottom, node.kernel.y, node.dilation.y, node.stride.y,
             out[2]) &&
        fits(in[3], node.pad.left + node.pad.right, node.kernel.x, node.dilation.x, node.stride.x,
             out[3])) {
      return {};
    }
    return Bad(node, fmt::format("{} does not follow from {} by its window", Name(node.outputs[0]),
                                 Name(node.inputs[0])));
  }

  Result<void> CheckUse(const std::vector<bool>& read) {
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const GraphTensor& tensor = graph_.tensors[i];
      if (written_[i] < 0 && IsWritten(tensor.kind)) {
        return Bad(fmt::format("no node writes tensor {}", Quoted(tensor.name)));
      }
      const bool kept = tensor.kind == TensorKind::kOutput || tensor.kind == TensorKind::kInput ||
                        (tensor.kind == TensorKind::kCache && written_[i] >= 0);
      if (!read[i] && !kept) {
        at_ = written_[i];
        return Bad(fmt::format("tensor {} dangles: no node reads it, and it is no output",
                               Quoted(tensor.name)));
      }
    }
    return {};
  }

  const Network& network_;
  const Graph& graph_;
  int32_t& at_;                   // the node that is looked at
  std::vector<int32_t> written_;  // by tensor: the node that writes it, of those seen so far
};

// By tensor: the last node that reads it or an alias; the number of nodes for what is an output.
// Concatenations are views, as they are where everything has one home.
std::vector<int32_t> LastUses(const Graph& graph, const GraphLinks& links) {
  const auto count = static_cast<int32_t>(graph.nodes.size());
  std::vector<int32_t> last(graph.tensors.size(), -1);
  for (size_t i = 0; i < last.size(); ++i) {
    if (graph.tensors[i].kind == TensorKind::kOutput) last[i] = count;
    const std::vector<int32_t>& readers = links.consumers[i];
    if (!readers.empty()) last[i] = std::max(last[i], readers.back());
  }
  // From the back, so that an alias's uses are known before those of what it is an alias of.
  for (int32_t n = count - 1; n >= 0; --n) {
    const GraphNode& node = graph.nodes[static_cast<size_t>(n)];
    if (!node.view && node.type != "concat") continue;
    int32_t after = n;
    for (const int32_t output : node.outputs) {
      after = std::max(after, last[static_cast<size_t>(output)]);
    }
    const size_t aliased = node.type == "concat" ? node.inputs.size() : 1;
    for (size_t i = 0; i < aliased; ++i) {
      int32_t& use = last[static_cast<size_t>(node.inputs[i])];
      use = std::max(use, after);
    }
  }
  return last;
}

}  // namespace

int64_t Words(const GraphTensor& tensor) {
  int64_t words = 1;
  for (const int64_t size : tensor.shape) words *= size;
  return words;
}

int64_t VectorElements(const Graph& graph, const GraphNode& node) {
  if (!node.vector()) return 0;
  int64_t words = 0;
  for (const int32_t output : node.outputs) words += WordsOf(graph, output);
  if (IsReduction(node.type)) return words * node.kernel.y * node.kernel.x;
  return node.type == "softmax" || node.type == "norm" ? 3 * words : words;
}

GraphLinks Links(const Graph& graph) {
  const size_t count = graph.tensors.size();
  GraphLinks links{.producer = std::vector<int32_t>(count, -1),
                   .consumers = std::vector<std::vector<int32_t>>(count),
                   .root = std::vector<int32_t>(count)};
  for (size_t i = 0; i < count; ++i) links.root[i] = static_cast<int32_t>(i);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    const auto index = static_cast<int32_t>(n);
    for (const int32_t input : node.inputs) {
      std::vector<int32_t>& readers = links.consumers[static_cast<size_t>(input)];
      if (readers.empty() || readers.back() != index) readers.push_back(index);
    }
    for (const int32_t output : node.outputs) {
      links.producer[static_cast<size_t>(output)] = index;
      if (node.view) {
        links.root[static_cast<size_t>(output)] = links.root[static_cast<size_t>(node.inputs[0])];
      }
    }
  }
  return links;
}

int64_t PeakLiveWords(const Graph& graph) {
  const GraphLinks links = Links(graph);
  const std::vector<int32_t> last = LastUses(graph, links);
  const size_t steps = graph.nodes.size();
  // Words that come and go at each step; one more for what stays to the end.
  std::vector<int64_t> change(steps + 2, 0);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor& tensor = graph.tensors[i];
    if (tensor.kind == TensorKind::kWeight || tensor.kind == TensorKind::kCache) continue;
    const int32_t producer = links.producer[i];
    if (producer >= 0) {
      const GraphNode& node = graph.nodes[static_cast<size_t>(producer)];
      if (node.view || node.type == "concat") continue;
    }
    const size_t from = producer < 0 ? 0 : static_cast<size_t>(producer);
    const size_t to = std::max(from, static_cast<size_t>(std::max(last[i], int32_t{0})));
    change[from] += Words(tensor);
    change[std::min(to, steps) + 1] -= Words(tensor);
  }
  int64_t live = 0, peak = 0;
  for (size_t step = 0; step < steps; ++step) peak = std::max(peak, live += change[step]);
  return peak;
}

Result<void> ValidateGraph(const Network& network, int32_t& node) {
  node = -1;
  if (network.graph.empty() && network.graph.tensors.empty()) return {};
  return GraphChecker(network, node).Run();
}

Result<void> ValidateGraph(const Network& network) {
  int32_t node = -1;
  return ValidateGraph(network, node);
}

}  // namespace tessera
