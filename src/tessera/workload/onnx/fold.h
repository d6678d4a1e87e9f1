// Arithmetic on the elements of small constant tensors, by which exporters compute shapes.
#ifndef TESSERA_WORKLOAD_ONNX_FOLD_H_
#define TESSERA_WORKLOAD_ONNX_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/workload/onnx/op.h"
#include "tessera/workload/onnx/value.h"

namespace tessera::onnx {

// The sizes of a shape that is known and small enough to fold.
std::optional<std::vector<int64_t>> FoldableSizes(const Dims& dims);

// Calls visit(index) for every index of a shape, in row-major order.
template <typename Visit>
void ForEachIndex(const std::vector<int64_t>& sizes, const Visit& visit) {
  for (const int64_t size : sizes) {
    if (size == 0) return;
  }
  std::vector<int64_t> index(sizes.size(), 0);
  for (;;) {
    visit(index);
    size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

// The row-major position of an index; axes of size 1 repeat, and leading axes may be missing, as
// broadcasting has it.
size_t BroadcastOffset(const std::vector<int64_t>& index, const std::vector<int64_t>& sizes);

// One element as another type: rounded to float, cut to an integer, 0 or 1 for bool.
Number Convert(Op& op, const Number& number, ElementType from, ElementType to);

// `real` rounded to the precision of its type: scales that exporters compute in float decide sizes.
Number RoundedTo(ElementType type, double real);

// The result of integer arithmetic; an overflow makes it unknown.
Number FromChecked(Op& op, Checked value);

// Sets the elements of output `output` to those of input `input`, in the same order.
void CopyData(Op& op, size_t output, size_t input);

// Sets the elements of output `output` to elements of input `input`: from(index) is the position of
// the one that an index of the output shows. The output's shape must be set. Nothing happens if the
// input's elements are not known or the output is large.
template <typename From>
void SelectData(Op& op, size_t output, size_t input, const From& from) {
  const Value& source = op.Input(input);
  if (!source.data || !op.Output(output).dims) return;
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*op.Output(output).dims);
  if (!sizes) return;
  Numbers numbers;
  ForEachIndex(*sizes, [&](const std::vector<int64_t>& index) {
    numbers.push_back((*source.data)[from(index)]);
  });
  op.SetData(output, std::move(numbers));
}

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_FOLD_H_
