// Convolutions as VTA's code generators see them: sizes in blocks, the schedule knobs of the
// template, and the code that results.
#ifndef TESSERA_VTA_CODEGEN_CONV_H_
#define TESSERA_VTA_CODEGEN_CONV_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/vta.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// A square image, kernel, stride and padding.
inline ConvShape SquareConv(int64_t ci, int64_t co, int64_t size, int64_t kernel, int64_t stride,
                            int64_t pad) {
  return {.ci = ci,
          .co = co,
          .h = size,
          .w = size,
          .kh = kernel,
          .kw = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .pad_top = pad,
          .pad_left = pad,
          .pad_bottom = pad,
          .pad_right = pad};
}

// Refuses empty outputs, kernels over 11, padding over what an instruction can hold, and tensors
// over 32-bit tile addresses.
Result<void> Validate(const ConvShape& shape, const Config& config);

// The shape of a network's layer. A fully connected layer is a 1x1 convolution over a row of
// inputs. Grouped, depthwise, dilated and transposed convolutions and products of two activations
// are refused.
Result<ConvShape> ConvShapeOf(const Layer& layer);

// Sizes in blocks of the configuration.
int64_t BatchBlocks(const ConvShape& shape, const Config& config);
int64_t InputBlocks(const ConvShape& shape, const Config& config);
int64_t OutputBlocks(const ConvShape& shape, const Config& config);

// Micro-ops that the published hardware can address, whatever its buffer holds.
inline constexpr int64_t kMaxUops = 2048;

// Longer programs are refused before they are generated; that limit is ours.
inline constexpr int64_t kMaxInstructions = 8'000'000;

// Cycles that the matrix unit needs at one tile product per cycle, padding counted as data.
int64_t GemmFloor(const ConvShape& shape, const Config& config);

// Tiles of the output (tile_h, tile_w in pixels, tile_co in blocks) and of the reduction (tile_ci
// in blocks), and how many tiles are in flight at once along channels and rows.
struct Knobs {
  int64_t tile_h = 1, tile_w = 1, tile_ci = 1, tile_co = 1;
  int64_t oc_nthread = 1, h_nthread = 1;

  friend bool operator==(const Knobs&, const Knobs&) = default;
};
std::string ToString(const Knobs& knobs);  // "tile_h=4,tile_w=28,..."
Result<Knobs> ParseKnobs(std::string_view text);

// What a tensor in DRAM is for.
enum class TensorRole : uint8_t {
  kInput,
  kSecondInput,  // of an addition
  kWeights,
  kBias,         // int32 tiles for the ALU
  kBiasInput,    // the constant input that bias weights are multiplied with
  kBiasWeights,  // bias as int8 weights for the matrix unit
  kSelectors,    // weights that copy channels into accumulators
  kOutput,
  kUops,
  kInstructions,  // always last
};

struct Tensor {
  TensorRole role;
  std::string name;
  std::string layout;  // for people: "(ci_blocks, h, w, block_in) int8"
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// Code without data: what a timing run needs, and where the data go.
struct Kernel {
  Config config = {};
  std::vector<Instruction> instructions = {};
  std::vector<Uop> uops = {};
  std::vector<Tensor> tensors = {};  // micro-ops and instructions included
};

// Bytes that a kernel moves, by what they are.
struct Traffic {
  int64_t uop = 0, inp = 0, wgt = 0, acc = 0, insn = 0;  // read
  int64_t written = 0;
  int64_t read() const { return uop + inp + wgt + acc + insn; }
};
Traffic CountTraffic(const Kernel& kernel);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_CONV_H_
