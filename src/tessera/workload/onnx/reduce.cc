// Operators that reduce axes of a tensor to one element or less, and cumulative sums.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/workload/onnx/fold.h"
#include "tessera/workload/onnx/operators.h"

namespace tessera::onnx {
namespace {

// Which axes a reduction removes; without value if that is not known before running.
std::optional<std::vector<bool>> ReducedAxes(Op& op, size_t rank) {
  bool unknown = false;
  std::optional<std::vector<int64_t>> axes = op.IntsFrom(1, "axes", &unknown);
  if (unknown) return std::nullopt;
  std::vector<bool> reduced(rank, false);
  if (!axes || axes->empty()) {
    if (op.Int("noop_with_empty_axes", 0) == 0) reduced.assign(rank, true);
    return reduced;
  }
  for (const int64_t axis : *axes) {
    const size_t index = op.Axis(axis, rank);
    if (op.failed()) return std::nullopt;
    reduced[index] = true;
  }
  return reduced;
}

Dims WithoutAxes(const Dims& dims, const std::vector<bool>& reduced, bool keep) {
  Dims result;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i]) {
      result.push_back(dims[i]);
    } else if (keep) {
      result.push_back({1});
    }
  }
  return result;
}

using Accumulate = Number (*)(Op& op, bool real, const Number& sum, const Number& next);

// Folds the elements of input 0 over the reduced axes.
void ReduceData(Op& op, const std::vector<bool>& reduced, Accumulate accumulate) {
  const Value& input = op.Input(0);
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*input.dims);
  if (!input.data || !sizes || input.data->empty()) return;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < sizes->size(); ++i) kept.push_back(reduced[i] ? 1 : (*sizes)[i]);
  const size_t count = static_cast<size_t>(
      std::accumulate(kept.begin(), kept.end(), int64_t{1}, std::multiplies<>()));
  std::vector<std::optional<Number>> sums(count);
  ForEachIndex(*sizes, [&](const std::vector<int64_t>& index) {
    const Number& next = (*input.data)[BroadcastOffset(index, *sizes)];
    std::optional<Number>& sum = sums[BroadcastOffset(index, kept)];
    if (!sum || !next.known()) {
      sum = next;
    } else if (sum->known()) {
      sum = accumulate(op, IsReal(input.type), *sum, next);
    }
  });
  Numbers numbers;
  for (const std::optional<Number>& sum : sums) numbers.push_back(sum.value_or(Number()));
  op.SetData(0, std::move(numbers));
}

void ReduceShape(Op& op, Accumulate accumulate) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  const bool keep = op.Int("keepdims", 1) != 0;
  const std::optional<std::vector<bool>> reduced = ReducedAxes(op, input->size());
  if (!reduced) {
    // The rank stays if reduced axes do.
    if (keep) op.SetShape(0, Dims(input->size(), Dim{.reason = op.DataDependent()}));
    return;
  }
  op.SetShape(0, WithoutAxes(*input, *reduced, keep));
  if (accumulate != nullptr) ReduceData(op, *reduced, accumulate);
}

Number Sum(Op& op, bool real, const Number& sum, const Number& next) {
  if (real) return {.real = sum.real + next.real};
  return FromChecked(op, Checked(sum.integer) + next.integer);
}
Number Product(Op& op, bool real, const Number& product, const Number& next) {
  if (real) return {.real = product.real * next.real};
  return FromChecked(op, Checked(product.integer) * next.integer);
}
Number Least(Op& /*op*/, bool real, const Number& least, const Number& next) {
  return (real ? next.real < least.real : next.integer < least.integer) ? next : least;
}
Number Most(Op& /*op*/, bool real, const Number& most, const Number& next) {
  return (real ? next.real > most.real : next.integer > most.integer) ? next : most;
}

void Reduce(Op& op) { ReduceShape(op, nullptr); }

template <Accumulate kAccumulate>
void ReduceFolded(Op& op) {
  ReduceShape(op, kAccumulate);
}

void ArgReduce(Op& op) {
  op.SetType(0, ElementType::kInt64);
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  std::vector<bool> reduced(input->size(), false);
  const size_t axis = op.Axis(op.Int("axis", 0), input->size());
  if (op.failed()) return;
  reduced[axis] = true;
  op.SetShape(0, WithoutAxes(*input, reduced, op.Int("keepdims", 1) != 0));
}

// Folded for vectors: offsets of splits are running sums of their sizes.
void CumSum(Op& op) {
  const Value& input = op.Input(0);
  op.Output(0).dims = input.dims;
  if (!input.data || !input.dims || input.dims->size() != 1) return;
  if (op.Int("exclusive", 0) != 0 || op.Int("reverse", 0) != 0) return;
  Numbers numbers;
  for (const Number& next : *input.data) {
    if (numbers.empty() || !next.known()) {
      numbers.push_back(next);
    } else {
      numbers.push_back(numbers.back().known() ? Sum(op, IsReal(input.type), numbers.back(), next)
                                               : numbers.back());
    }
  }
  op.SetData(0, std::move(numbers));
}

// One determinant per matrix.
void Determinant(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr || input->size() < 2) return;
  op.SetShape(0, Dims(input->begin(), input->end() - 2));
}

constexpr Operator kOperators[] = {
    {"ReduceSum", ReduceFolded<Sum>},
    {"ReduceProd", ReduceFolded<Product>},
    {"ReduceMin", ReduceFolded<Least>},
    {"ReduceMax", ReduceFolded<Most>},
    {"ReduceMean", Reduce},
    {"ReduceL1", Reduce},
    {"ReduceL2", Reduce},
    {"ReduceLogSum", Reduce},
    {"ReduceLogSumExp", Reduce},
    {"ReduceSumSquare", Reduce},
    {"ArgMax", ArgReduce},
    {"ArgMin", ArgReduce},
    {"CumSum", CumSum},
    {"Det", Determinant},
};

}  // namespace

std::span<const Operator> ReduceOperators() { return kOperators; }

}  // namespace tessera::onnx
