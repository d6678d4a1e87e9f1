// Stored tensors: shape checks and decoding of small data.
#include "tessera/workload/onnx/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/workload/onnx/schema.pb.h"

namespace tessera::onnx {
namespace {

constexpr int32_t kExternal = 1;  // data_location

// Raw data are little-endian whatever the machine.
template <typename T>
T FromLittleEndian(const char* bytes) {
  char ordered[sizeof(T)];
  for (size_t i = 0; i < sizeof(T); ++i) {
    ordered[std::endian::native == std::endian::little ? i : sizeof(T) - 1 - i] = bytes[i];
  }
  T value;
  std::memcpy(&value, ordered, sizeof(T));
  return value;
}

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x1f) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

size_t BytesPerElement(ElementType type) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kUint8:
    case ElementType::kInt8: return 1;
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kFloat16: return 2;
    case ElementType::kFloat:
    case ElementType::kInt32:
    case ElementType::kUint32: return 4;
    default: return 8;
  }
}

Number FromUnsigned(uint64_t value, Reasons& reasons) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return {.reason = reasons.Add("an element is outside of 64 signed bits")};
  }
  return {.integer = static_cast<int64_t>(value)};
}

Number FromRaw(ElementType type, const char* bytes, Reasons& reasons) {
  switch (type) {
    case ElementType::kBool: return {.integer = *bytes != 0};
    case ElementType::kUint8: return {.integer = FromLittleEndian<uint8_t>(bytes)};
    case ElementType::kInt8: return {.integer = FromLittleEndian<int8_t>(bytes)};
    case ElementType::kUint16: return {.integer = FromLittleEndian<uint16_t>(bytes)};
    case ElementType::kInt16: return {.integer = FromLittleEndian<int16_t>(bytes)};
    case ElementType::kInt32: return {.integer = FromLittleEndian<int32_t>(bytes)};
    case ElementType::kUint32: return {.integer = FromLittleEndian<uint32_t>(bytes)};
    case ElementType::kUint64: return FromUnsigned(FromLittleEndian<uint64_t>(bytes), reasons);
    case ElementType::kFloat16: return {.real = HalfToDouble(FromLittleEndian<uint16_t>(bytes))};
    case ElementType::kFloat: return {.real = FromLittleEndian<float>(bytes)};
    case ElementType::kDouble: return {.real = FromLittleEndian<double>(bytes)};
    default: return {.integer = FromLittleEndian<int64_t>(bytes)};
  }
}

// The elements from the field that the type uses when the data are not raw.
Numbers FromFields(ElementType type, const schema::Tensor& tensor, Reasons& reasons) {
  Numbers numbers;
  switch (type) {
    case ElementType::kInt64:
      for (const int64_t x : tensor.int64_data()) numbers.push_back({.integer = x});
      break;
    case ElementType::kUint32:
    case ElementType::kUint64:
      for (const uint64_t x : tensor.uint64_data()) numbers.push_back(FromUnsigned(x, reasons));
      break;
    case ElementType::kFloat:
      for (const float x : tensor.float_data()) numbers.push_back({.real = x});
      break;
    case ElementType::kDouble:
      for (const double x : tensor.double_data()) numbers.push_back({.real = x});
      break;
    case ElementType::kFloat16:
      for (const int32_t x : tensor.int32_data()) {
        numbers.push_back({.real = HalfToDouble(static_cast<uint16_t>(x))});
      }
      break;
    default:
      for (const int32_t x : tensor.int32_data()) numbers.push_back({.integer = x});
      break;
  }
  return numbers;
}

// Tools that strip weights leave the shape and no data, which is enough for a layer.
bool HasData(const schema::Tensor& tensor) {
  return tensor.has_raw_data() || tensor.float_data_size() > 0 || tensor.int32_data_size() > 0 ||
         tensor.int64_data_size() > 0 || tensor.double_data_size() > 0 ||
         tensor.uint64_data_size() > 0;
}

