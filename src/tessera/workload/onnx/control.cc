// Branches whose condition is known, and sequences of tensors.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/workload/onnx/operators.h"

namespace tessera::onnx {
namespace {

// Exporters write If around a Squeeze whose axis may not be 1; the shapes decide the condition.
void If(Op& op) {
  const Value& condition = op.Input(0);
  if (!condition.data || condition.data->size() != 1 || !condition.data->front().known()) {
    return op.SetRole(Role::kNotKnown);
  }
  const schema::Graph* const branch =
      op.Graph(condition.data->front().integer != 0 ? "then_branch" : "else_branch");
  if (branch == nullptr) return op.Fail(ErrorKind::kSyntax, "a branch is missing");
  Result<std::vector<Value>> outputs = op.host().Infer(*branch);
  if (!outputs) return op.Fail(outputs.error());
  if (outputs->size() < op.num_outputs()) {
    return op.Fail(ErrorKind::kSyntax, fmt::format("the branch has {} outputs, the node {}",
                                                   outputs->size(), op.num_outputs()));
  }
  for (size_t i = 0; i < op.num_outputs(); ++i) op.Output(i) = std::move((*outputs)[i]);
}

// ---- sequences

using Items = std::vector<Value>;
constexpr int64_t kMaxItems = 256;  // of sequences that are followed

void SetSequence(Op& op, Items items) {
  op.Output(0).sequence = std::make_shared<const Items>(std::move(items));
}

void SequenceEmpty(Op& op) { SetSequence(op, {}); }

void SequenceConstruct(Op& op) {
  Items items;
  for (size_t i = 0; i < op.num_inputs(); ++i) items.push_back(op.Input(i));
  SetSequence(op, std::move(items));
}

void SequenceLength(Op& op) {
  op.SetType(0, ElementType::kInt64);
  op.SetShape(0, {});
  const Value& sequence = op.Input(0);
  if (sequence.sequence) op.SetData(0, {{.integer = std::ssize(*sequence.sequence)}});
}

// The position that an input names, counted from the end if negative; `size` positions exist.
std::optional<size_t> Position(Op& op, size_t input, size_t size) {
  const std::optional<Number> position = op.Scalar(input);
  if (!position || !position->known()) return std::nullopt;
  const auto count = static_cast<int64_t>(size);
  const int64_t index = position->integer;
  if (index >= -count && index < count)
    return static_cast<size_t>(index < 0 ? index + count : index);
  op.Fail(ErrorKind::kBadValue, fmt::format("position {} is outside of {} items", index, count));
  return std::nullopt;
}

void SequenceAt(Op& op) {
  const std::shared_ptr<const Items> items = op.Input(0).sequence;
  if (!items) return;
  if (const std::optional<size_t> at = Position(op, 1, items->size())) op.Output(0) = (*items)[*at];
}

void SequenceInsert(Op& op) {
  if (!op.Input(0).sequence) return;
  Items items = *op.Input(0).sequence;
  size_t at = items.size();
  if (op.Has(2)) {
    const std::optional<size_t> given = Position(op, 2, items.size() + 1);
    if (!given) return;
    at = *given;
  }
  if (std::ssize(items) >= kMaxItems) return;
  items.insert(items.begin() + static_cast<int64_t>(at), op.Input(1));
  SetSequence(op, std::move(items));
}

void SequenceErase(Op& op) {
  if (!op.Input(0).sequence || op.Input(0).sequence->empty()) return;
  Items items = *op.Input(0).sequence;
  size_t at = items.size() - 1;
  if (op.Has(1)) {
    const std::optional<size_t> given = Position(op, 1, items.size());
    if (!given) return;
    at = *given;
  }
  items.erase(items.begin() + static_cast<int64_t>(at));
  SetSequence(op, std::move(items));
}

// The sizes of the parts along the axis: given one by one, as one size for all, or 1 each.
std::optional<std::vector<int64_t>> SequenceParts(Op& op, int64_t size) {
  if (op.Has(1) && op.Shape(1) != nullptr && !op.Shape(1)->empty()) return op.Integers(1);
  int64_t part = 1;
  if (op.Has(1)) {
    const std::optional<Number> given = op.Scalar(1);
    if (!given || !given->known()) return std::nullopt;
    part = given->integer;
  }
  if (part < 1) {
    op.Fail(ErrorKind::kBadValue, fmt::format("the size of a part is {}", part));
    return std::nullopt;
  }
  if (size / part > kMaxItems) return std::nullopt;
  std::vector<int64_t> parts;
  for (int64_t left = size; left > 0; left -= parts.back()) parts.push_back(std::min(part, left));
  return parts;
}

void SplitToSequence(Op& op) {
  const Value& input = op.Input(0);
  if (!input.dims || input.dims->empty()) return;
  const size_t axis = op.Axis(op.Int("axis", 0), input.dims->size());
  if (op.failed() || !(*input.dims)[axis].known()) return;
  const std::optional<std::vector<int64_t>> parts = SequenceParts(op, (*input.dims)[axis].size);
  if (!parts) return;
  const bool keep = op.Has(1) || op.Int("keepdims", 1) != 0;
  Items items;
  for (const int64_t part : *parts) {
    Value item{.name = input.name, .type = input.type, .dims = input.dims};
    (*item.dims)[axis] = {part};
    if (!keep) item.dims->erase(item.dims->begin() + static_cast<int64_t>(axis));
    items.push_back(std::move(item));
  }
  SetSequence(op, std::move(items));
}

void ConcatFromSequence(Op& op) {
  const std::shared_ptr<const Items> items = op.Input(0).sequence;
  if (!items || items->empty() || !items->front().dims) return;
  const Dims& first = *items->front().dims;
  const bool fresh = op.Int("new_axis", 0) != 0;
  const size_t axis = op.Axis(op.Int("axis", 0), first.size() + (fresh ? 1 : 0));
  if (op.failed()) return;
  Dims dims = first;
  if (fresh) {
    dims.insert(dims.begin() + static_cast<int64_t>(axis), Dim{std::ssize(*items)});
    return op.SetShape(0, std::move(dims));
  }
  for (size_t i = 1; i < items->size(); ++i) {
    const Value& item = (*items)[i];
    if (!item.dims || item.dims->size() != dims.size()) return;
    const Dim& next = (*item.dims)[axis];
    if (!dims[axis].known()) continue;
    const Checked sum = Checked(dims[axis].size) + next.size;
    dims[axis] = next.known() && sum.ok() ? Dim{sum.value()} : next;
  }
  op.SetShape(0, std::move(dims));
}

constexpr Operator kOperators[] = {
    {"If", If},
    {"SequenceEmpty", SequenceEmpty},
    {"SequenceConstruct", SequenceConstruct},
    {"SequenceLength", SequenceLength},
    {"SequenceAt", SequenceAt},
    {"SequenceInsert", SequenceInsert},
    {"SequenceErase", SequenceErase},
    {"SplitToSequence", SplitToSequence},
    {"ConcatFromSequence", ConcatFromSequence},
};

}  // namespace

std::span<const Operator> ControlOperators() { return kOperators; }

}  // namespace tessera::onnx
