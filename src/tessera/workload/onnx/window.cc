// Attributes of windows, and how many of them fit.
#include "tessera/workload/onnx/window.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::onnx {
namespace {

std::vector<int64_t> ReadPerAxis(Op& op, std::string_view name, size_t axes) {
  const std::optional<std::vector<int64_t>> given = op.Ints(name);
  if (!given || given->empty()) return std::vector<int64_t>(axes, 1);
  if (given->size() == axes) return *given;
  op.Fail(ErrorKind::kBadValue, fmt::format("attribute '{}' has {} entries for {} spatial axes",
                                            name, given->size(), axes));
  return std::vector<int64_t>(axes, 1);
}

void CheckSizes(Op& op, std::string_view name, const std::vector<int64_t>& values, int64_t least) {
  for (const int64_t value : values) {
    if (value >= least && value <= kMaxSize) continue;
    op.Fail(ErrorKind::kBadValue, fmt::format("attribute '{}' is {}, but must be in {}..{}", name,
                                              value, least, kMaxSize));
  }
}

// Padding that makes the output as large as the input divided by the stride.
void PadSame(Window& window, size_t axis, int64_t input, bool upper) {
  const int64_t output = CeilDiv(input, window.stride[axis]);
  const int64_t total =
      std::max<int64_t>((output - 1) * window.stride[axis] + window.Extent(axis) - input, 0);
  window.before[axis] = upper ? total / 2 : total - total / 2;
  window.after[axis] = total - window.before[axis];
}

void ReadPads(Op& op, Window& window) {
  const size_t axes = window.kernel.size();
  const std::optional<std::vector<int64_t>> pads = op.Ints("pads");
  if (!pads || pads->empty()) return;
  if (pads->size() != 2 * axes) {
    return op.Fail(
        ErrorKind::kBadValue,
        fmt::format("attribute 'pads' has {} entries for {} spatial axes, which need two "
                    "each",
                    pads->size(), axes));
  }
  CheckSizes(op, "pads", *pads, 0);
  window.before.assign(pads->begin(), pads->begin() + static_cast<int64_t>(axes));
  window.after.assign(pads->begin() + static_cast<int64_t>(axes), pads->end());
}

}  // namespace

bool IsSame(const std::string& auto_pad) {
  return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
}

std::optional<Window> ReadWindow(Op& op, const std::vector<int64_t>& kernel, const Dims& input) {
  const size_t axes = kernel.size();
  Window window{.kernel = kernel,
                .stride = ReadPerAxis(op, "strides", axes),
                .dilation = ReadPerAxis(op, "dilations", axes),
                .before = std::vector<int64_t>(axes, 0),
                .after = std::vector<int64_t>(axes, 0)};
  CheckSizes(op, "kernel_shape", window.kernel, 1);
  CheckSizes(op, "strides", window.stride, 1);
  CheckSizes(op, "dilations", window.dilation, 1);
  const std::string auto_pad = op.Text("auto_pad", "NOTSET");
  if (op.failed()) return std::nullopt;
  if (IsSame(auto_pad)) {
    for (size_t axis = 0; axis < axes && axis < input.size(); ++axis) {
      if (input[axis].known() && input[axis].size <= kMaxSize) {
        PadSame(window, axis, input[axis].size, auto_pad == "SAME_UPPER");
      }
    }
  } else if (auto_pad == "NOTSET" || auto_pad.empty()) {
    ReadPads(op, window);
  } else if (auto_pad != "VALID") {
    op.Fail(ErrorKind::kBadValue, fmt::format("attribute 'auto_pad' is {}", Quoted(auto_pad)),
            "it may be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  }
  if (op.failed()) return std::nullopt;
  return window;
}

int64_t OutputSizeOf(Op& op, const Window& window, size_t axis, int64_t input, bool ceil) {
  const int64_t padded = input + window.before[axis] + window.after[axis];
  const int64_t room = padded - window.Extent(axis);
  if (room < 0 || input > kMaxSize) {
    op.Fail(ErrorKind::kBadValue,
            fmt::format("kernel {} (with dilation {}) is larger than the padded input {}",
                        window.Extent(axis), window.dilation[axis], padded));
    return 0;
  }
  const int64_t stride = window.stride[axis];
  if (!ceil) return room / stride + 1;
  const int64_t output = CeilDiv(room, stride) + 1;
  return (output - 1) * stride >= input + window.before[axis] ? output - 1 : output;
}

}  // namespace tessera::onnx
