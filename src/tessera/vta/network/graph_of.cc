// GraphOf: a network's graph node by node as steps.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/vta/network/graph.h"

namespace tessera::vta {
namespace {

// (n, channels, h, w) of a tensor; what has fewer axes is one row of pixels per channel.
struct Size {
  int64_t n = 1, channels = 1, h = 1, w = 1;
};

Size SizeOf(const GraphTensor& tensor) {
  Size size;
  int64_t* const fields[] = {&size.n, &size.channels, &size.h, &size.w};
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    *fields[std::min<size_t>(i, 3)] *= tensor.shape[i];
  return size;
}

class Converter {
 public:
  explicit Converter(const Network& network)
      : network_(network),
        from_(network.graph),
        links_(Links(from_)),
        made_(from_.tensors.size(), kNothing) {}

  Result<Graph> Run() {
    if (from_.empty()) {
      return Error{
          .kind = ErrorKind::kUnsupported,
          .message = fmt::format("network {} has no graph: its source does not say how its "
                                 "layers are connected",
                                 Quoted(network_.name)),
          .hint = "'tessera check NETWORK --graph' shows what is known"};
    }
    graph_.name = network_.name;
    if (Result<void> ok = FindImage(); !ok) return ok.error();
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      const GraphNode& node = from_.nodes[n];
      std::optional<std::string> why = WhyNot(node);
      if (!why) why = Convert(n);
      if (!why) continue;
      Complain(node, *why);
      for (const int32_t output : node.outputs) made_[At(output)] = kUnknown;
    }
    if (problems_.empty()) return std::move(graph_);
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "VTA has no code for " + ProblemsText()};
  }

 private:
  static constexpr int64_t kNothing = -1;
  static constexpr int64_t kUnknown = -2;  // of a node that was refused: no second complaint
  static size_t At(int32_t index) { return static_cast<size_t>(index); }
  const GraphTensor& Tensor(int32_t index) const { return from_.tensors[At(index)]; }

  struct Problem {
    std::string first;  // the first node
    std::string why;
    int64_t nodes = 1;
  };

  Result<void> FindImage() {
    for (size_t i = 0; i < from_.tensors.size(); ++i) {
      const GraphTensor& tensor = from_.tensors[i];
      if (tensor.kind != TensorKind::kInput || links_.consumers[i].empty()) continue;
      if (made_with_image_) {
        return Error{.kind = ErrorKind::kUnsupported,
                     .message = "VTA programs of networks with several inputs are not made"};
      }
      made_with_image_ = true;
      const Size size = SizeOf(tensor);
      graph_.image = {
          .n = size.n, .ci = size.channels, .co = size.channels, .h = size.h, .w = size.w};
      made_[i] = 0;
    }
    return {};
  }

  // Nodes that share a reason stand together.
  void Complain(const GraphNode& node, const std::string& why) {
    const auto known = std::find_if(problems_.begin(), problems_.end(),
                                    [&](const Problem& problem) { return problem.why == why; });
    if (known != problems_.end()) {
      ++known->nodes;
    } else {
      problems_.push_back({fmt::format("{} ({})", node.name, node.type), why});
    }
  }

  std::string ProblemsText() const {
    constexpr size_t kShown = 6;
    std::string text;
    for (size_t i = 0; i < std::min(kShown, problems_.size()); ++i) {
      const Problem& problem = problems_[i];
      text += (i == 0 ? "" : "; ") + problem.first;
      if (problem.nodes > 1) text += fmt::format(" and {} more", problem.nodes - 1);
      text += ": " + problem.why;
    }
    if (problems_.size() > kShown) {
      text += fmt::format("; and for {} more reasons", problems_.size() - kShown);
    }
    return text;
  }

  // Why a node has no step, whatever it reads.
  std::optional<std::string> WhyNot(const GraphNode& node) const {
    if (node.macs()) {
      const Result<ConvShape> shape = ConvShapeOf(network_.layers[At(node.layer)].layer);
      return shape ? std::nullopt : std::optional(shape.error().message);
    }
    if (node.type == "relu" || node.type == "maxpool" || node.type == "avgpool" ||
        node.type == "add" || node.type == "concat" || KeepsValues(node)) {
      return std::nullopt;
    }
    if (node.view) return "a view that changes values or their order";
    return "not a convolution, fully connected layer, pooling, addition, concatenation or ReLU";
  }

