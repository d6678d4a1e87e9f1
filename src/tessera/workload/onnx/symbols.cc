// Binding of symbolic dimensions.
#include "tessera/workload/onnx/symbols.h"

#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/workload/expression.h"
#include "tessera/workload/onnx/schema.pb.h"

namespace tessera::onnx {

Symbols::Symbols(const Bindings& bindings) {
  for (const auto& [name, value] : bindings) {
    if (value.word.empty()) {
      bindings_.emplace(name, value.number);
    } else if (word_.empty()) {
      word_ = fmt::format("{}={}", name, value.word);
    }
  }
}

namespace {

// The value of a symbol, or of an expression over symbols ("past + 1"); exporters write both.
std::optional<int64_t> ValueOf(const std::string& symbol,
                               const std::map<std::string, int64_t>& bindings) {
  // The whole text first: a name may look like an expression ("batch-size").
  if (const auto found = bindings.find(symbol); found != bindings.end()) return found->second;
  const Result<int64_t> value = EvaluateExpression(symbol, bindings);
  return value ? std::optional<int64_t>(*value) : std::nullopt;
}

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

void Symbols::Declare(const std::string& symbol) {
  names_.insert(symbol);
  for (size_t start = 0; start < symbol.size();) {
    size_t end = start;
    while (end < symbol.size() && IsNameCharacter(symbol[end])) ++end;
    const std::string name = symbol.substr(start, end - start);
    if (IsParameterName(name)) names_.insert(name);
    start = end + 1;
  }
}

void Symbols::Declare(const schema::ValueInfo& info) {
  for (const schema::Dimension& dim : info.type().tensor_type().shape().dim()) {
    if (!dim.dim_param().empty()) Declare(dim.dim_param());
  }
}

std::optional<int64_t> Symbols::Find(const std::string& name) const {
  const auto found = bindings_.find(name);
  return found == bindings_.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

Dim Symbols::ReadAxis(const std::string& input, size_t axis, std::string symbol, Reasons& reasons) {
  if (symbol == "?") symbol.clear();  // Paddle's exporter names every open dimension so
  const std::string by_axis = fmt::format("{}.{}", input, axis);
  names_.insert(by_axis);
  if (!symbol.empty()) Declare(symbol);
  if (const std::optional<int64_t> size = Find(by_axis)) return {*size};
  if (!symbol.empty()) {
    if (const std::optional<int64_t> size = ValueOf(symbol, bindings_)) return {*size};
    return {.reason = reasons.Add(fmt::format("dimension {} of input {} is the symbol {}", axis,
                                              Quoted(input, 100), Quoted(symbol, 100)),
                                  fmt::format("{}={}", symbol, axis == 0 ? "1" : "SIZE"))};
  }
  return {.reason = reasons.Add(
              fmt::format("dimension {} of input {} has no fixed size", axis, Quoted(input, 100)),
              fmt::format("{}={}", by_axis, axis == 0 ? "1" : "SIZE"))};
}

Result<Value> Symbols::ReadInput(const schema::ValueInfo& input, Reasons& reasons) {
  const std::string& name = input.name();
  const schema::TensorType& type = input.type().tensor_type();
  Value value{.name = name, .type = static_cast<ElementType>(type.elem_type())};
  if (!type.has_shape()) {
    Dims dims;
    while (dims.size() < kMaxRank && Find(fmt::format("{}.{}", name, dims.size()))) {
      dims.push_back(ReadAxis(name, dims.size(), "", reasons));
    }
    if (!dims.empty()) {
      value.dims = std::move(dims);
    } else {
      value.reason = reasons.Add(fmt::format("input {} has no shape", Quoted(name, 100)),
                                 fmt::format("{0}.0=SIZE,{0}.1=SIZE,...", name));
    }
    return value;
  }
  if (static_cast<size_t>(type.shape().dim_size()) > kMaxRank) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("input {} has {} dimensions, more than {}",
                                        Quoted(name, 100), type.shape().dim_size(), kMaxRank)};
  }
  Dims dims;
  for (const schema::Dimension& dim : type.shape().dim()) {
    if (dim.dim_value() < -1) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("input {} has the negative size {}", Quoted(name, 100),
                                          dim.dim_value())};
    }
    // 0 and -1 are how some writers say "any size".
    dims.push_back(dim.dim_value() > 0 ? Dim{dim.dim_value()}
                                       : ReadAxis(name, dims.size(), dim.dim_param(), reasons));
    if (dims.back().size < 0) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("the bindings make {} of input {} negative ({})",
                                          Quoted(dim.dim_param(), 100), Quoted(name, 100),
                                          dims.back().size)};
    }
  }
  if (!ElementCount(dims)) {
    return Error{
        .kind = ErrorKind::kOverflow,
        .message = fmt::format("input {} of shape {} has more elements than fit in 64 bits",
                               Quoted(name, 100), ToString(dims))};
  }
  value.dims = std::move(dims);
  return value;
}

std::optional<Dims> Symbols::ReadAnnotation(const schema::TensorType& type,
                                            Reason otherwise) const {
  if (!type.has_shape() || static_cast<size_t>(type.shape().dim_size()) > kMaxRank) {
    return std::nullopt;
  }
  Dims dims;
  for (const schema::Dimension& dim : type.shape().dim()) {
    std::optional<int64_t> size;
    if (dim.dim_value() > 0) size = dim.dim_value();
    if (!dim.dim_param().empty()) size = ValueOf(dim.dim_param(), bindings_);
    dims.push_back(size && *size >= 0 ? Dim{*size} : Dim{.reason = otherwise});
  }
  return dims;
}

Result<void> Symbols::CheckSizes() const {
  if (!word_.empty()) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("binding {}: a size is a number", Printable(word_))};
  }
  for (const auto& [name, size] : bindings_) {
    if (size >= 0 && size <= kMaxSize) continue;
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("binding {}={}: a size must be in 0..{}", name, size, kMaxSize)};
  }
  return {};
}

Result<void> Symbols::CheckNames() const {
  for (const auto& [name, size] : bindings_) {
    if (names_.contains(name)) continue;
    const std::vector<std::string> candidates(names_.begin(), names_.end());
    return Error{
        .kind = ErrorKind::kUnknownName,
        .message = fmt::format("the graph has no symbolic dimension {}", Quoted(name, 100)),
        .hint = candidates.empty() ? "all sizes of its inputs are fixed"
                                   : DidYouMean(name, candidates)};
  }
  return {};
}

}  // namespace tessera::onnx
