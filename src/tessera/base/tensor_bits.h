// Widths of tensors in files.
#ifndef TESSERA_BASE_TENSOR_BITS_H_
#define TESSERA_BASE_TENSOR_BITS_H_

#include <string>

#include "tessera/base/document.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// The value of a key `bits`: {weights: 4, inputs: 8, outputs: 16, partial_sums: 24}, of which any
// may be missing, or one number for weights, inputs and outputs.
Result<TensorBits> ReadTensorBits(const Node& node);

// "{weights: 4, inputs: 8}", which ReadTensorBits reads back.
std::string TensorBitsYaml(const TensorBits& bits);

}  // namespace tessera

#endif  // TESSERA_BASE_TENSOR_BITS_H_
