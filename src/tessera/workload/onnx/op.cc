// Access to a node's attributes, inputs and outputs.
#include "tessera/workload/onnx/op.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"
#include "tessera/workload/onnx/schema.pb.h"
#include "tessera/workload/onnx/tensor.h"

namespace tessera::onnx {
namespace {

// The kinds of attributes by their numbers in the file.
constexpr int32_t kFloatAttribute = 1;
constexpr int32_t kIntAttribute = 2;
constexpr int32_t kTextAttribute = 3;
constexpr int32_t kTensorAttribute = 4;
constexpr int32_t kGraphAttribute = 5;
constexpr int32_t kFloatsAttribute = 6;
constexpr int32_t kIntsAttribute = 7;

// Types that have no name in value.h, by their numbers in the file.
constexpr int32_t kTextType = 8;
constexpr int32_t kComplex64Type = 14, kComplex128Type = 15;
constexpr int32_t kFirstFloat8Type = 17, kLastSmallType = 23;  // float8 kinds, 4-bit kinds
constexpr int32_t kUint4Type = 21, kInt4Type = 22;

bool CanBe(ElementType type, ElementKind kind) {
  const auto number = static_cast<int32_t>(type);
  if (type == ElementType::kUndefined) return true;
  if (type == ElementType::kBool || number == kTextType) return false;
  switch (kind) {
    case ElementKind::kNumbers: return true;
    case ElementKind::kReal:
      return !IsInteger(type) && number != kComplex64Type && number != kComplex128Type &&
             number != kUint4Type && number != kInt4Type;
    case ElementKind::kBytes: break;
  }
  return type == ElementType::kInt8 || type == ElementType::kUint8 ||
         (number >= kFirstFloat8Type && number <= kLastSmallType);
}

std::string_view TextOf(ElementKind kind) {
  switch (kind) {
    case ElementKind::kReal: return "floating-point numbers";
    case ElementKind::kNumbers: return "numbers";
    case ElementKind::kBytes: break;
  }
  return "numbers of 8 bits";
}

const Value& AbsentValue() {
  static const Value* const value = new Value();
  return *value;
}

}  // namespace

Op::Op(const schema::Node& node, const AttributeScope* scope, int64_t opset, std::string layer_name,
       std::vector<const Value*> inputs, Host& host)
    : node_(node),
      scope_(scope),
      opset_(opset),
      layer_name_(std::move(layer_name)),
      inputs_(std::move(inputs)),
      outputs_(static_cast<size_t>(node.output_size())),
      host_(host) {
  // Most operators keep the type of their first input; the others say so.
  if (!Has(0)) return;
  for (Value& output : outputs_) output.type = inputs_[0]->type;
}

const std::string& Op::type() const { return node_.op_type(); }

std::string Op::Describe() const {
  return fmt::format("node {} ({})", Quoted(layer_name_, 100), Printable(node_.op_type()));
}

void Op::Fail(ErrorKind kind, std::string message, std::string hint) {
  if (error_) return;
  error_ = Error{
      .kind = kind, .message = fmt::format("{}: {}", Describe(), message), .hint = std::move(hint)};
}

void Op::Fail(const Error& error) {
  if (!error_) error_ = error;
}

// ---- inputs

const Value& Op::Input(size_t i) {
  if (Has(i)) return *inputs_[i];
  Fail(ErrorKind::kSyntax, fmt::format("input {} is missing", i + 1));
  return AbsentValue();
}

const Dims* Op::Shape(size_t i) {
  const Value& value = Input(i);
  return value.dims ? &*value.dims : nullptr;
}

std::optional<std::vector<int64_t>> Op::Sizes(size_t i) {
  const Value& value = Input(i);
  if (failed()) return std::nullopt;
  std::vector<Reason> reasons;
  if (!value.dims) reasons.push_back(value.reason);
  std::vector<int64_t> sizes;
  for (const Dim& dim : value.dims.value_or(Dims())) {
    if (!dim.known()) reasons.push_back(dim.reason);
    sizes.push_back(dim.size);
  }
  if (reasons.empty()) return sizes;
  // All that has to be bound at once, instead of one run per symbol.
  std::set<std::string> bindings;
  for (const Reason reason : reasons) bindings.insert(host_.reasons()[reason].binding);
  bindings.erase("");
  Fail(ErrorKind::kBadValue,
       fmt::format("the shape {}of {} is not known: {}",
                   value.dims ? ToString(*value.dims) + " " : "", Quoted(value.name, 100),
                   host_.reasons()[reasons[0]].text),
       bindings.empty() ? "" : fmt::format("try --bind {}", fmt::join(bindings, ",")));
  return std::nullopt;
}

Reason Op::WhyNoData(const Value& value) {
  if (value.data_reason != kKnown) return value.data_reason;
  if (!value.dims && value.reason != kKnown) return value.reason;
  return host_.reasons().Add(
      fmt::format("the values of {} are known only at run time", Quoted(value.name, 100)));
}

std::optional<Numbers> Op::Elements(size_t i) {
  const Value& value = Input(i);
  if (value.data) return *value.data;
  if (!value.dims) return std::nullopt;
  const std::optional<size_t> count = FoldableCount(*value.dims);
  if (!count) return std::nullopt;
  if (*count == 0) return Numbers();
  return Numbers(*count, Number{.reason = WhyNoData(value)});
}

std::optional<Dims> Op::ElementsAsDims(size_t i) {
  const Value& value = Input(i);
  if (value.dims && value.dims->size() > 1) {
    Fail(ErrorKind::kBadValue, fmt::format("{} must have one dimension, but its shape is {}",
                                           Quoted(value.name, 100), ToString(*value.dims)));
    return std::nullopt;
  }
  if (value.data && !IsInteger(value.type)) {
    Fail(ErrorKind::kBadValue, fmt::format("{} must hold integers", Quoted(value.name, 100)));
    return std::nullopt;
  }
  const std::optional<Numbers> elements = Elements(i);
  if (!elements) return std::nullopt;
  Dims dims;
  for (const Number& element : *elements) dims.push_back({element.integer, element.reason});
  return dims;
}

std::optional<std::vector<int64_t>> Op::Integers(size_t i) {
  const Value& value = Input(i);
  if (!value.data || !IsInteger(value.type)) return std::nullopt;
  std::vector<int64_t> integers;
  for (const Number& element : *value.data) {
    if (!element.known()) return std::nullopt;
    integers.push_back(element.integer);
  }
  return integers;
}

std::optional<Number> Op::Scalar(size_t i) {
  const Value& value = Input(i);
  if (!IsInteger(value.type)) return std::nullopt;
  const std::optional<Numbers> elements = Elements(i);
  if (!elements || elements->size() != 1) return std::nullopt;
  return elements->front();
}

// ---- attributes

const schema::Attribute* Op::Find(std::string_view name) const {
  for (const schema::Attribute& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    if (scope_ == nullptr) return nullptr;
    const auto given = scope_->find(attribute.ref_attr_name());
    return given == scope_->end() ? nullptr : given->second;
  }
  return nullptr;
}

const schema::Attribute* Op::Find(std::string_view name, int32_t type, bool has_value) {
  const schema::Attribute* const attribute = Find(name);
  if (attribute == nullptr) return nullptr;
  // Files of the first versions leave the type out. A writer that leaves out zeros gives the type
  // only, so scalars need no value.
  if (attribute->type() == type || (attribute->type() == 0 && has_value)) return attribute;
  Fail(ErrorKind::kBadValue, fmt::format("attribute '{}' has the wrong type", name));
  return nullptr;
}

int64_t Op::Int(std::string_view name, int64_t absent) {
  const schema::Attribute* const raw = Find(name);
  const schema::Attribute* const found = Find(name, kIntAttribute, raw != nullptr && raw->has_i());
  return found == nullptr ? absent : found->i();
}

double Op::Float(std::string_view name, double absent) {
  const schema::Attribute* const raw = Find(name);
  const schema::Attribute* const found =
      Find(name, kFloatAttribute, raw != nullptr && raw->has_f());
  return found == nullptr ? absent : static_cast<double>(found->f());
}

std::string Op::Text(std::string_view name, std::string_view absent) {
  const schema::Attribute* const raw = Find(name);
  const schema::Attribute* const found = Find(name, kTextAttribute, raw != nullptr && raw->has_s());
  return found == nullptr ? std::string(absent) : found->s();
}

std::optional<std::vector<int64_t>> Op::Ints(std::string_view name) {
  const schema::Attribute* const raw = Find(name);
  const schema::Attribute* const found =
      Find(name, kIntsAttribute, raw != nullptr && raw->ints_size() > 0);
  if (found == nullptr) return std::nullopt;
  return std::vector<int64_t>(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<double>> Op::Floats(std::string_view name) {
  const schema::Attribute* const raw = Find(name);
  const schema::Attribute* const found =
      Find(name, kFloatsAttribute, raw != nullptr && raw->floats_size() > 0);
  if (found == nullptr) return std::nullopt;
  return std::vector<double>(found->floats().begin(), found->floats().end());
}

std::optional<Value> Op::Tensor(std::string_view name) {
  const schema::Attribute* const raw = Find(name);
  const schema::Attribute* const found =
      Find(name, kTensorAttribute, raw != nullptr && raw->has_t());
  if (found == nullptr) return std::nullopt;
  Result<Value> value = ReadTensor(found->t(), host_.reasons());
  if (value) return *std::move(value);
  Fail(value.error().kind, fmt::format("attribute '{}': {}", name, value.error().message),
       value.error().hint);
  return std::nullopt;
}

const schema::Graph* Op::Graph(std::string_view name) {
  const schema::Attribute* const raw = Find(name);
  const schema::Attribute* const found =
      Find(name, kGraphAttribute, raw != nullptr && raw->has_g());
  return found == nullptr ? nullptr : &found->g();
}

std::optional<std::vector<int64_t>> Op::IntsFrom(size_t i, std::string_view name, bool* unknown) {
  if (!Has(i)) return Ints(name);
  std::optional<std::vector<int64_t>> integers = Integers(i);
  if (!integers) *unknown = true;
  return integers;
}

// ---- outputs

std::string_view Op::OutputName(size_t i) const { return node_.output(static_cast<int>(i)); }

Value& Op::Output(size_t i) { return i < outputs_.size() ? outputs_[i] : dummy_; }

void Op::SetData(size_t i, Numbers data) {
  Output(i).data = std::make_shared<const Numbers>(std::move(data));
}

Reason Op::DataDependent() {
  if (data_dependent_ == kKnown) {
    data_dependent_ = host_.reasons().Add(
        fmt::format("the result of {} depends on values known only at run time", Describe()));
  }
  return data_dependent_;
}

Number Op::UnknownNumber(std::string why) {
  if (not_computed_ == kKnown) not_computed_ = host_.reasons().Add(std::move(why));
  return {.reason = not_computed_};
}

int64_t Op::AddLayer(const Layer& layer, std::string_view suffix) {
  if (failed()) return -1;
  if (const Result<void> valid = Validate(layer); !valid) {
    Fail(valid.error().kind, valid.error().message, valid.error().hint);
    return -1;
  }
  return host_.AddLayer(fmt::format("{}{}", layer_name_, suffix), layer);
}

// ---- helpers

size_t Op::Axis(int64_t axis, size_t rank) {
  const auto signed_rank = static_cast<int64_t>(rank);
  if (axis >= -signed_rank && axis < signed_rank) {
    return static_cast<size_t>(axis < 0 ? axis + signed_rank : axis);
  }
  Fail(ErrorKind::kBadValue,
       fmt::format("axis {} is outside of a shape with {} dimensions", axis, rank));
  return 0;
}

Dim Op::SameDim(const Dim& a, const Dim& b) {
  if (!a.known()) return b.known() ? b : a;
  if (b.known() && a.size != b.size) {
    Fail(ErrorKind::kBadValue, fmt::format("sizes {} and {} must be equal", a.size, b.size));
  }
  return a;
}

Dims Op::Broadcast(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()), Dim{1});
  const auto at = [&](const Dims& dims, size_t i) {
    const size_t missing = result.size() - dims.size();
    return i < missing ? Dim{1} : dims[i - missing];
  };
  for (size_t i = 0; i < result.size(); ++i) {
    const Dim x = at(a, i), y = at(b, i);
    if (x.Is(1)) {
      result[i] = y;
    } else if (y.Is(1)) {
      result[i] = x;
    } else if (x.known() && y.known() && x.size != y.size) {
      Fail(ErrorKind::kBadValue,
           fmt::format("shapes {} and {} do not broadcast", ToString(a), ToString(b)));
    } else {
      result[i] = x.known() ? x : y;
    }
  }
  return result;
}

void Op::NeedsElements(size_t i, ElementKind kind) {
  if (!Has(i) || CanBe(inputs_[i]->type, kind)) return;
  Fail(ErrorKind::kBadValue,
       fmt::format("{} is of type {}, but must hold {}", Quoted(inputs_[i]->name, 100),
                   TypeName(inputs_[i]->type), TextOf(kind)));
}

void Op::NeedsOneType(std::initializer_list<size_t> inputs) {
  const Value* first = nullptr;
  for (const size_t i : inputs) {
    if (!Has(i) || inputs_[i]->type == ElementType::kUndefined) continue;
    if (first == nullptr) first = inputs_[i];
    if (inputs_[i]->type == first->type) continue;
    return Fail(ErrorKind::kBadValue,
                fmt::format("{} is of type {}, but {} of type {}", Quoted(first->name, 100),
                            TypeName(first->type), Quoted(inputs_[i]->name, 100),
                            TypeName(inputs_[i]->type)),
                "they have to be of one type; insert a Cast");
  }
}

void Op::NeedsOneType() {
  for (size_t i = 1; i < inputs_.size(); ++i) NeedsOneType({0, i});
}

}  // namespace tessera::onnx
