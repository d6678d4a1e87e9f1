// Reads the tensors that a graph file holds: weights by their shape alone, small integer and float
// tensors with their elements, because reshape targets and resize scales are such tensors.
#ifndef TESSERA_WORKLOAD_ONNX_TENSOR_H_
#define TESSERA_WORKLOAD_ONNX_TENSOR_H_

#include "tessera/result.h"
#include "tessera/workload/onnx/value.h"

namespace tessera::onnx {

namespace schema {
class SparseTensor;
class Tensor;
}  // namespace schema

// What is known about a stored tensor; it is a parameter. Files that hold external data are never
// opened. Errors: a negative size, too many dimensions or elements, data that do not match the
// shape.
Result<Value> ReadTensor(const schema::Tensor& tensor, Reasons& reasons);

// A sparse tensor has a shape; its elements are not read.
Result<Value> ReadSparseTensor(const schema::SparseTensor& tensor, Reasons& reasons);

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_TENSOR_H_
