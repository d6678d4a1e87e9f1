#include "tessera/vta/codegen/data.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tessera/part.h"

namespace tessera::vta {
namespace {

constexpr int64_t kUnit = 127;  // the constant in all but the first input of a bias tile

const Tensor* FindTensor(const Kernel& kernel, TensorRole role) {
  for (const Tensor& tensor : kernel.tensors) {
    if (tensor.role == role) return &tensor;
  }
  return nullptr;
}

std::span<uint8_t> BytesOf(Program& program, const Tensor& tensor) {
  return Bytes(program, {tensor.address, tensor.bytes});
}

void PackWeights(const ConvShape& shape, const Config& config, std::span<const int8_t> weights,
                 std::span<uint8_t> tiles) {
  const int64_t block_in = config.block_in(), block_out = config.block_out();
  const int64_t cib = InputBlocks(shape, config), taps = shape.kh * shape.kw;
  for (int64_t co = 0; co < shape.co; ++co) {
    for (int64_t ci = 0; ci < shape.ci; ++ci) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t tile = ((co / block_out) * cib + ci / block_in) * taps + tap;
        const int64_t at = (tile * block_out + co % block_out) * block_in + ci % block_in;
        tiles[static_cast<size_t>(at)] =
            static_cast<uint8_t>(weights[static_cast<size_t>((co * shape.ci + ci) * taps + tap)]);
      }
    }
  }
}

// Bias as int32 tiles, the same for every batch row.
void PackBias(const Config& config, std::span<const int32_t> bias, std::span<uint8_t> tiles) {
  const int64_t block = config.block_out(), batch = config.batch();
  for (int64_t co = 0; co < std::ssize(bias); ++co) {
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t at = ((co / block) * batch + b) * block + co % block;
      std::memcpy(&tiles[static_cast<size_t>(at * 4)], &bias[static_cast<size_t>(co)], 4);
    }
  }
}

// Bias as weights against the constant input (1, 127, 127, ...): the first weight takes the
// remainder, the others the multiples of 127.
Result<void> PackBiasWeights(const Config& config, std::span<const int32_t> bias,
                             std::span<uint8_t> tiles) {
  const int64_t block_in = config.block_in(), block_out = config.block_out();
  for (int64_t co = 0; co < std::ssize(bias); ++co) {
    const int64_t value = bias[static_cast<size_t>(co)];
    if (std::abs(value) > MaxGemmBias(config)) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("bias {} of channel {} is outside -{}..{}", value, co,
                                          MaxGemmBias(config), MaxGemmBias(config)),
                   .hint = "generate with the bias added by the ALU"};
    }
    const int64_t row = ((co / block_out) * block_out + co % block_out) * block_in;
    int64_t multiples = value / kUnit;
    tiles[static_cast<size_t>(row)] = static_cast<uint8_t>(value - multiples * kUnit);
    for (int64_t k = 1; k < block_in; ++k) {
      const int64_t part = std::clamp<int64_t>(multiples, -kUnit, kUnit);
      tiles[static_cast<size_t>(row + k)] = static_cast<uint8_t>(part);
      multiples -= part;
    }
  }
  return {};
}

}  // namespace

int64_t MaxGemmBias(const Config& config) { return (config.block_in() - 1) * kUnit * kUnit; }

ConvData RandomConvData(const ConvShape& shape, bool bias, uint64_t seed) {
  CounterRng rng(seed, StreamId("vta.conv_data"));
  const auto bytes = [&rng](int64_t count) {
    std::vector<int8_t> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); i += 4) {
      const uint32_t bits = rng.Bits32();
      for (size_t k = 0; k < 4 && i + k < values.size(); ++k) {
        values[i + k] = static_cast<int8_t>(bits >> (8 * k));
      }
    }
    return values;
  };
  ConvData data;
  data.input = bytes(shape.n * shape.ci * shape.h * shape.w);
  data.weights = bytes(shape.co * shape.ci * shape.kh * shape.kw);
  if (bias) {
    for (const int8_t value : bytes(shape.co)) data.bias.push_back(value);
  }
  return data;
}

std::vector<int8_t> ReferenceConv(const ConvShape& s, const ConvData& data,
                                  const Epilogue& epilogue) {
  const int64_t oh = s.oh(), ow = s.ow();
  std::vector<int8_t> output;
  output.reserve(static_cast<size_t>(s.n * s.co * oh * ow));
  std::vector<int32_t> sums(static_cast<size_t>(oh * ow));
  for (int64_t image = 0; image < s.n * s.co; ++image) {
    const int64_t n = image / s.co, co = image % s.co;
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t ci = 0; ci < s.ci; ++ci) {
      for (int64_t tap = 0; tap < s.kh * s.kw; ++tap) {
        const int64_t dy = tap / s.kw - s.pad_top, dx = tap % s.kw - s.pad_left;
        const int32_t weight =
            data.weights[static_cast<size_t>((co * s.ci + ci) * s.kh * s.kw + tap)];
        const int8_t* plane = &data.input[static_cast<size_t>((n * s.ci + ci) * s.h * s.w)];
        for (int64_t y = 0; y < oh; ++y) {
          const int64_t row = y * s.stride_h + dy;
          if (row < 0 || row >= s.h) continue;
          for (int64_t x = 0; x < ow; ++x) {
            const int64_t column = x * s.stride_w + dx;
            if (column < 0 || column >= s.w) continue;
            sums[static_cast<size_t>(y * ow + x)] += weight * plane[row * s.w + column];
          }
        }
      }
    }
    const int32_t bias =
        epilogue.bias && !data.bias.empty() ? data.bias[static_cast<size_t>(co)] : 0;
    for (const int32_t sum : sums) {
      output.push_back(static_cast<int8_t>(
          std::clamp((sum >> epilogue.shift) + bias, epilogue.low, epilogue.high)));
    }
  }
  return output;
}

