// Operators that pick elements of a tensor, or put them into one.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/workload/onnx/fold.h"
#include "tessera/workload/onnx/operators.h"

namespace tessera::onnx {
namespace {

// ---- Slice

struct SlicedAxis {
  size_t axis;
  Dim start, end, step;
};

struct Picked {
  int64_t first, step, count;
};

// The elements start, start + step, ... before end, of an axis of the given size.
Picked Pick(int64_t size, int64_t start, int64_t end, int64_t step) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  step = std::max(step, kMin + 1);
  const auto from_end = [size](int64_t at) { return at < 0 ? at + size : at; };
  if (step > 0) {
    start = std::clamp<int64_t>(from_end(start), 0, size);
    end = std::clamp<int64_t>(from_end(end), 0, size);
    return {start, step, end > start ? CeilDiv(end - start, step) : 0};
  }
  start = std::clamp<int64_t>(from_end(start), -1, size - 1);
  end = std::clamp<int64_t>(from_end(end), -1, size - 1);
  return {start, step, start > end ? CeilDiv(start - end, -step) : 0};
}

// Starts, ends, axes and steps from attributes (up to version 9) or inputs.
std::optional<std::vector<SlicedAxis>> ReadSlices(Op& op, size_t rank) {
  std::optional<Dims> starts, ends, steps;
  std::optional<std::vector<int64_t>> axes;
  if (op.opset() < 10) {
    starts = KnownDims(op.Ints("starts").value_or(std::vector<int64_t>()));
    ends = KnownDims(op.Ints("ends").value_or(std::vector<int64_t>()));
    axes = op.Ints("axes");
  } else {
    starts = op.ElementsAsDims(1);
    ends = op.ElementsAsDims(2);
    if (op.Has(3)) axes = op.Integers(3);
    if (op.Has(4)) steps = op.ElementsAsDims(4);
    if ((op.Has(3) && !axes) || (op.Has(4) && !steps)) return std::nullopt;
  }
  if (!starts || !ends || op.failed()) return std::nullopt;
  if (!axes) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!steps) steps = Dims(starts->size(), Dim{1});
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size()) {
    op.Fail(ErrorKind::kBadValue, "starts, ends, axes and steps differ in length");
    return std::nullopt;
  }
  std::vector<SlicedAxis> slices;
  for (size_t i = 0; i < starts->size(); ++i) {
    slices.push_back({op.Axis((*axes)[i], rank), (*starts)[i], (*ends)[i], (*steps)[i]});
    if (slices.back().step.Is(0)) op.Fail(ErrorKind::kBadValue, "a step is 0");
  }
  if (op.failed()) return std::nullopt;
  return slices;
}

// Without value if the size of the result is not known; *reason says why.
std::optional<Picked> PickFrom(const Dim& dim, const SlicedAxis& slice, Reason* reason) {
  for (const Dim& part : {dim, slice.start, slice.end, slice.step}) {
    if (part.known()) continue;
    *reason = part.reason;
    return std::nullopt;
  }
  return Pick(dim.size, slice.start.size, slice.end.size, slice.step.size);
}

void Slice(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  const std::optional<std::vector<SlicedAxis>> slices = ReadSlices(op, input->size());
  if (!slices) {
    // The rank stays, the sizes may not.
    if (!op.failed()) op.SetShape(0, Dims(input->size(), Dim{.reason = op.DataDependent()}));
    return;
  }
  Dims dims = *input;
  std::vector<Picked> picked;
  for (const Dim& dim : dims) picked.push_back({0, 1, dim.size});
  for (const SlicedAxis& slice : *slices) {
    Reason reason = kKnown;
    const std::optional<Picked> part = PickFrom((*input)[slice.axis], slice, &reason);
    dims[slice.axis] = part ? Dim{part->count} : Dim{.reason = reason};
    if (part) picked[slice.axis] = *part;
  }
  op.SetShape(0, std::move(dims));
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*input);
  if (!sizes) return;
  SelectData(op, 0, 0, [&](std::vector<int64_t> index) {
    for (size_t i = 0; i < index.size(); ++i)
      index[i] = picked[i].first + index[i] * picked[i].step;
    return BroadcastOffset(index, *sizes);
  });
}

// ---- Gather

