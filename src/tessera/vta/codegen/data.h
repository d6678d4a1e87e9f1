// Tensors of a convolution in their usual order, packed into VTA's tiles and back, and the result
// that VTA must give, computed the obvious way.
#ifndef TESSERA_VTA_CODEGEN_DATA_H_
#define TESSERA_VTA_CODEGEN_DATA_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/program.h"

namespace tessera::vta {

struct ConvData {
  std::vector<int8_t> input = {};    // (n, ci, h, w)
  std::vector<int8_t> weights = {};  // (co, ci, kh, kw)
  std::vector<int32_t> bias = {};    // (co), empty without bias
};

// Random data, a function of (shape, seed): int8 over its whole range, biases from -128 to 127.
ConvData RandomConvData(const ConvShape& shape, bool bias, uint64_t seed);

// (n, co, oh, ow): the slow, obvious convolution.
std::vector<int8_t> ReferenceConv(const ConvShape& shape, const ConvData& data,
                                  const Epilogue& epilogue);

// A kernel with its data in a memory image, ready to run. The error is for biases that the kernel
// cannot encode (see kMaxGemmBias).
Result<Program> LinkConv(const Kernel& kernel, const ConvShape& shape, const ConvData& data);

// The output of a finished program: (n, co, oh, ow).
std::vector<int8_t> UnpackConvOutput(const Program& program, const ConvShape& shape);

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
