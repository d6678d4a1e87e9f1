// Sizes and counts of a layer.
#include "tessera/network.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

static_assert(std::is_trivially_copyable_v<Layer>);

bool IsConvolution(const Layer& layer) {
  return layer.type == LayerType::kConv || layer.type == LayerType::kTransposedConv;
}

Error BadLayer(ErrorKind kind, std::string message, std::string hint = "") {
  return Error{.kind = kind, .message = std::move(message), .hint = std::move(hint)};
}

Result<void> CheckRange(std::string_view name, int64_t size, int64_t least) {
  if (size < least) {
    return BadLayer(ErrorKind::kBadValue,
                    fmt::format("{} is {}, but must be at least {}", name, size, least));
  }
  if (size > kMaxSize) {
    return BadLayer(ErrorKind::kBadValue,
                    fmt::format("{} is {}, but must be at most {}", name, size, kMaxSize));
  }
  return {};
}

// One axis of a convolution: input size, padding before and after, kernel, ...
struct Axis {
  std::string_view input_name, kernel_name;
  int64_t input, before, after, kernel, stride, dilation, output_pad;
};

Axis VerticalAxis(const Layer& layer) {
  return {"Y",
          "R",
          layer.y,
          layer.pad.top,
          layer.pad.bottom,
          layer.r,
          layer.stride.y,
          layer.dilation.y,
          layer.output_pad.y};
}

Axis HorizontalAxis(const Layer& layer) {
  return {"X",
          "S",
          layer.x,
          layer.pad.left,
          layer.pad.right,
          layer.s,
          layer.stride.x,
          layer.dilation.x,
          layer.output_pad.x};
}

// Sizes are below 2^31, so nothing here can exceed 64 bits.
int64_t KernelExtent(const Axis& axis) { return axis.dilation * (axis.kernel - 1) + 1; }

int64_t OutputExtent(const Axis& axis, LayerType type) {
  if (type == LayerType::kTransposedConv) {
    return axis.stride * (axis.input - 1) + KernelExtent(axis) + axis.output_pad - axis.before -
           axis.after;
  }
  return (axis.input + axis.before + axis.after - KernelExtent(axis)) / axis.stride + 1;
}

Result<void> CheckAxis(const Axis& axis, LayerType type) {
  if (type == LayerType::kTransposedConv) {
    if (OutputExtent(axis, type) >= 1) return {};
    return BadLayer(ErrorKind::kBadValue, fmt::format("padding {} + {} of {} leaves no output",
                                                      axis.before, axis.after, axis.input_name));
  }
  const int64_t padded = axis.input + axis.before + axis.after;
  if (KernelExtent(axis) <= padded) return {};
  return BadLayer(
      ErrorKind::kBadValue,
      fmt::format("kernel {} = {}{} is larger than the padded input {} = {}", axis.kernel_name,
                  axis.kernel,
                  axis.dilation == 1 ? "" : fmt::format(" (dilation {})", axis.dilation),
                  axis.input_name, padded),
      fmt::format("raise {} or the padding", axis.input_name));
}

Checked CheckedInput(const Layer& l) {
  if (l.type == LayerType::kMatmul) return Checked(l.h) * l.m * l.k;
  return Checked(l.n) * l.c * l.y * l.x;
}

Checked CheckedWeights(const Layer& l) {
  if (l.type == LayerType::kMatmul) return Checked(l.h) * l.k * l.n;
  // A transposed convolution's weight is C x K/groups, the same number.
  return Checked(l.k) * (l.c / l.groups) * l.r * l.s;
}

Checked CheckedOutput(const Layer& l) {
  if (l.type == LayerType::kMatmul) return Checked(l.h) * l.m * l.n;
  const Pair output = OutputSize(l);
  return Checked(l.n) * l.k * output.y * output.x;
}

Checked CheckedMacs(const Layer& l) {
  switch (l.type) {
    case LayerType::kMatmul: return Checked(l.h) * l.m * l.n * l.k;
    case LayerType::kFullyConnected: return Checked(l.n) * l.k * l.c;
    case LayerType::kTransposedConv: return CheckedInput(l) * (l.k / l.groups) * l.r * l.s;
    case LayerType::kConv: return CheckedOutput(l) * (l.c / l.groups) * l.r * l.s;
  }
  return 0;
}

Result<void> CheckSizes(const Layer& l) {
  const NamedSize sizes[] = {{"H", l.h},
                             {"M", l.m},
                             {"N", l.n},
                             {"K", l.k},
                             {"C", l.c},
                             {"Y", l.y},
                             {"X", l.x},
                             {"R", l.r},
                             {"S", l.s},
                             {"groups", l.groups},
                             {"stride", std::min(l.stride.y, l.stride.x)},
                             {"stride", std::max(l.stride.y, l.stride.x)},
                             {"dilation", std::min(l.dilation.y, l.dilation.x)},
                             {"dilation", std::max(l.dilation.y, l.dilation.x)}};
  for (const NamedSize& size : sizes) {
    if (Result<void> ok = CheckRange(size.name, size.size, 1); !ok) return ok;
  }
  for (const int64_t pad : {l.pad.top, l.pad.left, l.pad.bottom, l.pad.right}) {
    if (Result<void> ok = CheckRange("pad", pad, 0); !ok) return ok;
  }
  for (const int64_t pad : {l.output_pad.y, l.output_pad.x}) {
    if (Result<void> ok = CheckRange("output_pad", pad, 0); !ok) return ok;
  }
  return {};
}

