// The operators that the importer understands. One more is one function in the file of its kind and
// one line in that file's table.
#ifndef TESSERA_WORKLOAD_ONNX_OPERATORS_H_
#define TESSERA_WORKLOAD_ONNX_OPERATORS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/workload/onnx/op.h"

namespace tessera::onnx {

struct Operator {
  std::string_view name;
  void (*infer)(Op& op);
  Role role = Role::kNoMacs;
};

// For the many operators whose first result has the shape of the first input.
void SameShape(Op& op);

// The tables, one per file.
std::span<const Operator> ConvolutionOperators();  // convolution.cc
std::span<const Operator> ProductOperators();      // product.cc
std::span<const Operator> AttentionOperators();    // attention.cc
std::span<const Operator> PoolingOperators();      // pooling.cc
std::span<const Operator> ElementwiseOperators();  // elementwise.cc
std::span<const Operator> ConstantOperators();     // constant.cc
std::span<const Operator> ReshapeOperators();      // reshape.cc
std::span<const Operator> SelectOperators();       // select.cc
std::span<const Operator> ReduceOperators();       // reduce.cc
std::span<const Operator> NormalizeOperators();    // normalize.cc
std::span<const Operator> ResizeOperators();       // resize.cc
std::span<const Operator> ControlOperators();      // control.cc
std::span<const Operator> RecurrentOperators();    // recurrent.cc
std::span<const Operator> MicrosoftOperators();    // microsoft.cc: the domain com.microsoft

// The operator of a domain ("" and "ai.onnx" are the default one); null if it is not understood.
const Operator* FindOperator(std::string_view domain, std::string_view name);

// What a node of a graph is called whose operator has no shorter name there; of all operators.
std::string LowerCase(std::string_view name);
std::vector<std::string> OperatorNamesInLowerCase();

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_OPERATORS_H_