  // Views that keep values and their order; dropout does nothing to a trained network.
  static bool KeepsValues(const GraphNode& node) {
    return node.view &&
           (node.type == "reshape" || node.type == "flatten" || node.type == "identity" ||
            node.type == "dropout" || node.type == "quantise");
  }

  // Whether a node's result is read by one ReLU and by nothing else, and is no output.
  std::optional<size_t> OnlyRelu(size_t node) const {
    const int32_t output = from_.nodes[node].outputs[0];
    const std::vector<int32_t>& readers = links_.consumers[At(output)];
    if (readers.size() != 1 || Tensor(output).kind == TensorKind::kOutput) return std::nullopt;
    const GraphNode& reader = from_.nodes[At(readers[0])];
    return reader.type == "relu" ? std::optional<size_t>(At(readers[0])) : std::nullopt;
  }

  // Adds a step whose result is the node's and, where a ReLU goes into it, that one's.
  void Add(size_t node, Step step, std::optional<size_t> relu = std::nullopt) {
    step.name = from_.nodes[node].name;
    graph_.steps.push_back(std::move(step));
    const auto tensor = static_cast<int64_t>(graph_.steps.size());
    made_[At(from_.nodes[node].outputs[0])] = tensor;
    if (relu) made_[At(from_.nodes[*relu].outputs[0])] = tensor;
  }

  // Nothing if all is well, otherwise why the node has no step.
  std::optional<std::string> Convert(size_t index) {
    const GraphNode& node = from_.nodes[index];
    if (made_[At(node.outputs[0])] >= 0) return std::nullopt;  // a ReLU that went into its producer
    std::vector<size_t> inputs;
    for (const int32_t input : node.inputs) {
      if (Tensor(input).kind == TensorKind::kWeight && node.macs()) continue;
      const int64_t made = made_[At(input)];
      if (made == kUnknown) {
        for (const int32_t output : node.outputs) made_[At(output)] = kUnknown;
        return std::nullopt;
      }
      if (made < 0) return fmt::format("it reads the constant {}", Quoted(Tensor(input).name));
      inputs.push_back(static_cast<size_t>(made));
    }
    if (node.macs()) return ConvertLayer(index, std::move(inputs));
    if (node.type == "relu") return ConvertRelu(index, std::move(inputs));
    if (node.view) return ConvertView(node, inputs);
    if (node.type == "maxpool" || node.type == "avgpool")
      return ConvertPool(index, std::move(inputs));
    if (node.type == "add") return ConvertAdd(index, std::move(inputs));
    return ConvertConcat(index, std::move(inputs));
  }

  std::optional<std::string> ConvertLayer(size_t index, std::vector<size_t> inputs) {
    const GraphNode& node = from_.nodes[index];
    const Layer& layer = network_.layers[At(node.layer)].layer;
    Result<ConvShape> shape = ConvShapeOf(layer);
    if (!shape) return shape.error().message;
    if (layer.type == LayerType::kFullyConnected) {
      // Rows of a matrix are images of one pixel, as the layers before give them.
      *shape = {.n = layer.n, .ci = layer.c, .co = layer.k};
      if (Tensor(node.outputs[0]).kind == TensorKind::kOutput) {
        Add(index, {.kind = StepKind::kClassifier, .inputs = std::move(inputs), .shape = *shape});
        return std::nullopt;
      }
    }
    const std::optional<size_t> relu = OnlyRelu(index);
    Add(index,
        {.kind = StepKind::kConv,
         .inputs = std::move(inputs),
         .shape = *shape,
         .epilogue = {.shift = ShiftFor(*shape), .low = relu ? 0 : -128}},
        relu);
    return std::nullopt;
  }

  std::optional<std::string> ConvertRelu(size_t index, std::vector<size_t> inputs) {
    const Size size = SizeOf(Tensor(from_.nodes[index].inputs[0]));
    Add(index, {.kind = StepKind::kRelu, .inputs = std::move(inputs), .shape = Plain(size)});
    return std::nullopt;
  }

