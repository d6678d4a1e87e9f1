// Operators that work element by element: the result has the shape of the input, or the one that
// the inputs broadcast to. Those that occur in shape computations are folded.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/workload/onnx/fold.h"
#include "tessera/workload/onnx/operators.h"

namespace tessera::onnx {
namespace {

// ---- one input

void SameShapeBool(Op& op) {
  SameShape(op);
  op.SetType(0, ElementType::kBool);
}

// Also for operators that hand values through, such as Identity.
void Same(Op& op) {
  const Value& input = op.Input(0);
  op.Output(0).dims = input.dims;
  op.Output(0).reason = input.reason;
  op.Output(0).sequence = input.sequence;
  op.Output(0).layer = input.layer;
  CopyData(op, 0, 0);
}

template <double (*kReal)(double), int64_t (*kInteger)(int64_t)>
void Unary(Op& op) {
  SameShape(op);
  const Value& input = op.Input(0);
  if (!input.data) return;
  Numbers numbers;
  for (const Number& number : *input.data) {
    if (!number.known()) {
      numbers.push_back(number);
    } else if (IsReal(input.type)) {
      numbers.push_back(RoundedTo(input.type, kReal(number.real)));
    } else {
      numbers.push_back({.integer = kInteger(number.integer)});
    }
  }
  op.SetData(0, std::move(numbers));
}

int64_t SameInteger(int64_t x) { return x; }
int64_t RootOf(int64_t x) { return static_cast<int64_t>(std::sqrt(static_cast<double>(x))); }
double NegateReal(double x) { return -x; }
// The smallest integer stays as it is, as in two's complement.
int64_t Negate(int64_t x) { return x == std::numeric_limits<int64_t>::min() ? x : -x; }
double AbsReal(double x) { return std::fabs(x); }
int64_t Abs(int64_t x) { return x < 0 ? Negate(x) : x; }
double SqrtReal(double x) { return std::sqrt(x); }
double FloorReal(double x) { return std::floor(x); }
double CeilReal(double x) { return std::ceil(x); }
double RoundReal(double x) { return std::nearbyint(x); }  // halves go to even
double InverseReal(double x) { return 1 / x; }
double ExpReal(double x) { return std::exp(x); }
double LogReal(double x) { return std::log(x); }
double SignReal(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
int64_t Sign(int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double ReluReal(double x) { return x > 0 ? x : 0; }
int64_t Relu(int64_t x) { return std::max<int64_t>(x, 0); }
double NotReal(double x) { return x == 0 ? 1 : 0; }
int64_t Not(int64_t x) { return x == 0 ? 1 : 0; }

void CastTo(Op& op, ElementType to) {
  SameShape(op);
  op.SetType(0, to);
  const Value& input = op.Input(0);
  if (!input.data || (!IsInteger(to) && !IsReal(to))) return;
  Numbers numbers;
  for (const Number& number : *input.data) numbers.push_back(Convert(op, number, input.type, to));
  op.SetData(0, std::move(numbers));
}

// Before version 6 the type was a text; nothing that decides shapes was written that way.
void Cast(Op& op) {
  if (op.opset() < 6) return SameShape(op);
  const int64_t to = op.Int("to", 0);
  // Numbers that no type has become "undefined", which has no elements here.
  CastTo(op, static_cast<ElementType>(to > 0 && to < 1000 ? to : 0));
}

void CastLike(Op& op) { CastTo(op, op.Input(1).type); }

// ---- two inputs

using Combine = Number (*)(Op& op, bool real, const Number& a, const Number& b);

Dims PairShape(Op& op, const Dims& a, const Dims& b) {
  // Up to version 6 the second input is fitted into the first, along an axis of its own choice.
  return op.opset() < 7 ? a : op.Broadcast(a, b);
}

struct Operand {
  const Numbers* data;
  std::vector<int64_t> sizes;
};

std::optional<Operand> FoldableOperand(const Value& value) {
  if (!value.data || !value.dims) return std::nullopt;
  std::optional<std::vector<int64_t>> sizes = FoldableSizes(*value.dims);
  if (!sizes) return std::nullopt;
  return Operand{value.data.get(), *std::move(sizes)};
}

// The elements of `a` combined with those of `b`, in the type of `a`.
std::shared_ptr<const Numbers> Combined(Op& op, const Value& a, const Value& b, const Dims& dims,
                                        Combine combine) {
  const std::optional<Operand> x = FoldableOperand(a), y = FoldableOperand(b);
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(dims);
  if (!x || !y || !sizes || op.failed()) return nullptr;
  if (x->sizes.size() > sizes->size() || y->sizes.size() > sizes->size()) return nullptr;
  if (op.opset() < 7 && y->sizes != x->sizes && y->data->size() != 1) return nullptr;
  auto numbers = std::make_shared<Numbers>();
  ForEachIndex(*sizes, [&](const std::vector<int64_t>& index) {
    const Number& left = (*x->data)[BroadcastOffset(index, x->sizes)];
    const Number& right = (*y->data)[BroadcastOffset(index, y->sizes)];
    if (!left.known() || !right.known()) {
      numbers->push_back({.reason = left.known() ? right.reason : left.reason});
      return;
    }
    const Number result = combine(op, IsReal(a.type), left, right);
    // Comparisons fill `integer` alone, arithmetic on reals `real` alone.
    Number rounded = result;
    if (IsReal(a.type)) rounded.real = RoundedTo(a.type, result.real).real;
    numbers->push_back(rounded);
  });
  return numbers;
}

template <Combine kCombine>
void Binary(Op& op) {
  if (op.type() != "Pow") op.NeedsOneType({0, 1});
  const Value &a = op.Input(0), &b = op.Input(1);
  if (!a.dims || !b.dims) return;
  Dims dims = PairShape(op, *a.dims, *b.dims);
  if (IsReal(a.type) == IsReal(b.type)) op.Output(0).data = Combined(op, a, b, dims, kCombine);
  op.SetShape(0, std::move(dims));
}

template <Combine kCombine>
void Compare(Op& op) {
  Binary<kCombine>(op);
  op.SetType(0, ElementType::kBool);
}

void BroadcastShape(Op& op) {
  if (op.Shape(0) == nullptr || op.Shape(1) == nullptr) return;
  op.SetShape(0, PairShape(op, *op.Shape(0), *op.Shape(1)));
}

Number Add(Op& op, bool real, const Number& a, const Number& b) {
  if (real) return {.real = a.real + b.real};
  return FromChecked(op, Checked(a.integer) + b.integer);
}

Number Subtract(Op& op, bool real, const Number& a, const Number& b) {
  if (real) return {.real = a.real - b.real};
  return FromChecked(op, Checked(a.integer) - b.integer);
}

Number Multiply(Op& op, bool real, const Number& a, const Number& b) {
  if (real) return {.real = a.real * b.real};
  return FromChecked(op, Checked(a.integer) * b.integer);
}

bool CanDivide(const Number& a, const Number& b) {
  return b.integer != 0 && (b.integer != -1 || a.integer != std::numeric_limits<int64_t>::min());
}

Number Divide(Op& op, bool real, const Number& a, const Number& b) {
  if (real) return {.real = a.real / b.real};
  if (CanDivide(a, b)) return {.integer = a.integer / b.integer};
  return op.UnknownNumber(fmt::format("{} divides {} by {}", op.Describe(), a.integer, b.integer));
}

// The rest of a division, with the sign of the dividend.
Number Remainder(Op& op, bool real, const Number& a, const Number& b) {
  if (real) return {.real = std::fmod(a.real, b.real)};
  if (CanDivide(a, b)) return {.integer = a.integer % b.integer};
  return op.UnknownNumber(fmt::format("{} divides {} by {}", op.Describe(), a.integer, b.integer));
}

// The same with the sign of the divisor.
Number Modulo(Op& op, bool real, const Number& a, const Number& b) {
  Number rest = Remainder(op, real, a, b);
  if (rest.integer != 0 && (rest.integer < 0) != (b.integer < 0)) rest.integer += b.integer;
  return rest;
}

Number Power(Op& op, bool real, const Number& a, const Number& b) {
  if (real) return {.real = std::pow(a.real, b.real)};
  if (b.integer < 0 || b.integer > 64) {
    return op.UnknownNumber(fmt::format("{} has the exponent {}", op.Describe(), b.integer));
  }
  Checked power = 1;
  for (int64_t i = 0; i < b.integer; ++i) power = power * a.integer;
  return FromChecked(op, power);
}

Number Minimum(Op& /*op*/, bool real, const Number& a, const Number& b) {
  return (real ? b.real < a.real : b.integer < a.integer) ? b : a;
}
Number Maximum(Op& /*op*/, bool real, const Number& a, const Number& b) {
  return (real ? b.real > a.real : b.integer > a.integer) ? b : a;
}
Number Equal(Op& /*op*/, bool real, const Number& a, const Number& b) {
  return {.integer = real ? a.real == b.real : a.integer == b.integer};
}
Number Less(Op& /*op*/, bool real, const Number& a, const Number& b) {
  return {.integer = real ? a.real < b.real : a.integer < b.integer};
}
Number LessOrEqual(Op& /*op*/, bool real, const Number& a, const Number& b) {
  return {.integer = real ? a.real <= b.real : a.integer <= b.integer};
}
Number Greater(Op& op, bool real, const Number& a, const Number& b) { return Less(op, real, b, a); }
Number GreaterOrEqual(Op& op, bool real, const Number& a, const Number& b) {
  return LessOrEqual(op, real, b, a);
}
Number And(Op& /*op*/, bool /*real*/, const Number& a, const Number& b) {
  return {.integer = a.integer != 0 && b.integer != 0};
}
Number Or(Op& /*op*/, bool /*real*/, const Number& a, const Number& b) {
  return {.integer = a.integer != 0 || b.integer != 0};
}
Number Xor(Op& /*op*/, bool /*real*/, const Number& a, const Number& b) {
  return {.integer = (a.integer != 0) != (b.integer != 0)};
}

void Mod(Op& op) { op.Int("fmod", 0) != 0 ? Binary<Remainder>(op) : Binary<Modulo>(op); }

// An addition right after a product with a weight is its bias.
void AddOrBias(Op& op) {
  Binary<Add>(op);
  for (const size_t product : {size_t{0}, size_t{1}}) {
    const Value &sum = op.Input(product), &bias = op.Input(1 - product);
    if (sum.layer < 0 || !bias.parameter || !bias.dims || bias.dims->empty()) continue;
    const std::optional<Dim> count = ElementCount(*bias.dims);
    if (count && count->known() && *count == bias.dims->back()) {
      op.host().AddBias(sum.layer, count->size);
    }
  }
}

// ---- more inputs

template <Combine kCombine>
void Variadic(Op& op) {
  op.NeedsOneType();
  Value result = op.Input(0);
  for (size_t i = 1; i < op.num_inputs(); ++i) {
    const Value& next = op.Input(i);
    if (!result.dims || !next.dims) return;
    Dims dims = PairShape(op, *result.dims, *next.dims);
    result.data = Combined(op, result, next, dims, kCombine);
    result.dims = std::move(dims);
  }
  op.Output(0).dims = result.dims;
  op.Output(0).data = result.data;
}

void VariadicShape(Op& op) {
  op.NeedsOneType();
  if (op.Shape(0) == nullptr) return;
  Dims dims = *op.Shape(0);
  for (size_t i = 1; i < op.num_inputs(); ++i) {
    if (op.Shape(i) == nullptr) return;
    dims = PairShape(op, dims, *op.Shape(i));
  }
  op.SetShape(0, std::move(dims));
}

void Where(Op& op) {
  op.NeedsOneType({1, 2});
  op.SetType(0, op.Input(1).type);
  const Value &condition = op.Input(0), &yes = op.Input(1), &no = op.Input(2);
  if (!condition.dims || !yes.dims || !no.dims) return;
  op.SetShape(0, op.Broadcast(op.Broadcast(*condition.dims, *yes.dims), *no.dims));
  const std::optional<Operand> c = FoldableOperand(condition), y = FoldableOperand(yes),
                               n = FoldableOperand(no);
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*op.Output(0).dims);
  if (!c || !y || !n || !sizes || op.failed()) return;
  Numbers numbers;
  ForEachIndex(*sizes, [&](const std::vector<int64_t>& index) {
    const Number& choice = (*c->data)[BroadcastOffset(index, c->sizes)];
    const Number& if_yes = (*y->data)[BroadcastOffset(index, y->sizes)];
    const Number& if_no = (*n->data)[BroadcastOffset(index, n->sizes)];
    if (!choice.known()) {
      numbers.push_back({.reason = choice.reason});
    } else {
      numbers.push_back(choice.integer != 0 ? if_yes : if_no);
    }
  });
  op.SetData(0, std::move(numbers));
}

void Clip(Op& op) {
  SameShape(op);
  const Value& input = op.Input(0);
  if (!input.data || op.opset() < 11) return;
  std::optional<Number> bounds[2];
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (!op.Has(i)) continue;
    if (!op.Input(i).data || op.Input(i).data->size() != 1) return;
    bounds[i - 1] = op.Input(i).data->front();
    if (!bounds[i - 1]->known()) return;
  }
  Numbers numbers;
  const bool real = IsReal(input.type);
  for (Number number : *input.data) {
    if (number.known() && bounds[0]) number = Maximum(op, real, number, *bounds[0]);
    if (number.known() && bounds[1]) number = Minimum(op, real, number, *bounds[1]);
    numbers.push_back(number);
  }
  op.SetData(0, std::move(numbers));
}

void Dropout(Op& op) {
  Same(op);
  op.Output(0).layer = -1;
  op.Output(1).dims = op.Input(0).dims;
  op.SetType(1, ElementType::kBool);
}

constexpr Operator kOperators[] = {
    // Folded, because shapes are computed with them.
    {"Identity", Same},
    {"Dropout", Dropout},
    {"Cast", Cast},
    {"CastLike", CastLike},
    {"Neg", Unary<NegateReal, Negate>},
    {"Abs", Unary<AbsReal, Abs>},
    {"Sqrt", Unary<SqrtReal, RootOf>},
    {"Floor", Unary<FloorReal, SameInteger>},
    {"Ceil", Unary<CeilReal, SameInteger>},
    {"Round", Unary<RoundReal, SameInteger>},
    {"Reciprocal", Unary<InverseReal, SameInteger>},
    {"Exp", Unary<ExpReal, SameInteger>},
    {"Log", Unary<LogReal, SameInteger>},
    {"Sign", Unary<SignReal, Sign>},
    {"Relu", Unary<ReluReal, Relu>},
    {"Not", Unary<NotReal, Not>},
    {"Add", AddOrBias},
    {"Sub", Binary<Subtract>},
    {"Mul", Binary<Multiply>},
    {"Div", Binary<Divide>},
    {"Mod", Mod},
    {"Pow", Binary<Power>},
    {"Equal", Compare<Equal>},
    {"Less", Compare<Less>},
    {"LessOrEqual", Compare<LessOrEqual>},
    {"Greater", Compare<Greater>},
    {"GreaterOrEqual", Compare<GreaterOrEqual>},
    {"And", Compare<And>},
    {"Or", Compare<Or>},
    {"Xor", Compare<Xor>},
    {"Sum", Variadic<Add>},
    {"Min", Variadic<Minimum>},
    {"Max", Variadic<Maximum>},
    {"Where", Where},
    {"Clip", Clip},
    // Shape only.
    {"Mean", VariadicShape},
    {"BitShift", BroadcastShape},
    {"BitwiseAnd", BroadcastShape},
    {"BitwiseOr", BroadcastShape},
    {"BitwiseXor", BroadcastShape},
    {"BitwiseNot", SameShape},
    {"Acos", SameShape},
    {"Acosh", SameShape},
    {"Asin", SameShape},
    {"Asinh", SameShape},
    {"Atan", SameShape},
    {"Atanh", SameShape},
    {"BitCast", SameShape},
    {"Bernoulli", SameShape},
    {"Celu", SameShape},
    {"Cos", SameShape},
    {"Cosh", SameShape},
    {"CumProd", SameShape},
    {"Elu", SameShape},
    {"Erf", SameShape},
    {"Gelu", SameShape},
    {"HardSigmoid", SameShape},
    {"HardSwish", SameShape},
    {"Hardmax", SameShape},
    {"IsInf", SameShapeBool},
    {"IsNaN", SameShapeBool},
    {"LeakyRelu", SameShape},
    {"Mish", SameShape},
    {"PRelu", SameShape},
    {"RandomNormalLike", SameShape},
    {"RandomUniformLike", SameShape},
    {"Selu", SameShape},
    {"Shrink", SameShape},
    {"Sigmoid", SameShape},
    {"Sin", SameShape},
    {"Sinh", SameShape},
    {"Softplus", SameShape},
    {"Softsign", SameShape},
    {"SwiGLU", SameShape},
    {"Swish", SameShape},
    {"Tan", SameShape},
    {"Tanh", SameShape},
    {"ThresholdedRelu", SameShape},
};

}  // namespace

std::span<const Operator> ElementwiseOperators() { return kOperators; }

}  // namespace tessera::onnx