void GatherData(Op& op, size_t axis) {
  const Value &data = op.Input(0), &indices = op.Input(1);
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*data.dims);
  const std::optional<std::vector<int64_t>> index_sizes = FoldableSizes(*indices.dims);
  const std::optional<std::vector<int64_t>> picks = op.Integers(1);
  if (!sizes || !index_sizes || !picks) return;
  for (const int64_t pick : *picks) {
    if (pick >= -(*sizes)[axis] && pick < (*sizes)[axis]) continue;
    return op.Fail(ErrorKind::kBadValue, fmt::format("index {} is outside of axis {} of size {}",
                                                     pick, axis, (*sizes)[axis]));
  }
  const size_t index_rank = index_sizes->size();
  SelectData(op, 0, 0, [&](const std::vector<int64_t>& index) {
    const auto middle = index.begin() + static_cast<int64_t>(axis);
    const auto after = middle + static_cast<int64_t>(index_rank);
    const int64_t pick = (*picks)[BroadcastOffset({middle, after}, *index_sizes)];
    std::vector<int64_t> source(index.begin(), middle);
    source.push_back(pick < 0 ? pick + (*sizes)[axis] : pick);
    source.insert(source.end(), after, index.end());
    return BroadcastOffset(source, *sizes);
  });
}

void Gather(Op& op) {
  const Dims *const data = op.Shape(0), *const indices = op.Shape(1);
  if (data == nullptr || indices == nullptr) return;
  const size_t axis = op.Axis(op.Int("axis", 0), data->size());
  if (op.failed()) return;
  Dims dims = *data;
  const auto at = dims.begin() + static_cast<int64_t>(axis);
  dims.insert(dims.erase(at), indices->begin(), indices->end());
  op.SetShape(0, std::move(dims));
  GatherData(op, axis);
}

void GatherElements(Op& op) { op.Output(0).dims = op.Input(1).dims; }

void GatherNd(Op& op) {
  const Dims *const data = op.Shape(0), *const indices = op.Shape(1);
  if (data == nullptr || indices == nullptr || indices->empty() || !indices->back().known()) return;
  const Checked taken = Checked(op.Int("batch_dims", 0)) + indices->back().size;
  if (!taken.ok() || taken.value() < 0 || taken.value() > std::ssize(*data)) {
    return op.Fail(ErrorKind::kBadValue, fmt::format("indices of shape {} do not fit {}",
                                                     ToString(*indices), ToString(*data)));
  }
  Dims dims(indices->begin(), indices->end() - 1);
  dims.insert(dims.end(), data->begin() + taken.value(), data->end());
  op.SetShape(0, std::move(dims));
}

// ScatterND into a small constant, one element at a time: how shapes are patched.
void ScatterNd(Op& op) {
  SameShape(op);
  const Value &data = op.Input(0), &indices = op.Input(1), &updates = op.Input(2);
  const std::optional<std::vector<int64_t>> at = op.Integers(1);
  if (!data.data || !at || !updates.data || !data.dims || !indices.dims) return;
  if (data.dims->size() != 1 || indices.dims->empty() || !indices.dims->back().Is(1) ||
      updates.data->size() != at->size() || op.Text("reduction", "none") != "none") {
    return;
  }
  Numbers numbers = *data.data;
  for (size_t i = 0; i < at->size(); ++i) {
    const int64_t index = (*at)[i] < 0 ? (*at)[i] + std::ssize(numbers) : (*at)[i];
    if (index < 0 || index >= std::ssize(numbers)) {
      return op.Fail(ErrorKind::kBadValue,
                     fmt::format("index {} is outside of {} elements", (*at)[i], numbers.size()));
    }
    numbers[static_cast<size_t>(index)] = (*updates.data)[i];
  }
  op.SetData(0, std::move(numbers));
}

// ---- results whose size depends on the data

