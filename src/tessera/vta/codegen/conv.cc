#include "tessera/vta/codegen/conv.h"

#include <array>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/vta/codegen/fields.h"

namespace tessera::vta {
namespace {

constexpr int64_t kMaxKernel = 11;
constexpr int64_t kMaxPad = 15;      // 4-bit fields
constexpr int64_t kMaxRow = 65'535;  // 16-bit strides

constexpr std::array<NamedField<Knobs>, 6> kKnobs = {{{"tile_h", &Knobs::tile_h},
                                                      {"tile_w", &Knobs::tile_w},
                                                      {"tile_ci", &Knobs::tile_ci},
                                                      {"tile_co", &Knobs::tile_co},
                                                      {"oc_nthread", &Knobs::oc_nthread},
                                                      {"h_nthread", &Knobs::h_nthread}}};

Error Unsupported(std::string message) {
  return Error{.kind = ErrorKind::kUnsupported, .message = std::move(message)};
}

}  // namespace

Result<void> Validate(const ConvShape& shape, const Config& config) {
  for (const int64_t size : {shape.n, shape.ci, shape.co, shape.h, shape.w, shape.kh, shape.kw,
                             shape.stride_h, shape.stride_w}) {
    if (size >= 1 && size <= kMaxSize) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("convolution with a size of {}", size)};
  }
  for (const int64_t pad : {shape.pad_top, shape.pad_left, shape.pad_bottom, shape.pad_right}) {
    if (pad < 0 || pad > kMaxPad) {
      return Unsupported(
          fmt::format("padding {} is outside 0..{}, the range of LOAD", pad, kMaxPad));
    }
  }
  if (shape.kh > kMaxKernel || shape.kw > kMaxKernel) {
    return Unsupported(
        fmt::format("kernel {}x{} > {}x{}", shape.kh, shape.kw, kMaxKernel, kMaxKernel));
  }
  if (shape.kh > shape.h + shape.pad_top + shape.pad_bottom ||
      shape.kw > shape.w + shape.pad_left + shape.pad_right) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = "the kernel does not fit into the padded input"};
  }
  if (shape.pad_top >= shape.kh || shape.pad_bottom >= shape.kh || shape.pad_left >= shape.kw ||
      shape.pad_right >= shape.kw) {
    return Unsupported(
        fmt::format("padding that a {}x{} kernel can lie in entirely", shape.kh, shape.kw));
  }
  const Checked input = Checked(BatchBlocks(shape, config)) * InputBlocks(shape, config) * shape.h *
                        shape.w * config.TileBytes(Memory::kInp);
  const Checked weights = Checked(OutputBlocks(shape, config)) * InputBlocks(shape, config) *
                          shape.kh * shape.kw * config.TileBytes(Memory::kWgt);
  const Checked output = Checked(BatchBlocks(shape, config)) * OutputBlocks(shape, config) *
                         shape.oh() * shape.ow() * config.TileBytes(Memory::kOut);
  const Checked total = input + weights + output;
  const bool rows_fit = shape.w <= kMaxRow && shape.oh() <= kMaxRow && shape.ow() <= kMaxRow &&
                        InputBlocks(shape, config) * shape.kh * shape.kw <= kMaxRow;
  if (!rows_fit || !total.ok() || total.value() > int64_t{1} << 31) {
    return Unsupported("tensors that 16-bit strides or 2 GiB of memory cannot hold");
  }
  return {};
}

Result<ConvShape> ConvShapeOf(const Layer& layer) {
  if (layer.type == LayerType::kFullyConnected) {
    return ConvShape{.ci = layer.c, .co = layer.k, .w = layer.n};
  }
  if (layer.type != LayerType::kConv) {
    return Unsupported(
        fmt::format("a {} layer: VTA code is generated for convolutions and fully "
                    "connected layers",
                    TypeName(layer)));
  }
  if (layer.groups != 1) {
    return Unsupported(fmt::format("a convolution with {} groups: only dense ones", layer.groups));
  }
  if (layer.dilation != Pair{1, 1}) {
    return Unsupported("a dilated convolution: only dilation 1");
  }
  return ConvShape{.n = layer.n,
                   .ci = layer.c,
                   .co = layer.k,
                   .h = layer.y,
                   .w = layer.x,
                   .kh = layer.r,
                   .kw = layer.s,
                   .stride_h = layer.stride.y,
                   .stride_w = layer.stride.x,
                   .pad_top = layer.pad.top,
                   .pad_left = layer.pad.left,
                   .pad_bottom = layer.pad.bottom,
                   .pad_right = layer.pad.right};
}

int64_t BatchBlocks(const ConvShape& shape, const Config& config) {
  return CeilDiv(shape.n, config.batch());
}
int64_t InputBlocks(const ConvShape& shape, const Config& config) {
  return CeilDiv(shape.ci, config.block_in());
}
int64_t OutputBlocks(const ConvShape& shape, const Config& config) {
  return CeilDiv(shape.co, config.block_out());
}

int64_t GemmFloor(const ConvShape& shape, const Config& config) {
  return BatchBlocks(shape, config) * shape.oh() * shape.ow() * InputBlocks(shape, config) *
         OutputBlocks(shape, config) * shape.kh * shape.kw;
}

std::string ToString(const Knobs& knobs) { return FieldsToText(knobs, kKnobs); }

Result<Knobs> ParseKnobs(std::string_view text) {
  return TextToFields(text, "schedule knob", kMaxSize, kKnobs);
}

Traffic CountTraffic(const Kernel& kernel) {
  Traffic traffic;
  for (const Instruction& instruction : kernel.instructions) {
    if (!instruction.IsMemory()) continue;
    const int64_t bytes = int64_t{instruction.x_size} * instruction.y_size *
                          kernel.config.TileBytes(instruction.memory());
    switch (instruction.memory()) {
      case Memory::kUop: traffic.uop += bytes; break;
      case Memory::kInp: traffic.inp += bytes; break;
      case Memory::kWgt: traffic.wgt += bytes; break;
      case Memory::kAcc:
      case Memory::kAcc8Bit: traffic.acc += bytes; break;
      case Memory::kOut: traffic.written += bytes; break;
    }
  }
  traffic.insn = 16 * std::ssize(kernel.instructions);
  return traffic;
}

}  // namespace tessera::vta
