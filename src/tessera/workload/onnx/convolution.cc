// Convolutions: the layers conv, dwconv and trconv.
//
// An input N x C x Y x X with a weight K x C/groups x R x S gives
// N * K * P * Q * (C / groups) * R * S MACs; a transposed one, with a weight C x K/groups x R x S,
// N * C * Y * X * (K / groups) * R * S. A 1-D one is a 2-D one with Y and R of 1.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/workload/onnx/operators.h"
#include "tessera/workload/onnx/window.h"

namespace tessera::onnx {
namespace {

// Where an operator of this family has its tensors.
struct Operands {
  size_t input = 0;
  size_t weight = 1;
  size_t bias = 2;
};

struct Convolution {
  std::vector<int64_t> input, weight;  // N C Y X and two channel counts, R, S
  int64_t groups;
  Window window;
  size_t axes = 2;  // of the node; with one, Y and R are 1

  // A vertical axis on which nothing happens.
  void AddAxis() {
    axes = 1;
    input.insert(input.begin() + 2, 1);
    weight.insert(weight.begin() + 2, 1);
    for (std::vector<int64_t>* ones : {&window.kernel, &window.stride, &window.dilation}) {
      ones->insert(ones->begin(), 1);
    }
    for (std::vector<int64_t>* zeros : {&window.before, &window.after}) {
      zeros->insert(zeros->begin(), 0);
    }
  }
};

// The output of a layer with as many axes as the node's.
void SetOutput(Op& op, const Convolution& conv, const Layer& layer) {
  const Pair output = OutputSize(layer);
  std::vector<int64_t> sizes = {layer.n, layer.k, output.y, output.x};
  if (conv.axes == 1) sizes.erase(sizes.begin() + 2);
  op.SetSizes(0, sizes);
}

bool CheckRank(Op& op, const std::vector<int64_t>& input, const std::vector<int64_t>& weight) {
  if (input.size() == weight.size() && (input.size() == 3 || input.size() == 4)) return true;
  if (input.size() == weight.size() && input.size() == 5) {
    op.Fail(ErrorKind::kUnsupported,
            fmt::format("{}-D convolution (input {}) is not supported", input.size() - 2,
                        ToString(KnownDims(input))),
            "1-D and 2-D convolutions are modelled");
  } else {
    op.Fail(ErrorKind::kBadValue,
            fmt::format("input {} and weight {} do not fit a 2-D convolution",
                        ToString(KnownDims(input)), ToString(KnownDims(weight))));
  }
  return false;
}

std::optional<Convolution> ReadConvolution(Op& op, const Operands& at) {
  const std::optional<std::vector<int64_t>> input = op.Sizes(at.input);
  const std::optional<std::vector<int64_t>> weight = op.Sizes(at.weight);
  if (!input || !weight || !CheckRank(op, *input, *weight)) return std::nullopt;
  const std::vector<int64_t> kernel(weight->begin() + 2, weight->end());
  const std::optional<std::vector<int64_t>> declared = op.Ints("kernel_shape");
  if (declared && !declared->empty() && *declared != kernel) {
    op.Fail(ErrorKind::kBadValue,
            fmt::format("attribute 'kernel_shape' is {}, but the weight has the shape {}",
                        ToString(KnownDims(*declared)), ToString(KnownDims(*weight))));
    return std::nullopt;
  }
  const int64_t groups = op.Int("group", 1);
  if (groups < 1 || groups > kMaxSize) {
    op.Fail(ErrorKind::kBadValue, fmt::format("attribute 'group' is {}", groups));
    return std::nullopt;
  }
  const std::optional<Window> window =
      ReadWindow(op, kernel, KnownDims({input->begin() + 2, input->end()}));
  if (!window) return std::nullopt;
  Convolution conv{*input, *weight, groups, *window};
  if (input->size() == 3) conv.AddAxis();
  return conv;
}

// The fields that both kinds of convolution share.
Layer LayerOf(const Convolution& conv, LayerType type, bool bias) {
  const Window& window = conv.window;
  return Layer{.type = type,
               .bias = bias,
               .n = conv.input[0],
               .c = conv.input[1],
               .y = conv.input[2],
               .x = conv.input[3],
               .r = window.kernel[0],
               .s = window.kernel[1],
               .groups = conv.groups,
               .stride = {window.stride[0], window.stride[1]},
               .dilation = {window.dilation[0], window.dilation[1]},
               .pad = {.top = window.before[0],
                       .left = window.before[1],
                       .bottom = window.after[0],
                       .right = window.after[1]}};
}

void AddConvolution(Op& op, const Operands& at) {
  const std::optional<Convolution> conv = ReadConvolution(op, at);
  if (!conv) return;
  Layer layer = LayerOf(*conv, LayerType::kConv, op.Has(at.bias));
  layer.k = conv->weight[0];
  if (layer.c % conv->groups != 0 || layer.c / conv->groups != conv->weight[1]) {
    return op.Fail(
        ErrorKind::kBadValue,
        fmt::format("input {} has {} channels, but the weight {} with groups = {} needs {}",
                    ToString(KnownDims(conv->input)), layer.c, ToString(KnownDims(conv->weight)),
                    conv->groups, (Checked(conv->weight[1]) * conv->groups).get().value_or(-1)));
  }
  op.AddLayer(layer);
  if (op.failed()) return;
  SetOutput(op, *conv, layer);
}

// Operands and bias of one kind of floating-point numbers.
void NeedsRealOperands(Op& op) {
  op.NeedsElements(0, ElementKind::kReal);
  op.NeedsOneType({0, 1, 2});
}

void NeedsByteOperands(Op& op, const Operands& at) {
  op.NeedsElements(at.input, ElementKind::kBytes);
  op.NeedsElements(at.weight, ElementKind::kBytes);
}

void Conv(Op& op) {
  NeedsRealOperands(op);
  AddConvolution(op, {});
}

void ConvInteger(Op& op) {
  NeedsByteOperands(op, {});
  AddConvolution(op, {.bias = op.num_inputs()});  // it has none
  op.SetType(0, ElementType::kInt32);
}

void QLinearConv(Op& op) {
  constexpr Operands kAt = {.input = 0, .weight = 3, .bias = 8};
  NeedsByteOperands(op, kAt);
  AddConvolution(op, kAt);
}

// ---- transposed

// Padding and output padding along one axis that give the output size that the node asks for.
void FitOutput(Convolution& conv, size_t axis, int64_t wanted, bool upper, int64_t* output_pad) {
  Window& window = conv.window;
  const int64_t full =
      window.stride[axis] * (conv.input[axis + 2] - 1) + window.Extent(axis) + *output_pad;
  const int64_t total = std::max<int64_t>(full - wanted, 0);
  // An output beyond the last window's reach is padding at its end.
  *output_pad += std::max<int64_t>(wanted - full, 0);
  window.before[axis] = upper ? total / 2 : total - total / 2;
  window.after[axis] = total - window.before[axis];
}

void ReadOutputSize(Op& op, Convolution& conv, Pair* output_pad) {
  const std::string auto_pad = op.Text("auto_pad", "NOTSET");
  std::optional<std::vector<int64_t>> wanted = op.Ints("output_shape");
  if (wanted && wanted->size() == conv.axes + 2) {
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  }
  if (wanted && wanted->empty()) wanted.reset();
  if (wanted && conv.axes == 1 && wanted->size() == 1) wanted->insert(wanted->begin(), 1);
  if (!wanted && IsSame(auto_pad)) {
    wanted = {conv.input[2] * conv.window.stride[0], conv.input[3] * conv.window.stride[1]};
  }
  if (!wanted) return;
  if (wanted->size() != 2) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("attribute 'output_shape' has {} entries", wanted->size()));
  }
  for (const int64_t size : *wanted) {
    if (size >= 1 && size <= kMaxSize) continue;
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("the output size {} must be in 1..{}", size, kMaxSize));
  }
  const bool upper = auto_pad == "SAME_UPPER";
  FitOutput(conv, 0, (*wanted)[0], upper, &output_pad->y);
  FitOutput(conv, 1, (*wanted)[1], upper, &output_pad->x);
}