Result<void> CheckGroups(const Layer& layer) {
  for (const NamedSize& channels : {NamedSize{"C", layer.c}, NamedSize{"K", layer.k}}) {
    if (channels.size % layer.groups != 0) {
      return BadLayer(ErrorKind::kBadValue,
                      fmt::format("groups = {} does not divide {} = {}", layer.groups,
                                  channels.name, channels.size));
    }
  }
  return {};
}

}  // namespace

Result<void> Validate(const Layer& layer) {
  if (Result<void> ok = CheckSizes(layer); !ok) return ok;
  if (Result<void> ok = Validate(layer.bits); !ok) return ok;
  if (IsConvolution(layer)) {
    if (Result<void> ok = CheckGroups(layer); !ok) return ok;
    for (const Axis& axis : {VerticalAxis(layer), HorizontalAxis(layer)}) {
      if (Result<void> ok = CheckAxis(axis, layer.type); !ok) return ok;
    }
  }
  const struct {
    std::string_view name;
    Checked count;
  } counts[] = {{"MACs", CheckedMacs(layer)},
                {"input elements", CheckedInput(layer)},
                {"weight elements", CheckedWeights(layer)},
                {"output elements", CheckedOutput(layer)}};
  for (const auto& [name, count] : counts) {
    if (count.ok()) continue;
    return BadLayer(ErrorKind::kOverflow,
                    fmt::format("the number of {} does not fit in 64 bits", name),
                    "reduce the layer's sizes");
  }
  return {};
}

Pair OutputSize(const Layer& layer) {
  if (!IsConvolution(layer)) return {1, 1};
  return {OutputExtent(VerticalAxis(layer), layer.type),
          OutputExtent(HorizontalAxis(layer), layer.type)};
}

int64_t Macs(const Layer& layer) { return CheckedMacs(layer).value(); }
int64_t InputElements(const Layer& layer) { return CheckedInput(layer).value(); }
int64_t WeightElements(const Layer& layer) { return CheckedWeights(layer).value(); }
int64_t OutputElements(const Layer& layer) { return CheckedOutput(layer).value(); }

int64_t Parameters(const Layer& layer) {
  if (layer.type == LayerType::kMatmul) return 0;
  return WeightElements(layer) + (layer.bias ? layer.k : 0);
}

bool IsDepthwise(const Layer& layer) {
  return layer.type == LayerType::kConv && layer.groups > 1 && layer.groups == layer.c;
}

std::string_view TypeName(const Layer& layer) {
  switch (layer.type) {
    case LayerType::kConv: return IsDepthwise(layer) ? "dwconv" : "conv";
    case LayerType::kTransposedConv: return "trconv";
    case LayerType::kFullyConnected: return "fc";
    case LayerType::kMatmul: return "gemm";
  }
  return "";
}

std::vector<NamedSize> Dimensions(const Layer& l) {
  if (l.type == LayerType::kMatmul) return {{"H", l.h}, {"M", l.m}, {"N", l.n}, {"K", l.k}};
  if (l.type == LayerType::kFullyConnected) return {{"N", l.n}, {"K", l.k}, {"C", l.c}};
  const Pair output = OutputSize(l);
  return {{"N", l.n}, {"K", l.k}, {"C", l.c},      {"Y", l.y},     {"X", l.x},
          {"R", l.r}, {"S", l.s}, {"P", output.y}, {"Q", output.x}};
}

namespace {

std::string SizesText(const Layer& layer) {
  std::string text(TypeName(layer));
  for (const auto& [name, size] : Dimensions(layer)) text += fmt::format(" {}{}", name, size);
  if (!IsConvolution(layer)) return text;
  const auto add_pair = [&](std::string_view name, const Pair& pair, int64_t usual) {
    if (pair == Pair{usual, usual}) return;
    text += pair.y == pair.x ? fmt::format(" {} {}", name, pair.y)
                             : fmt::format(" {} {}x{}", name, pair.y, pair.x);
  };
  add_pair("stride", layer.stride, 1);
  add_pair("dilation", layer.dilation, 1);
  const Padding& pad = layer.pad;
  if (pad.top == pad.bottom && pad.left == pad.right) {
    add_pair("pad", {pad.top, pad.left}, 0);
  } else {
    text += fmt::format(" pad {},{},{},{}", pad.top, pad.left, pad.bottom, pad.right);
  }
  add_pair("output_pad", layer.output_pad, 0);
  if (layer.groups != 1 && !IsDepthwise(layer)) text += fmt::format(" groups {}", layer.groups);
  return text;
}

}  // namespace

std::string ToString(const Layer& layer) {
  std::string text = SizesText(layer);
  if (layer.bits.known()) text += fmt::format(" bits {}", ToString(layer.bits));
  return text;
}

size_t LayerHash::operator()(const Layer& l) const {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001b3u;
    hash ^= hash >> 29;
  };
  for (const int64_t value : {static_cast<int64_t>(l.type),
                              static_cast<int64_t>(l.bias),
                              l.h,
                              l.m,
                              l.n,
                              l.k,
                              l.c,
                              l.y,
                              l.x,
                              l.r,
                              l.s,
                              l.groups,
                              l.stride.y,
                              l.stride.x,
                              l.dilation.y,
                              l.dilation.x,
                              l.pad.top,
                              l.pad.left,
                              l.pad.bottom,
                              l.pad.right,
                              l.output_pad.y,
                              l.output_pad.x}) {
    add(value);
  }
  for (const TensorBitsField& field : kTensorBitsFields) {
    if (l.bits.*field.field != 0) add(l.bits.*field.field);
  }
  return static_cast<size_t>(hash);
}

}  // namespace tessera
