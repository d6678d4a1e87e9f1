// Residual additions, ReLU and clipping of whole tensors.
#ifndef TESSERA_VTA_CODEGEN_ELEMENTWISE_H_
#define TESSERA_VTA_CODEGEN_ELEMENTWISE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/program.h"

namespace tessera::vta {

struct ElementwiseShape {
  int64_t n = 1, channels = 1, h = 1, w = 1;

  // Two inputs are added. Default: 1.
  int64_t inputs = 1;

  // out = clip(sum of inputs, low, high): 0 and 127 are ReLU. Default: -128 and 127.
  int32_t low = -128, high = 127;
};

// The error is for tensors beyond VTA's addresses.
Result<Kernel> GenerateElementwise(const ElementwiseShape& shape, const Config& config);

// The kernel with its inputs, each (n, channels, h, w), in a memory image.
Result<Program> LinkElementwise(const Kernel& kernel, const ElementwiseShape& shape,
                                std::span<const std::vector<int8_t>> inputs);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_ELEMENTWISE_H_