void ConvTranspose(Op& op) {
  NeedsRealOperands(op);
  std::optional<Convolution> conv = ReadConvolution(op, {});
  if (!conv) return;
  for (const int64_t size : conv->input) {
    if (size > kMaxSize) {
      return op.Fail(ErrorKind::kBadValue,
                     fmt::format("the size {} must be at most {}", size, kMaxSize));
    }
  }
  Pair output_pad{0, 0};
  if (auto given = op.Ints("output_padding"); given && !given->empty()) {
    if (conv->axes == 1 && given->size() == 1) given->insert(given->begin(), 0);
    if (given->size() != 2) {
      return op.Fail(ErrorKind::kBadValue,
                     fmt::format("attribute 'output_padding' has {} entries", given->size()));
    }
    output_pad = {(*given)[0], (*given)[1]};
    // More would be outputs that no input reaches.
    const auto most_of = [&window = conv->window](size_t axis) {
      return std::max(window.stride[axis], window.dilation[axis]) - 1;
    };
    const Pair most{most_of(0), most_of(1)};
    if (std::min(output_pad.y, output_pad.x) < 0 || output_pad.y > most.y ||
        output_pad.x > most.x) {
      return op.Fail(ErrorKind::kBadValue,
                     fmt::format("attribute 'output_padding' is {},{}, but must be below stride or "
                                 "dilation: at most {},{}",
                                 output_pad.y, output_pad.x, most.y, most.x));
    }
  }
  // SAME is about the output here; what ReadWindow made of it does not hold.
  if (IsSame(op.Text("auto_pad", "NOTSET"))) {
    conv->window.before = conv->window.after = {0, 0};
  }
  ReadOutputSize(op, *conv, &output_pad);
  if (op.failed()) return;
  Layer layer = LayerOf(*conv, LayerType::kTransposedConv, op.Has(2));
  layer.output_pad = output_pad;
  const Checked outputs = Checked(conv->weight[1]) * conv->groups;
  if (layer.c != conv->weight[0] || !outputs.ok()) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("input {} has {} channels, but the weight {} needs {}",
                               ToString(KnownDims(conv->input)), layer.c,
                               ToString(KnownDims(conv->weight)), conv->weight[0]));
  }
  layer.k = outputs.value();
  op.AddLayer(layer);
  if (op.failed()) return;
  SetOutput(op, *conv, layer);
}

constexpr Operator kOperators[] = {
    {"Conv", Conv, Role::kLayer},
    {"ConvTranspose", ConvTranspose, Role::kLayer},
    {"ConvInteger", ConvInteger, Role::kLayer},
    {"QLinearConv", QLinearConv, Role::kLayer},
};

}  // namespace

std::span<const Operator> ConvolutionOperators() { return kOperators; }

}  // namespace tessera::onnx
