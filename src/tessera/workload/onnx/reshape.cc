// Operators that rearrange a tensor without computing: new shapes, permutations, joins, copies.
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/workload/onnx/fold.h"
#include "tessera/workload/onnx/operators.h"

namespace tessera::onnx {
namespace {

// The size of the one axis that the others and the number of elements leave open.
Dim OpenAxis(Op& op, const Dims& input, const Dims& target, size_t open) {
  Dims others = target;
  others[open] = {1};
  const std::optional<Dim> total = ElementCount(input), rest = ElementCount(others);
  if (!total || !rest) {
    op.Fail(ErrorKind::kOverflow, "the number of elements does not fit in 64 bits");
    return {};
  }
  if (!total->known()) return *total;
  if (!rest->known()) return *rest;
  if (rest->size > 0 && total->size % rest->size == 0) return {total->size / rest->size};
  op.Fail(ErrorKind::kBadValue,
          fmt::format("{} cannot be reshaped to {}", ToString(input), ToString(others)));
  return {};
}

// Replaces 0 (copy), -1 (whatever is left) and, if there is just one, an unknown size.
Dims ResolveTarget(Op& op, const Dims& input, Dims target, bool zero_is_zero) {
  std::vector<size_t> open, unknown;
  for (size_t i = 0; i < target.size(); ++i) {
    Dim& dim = target[i];
    if (dim.Is(0) && !zero_is_zero) {
      if (i >= input.size()) {
        op.Fail(ErrorKind::kBadValue, fmt::format("0 at position {} of the new shape copies a "
                                                  "dimension that {} does not have",
                                                  i, ToString(input)));
        return target;
      }
      dim = input[i];
    } else if (dim.Is(-1)) {
      open.push_back(i);
    } else if (dim.known() && dim.size < 0) {
      op.Fail(ErrorKind::kBadValue, fmt::format("the new shape has the size {}", dim.size));
      return target;
    }
    if (!dim.known()) unknown.push_back(i);
  }
  if (open.size() > 1) {
    op.Fail(ErrorKind::kBadValue, "the new shape has more than one -1");
  } else if (open.size() == 1) {
    target[open[0]] = OpenAxis(op, input, target, open[0]);
  } else if (unknown.size() == 1) {
    const std::optional<Dim> total = ElementCount(input);
    if (total && total->known() && total->size > 0) {
      target[unknown[0]] = OpenAxis(op, input, target, unknown[0]);
    }
  } else if (unknown.empty()) {
    const std::optional<Dim> total = ElementCount(input), wanted = ElementCount(target);
    if (!wanted || (total && total->known() && total->size != wanted->size)) {
      op.Fail(ErrorKind::kBadValue,
              fmt::format("{} cannot be reshaped to {}", ToString(input), ToString(target)));
    }
  }
  return target;
}

void Reshape(Op& op) {
  std::optional<Dims> target;
  if (op.opset() < 5) {
    if (const auto shape = op.Ints("shape")) target = KnownDims(*shape);
  } else {
    target = op.ElementsAsDims(1);
  }
  if (!target || op.failed()) return;
  const Dims* const input = op.Shape(0);
  if (input == nullptr) {
    // The rank is known at least; sizes that are copied or left over are not.
    for (Dim& dim : *target) {
      if (dim.known() && dim.size <= 0) dim = {.reason = op.Input(0).reason};
    }
    return op.SetShape(0, *std::move(target));
  }
  op.SetShape(0, ResolveTarget(op, *input, *std::move(target), op.Int("allowzero", 0) != 0));
  CopyData(op, 0, 0);
}

Dim Product(Op& op, const Dims& dims) {
  const std::optional<Dim> count = ElementCount(dims);
  if (count) return *count;
  op.Fail(ErrorKind::kOverflow, "the number of elements does not fit in 64 bits");
  return {};
}

void Flatten(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  const int64_t axis = op.Int("axis", 1);
  const auto rank = std::ssize(*input);
  if (axis < -rank || axis > rank) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("axis {} is outside of a shape with {} dimensions", axis, rank));
  }
  const auto middle = input->begin() + (axis < 0 ? axis + rank : axis);
  op.SetShape(0,
              {Product(op, Dims(input->begin(), middle)), Product(op, Dims(middle, input->end()))});
  CopyData(op, 0, 0);
}

