// Pooling over windows, over whole images and over regions. None of it multiplies.
#include <utility>

#include <fmt/format.h>

#include "tessera/workload/onnx/operators.h"
#include "tessera/workload/onnx/window.h"

namespace tessera::onnx {
namespace {

void Pool(Op& op) {
  op.SetType(1, ElementType::kInt64);
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  const std::optional<std::vector<int64_t>> kernel = op.Ints("kernel_shape");
  if (!kernel) return op.Fail(ErrorKind::kSyntax, "attribute 'kernel_shape' is missing");
  if (input->size() != kernel->size() + 2) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("a kernel of {} axes does not fit the input {}", kernel->size(),
                               ToString(*input)));
  }
  const std::optional<Window> window =
      ReadWindow(op, *kernel, Dims(input->begin() + 2, input->end()));
  if (!window) return;
  const bool ceil = op.Int("ceil_mode", 0) != 0;
  const bool same = IsSame(op.Text("auto_pad", "NOTSET"));
  Dims dims = *input;
  for (size_t axis = 0; axis < kernel->size(); ++axis) {
    Dim& dim = dims[axis + 2];
    if (dim.known()) dim = {OutputSizeOf(op, *window, axis, dim.size, ceil && !same)};
    if (op.failed()) return;
  }
  op.SetShape(0, dims);
  op.SetShape(1, std::move(dims));  // MaxPool's indices
}

void GlobalPool(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  Dims dims = *input;
  for (size_t i = 2; i < dims.size(); ++i) dims[i] = {1};
  op.SetShape(0, std::move(dims));
}

void MaxUnpool(Op& op) {
  if (op.Has(2)) {
    if (std::optional<Dims> dims = op.ElementsAsDims(2)) op.SetShape(0, *std::move(dims));
    return;
  }
  const Dims* const input = op.Shape(0);
  const std::optional<std::vector<int64_t>> kernel = op.Ints("kernel_shape");
  if (input == nullptr || !kernel || input->size() != kernel->size() + 2) return;
  const std::optional<Window> window = ReadWindow(op, *kernel, {});
  if (!window) return;
  Dims dims = *input;
  for (size_t axis = 0; axis < kernel->size(); ++axis) {
    Dim& dim = dims[axis + 2];
    if (!dim.known() || dim.size > kMaxSize) continue;
    dim.size = (dim.size - 1) * window->stride[axis] + window->kernel[axis] - window->before[axis] -
               window->after[axis];
  }
  op.SetShape(0, std::move(dims));
}

// One result per region.
void SetRegions(Op& op, int64_t height, int64_t width) {
  const Dims *const input = op.Shape(0), *const regions = op.Shape(1);
  if (input == nullptr || regions == nullptr || input->size() < 2 || regions->empty()) return;
  op.SetShape(0, {regions->front(), (*input)[1], Dim{height}, Dim{width}});
}

void RoiAlign(Op& op) { SetRegions(op, op.Int("output_height", 1), op.Int("output_width", 1)); }

void MaxRoiPool(Op& op) {
  const std::optional<std::vector<int64_t>> shape = op.Ints("pooled_shape");
  if (shape && shape->size() == 2) SetRegions(op, (*shape)[0], (*shape)[1]);
}

constexpr Operator kOperators[] = {
    {"MaxPool", Pool},
    {"AveragePool", Pool},
    {"LpPool", Pool},
    {"GlobalAveragePool", GlobalPool},
    {"GlobalMaxPool", GlobalPool},
    {"GlobalLpPool", GlobalPool},
    {"MaxUnpool", MaxUnpool},
    {"RoiAlign", RoiAlign},
    {"MaxRoiPool", MaxRoiPool},
};

}  // namespace

std::span<const Operator> PoolingOperators() { return kOperators; }

}  // namespace tessera::onnx
