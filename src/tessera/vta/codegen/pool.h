// Max pooling of whole tensors on the ALU.
#ifndef TESSERA_VTA_CODEGEN_POOL_H_
#define TESSERA_VTA_CODEGEN_POOL_H_

#include <cstdint>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/program.h"

namespace tessera::vta {

// A convolution's shape without weights: `co` and `ci` are both the channels. Padding never wins.
Result<Kernel> GenerateMaxPool(const ConvShape& shape, const Config& config);

// The kernel with its input (n, channels, h, w) in a memory image.
Result<Program> LinkMaxPool(const Kernel& kernel, const ConvShape& shape,
                            const std::vector<int8_t>& input);

// The slow, obvious way.
std::vector<int8_t> ReferenceMaxPool(const ConvShape& shape, const std::vector<int8_t>& input);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_POOL_H_