// Axes as indices, sorted, without repetition.
std::vector<size_t> Axes(Op& op, const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> result;
  for (const int64_t axis : axes) result.push_back(op.Axis(axis, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end() && !op.failed()) {
    op.Fail(ErrorKind::kBadValue, "an axis is named twice");
  }
  return result;
}

void Squeeze(Op& op) {
  const Dims* const input = op.Shape(0);
  bool unknown = false;
  const std::optional<std::vector<int64_t>> given = op.IntsFrom(1, "axes", &unknown);
  if (input == nullptr || unknown) return;
  std::vector<size_t> axes;
  if (given) {
    axes = Axes(op, *given, input->size());
  } else {
    for (size_t i = 0; i < input->size(); ++i) {
      if (!(*input)[i].known()) return;  // it may be 1: not even the rank is known
      if ((*input)[i].Is(1)) axes.push_back(i);
    }
  }
  Dims dims;
  for (size_t i = 0; i < input->size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      dims.push_back((*input)[i]);
    } else if ((*input)[i].known() && !(*input)[i].Is(1)) {
      return op.Fail(ErrorKind::kBadValue, fmt::format("axis {} of {} is not 1, so it cannot be "
                                                       "squeezed",
                                                       i, ToString(*input)));
    }
  }
  op.SetShape(0, std::move(dims));
  CopyData(op, 0, 0);
}

void Unsqueeze(Op& op) {
  const Dims* const input = op.Shape(0);
  bool unknown = false;
  const std::optional<std::vector<int64_t>> given = op.IntsFrom(1, "axes", &unknown);
  if (input == nullptr || unknown) return;
  if (!given) return op.Fail(ErrorKind::kSyntax, "the axes are missing");
  if (given->size() > kMaxRank) {
    return op.Fail(ErrorKind::kBadValue, fmt::format("{} axes are too many", given->size()));
  }
  const std::vector<size_t> axes = Axes(op, *given, input->size() + given->size());
  if (op.failed()) return;
  Dims dims = *input;
  for (const size_t axis : axes) dims.insert(dims.begin() + static_cast<int64_t>(axis), Dim{1});
  op.SetShape(0, std::move(dims));
  CopyData(op, 0, 0);
}

void Transpose(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  const size_t rank = input->size();
  std::vector<size_t> order(rank);
  if (const std::optional<std::vector<int64_t>> perm = op.Ints("perm")) {
    if (perm->size() != rank || Axes(op, *perm, rank).size() != rank) {
      return op.Fail(ErrorKind::kBadValue,
                     fmt::format("'perm' has {} entries for {} dimensions", perm->size(), rank));
    }
    for (size_t i = 0; i < rank; ++i) order[i] = op.Axis((*perm)[i], rank);
  } else {
    for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  }
  if (op.failed()) return;
  Dims dims;
  for (const size_t axis : order) dims.push_back((*input)[axis]);
  op.SetShape(0, std::move(dims));
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*input);
  if (!sizes) return;
  SelectData(op, 0, 0, [&](const std::vector<int64_t>& index) {
    std::vector<int64_t> source(rank);
    for (size_t i = 0; i < rank; ++i) source[order[i]] = index[i];
    return BroadcastOffset(source, *sizes);
  });
}

void Expand(Op& op) {
  const Dims* const input = op.Shape(0);
  const std::optional<Dims> target = op.ElementsAsDims(1);
  if (input == nullptr || !target || op.failed()) return;
  op.SetShape(0, op.Broadcast(*input, *target));
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*input);
  if (!sizes || op.failed()) return;
  SelectData(op, 0, 0,
             [&](const std::vector<int64_t>& index) { return BroadcastOffset(index, *sizes); });
}

// The result's size along an axis that is repeated or padded.
Dim Scaled(Op& op, const Dim& dim, const Dim& factor) {
  if (dim.Is(0) || factor.Is(0)) return {0};
  if (!dim.known()) return dim;
  if (!factor.known()) return factor;
  const Checked size = Checked(dim.size) * factor.size;
  if (!size.ok()) op.Fail(ErrorKind::kOverflow, "a size does not fit in 64 bits");
  return {size.get().value_or(0)};
}

void Tile(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr || op.opset() < 6) return;
  const std::optional<Dims> repeats = op.ElementsAsDims(1);
  if (!repeats || op.failed()) return;
  if (repeats->size() != input->size()) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("{} repeats for {} dimensions", repeats->size(), input->size()));
  }
  Dims dims;
  for (size_t i = 0; i < input->size(); ++i) dims.push_back(Scaled(op, (*input)[i], (*repeats)[i]));
  op.SetShape(0, std::move(dims));
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*input);
  if (!sizes || op.failed()) return;
  SelectData(op, 0, 0, [&](std::vector<int64_t> index) {
    for (size_t i = 0; i < index.size(); ++i) index[i] %= (*sizes)[i];
    return BroadcastOffset(index, *sizes);
  });
}

