// Matrix products as layers, for the operators that contain one.
#ifndef TESSERA_WORKLOAD_ONNX_PRODUCT_H_
#define TESSERA_WORKLOAD_ONNX_PRODUCT_H_

#include <cstdint>
#include <string_view>

#include "tessera/workload/onnx/op.h"

namespace tessera::onnx {

// `batch` products of an m x k with a k x n matrix. Which operand is a weight decides the layer.
struct MatrixProduct {
  int64_t batch = 1;  // products with different operands
  int64_t m = 1, n = 1, k = 1;
  bool left_is_weight = false;
  bool right_is_weight = false;
};

// Adds the layer of a product: fc if one operand is a single weight matrix (the other operand's
// rows, or columns, are then the layer's N), otherwise gemm with H = batch. Returns its index.
int64_t AddProduct(Op& op, const MatrixProduct& product, bool bias, std::string_view suffix = "");

// The product of two inputs by the numpy rules, transposed as the node says; sets output 0.
// Returns the index of the layer if its second operand is the weight, so that a bias may follow.
int64_t InferMatMul(Op& op, size_t left, size_t right, bool transpose_left, bool transpose_right,
                    bool bias);

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_PRODUCT_H_
