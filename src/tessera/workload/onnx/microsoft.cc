// Operators of the domain com.microsoft, which ONNX Runtime's optimiser and quantiser write.
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/workload/onnx/attention.h"
#include "tessera/workload/onnx/operators.h"
#include "tessera/workload/onnx/product.h"

namespace tessera::onnx {
namespace {

// An operator of the default domain that has the same inputs and attributes.
void AsStandard(Op& op, std::string_view name) { FindOperator("", name)->infer(op); }

void FusedConv(Op& op) { AsStandard(op, "Conv"); }
void FusedGemm(Op& op) { AsStandard(op, "Gemm"); }
void Quantize(Op& op) { AsStandard(op, "QuantizeLinear"); }
void Dequantize(Op& op) { AsStandard(op, "DequantizeLinear"); }

// ---- products

void FusedMatMul(Op& op) {
  if (op.Int("transBatchA", 0) != 0 || op.Int("transBatchB", 0) != 0) {
    return op.Fail(ErrorKind::kUnsupported, "transposed batch axes are not supported");
  }
  op.Output(0).layer = InferMatMul(op, 0, 1, op.Int("transA", 0) != 0, op.Int("transB", 0) != 0,
                                   /*bias=*/false);
}

void MatMulToFloat(Op& op) {
  InferMatMul(op, 0, 1, false, false, /*bias=*/false);
  op.SetType(0, ElementType::kFloat);
}

void QGemm(Op& op) {
  InferMatMul(op, 0, 3, op.Int("transA", 0) != 0, op.Int("transB", 0) != 0, op.Has(6));
}

// The weight is packed; attributes hold its sizes.
void MatMulNBits(Op& op) {
  const std::optional<std::vector<int64_t>> input = op.Sizes(0);
  const int64_t inner = op.Int("K", 0), outputs = op.Int("N", 0);
  if (!input) return;
  if (input->empty() || input->back() != inner) {
    return op.Fail(ErrorKind::kBadValue, fmt::format("input {} does not have K = {} columns",
                                                     ToString(KnownDims(*input)), inner));
  }
  std::vector<int64_t> output(input->begin(), input->end() - 1);
  Checked rows = 1;
  for (const int64_t size : output) rows = rows * size;
  if (!rows.ok()) return op.Fail(ErrorKind::kOverflow, "the rows do not fit in 64 bits");
  output.push_back(outputs);
  op.SetSizes(0, output);
  AddProduct(op, {.m = rows.value(), .n = outputs, .k = inner, .right_is_weight = true}, op.Has(5));
}

// ---- attention

int64_t ReadHeadCount(Op& op) {
  const int64_t heads = op.Int("num_heads", 0);
  if (heads < 1) op.Fail(ErrorKind::kSyntax, "attribute 'num_heads' is missing");
  return std::max<int64_t>(heads, 1);
}

// The length of a past tensor, the second axis from the end; 0 without one.
int64_t PastLength(Op& op, size_t input) {
  if (!op.Has(input)) return 0;
  const std::optional<std::vector<int64_t>> sizes = op.Sizes(input);
  if (!sizes) return 0;
  if (sizes->size() >= 4) return (*sizes)[sizes->size() - 2];
  op.Fail(ErrorKind::kBadValue, fmt::format("input {} must have four dimensions", input + 1));
  return 0;
}

// Sizes of query, key and value in the one packed result of a projection.
std::array<int64_t, 3> PackedSizes(Op& op, int64_t packed) {
  if (const auto given = op.Ints("qkv_hidden_sizes"); given && given->size() == 3) {
    return {(*given)[0], (*given)[1], (*given)[2]};
  }
  const int64_t each = PerHead(op, packed, 3);
  return {each, each, each};
}

// Projects its input to query, key and value first: three layers.
void PackedAttention(Op& op) {
  const std::optional<std::vector<int64_t>> input = op.Sizes(0), weight = op.Sizes(1);
  if (!input || !weight) return;
  if (input->size() != 3 || weight->size() != 2 || (*input)[2] != (*weight)[0]) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("input {} and weight {} do not fit", ToString(KnownDims(*input)),
                               ToString(KnownDims(*weight))));
  }
  const int64_t heads = ReadHeadCount(op), past = PastLength(op, 4);
  const std::array<int64_t, 3> packed = PackedSizes(op, (*weight)[1]);
  const Checked rows = Checked((*input)[0]) * (*input)[1], keys = Checked((*input)[1]) + past;
  if (!rows.ok() || !keys.ok()) return op.Fail(ErrorKind::kOverflow, "sizes exceed 64 bits");
  const int64_t key_size = PerHead(op, packed[0], heads);
  const int64_t value_size = PerHead(op, packed[2], heads);
  AddProduct(op, {.m = rows.value(), .n = (*weight)[1], .k = (*input)[2], .right_is_weight = true},
             op.Has(2), "/qkv");
  AddAttention(op, {.batch = (*input)[0],
                    .heads = heads,
                    .queries = (*input)[1],
                    .keys = keys.value(),
                    .key_size = key_size,
                    .value_size = value_size});
  op.SetSizes(0, {(*input)[0], (*input)[1], packed[2]});
  op.SetSizes(1, {2, (*input)[0], heads, keys.value(), key_size});
}