// ---- joins and splits

// The elements of the inputs, side by side along an axis.
void ConcatData(Op& op, size_t axis) {
  bool any = false;
  for (size_t i = 0; i < op.num_inputs(); ++i) any = any || op.Input(i).data != nullptr;
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*op.Output(0).dims);
  if (!any || !sizes) return;
  std::vector<Numbers> parts;
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    std::optional<Numbers> part = op.Elements(i);
    if (!part) return;
    parts.push_back(*std::move(part));
  }
  const int64_t outer = std::accumulate(sizes->begin(), sizes->begin() + static_cast<int64_t>(axis),
                                        int64_t{1}, std::multiplies<>());
  Numbers numbers;
  for (int64_t i = 0; i < outer; ++i) {
    for (const Numbers& part : parts) {
      const int64_t block = std::ssize(part) / outer;
      numbers.insert(numbers.end(), part.begin() + i * block, part.begin() + (i + 1) * block);
    }
  }
  op.SetData(0, std::move(numbers));
}

// The shape of tensors joined along an axis.
std::optional<Dims> JoinedShape(Op& op, const std::vector<const Value*>& parts, size_t axis) {
  Dims dims = *parts[0]->dims;
  for (size_t i = 1; i < parts.size(); ++i) {
    const Dims& next = *parts[i]->dims;
    if (next.size() != dims.size()) {
      op.Fail(ErrorKind::kBadValue,
              fmt::format("shapes {} and {} cannot be joined", ToString(dims), ToString(next)));
      return std::nullopt;
    }
    for (size_t j = 0; j < dims.size(); ++j) {
      if (j != axis) {
        if (dims[j].known() && next[j].known() && dims[j].size != next[j].size) {
          op.Fail(ErrorKind::kBadValue,
                  fmt::format("shapes {} and {} cannot be joined along axis {}",
                              ToString(*parts[0]->dims), ToString(next), axis));
          return std::nullopt;
        }
        if (!dims[j].known()) dims[j] = next[j];
      } else if (dims[j].known() && next[j].known()) {
        const Checked sum = Checked(dims[j].size) + next[j].size;
        if (!sum.ok()) op.Fail(ErrorKind::kOverflow, "a size does not fit in 64 bits");
        dims[j] = {sum.get().value_or(0)};
      } else if (dims[j].known()) {
        dims[j] = next[j];
      }
    }
  }
  return dims;
}

void Concat(Op& op) {
  op.NeedsOneType();
  std::vector<const Value*> parts;
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    parts.push_back(&op.Input(i));
    if (!parts.back()->dims) return;
  }
  if (parts.empty()) return op.Fail(ErrorKind::kSyntax, "it has no inputs");
  if (!op.HasAttribute("axis") && op.opset() >= 4) {
    return op.Fail(ErrorKind::kSyntax, "attribute 'axis' is missing");
  }
  const size_t axis = op.Axis(op.Int("axis", 1), parts[0]->dims->size());
  if (op.failed()) return;
  std::optional<Dims> dims = JoinedShape(op, parts, axis);
  if (!dims) return;
  op.SetShape(0, *std::move(dims));
  ConcatData(op, axis);
}

// The sizes of n nearly equal parts: all but the last are as large as the first.
std::optional<std::vector<int64_t>> EqualParts(Op& op, int64_t size, int64_t n) {
  const bool may_differ = op.HasAttribute("num_outputs");
  if (n < 1 || (!may_differ && size % n != 0)) {
    op.Fail(ErrorKind::kBadValue, fmt::format("{} cannot be split into {} equal parts", size, n));
    return std::nullopt;
  }
  const int64_t part = CeilDiv(size, n);
  std::vector<int64_t> parts;
  for (int64_t left = size; std::ssize(parts) < n; left -= parts.back()) {
    parts.push_back(std::min(part, left));
  }
  return parts;
}

// One part of a split: its elements start at `from` along the axis.
void SetPart(Op& op, size_t output, size_t axis, int64_t from) {
  const std::optional<std::vector<int64_t>> sizes = FoldableSizes(*op.Shape(0));
  if (!sizes) return;
  SelectData(op, output, 0, [&](std::vector<int64_t> index) {
    index[axis] += from;
    return BroadcastOffset(index, *sizes);
  });
}