  static ConvShape Plain(const Size& size) {
    return {.n = size.n, .ci = size.channels, .co = size.channels, .h = size.h, .w = size.w};
  }

  std::optional<std::string> ConvertView(const GraphNode& node, const std::vector<size_t>& inputs) {
    const Size in = SizeOf(Tensor(node.inputs[0])), out = SizeOf(Tensor(node.outputs[0]));
    if (in.n != out.n) return "it moves images into other axes";
    made_[At(node.outputs[0])] = static_cast<int64_t>(inputs[0]);
    return std::nullopt;
  }

  std::optional<std::string> ConvertPool(size_t index, std::vector<size_t> inputs) {
    const GraphNode& node = from_.nodes[index];
    const Size in = SizeOf(Tensor(node.inputs[0])), out = SizeOf(Tensor(node.outputs[0]));
    if (node.dilation != Pair{1, 1}) return "pooling with dilation";
    ConvShape shape = Plain(in);
    shape.kh = node.kernel.y;
    shape.kw = node.kernel.x;
    shape.stride_h = node.stride.y;
    shape.stride_w = node.stride.x;
    shape.pad_top = node.pad.top;
    shape.pad_left = node.pad.left;
    // Sizes that are rounded up have a last window that hangs over; padding never wins there.
    shape.pad_bottom =
        std::max(node.pad.bottom, (out.h - 1) * shape.stride_h + shape.kh - in.h - node.pad.top);
    shape.pad_right =
        std::max(node.pad.right, (out.w - 1) * shape.stride_w + shape.kw - in.w - node.pad.left);
    const bool average = node.type == "avgpool";
    const bool padded =
        std::max({shape.pad_top, shape.pad_left, shape.pad_bottom, shape.pad_right}) > 0;
    if (average && padded) return "average pooling with padding";
    if (shape.oh() != out.h || shape.ow() != out.w)
      return "windows that do not give the output's size";
    Add(index, {.kind = average ? StepKind::kAveragePool : StepKind::kMaxPool,
                .inputs = std::move(inputs),
                .shape = shape});
    return std::nullopt;
  }

  std::optional<std::string> ConvertAdd(size_t index, std::vector<size_t> inputs) {
    const GraphNode& node = from_.nodes[index];
    if (inputs.size() != 2) return fmt::format("an addition of {} tensors", inputs.size());
    for (const int32_t input : node.inputs) {
      if (Words(Tensor(input)) != Words(Tensor(node.outputs[0])))
        return "an addition that repeats a tensor";
    }
    const std::optional<size_t> relu = OnlyRelu(index);
    Epilogue epilogue;
    epilogue.low = relu ? 0 : -128;
    Add(index,
        {.kind = StepKind::kAdd,
         .inputs = std::move(inputs),
         .shape = Plain(SizeOf(Tensor(node.outputs[0]))),
         .epilogue = epilogue},
        relu);
    return std::nullopt;
  }

  std::optional<std::string> ConvertConcat(size_t index, std::vector<size_t> inputs) {
    const GraphNode& node = from_.nodes[index];
    const Size out = SizeOf(Tensor(node.outputs[0]));
    int64_t channels = 0;
    for (const int32_t input : node.inputs) {
      const Size in = SizeOf(Tensor(input));
      if (in.n != out.n || in.h != out.h || in.w != out.w)
        return "a concatenation of other axes than channels";
      channels += in.channels;
    }
    if (channels != out.channels) return "a concatenation of other axes than channels";
    Add(index, {.kind = StepKind::kConcat, .inputs = std::move(inputs), .shape = Plain(out)});
    return std::nullopt;
  }

  const Network& network_;
  const tessera::Graph& from_;
  const GraphLinks links_;
  std::vector<int64_t> made_;  // by tensor: the one that holds it here; 0 is the image
  bool made_with_image_ = false;
  Graph graph_;
  std::vector<Problem> problems_;
};

}  // namespace

Result<Graph> GraphOf(const Network& network) { return Converter(network).Run(); }

}  // namespace tessera::vta
