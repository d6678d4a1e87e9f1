// Normalisations, softmax, quantisation and other operators that keep the shape of their first
// input and have further results.
#include <utility>

#include "tessera/workload/onnx/operators.h"

namespace tessera::onnx {
namespace {

// In training, further results have the shape of the running mean.
void BatchNormalization(Op& op) {
  SameShape(op);
  for (size_t i = 1; i < op.num_outputs(); ++i) op.Output(i).dims = op.Input(3).dims;
}

// Mean and inverse deviation keep the axes before `axis`, the others are 1.
void LayerNormalization(Op& op) {
  SameShape(op);
  const Dims* const input = op.Shape(0);
  if (input == nullptr || op.num_outputs() < 2) return;
  const size_t axis = op.Axis(op.Int("axis", -1), input->size());
  Dims dims = *input;
  for (size_t i = axis; i < dims.size(); ++i) dims[i] = {1};
  for (size_t i = 1; i < op.num_outputs(); ++i) op.SetShape(i, dims);
}

void Quantize(Op& op) {
  SameShape(op);
  const auto given = static_cast<ElementType>(op.Int("output_dtype", 0));
  op.SetType(0, op.Has(2)                          ? op.Input(2).type
                : given != ElementType::kUndefined ? given
                                                   : ElementType::kUint8);
}

void Dequantize(Op& op) {
  SameShape(op);
  op.SetType(0, op.Input(1).type);
}

void DynamicQuantize(Op& op) {
  SameShape(op);
  op.SetType(0, ElementType::kUint8);
  op.SetShape(1, {});
  op.SetShape(2, {});
  op.SetType(2, ElementType::kUint8);
}

// The second result is the log of the softmax.
void CrossEntropy(Op& op) {
  const Dims* const scores = op.Shape(0);
  if (op.Text("reduction", "mean") != "none") {
    op.SetShape(0, {});
  } else {
    op.Output(0).dims = op.Input(1).dims;
  }
  if (scores != nullptr) op.SetShape(1, *scores);
}

constexpr Operator kOperators[] = {
    {"BatchNormalization", BatchNormalization},
    {"InstanceNormalization", SameShape},
    {"GroupNormalization", SameShape},
    {"LayerNormalization", LayerNormalization},
    {"RMSNormalization", SameShape},
    // Written by ONNX Runtime's tools into the default domain.
    {"SimplifiedLayerNormalization", LayerNormalization},
    {"LpNormalization", SameShape},
    {"MeanVarianceNormalization", SameShape},
    {"LRN", SameShape},
    {"Softmax", SameShape},
    {"LogSoftmax", SameShape},
    {"RotaryEmbedding", SameShape},
    {"QuantizeLinear", Quantize},
    {"DequantizeLinear", Dequantize},
    {"DynamicQuantizeLinear", DynamicQuantize},
    {"NegativeLogLikelihoodLoss", CrossEntropy},
    {"SoftmaxCrossEntropyLoss", CrossEntropy},
};

}  // namespace

std::span<const Operator> NormalizeOperators() { return kOperators; }

}  // namespace tessera::onnx