void Split(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  const size_t axis = op.Axis(op.Int("axis", 0), input->size());
  if (op.failed() || input->empty()) return;
  bool unknown = false;
  std::optional<std::vector<int64_t>> parts = op.IntsFrom(1, "split", &unknown);
  const Dim& dim = (*input)[axis];
  const auto outputs = static_cast<int64_t>(op.num_outputs());
  if (!parts && !unknown && dim.known()) parts = EqualParts(op, dim.size, outputs);
  if (op.failed()) return;
  if (parts && std::ssize(*parts) != outputs) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("{} sizes for {} outputs", parts->size(), outputs));
  }
  if (parts && dim.known()) {
    Checked sum = 0;
    for (const int64_t part : *parts) sum = sum + part;
    if (!sum.ok() || sum.value() != dim.size ||
        *std::min_element(parts->begin(), parts->end()) < 0) {
      return op.Fail(
          ErrorKind::kBadValue,
          fmt::format("the parts do not add up to the size {} of axis {}", dim.size, axis));
    }
  }
  int64_t from = 0;
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    Dims dims = *input;
    dims[axis] =
        parts ? Dim{(*parts)[i]} : Dim{.reason = dim.known() ? op.DataDependent() : dim.reason};
    op.SetShape(i, std::move(dims));
    if (!parts || !dim.known()) continue;
    SetPart(op, i, axis, from);
    from += (*parts)[i];
  }
}

// ---- padding and blocks

void Pad(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  std::optional<Dims> pads;
  if (op.opset() < 11) {
    const auto given = op.Ints(op.opset() < 2 ? "paddings" : "pads");
    if (given) pads = KnownDims(*given);
  } else {
    pads = op.ElementsAsDims(1);
  }
  std::vector<int64_t> axes(input->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (op.Has(3)) {
    const auto given = op.Integers(3);
    if (!given) return;
    axes = *given;
  }
  if (!pads || op.failed()) return;
  if (pads->size() != 2 * axes.size()) {
    return op.Fail(ErrorKind::kBadValue, fmt::format("{} pads for {} axes, which need two each",
                                                     pads->size(), axes.size()));
  }
  Dims dims = *input;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = op.Axis(axes[i], dims.size());
    if (op.failed()) return;
    for (const Dim& pad : {(*pads)[i], (*pads)[i + axes.size()]}) {
      if (!dims[axis].known()) break;
      if (!pad.known()) {
        dims[axis] = pad;
        break;
      }
      const Checked size = Checked(dims[axis].size) + pad.size;
      if (!size.ok()) op.Fail(ErrorKind::kOverflow, "a size does not fit in 64 bits");
      dims[axis] = {size.get().value_or(0)};
    }
  }
  op.SetShape(0, std::move(dims));
}

// The size divided by a block size, which must divide it.
Dim Divided(Op& op, const Dim& dim, int64_t by) {
  if (!dim.known()) return dim;
  if (by < 1 || dim.size % by != 0) {
    op.Fail(ErrorKind::kBadValue, fmt::format("{} does not divide the size {}", by, dim.size));
    return {};
  }
  return {dim.size / by};
}

void DepthToSpace(Op& op) {
  const Dims* const x = op.Shape(0);
  if (x == nullptr || x->size() != 4) return;
  const int64_t block = op.Int("blocksize", 0);
  if (block < 1 || block > kMaxSize) {
    return op.Fail(ErrorKind::kBadValue, fmt::format("blocksize is {}", block));
  }
  op.SetShape(0, {(*x)[0], Divided(op, (*x)[1], block * block), Scaled(op, (*x)[2], {block}),
                  Scaled(op, (*x)[3], {block})});
}

void SpaceToDepth(Op& op) {
  const Dims* const x = op.Shape(0);
  if (x == nullptr || x->size() != 4) return;
  const int64_t block = op.Int("blocksize", 0);
  if (block < 1 || block > kMaxSize) {
    return op.Fail(ErrorKind::kBadValue, fmt::format("blocksize is {}", block));
  }
  op.SetShape(0, {(*x)[0], Scaled(op, (*x)[1], {block * block}), Divided(op, (*x)[2], block),
                  Divided(op, (*x)[3], block)});
}

constexpr Operator kOperators[] = {
    {"Reshape", Reshape},
    {"Flatten", Flatten},
    {"Squeeze", Squeeze},
    {"Unsqueeze", Unsqueeze},
    {"Transpose", Transpose},
    {"Expand", Expand},
    {"Tile", Tile},
    {"Concat", Concat},
    {"Split", Split},
    {"Pad", Pad},
    {"DepthToSpace", DepthToSpace},
    {"SpaceToDepth", SpaceToDepth},
};

}  // namespace

std::span<const Operator> ReshapeOperators() { return kOperators; }

}  // namespace tessera::onnx
