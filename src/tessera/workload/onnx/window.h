// The window of a convolution or pooling over the spatial axes: kernel, stride, dilation, padding.
#ifndef TESSERA_WORKLOAD_ONNX_WINDOW_H_
#define TESSERA_WORKLOAD_ONNX_WINDOW_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/workload/onnx/op.h"

namespace tessera::onnx {

// One entry per spatial axis. All values are at most kMaxSize; kernel, stride and dilation are at
// least 1.
struct Window {
  std::vector<int64_t> kernel, stride, dilation;
  std::vector<int64_t> before, after;  // padding

  int64_t Extent(size_t axis) const { return dilation[axis] * (kernel[axis] - 1) + 1; }
};

// The attributes of a node whose kernel is known. `input` are the sizes of the spatial axes, which
// the padding SAME depends on: without them such padding has no value here. Transposed convolutions
// compute SAME from their output instead, so they ignore it here. Fails on bad attributes.
std::optional<Window> ReadWindow(Op& op, const std::vector<int64_t>& kernel, const Dims& input);

bool IsSame(const std::string& auto_pad);  // SAME_UPPER or SAME_LOWER

// The output size along one axis. With `ceil`, a last window that covers only a part counts, unless
// it starts in the padding. Fails if no window fits.
int64_t OutputSizeOf(Op& op, const Window& window, size_t axis, int64_t input, bool ceil);

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_WINDOW_H_
