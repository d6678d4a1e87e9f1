// Operators that make tensors: constants, shapes as values, ranges, random numbers.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tessera/workload/onnx/fold.h"
#include "tessera/workload/onnx/operators.h"

namespace tessera::onnx {
namespace {

void SetConstant(Op& op, ElementType type, Dims dims, Numbers numbers) {
  op.SetType(0, type);
  op.SetShape(0, std::move(dims));
  if (numbers.size() <= static_cast<size_t>(kMaxFolded)) op.SetData(0, std::move(numbers));
  op.Output(0).parameter = true;
}

void Constant(Op& op) {
  if (op.HasAttribute("value")) {
    if (std::optional<Value> value = op.Tensor("value")) op.Output(0) = *std::move(value);
  } else if (op.HasAttribute("value_int")) {
    SetConstant(op, ElementType::kInt64, {}, {{.integer = op.Int("value_int", 0)}});
  } else if (op.HasAttribute("value_float")) {
    SetConstant(op, ElementType::kFloat, {}, {{.real = op.Float("value_float", 0)}});
  } else if (op.HasAttribute("value_ints")) {
    Numbers numbers;
    for (const int64_t x : op.Ints("value_ints").value_or(std::vector<int64_t>())) {
      numbers.push_back({.integer = x});
    }
    Dims dims = {{std::ssize(numbers)}};
    SetConstant(op, ElementType::kInt64, std::move(dims), std::move(numbers));
  } else if (op.HasAttribute("value_floats")) {
    Numbers numbers;
    for (const double x : op.Floats("value_floats").value_or(std::vector<double>())) {
      numbers.push_back({.real = x});
    }
    Dims dims = {{std::ssize(numbers)}};
    SetConstant(op, ElementType::kFloat, std::move(dims), std::move(numbers));
  } else {
    op.Output(0).parameter = true;  // text or sparse: no shape is computed from these
  }
}

void ConstantOfShape(Op& op) {
  std::optional<Dims> dims = op.ElementsAsDims(0);
  const std::optional<Value> value = op.Tensor("value");
  op.SetType(0, value ? value->type : ElementType::kFloat);
  if (!dims) return;
  op.SetShape(0, *dims);
  if (value && !value->data) return;
  if (value && value->data->size() != 1) {
    return op.Fail(ErrorKind::kBadValue, "attribute 'value' must have one element");
  }
  const std::optional<size_t> count = FoldableCount(*dims);
  const Number number = value ? value->data->front() : Number();
  if (count && !op.failed()) op.SetData(0, Numbers(*count, number));
}

void Shape(Op& op) {
  op.SetType(0, ElementType::kInt64);
  const Dims* const dims = op.Shape(0);
  if (dims == nullptr) {
    op.SetShape(0, {Dim{.reason = op.Input(0).reason}});
    return;
  }
  const auto rank = std::ssize(*dims);
  const auto clamp = [rank](int64_t at) {
    return std::clamp<int64_t>(at < 0 && at >= -rank ? at + rank : at, 0, rank);
  };
  const int64_t start = clamp(op.Int("start", 0));
  const int64_t end = std::max(start, clamp(op.Int("end", rank)));
  Numbers numbers;
  for (int64_t i = start; i < end; ++i) {
    const Dim& dim = (*dims)[static_cast<size_t>(i)];
    numbers.push_back({.integer = dim.size, .reason = dim.reason});
  }
  op.SetSizes(0, {end - start});
  op.SetData(0, std::move(numbers));
}

void Size(Op& op) {
  op.SetType(0, ElementType::kInt64);
  op.SetShape(0, {});
  if (op.Shape(0) == nullptr) return;
  const std::optional<Dim> count = ElementCount(*op.Shape(0));
  if (count) op.SetData(0, {{.integer = count->size, .reason = count->reason}});
}

// How many steps lead from start to limit, without value if they are no usable number.
std::optional<int64_t> RangeCount(bool real, const Number& start, const Number& limit,
                                  const Number& delta) {
  if (real) {
    const double count = std::ceil((limit.real - start.real) / delta.real);
    if (!(count < 9.2e18)) return std::nullopt;
    return count > 0 ? static_cast<int64_t>(count) : 0;
  }
  const Checked span = Checked(limit.integer) - start.integer;
  if (delta.integer == 0 || !span.ok()) return std::nullopt;
  if (span.value() == 0 || (span.value() < 0) != (delta.integer < 0)) return 0;
  // Both have one sign, so the quotient is positive; -1 alone could overflow it.
  if (delta.integer == -1) return (Checked(0) - span).get();
  return span.value() / delta.integer + (span.value() % delta.integer != 0);
}

void Range(Op& op) {
  const bool real = IsReal(op.Input(0).type);
  Number inputs[3];
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<Numbers> elements = op.Elements(i);
    if (!elements || elements->size() != 1) {
      return op.SetShape(0, {Dim{.reason = op.DataDependent()}});
    }
    inputs[i] = elements->front();
    if (!inputs[i].known()) return op.SetShape(0, {Dim{.reason = inputs[i].reason}});
  }
  const std::optional<int64_t> count = RangeCount(real, inputs[0], inputs[1], inputs[2]);
  if (!count) return op.Fail(ErrorKind::kBadValue, "the range has no usable number of elements");
  op.SetSizes(0, {*count});
  if (*count > kMaxFolded) return;
  Numbers numbers;
  for (int64_t i = 0; i < *count; ++i) {
    if (real) {
      numbers.push_back(
          RoundedTo(op.Input(0).type, inputs[0].real + static_cast<double>(i) * inputs[2].real));
    } else {
      numbers.push_back({.integer = inputs[0].integer + i * inputs[2].integer});
    }
  }
  op.SetData(0, std::move(numbers));
}

void Random(Op& op) {
  op.SetType(0, static_cast<ElementType>(op.Int("dtype", 1)));
  if (const std::optional<std::vector<int64_t>> shape = op.Ints("shape")) op.SetSizes(0, *shape);
}

void Multinomial(Op& op) {
  op.SetType(0, ElementType::kInt32);
  if (op.Shape(0) == nullptr || op.Shape(0)->empty()) return;
  op.SetShape(0, {op.Shape(0)->front(), Dim{op.Int("sample_size", 1)}});
}

void Window(Op& op) {
  op.SetType(0, ElementType::kFloat);
  const std::optional<Number> size = op.Scalar(0);
  if (size) op.SetShape(0, {Dim{size->integer, size->reason}});
}

void MelWeightMatrix(Op& op) {
  op.SetType(0, ElementType::kFloat);
  const std::optional<Number> bins = op.Scalar(0), length = op.Scalar(1);
  if (!bins || !length) return;
  op.SetShape(0, {Dim{length->integer / 2 + 1, length->reason}, Dim{bins->integer, bins->reason}});
}

constexpr Operator kOperators[] = {
    {"Constant", Constant},
    {"ConstantOfShape", ConstantOfShape},
    {"Shape", Shape},
    {"Size", Size},
    {"Range", Range},
    {"RandomNormal", Random},
    {"RandomUniform", Random},
    {"EyeLike", SameShape},
    {"Multinomial", Multinomial},
    {"BlackmanWindow", Window},
    {"HammingWindow", Window},
    {"HannWindow", Window},
    {"MelWeightMatrix", MelWeightMatrix},
};

}  // namespace

std::span<const Operator> ConstantOperators() { return kOperators; }

}  // namespace tessera::onnx