void PackActivations(std::span<const int8_t> data, int64_t n, int64_t channels, int64_t pixels,
                     int64_t batch, int64_t block, std::span<uint8_t> tiles) {
  const int64_t blocks = (channels + block - 1) / block;
  for (int64_t image = 0; image < n; ++image) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t plane = ((image / batch) * blocks + c / block) * pixels;
      const int8_t* from = &data[static_cast<size_t>((image * channels + c) * pixels)];
      const int64_t lane = (image % batch) * block + c % block;
      for (int64_t p = 0; p < pixels; ++p) {
        tiles[static_cast<size_t>((plane + p) * batch * block + lane)] =
            static_cast<uint8_t>(from[p]);
      }
    }
  }
}

std::vector<int8_t> UnpackActivations(std::span<const uint8_t> tiles, int64_t n, int64_t channels,
                                      int64_t pixels, int64_t batch, int64_t block) {
  const int64_t blocks = (channels + block - 1) / block;
  std::vector<int8_t> data(static_cast<size_t>(n * channels * pixels));
  for (int64_t image = 0; image < n; ++image) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t plane = ((image / batch) * blocks + c / block) * pixels;
      const int64_t lane = (image % batch) * block + c % block;
      for (int64_t p = 0; p < pixels; ++p) {
        data[static_cast<size_t>((image * channels + c) * pixels + p)] =
            static_cast<int8_t>(tiles[static_cast<size_t>((plane + p) * batch * block + lane)]);
      }
    }
  }
  return data;
}

Result<Program> LinkCode(const Kernel& kernel) {
  Program program;
  program.config = kernel.config;
  const Tensor& code = *FindTensor(kernel, TensorRole::kInstructions);
  program.dram_base = kernel.tensors.front().address;
  program.dram.resize(code.address + code.bytes - program.dram_base);
  program.insn_addr = code.address;
  if (Result<void> placed = PlaceInstructions(kernel.instructions, program); !placed) {
    return placed.error();
  }
  const Encoding encoding(kernel.config);
  uint8_t* at = BytesOf(program, *FindTensor(kernel, TensorRole::kUops)).data();
  for (const Uop& uop : kernel.uops) {
    const Result<uint32_t> word = encoding.Encode(uop);
    if (!word) return word.error();
    std::memcpy(at, &*word, 4);
    at += 4;
  }
  const Tensor& output = *FindTensor(kernel, TensorRole::kOutput);
  program.out = {output.address, output.bytes};
  return program;
}

Result<Program> LinkConv(const Kernel& kernel, const ConvShape& shape, const ConvData& data) {
  Result<Program> program = LinkCode(kernel);
  if (!program) return program.error();
  const Config& config = kernel.config;
  PackActivations(data.input, shape.n, shape.ci, shape.h * shape.w, config.batch(),
                  config.block_in(), BytesOf(*program, *FindTensor(kernel, TensorRole::kInput)));
  PackWeights(shape, config, data.weights,
              BytesOf(*program, *FindTensor(kernel, TensorRole::kWeights)));
  if (const Tensor* bias = FindTensor(kernel, TensorRole::kBias)) {
    PackBias(config, data.bias, BytesOf(*program, *bias));
  }
  if (const Tensor* constants = FindTensor(kernel, TensorRole::kBiasInput)) {
    const std::span<uint8_t> tile = BytesOf(*program, *constants);
    for (size_t i = 0; i < tile.size(); ++i) {
      const bool first = static_cast<int64_t>(i) % config.block_in() == 0;
      tile[i] = first ? 1 : static_cast<uint8_t>(kUnit);
    }
  }
  if (const Tensor* bias = FindTensor(kernel, TensorRole::kBiasWeights)) {
    Result<void> packed = PackBiasWeights(config, data.bias, BytesOf(*program, *bias));
    if (!packed) return packed.error();
  }
  return program;
}

std::vector<int8_t> UnpackConvOutput(const Program& program, const ConvShape& shape) {
  return UnpackActivations(Bytes(program, program.out), shape.n, shape.co, shape.oh() * shape.ow(),
                           program.config.batch(), program.config.block_out());
}

}  // namespace tessera::vta