Error BadTensor(const schema::Tensor& tensor, ErrorKind kind, const std::string& what) {
  return Error{.kind = kind,
               .message = fmt::format("tensor {} {}", Quoted(tensor.name(), 100), what)};
}

Result<Dims> ReadDims(const schema::Tensor& tensor,
                      const google::protobuf::RepeatedField<int64_t>& sizes) {
  if (static_cast<size_t>(sizes.size()) > kMaxRank) {
    return BadTensor(tensor, ErrorKind::kBadValue,
                     fmt::format("has {} dimensions, more than {}", sizes.size(), kMaxRank));
  }
  Dims dims;
  for (const int64_t size : sizes) {
    if (size < 0) {
      return BadTensor(tensor, ErrorKind::kBadValue, fmt::format("has the negative size {}", size));
    }
    dims.push_back({size});
  }
  if (!ElementCount(dims)) {
    return BadTensor(
        tensor, ErrorKind::kOverflow,
        fmt::format("of shape {} has more elements than fit in 64 bits", ToString(dims)));
  }
  return dims;
}

Result<Numbers> ReadElements(const schema::Tensor& tensor, ElementType type, size_t count,
                             Reasons& reasons) {
  if (!tensor.has_raw_data()) {
    Numbers numbers = FromFields(type, tensor, reasons);
    if (numbers.size() == count) return numbers;
    return BadTensor(tensor, ErrorKind::kSyntax,
                     fmt::format("has {} elements, but its shape needs {}", numbers.size(), count));
  }
  const size_t width = BytesPerElement(type);
  const std::string& raw = tensor.raw_data();
  if (raw.size() != count * width) {
    return BadTensor(
        tensor, ErrorKind::kSyntax,
        fmt::format("has {} bytes of data, but its shape needs {}", raw.size(), count * width));
  }
  Numbers numbers;
  numbers.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    numbers.push_back(FromRaw(type, raw.data() + i * width, reasons));
  }
  return numbers;
}

}  // namespace

Result<Value> ReadTensor(const schema::Tensor& tensor, Reasons& reasons) {
  Result<Dims> dims = ReadDims(tensor, tensor.dims());
  if (!dims) return dims.error();
  const std::optional<size_t> count = FoldableCount(*dims);
  Value value{.name = tensor.name(),
              .type = static_cast<ElementType>(tensor.data_type()),
              .dims = *std::move(dims),
              .parameter = true};
  if (!IsInteger(value.type) && !IsReal(value.type)) return value;
  if (tensor.data_location() == kExternal) {
    value.data_reason =
        reasons.Add(fmt::format("the values of {} are in an external file, which is never opened",
                                Quoted(tensor.name(), 100)));
    return value;
  }
  if (!count) {
    value.data_reason =
        reasons.Add(fmt::format("{} has more than {} elements, so its values are not read",
                                Quoted(tensor.name(), 100), kMaxFolded));
    return value;
  }
  if (*count > 0 && !HasData(tensor)) {
    value.data_reason =
        reasons.Add(fmt::format("the file holds no values of {}", Quoted(tensor.name(), 100)));
    return value;
  }
  Result<Numbers> numbers = ReadElements(tensor, value.type, *count, reasons);
  if (!numbers) return numbers.error();
  value.data = std::make_shared<const Numbers>(*std::move(numbers));
  return value;
}

Result<Value> ReadSparseTensor(const schema::SparseTensor& tensor, Reasons& reasons) {
  Result<Dims> dims = ReadDims(tensor.values(), tensor.dims());
  if (!dims) return dims.error();
  return Value{.name = tensor.values().name(),
               .type = static_cast<ElementType>(tensor.values().data_type()),
               .dims = *std::move(dims),
               .data_reason = reasons.Add(fmt::format("{} is sparse, so its values are not read",
                                                      Quoted(tensor.values().name(), 100))),
               .parameter = true};
}

}  // namespace tessera::onnx