// Query N x Tq x D, key and value alike or with an axis of heads; `shared` heads of the keys.
void SeparateAttention(Op& op, int64_t heads, int64_t key_heads, size_t past_input) {
  const std::optional<std::vector<int64_t>> q = op.Sizes(0), k = op.Sizes(1), v = op.Sizes(2);
  if (!q || !k || !v) return;
  const bool flat = k->size() == 3 && v->size() == 3;
  if (q->size() != 3 || (!flat && (k->size() != 4 || v->size() != 4))) {
    return op.Fail(ErrorKind::kUnsupported, "packed query, key and value are not supported");
  }
  const int64_t key_size = PerHead(op, (*q)[2], heads);
  const int64_t value_size = flat ? PerHead(op, (*v)[2], key_heads) : (*v)[3];
  const Checked keys = Checked(flat ? (*k)[1] : (*k)[2]) + PastLength(op, past_input);
  const Checked width = Checked(heads) * value_size;
  if (!keys.ok() || !width.ok()) return op.Fail(ErrorKind::kOverflow, "sizes exceed 64 bits");
  AddAttention(op, {.batch = (*q)[0],
                    .heads = heads,
                    .queries = (*q)[1],
                    .keys = keys.value(),
                    .key_size = key_size,
                    .value_size = value_size});
  op.SetSizes(0, {(*q)[0], (*q)[1], width.value()});
  op.SetSizes(1, {(*q)[0], key_heads, keys.value(), key_size});
  op.SetSizes(2, {(*q)[0], key_heads, keys.value(), value_size});
}

void MultiHeadAttention(Op& op) {
  if (!op.Has(1) || !op.Has(2)) {
    return op.Fail(ErrorKind::kUnsupported, "packed query, key and value are not supported");
  }
  const int64_t heads = ReadHeadCount(op);
  SeparateAttention(op, heads, heads, /*past_input=*/6);
}

void GroupQueryAttention(Op& op) {
  if (!op.Has(1) || !op.Has(2)) {
    return op.Fail(ErrorKind::kUnsupported, "packed query, key and value are not supported");
  }
  const int64_t heads = ReadHeadCount(op);
  SeparateAttention(op, heads, op.Int("kv_num_heads", heads), /*past_input=*/3);
}

// ---- without MACs

// Normalises the sum of its first two inputs, which may be a further result.
void SkipNormalization(Op& op) {
  SameShape(op);
  op.Output(3).dims = op.Input(0).dims;
}

void EmbedLayerNormalization(Op& op) {
  const Dims *const ids = op.Shape(0), *const words = op.Shape(2);
  if (ids == nullptr || words == nullptr || ids->size() != 2 || words->size() != 2) return;
  op.SetType(0, op.Input(2).type);
  op.SetShape(0, {(*ids)[0], (*ids)[1], (*words)[1]});
  op.SetShape(1, {(*ids)[0]});
}

void QLinearBinary(Op& op) {
  if (op.Shape(0) == nullptr || op.Shape(3) == nullptr) return;
  op.SetShape(0, op.Broadcast(*op.Shape(0), *op.Shape(3)));
}

void QLinearGlobalPool(Op& op) {
  if (op.Int("channels_last", 0) == 0) AsStandard(op, "GlobalAveragePool");
}

void QLinearPool(Op& op) {
  if (op.Int("channels_last", 0) == 0) AsStandard(op, "AveragePool");
}

// The output's scale and zero point, then three inputs per part.
void QLinearConcat(Op& op) {
  op.SetType(0, op.Input(1).type);
  if (op.Shape(2) == nullptr) return;
  Dims dims = *op.Shape(2);
  const size_t axis = op.Axis(op.Int("axis", 0), dims.size());
  for (size_t i = 5; i < op.num_inputs() && !op.failed(); i += 3) {
    const Dims* const next = op.Shape(i);
    if (next == nullptr || next->size() != dims.size()) return;
    if (!dims[axis].known()) continue;
    const Checked sum = Checked(dims[axis].size) + (*next)[axis].size;
    dims[axis] = (*next)[axis].known() && sum.ok() ? Dim{sum.value()} : (*next)[axis];
  }
  if (!op.failed()) op.SetShape(0, std::move(dims));
}

constexpr Operator kOperators[] = {
    {"FusedConv", FusedConv, Role::kLayer},
    {"FusedGemm", FusedGemm, Role::kLayer},
    {"FusedMatMul", FusedMatMul, Role::kLayer},
    {"DynamicQuantizeMatMul", MatMulToFloat, Role::kLayer},
    {"MatMulIntegerToFloat", MatMulToFloat, Role::kLayer},
    {"QGemm", QGemm, Role::kLayer},
    {"MatMulNBits", MatMulNBits, Role::kLayer},
    {"Attention", PackedAttention, Role::kLayer},
    {"MultiHeadAttention", MultiHeadAttention, Role::kLayer},
    {"GroupQueryAttention", GroupQueryAttention, Role::kLayer},
    {"BiasGelu", SameShape},
    {"DequantizeLinear", Dequantize},
    {"EmbedLayerNormalization", EmbedLayerNormalization},
    {"FastGelu", SameShape},
    {"Gelu", SameShape},
    {"GroupNorm", SameShape},
    {"QLinearAdd", QLinearBinary},
    {"QLinearAveragePool", QLinearPool},
    {"QLinearConcat", QLinearConcat},
    {"QLinearGlobalAveragePool", QLinearGlobalPool},
    {"QLinearLeakyRelu", SameShape},
    {"QLinearMul", QLinearBinary},
    {"QLinearSigmoid", SameShape},
    {"QLinearSoftmax", SameShape},
    {"QuantizeLinear", Quantize},
    {"QuickGelu", SameShape},
    {"RotaryEmbedding", SameShape},
    {"SimplifiedLayerNormalization", SameShape},
    {"SkipLayerNormalization", SkipNormalization},
    {"SkipSimplifiedLayerNormalization", SkipNormalization},
};

}  // namespace

std::span<const Operator> MicrosoftOperators() { return kOperators; }

}  // namespace tessera::onnx