void NonZero(Op& op) {
  op.SetType(0, ElementType::kInt64);
  const Value& input = op.Input(0);
  if (!input.dims) return;
  // A scalar counts as one dimension.
  const int64_t rank = std::max<int64_t>(std::ssize(*input.dims), 1);
  Dims dims = {Dim{rank}, Dim{.reason = op.DataDependent()}};
  std::optional<std::vector<int64_t>> sizes = FoldableSizes(*input.dims);
  if (!input.data || !sizes) return op.SetShape(0, std::move(dims));
  if (sizes->empty()) sizes->push_back(1);
  std::vector<std::vector<int64_t>> found;
  bool known = true;
  ForEachIndex(*sizes, [&](const std::vector<int64_t>& index) {
    const Number& number = (*input.data)[BroadcastOffset(index, *sizes)];
    known = known && number.known();
    if (IsReal(input.type) ? number.real != 0 : number.integer != 0) found.push_back(index);
  });
  if (!known) return op.SetShape(0, std::move(dims));
  dims[1] = {std::ssize(found)};
  const bool small = FoldableCount(dims).has_value();
  op.SetShape(0, std::move(dims));
  if (!small) return;
  Numbers numbers;
  for (size_t axis = 0; axis < static_cast<size_t>(rank); ++axis) {
    for (const std::vector<int64_t>& index : found) numbers.push_back({.integer = index[axis]});
  }
  op.SetData(0, std::move(numbers));
}

void Compress(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  Dim count{.reason = op.DataDependent()};
  if (const std::optional<std::vector<int64_t>> keep = op.Integers(1)) {
    count = {std::ssize(*keep) - std::count(keep->begin(), keep->end(), 0)};
  }
  if (!op.HasAttribute("axis")) return op.SetShape(0, {count});
  Dims dims = *input;
  const size_t axis = op.Axis(op.Int("axis", 0), dims.size());
  if (op.failed()) return;
  dims[axis] = count;
  op.SetShape(0, std::move(dims));
}

void Unique(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  const Dim count{.reason = op.DataDependent()};
  Dims dims = {count};
  if (op.HasAttribute("axis")) {
    const size_t axis = op.Axis(op.Int("axis", 0), input->size());
    if (op.failed()) return;
    dims = *input;
    dims[axis] = count;
  }
  op.SetShape(0, std::move(dims));
  for (size_t i = 1; i < op.num_outputs(); ++i) {
    op.SetShape(i, {Dim{.reason = op.DataDependent()}});
    op.SetType(i, ElementType::kInt64);
  }
}

void NonMaxSuppression(Op& op) {
  op.SetType(0, ElementType::kInt64);
  op.SetShape(0, {Dim{.reason = op.DataDependent()}, Dim{3}});
}

// ---- the rest

void OneHot(Op& op) {
  op.SetType(0, op.Input(2).type);
  const Dims* const indices = op.Shape(0);
  const Value& depth = op.Input(1);
  if (indices == nullptr) return;
  Dim size{.reason = op.DataDependent()};
  if (depth.data && depth.data->size() == 1) {
    const Number number = Convert(op, depth.data->front(), depth.type, ElementType::kInt64);
    size = {number.integer, number.reason};
  }
  Dims dims = *indices;
  const size_t axis = op.Axis(op.Int("axis", -1), dims.size() + 1);
  dims.insert(dims.begin() + static_cast<int64_t>(axis), size);
  op.SetShape(0, std::move(dims));
}

void TopK(Op& op) {
  op.SetType(1, ElementType::kInt64);
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  Dim count{op.Int("k", 0)};
  if (op.opset() >= 10) {
    const std::optional<Number> k = op.Scalar(1);
    count = k ? Dim{k->integer, k->reason} : Dim{.reason = op.DataDependent()};
  }
  Dims dims = *input;
  const size_t axis = op.Axis(op.Int("axis", -1), dims.size());
  if (op.failed()) return;
  dims[axis] = count;
  op.SetShape(0, dims);
  op.SetShape(1, std::move(dims));
}

constexpr Operator kOperators[] = {
    {"Slice", Slice},
    {"Gather", Gather},
    {"GatherElements", GatherElements},
    {"GatherND", GatherNd},
    {"Scatter", SameShape},
    {"ScatterElements", SameShape},
    {"ScatterND", ScatterNd},
    {"TensorScatter", SameShape},
    {"NonZero", NonZero},
    {"Compress", Compress},
    {"Unique", Unique},
    {"NonMaxSuppression", NonMaxSuppression},
    {"OneHot", OneHot},
    {"TopK", TopK},
    {"Trilu", SameShape},
    {"ReverseSequence", SameShape},
};

}  // namespace

std::span<const Operator> SelectOperators() { return kOperators; }

}  // namespace tessera::onnx
