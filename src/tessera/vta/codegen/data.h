// Tensors in their usual order, packed into VTA's tiles and back, and kernels with their data in a
// memory image.
#ifndef TESSERA_VTA_CODEGEN_DATA_H_
#define TESSERA_VTA_CODEGEN_DATA_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/program.h"

namespace tessera::vta {

// A kernel with its data in a memory image, ready to run. The error is for biases that the kernel
// cannot encode (see MaxGemmBias).
Result<Program> LinkConv(const Kernel& kernel, const ConvShape& shape, const ConvData& data);

// An empty image with room for the kernel's tensors, its micro-ops and its instructions.
Result<Program> LinkCode(const Kernel& kernel);

// Copies a (channels, h, w) tensor per batch row into tiles of `block` channels; what is missing to
// whole blocks is 0.
void PackActivations(std::span<const int8_t> data, int64_t n, int64_t channels, int64_t pixels,
                     int64_t batch, int64_t block, std::span<uint8_t> tiles);
std::vector<int8_t> UnpackActivations(std::span<const uint8_t> tiles, int64_t n, int64_t channels,
                                      int64_t pixels, int64_t batch, int64_t block);

// Kernels that add the bias with the matrix unit encode it as products of int8 numbers; larger
// magnitudes than this do not fit for a block of 16 inputs (15 * 127 * 127 + 127).
int64_t MaxGemmBias(const Config& config);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_DATA_H_
