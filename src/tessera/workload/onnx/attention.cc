// Attention of the default domain (version 23 and later): two layers of type gemm.
#include "tessera/workload/onnx/attention.h"

#include <vector>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/workload/onnx/operators.h"
#include "tessera/workload/onnx/product.h"

namespace tessera::onnx {

int64_t PerHead(Op& op, int64_t size, int64_t heads) {
  if (heads >= 1 && size % heads == 0) return size / heads;
  op.Fail(ErrorKind::kBadValue, fmt::format("{} heads do not divide the size {}", heads, size));
  return 1;
}

void AddAttention(Op& op, const AttentionSizes& sizes) {
  const Checked products = Checked(sizes.batch) * sizes.heads;
  if (!products.ok()) return op.Fail(ErrorKind::kOverflow, "the batch does not fit in 64 bits");
  AddProduct(op,
             {.batch = products.value(), .m = sizes.queries, .n = sizes.keys, .k = sizes.key_size},
             /*bias=*/false, "/qk");
  AddProduct(
      op, {.batch = products.value(), .m = sizes.queries, .n = sizes.value_size, .k = sizes.keys},
      /*bias=*/false, "/pv");
}

namespace {

// One of query, key and value as batch, heads, length, size per head.
struct Heads {
  int64_t batch = 1, heads = 1, length = 1, size = 1;
};

// Three dimensions hold the heads side by side, four have an axis for them.
std::optional<Heads> ReadHeads(Op& op, size_t input, std::string_view attribute) {
  const std::optional<std::vector<int64_t>> sizes = op.Sizes(input);
  if (!sizes) return std::nullopt;
  if (sizes->size() == 4) return Heads{(*sizes)[0], (*sizes)[1], (*sizes)[2], (*sizes)[3]};
  if (sizes->size() != 3) {
    op.Fail(ErrorKind::kBadValue, fmt::format("input {} has the shape {}, but must have three or "
                                              "four dimensions",
                                              input + 1, ToString(KnownDims(*sizes))));
    return std::nullopt;
  }
  const int64_t heads = op.Int(attribute, 0);
  if (heads < 1) {
    op.Fail(ErrorKind::kSyntax, fmt::format("attribute '{}' is missing", attribute));
    return std::nullopt;
  }
  const Heads result{(*sizes)[0], heads, (*sizes)[1], PerHead(op, (*sizes)[2], heads)};
  return op.failed() ? std::nullopt : std::optional<Heads>(result);
}

// The length of the past, which has four dimensions.
int64_t PastLength(Op& op, size_t input) {
  if (!op.Has(input)) return 0;
  const std::optional<std::vector<int64_t>> sizes = op.Sizes(input);
  if (sizes && sizes->size() == 4) return (*sizes)[2];
  op.Fail(ErrorKind::kBadValue, fmt::format("input {} must have four dimensions", input + 1));
  return 0;
}

void Attention(Op& op) {
  const std::optional<Heads> q = ReadHeads(op, 0, "q_num_heads");
  const std::optional<Heads> k = ReadHeads(op, 1, "kv_num_heads");
  const std::optional<Heads> v = ReadHeads(op, 2, "kv_num_heads");
  if (!q || !k || !v) return;
  const Checked total = Checked(k->length) + PastLength(op, 4);
  const bool fits = k->size == q->size && k->length == v->length && k->heads == v->heads &&
                    k->heads >= 1 && q->heads % k->heads == 0 && k->batch == q->batch &&
                    v->batch == q->batch && total.ok();
  if (!fits) {
    return op.Fail(
        ErrorKind::kBadValue,
        fmt::format("query {}, key {} and value {} do not fit each other", ToString(*op.Shape(0)),
                    ToString(*op.Shape(1)), ToString(*op.Shape(2))));
  }
  const int64_t keys = total.value();
  AddAttention(op, {.batch = q->batch,
                    .heads = q->heads,
                    .queries = q->length,
                    .keys = keys,
                    .key_size = q->size,
                    .value_size = v->size});
  if (op.failed()) return;
  if (op.Shape(0)->size() == 4) {
    op.SetSizes(0, {q->batch, q->heads, q->length, v->size});
  } else {
    op.SetSizes(0, {q->batch, q->length, q->heads * v->size});
  }
  op.SetSizes(1, {q->batch, k->heads, keys, k->size});
  op.SetSizes(2, {q->batch, k->heads, keys, v->size});
  op.SetSizes(3, {q->batch, q->heads, q->length, keys});
}

constexpr Operator kOperators[] = {
    {"Attention", Attention, Role::kLayer},
};

}  // namespace

std::span<const Operator> AttentionOperators() { return kOperators; }

}  // namespace tessera::onnx
