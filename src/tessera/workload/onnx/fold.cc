// Indexing and conversion of elements.
#include "tessera/workload/onnx/fold.h"

#include <cmath>

#include <fmt/format.h>

namespace tessera::onnx {

std::optional<std::vector<int64_t>> FoldableSizes(const Dims& dims) {
  if (!FoldableCount(dims)) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const Dim& dim : dims) {
    if (!dim.known()) return std::nullopt;  // possible beside a 0
    sizes.push_back(dim.size);
  }
  return sizes;
}

size_t BroadcastOffset(const std::vector<int64_t>& index, const std::vector<int64_t>& sizes) {
  const size_t missing = index.size() - sizes.size();
  int64_t offset = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    offset = offset * sizes[axis] + (sizes[axis] == 1 ? 0 : index[missing + axis]);
  }
  return static_cast<size_t>(offset);
}

Number RoundedTo(ElementType type, double real) {
  return {.real =
              type == ElementType::kDouble ? real : static_cast<double>(static_cast<float>(real))};
}

Number Convert(Op& op, const Number& number, ElementType from, ElementType to) {
  if (!number.known()) return number;
  if (IsReal(to)) {
    return RoundedTo(to, IsReal(from) ? number.real : static_cast<double>(number.integer));
  }
  if (to == ElementType::kBool) {
    return {.integer = IsReal(from) ? number.real != 0 : number.integer != 0};
  }
  if (!IsReal(from)) return {.integer = number.integer};
  if (!(std::abs(number.real) < 9.2e18)) {
    return op.UnknownNumber(fmt::format("{} turns {} into an integer", op.Describe(), number.real));
  }
  return {.integer = static_cast<int64_t>(number.real)};
}

Number FromChecked(Op& op, Checked value) {
  if (value.ok()) return {.integer = value.value()};
  return op.UnknownNumber(fmt::format("{} overflows 64 bits", op.Describe()));
}

void CopyData(Op& op, size_t output, size_t input) {
  op.Output(output).data = op.Input(input).data;
  op.Output(output).data_reason = op.Input(input).data_reason;
}

}  // namespace tessera::onnx
