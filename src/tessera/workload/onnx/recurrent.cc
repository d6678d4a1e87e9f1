// Operators with MACs that no layer here models: recurrent ones and deformable convolution. Their
// shapes are inferred, so that what follows imports, and they are listed as not understood.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tessera/workload/onnx/operators.h"
#include "tessera/workload/onnx/window.h"

namespace tessera::onnx {
namespace {

void Recurrent(Op& op) {
  const Dims *const input = op.Shape(0), *const recurrence = op.Shape(2);
  if (input == nullptr || input->size() != 3) return;
  Dim hidden{op.Int("hidden_size", 0)};
  if (hidden.size == 0) {
    if (recurrence == nullptr || recurrence->size() != 3) return;
    hidden = recurrence->back();
  }
  const Dim directions{op.Text("direction", "forward") == "bidirectional" ? 2 : 1};
  const bool batch_first = op.Int("layout", 0) != 0;
  const Dim &steps = (*input)[batch_first ? 1 : 0], &batch = (*input)[batch_first ? 0 : 1];
  Dims last = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  op.SetShape(0, batch_first ? Dims{batch, steps, directions, hidden}
                             : Dims{steps, directions, batch, hidden});
  op.SetShape(1, last);
  op.SetShape(2, std::move(last));
}

void DeformConv(Op& op) {
  const Dims *const input = op.Shape(0), *const weight = op.Shape(1);
  if (input == nullptr || weight == nullptr || input->size() != 4 || weight->size() != 4) return;
  if (!(*weight)[2].known() || !(*weight)[3].known()) return;
  const std::optional<Window> window = ReadWindow(op, {(*weight)[2].size, (*weight)[3].size},
                                                  Dims(input->begin() + 2, input->end()));
  if (!window) return;
  Dims dims = {(*input)[0], (*weight)[0], (*input)[2], (*input)[3]};
  for (size_t axis = 0; axis < 2; ++axis) {
    Dim& dim = dims[axis + 2];
    if (dim.known()) dim = {OutputSizeOf(op, *window, axis, dim.size, /*ceil=*/false)};
    if (op.failed()) return;
  }
  op.SetShape(0, std::move(dims));
}

constexpr Operator kOperators[] = {
    {"LSTM", Recurrent, Role::kNotKnown},
    {"GRU", Recurrent, Role::kNotKnown},
    {"RNN", Recurrent, Role::kNotKnown},
    {"DeformConv", DeformConv, Role::kNotKnown},
};

}  // namespace

std::span<const Operator> RecurrentOperators() { return kOperators; }

}  // namespace tessera::onnx
