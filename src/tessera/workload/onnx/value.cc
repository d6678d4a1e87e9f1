// Sizes of shapes.
#include "tessera/workload/onnx/value.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tessera::onnx {

std::string TypeName(ElementType type) {
  constexpr std::array<std::string_view, 24> kNames = {"",
                                                       "float32",
                                                       "uint8",
                                                       "int8",
                                                       "uint16",
                                                       "int16",
                                                       "int32",
                                                       "int64",
                                                       "string",
                                                       "bool",
                                                       "float16",
                                                       "float64",
                                                       "uint32",
                                                       "uint64",
                                                       "complex64",
                                                       "complex128",
                                                       "bfloat16",
                                                       "float8e4m3fn",
                                                       "float8e4m3fnuz",
                                                       "float8e5m2",
                                                       "float8e5m2fnuz",
                                                       "uint4",
                                                       "int4",
                                                       "float4e2m1"};
  const auto number = static_cast<size_t>(type);
  return number < kNames.size() ? std::string(kNames[number]) : "";
}

bool IsInteger(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kInt32:
    case ElementType::kInt64:
    case ElementType::kBool:
    case ElementType::kUint32:
    case ElementType::kUint64: return true;
    default: return false;
  }
}

bool IsReal(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 ||
         type == ElementType::kDouble;
}

std::optional<Dim> ElementCount(const Dims& dims) {
  Checked count = 1;
  Reason reason = kKnown;
  for (const Dim& dim : dims) {
    if (dim.Is(0)) return Dim{0};
    if (dim.known()) {
      count = count * dim.size;
    } else if (reason == kKnown) {
      reason = dim.reason;
    }
  }
  if (reason != kKnown) return Dim{.reason = reason};
  return count.ok() ? std::optional<Dim>(Dim{count.value()}) : std::nullopt;
}

std::optional<size_t> FoldableCount(const Dims& dims) {
  // A negative size is an error, which the importer reports once the operator is done.
  if (std::any_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.size < 0; })) {
    return std::nullopt;
  }
  const std::optional<Dim> count = ElementCount(dims);
  if (!count || !count->known() || count->size > kMaxFolded) return std::nullopt;
  return static_cast<size_t>(count->size);
}

Dims KnownDims(const std::vector<int64_t>& sizes) {
  Dims dims;
  for (const int64_t size : sizes) dims.push_back({size});
  return dims;
}

std::string ToString(const Dims& dims) {
  std::string text = "[";
  for (const Dim& dim : dims) {
    if (text.size() > 1) text += ", ";
    text += dim.known() ? fmt::format("{}", dim.size) : "?";
  }
  return text + "]";
}

}  // namespace tessera::onnx
