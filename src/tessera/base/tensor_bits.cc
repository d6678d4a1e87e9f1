// Widths of tensors as text and as YAML.
#include "tessera/base/tensor_bits.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"
#include "tessera/part.h"

namespace tessera {
namespace {

constexpr std::string_view kExample = "weights=4,inputs=8,outputs=16,partial_sums=24";

std::vector<std::string> Parts(const TensorBits& bits, std::string_view between) {
  std::vector<std::string> parts;
  for (const TensorBitsField& field : kTensorBitsFields) {
    if (const int32_t width = bits.*field.field; width != 0) {
      parts.push_back(fmt::format("{}{}{}", field.name, between, width));
    }
  }
  return parts;
}

// One number for all but partial sums, which have the width of outputs unless somebody says so.
TensorBits Same(int32_t width) { return {.weights = width, .inputs = width, .outputs = width}; }

Result<const TensorBitsField*> FindField(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TensorBitsField& field : kTensorBitsFields) {
    if (field.name == name) return &field;
    names.push_back(field.name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("no tensor {} has bits", Quoted(name)),
               .hint = DidYouMean(name, names)};
}

}  // namespace

TensorBits Either(const TensorBits& first, const TensorBits& second) {
  TensorBits bits = first;
  for (const TensorBitsField& field : kTensorBitsFields) {
    if (bits.*field.field == 0) bits.*field.field = second.*field.field;
  }
  return bits;
}

Result<void> Validate(const TensorBits& bits) {
  for (const TensorBitsField& field : kTensorBitsFields) {
    const int32_t width = bits.*field.field;
    if (width >= 0 && width <= kMostTensorBits) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} have {} bits, but must have 1..{}", field.name, width,
                                        kMostTensorBits)};
  }
  return {};
}

std::string ToString(const TensorBits& bits) {
  return fmt::format("{}", fmt::join(Parts(bits, "="), ","));
}

Result<TensorBits> ParseTensorBits(std::string_view text) {
  TensorBits bits;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const size_t equals = item.find('=');
    const std::string_view number =
        equals == std::string_view::npos ? item : item.substr(equals + 1);
    const Result<int64_t> width = ParseInt(number);
    if (!width || *width < 1 || *width > kMostTensorBits) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("{}: bits must be a number in 1..{}", Quoted(item),
                                          kMostTensorBits),
                   .hint = fmt::format("write one number, or {}", kExample)};
    }
    const auto value = static_cast<int32_t>(*width);
    if (equals == std::string_view::npos) {
      bits = Either(Same(value), bits);
    } else {
      const Result<const TensorBitsField*> field = FindField(item.substr(0, equals));
      if (!field) return field.error();
      bits.*(*field)->field = value;
    }
    if (comma == std::string_view::npos) return bits;
    rest.remove_prefix(comma + 1);
  }
}

Result<TensorBits> ReadTensorBits(const Node& node) {
  if (node.kind == Node::Kind::kScalar) {
    const Result<int64_t> width = node.AsInt(1, kMostTensorBits);
    if (!width) return width.error();
    return Same(static_cast<int32_t>(*width));
  }
  MapReader map(node, "map of bits");
  if (Result<void> ok = map.Check(); !ok) return ok.error();
  TensorBits bits;
  for (const TensorBitsField& field : kTensorBitsFields) {
    const Node* const value = map.Find(field.name);
    if (value == nullptr) continue;
    const Result<int64_t> width = value->AsInt(1, kMostTensorBits);
    if (!width) return width.error();
    bits.*field.field = static_cast<int32_t>(*width);
  }
  if (Result<void> ok = map.Finish(); !ok) return ok.error();
  if (!bits.known()) return node.ErrorHere(ErrorKind::kBadValue, "bits of no tensor");
  return bits;
}

std::string TensorBitsYaml(const TensorBits& bits) {
  return fmt::format("{{{}}}", fmt::join(Parts(bits, ": "), ", "));
}

}  // namespace tessera
