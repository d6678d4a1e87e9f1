#include "tessera/vta/codegen/elementwise.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/vta/codegen/data.h"
#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/codegen/layout.h"
#include "tessera/vta/codegen/scheduler.h"
#include "tessera/vta/codegen/selectors.h"

namespace tessera::vta {
namespace {

constexpr int64_t kSlots = 2;  // double buffering

class Generator {
 public:
  Generator(const ElementwiseShape& shape, const Config& config)
      : shape_(shape),
        config_(config),
        selectors_(config),
        pixels_(shape.h * shape.w),
        in_blocks_(CeilDiv(shape.channels, config.block_in())),
        out_blocks_(CeilDiv(shape.channels, config.block_out())),
        code_(kernel_.instructions) {
    kernel_.config = config;
  }

  Kernel Generate() {
    ChooseTile();
    PlaceTensors();
    for (int64_t i = 0; i < kSlots; ++i) {
      inp_.push_back(code_.AddSlot());
      acc_.push_back(code_.AddSlot());
    }
    const Scheduler::Slot selectors = code_.AddSlot();
    ListUops();
    code_.Load(
        Memory::kUop,
        {.dram = uops_, .columns = std::ssize(kernel_.uops), .stride = std::ssize(kernel_.uops)},
        {});
    code_.Load(Memory::kWgt, {.dram = weights_, .columns = selectors_.count, .stride = 1},
               {selectors});
    int64_t tile = 0;
    const int64_t units = CeilDiv(out_blocks_, selectors_.out_per_unit);
    for (int64_t n = 0; n < CeilDiv(shape_.n, config_.batch()); ++n) {
      for (const Extent& channels : Cut(units, tile_units_)) {
        for (const Extent& pixels : Cut(pixels_, tile_pixels_)) {
          Tile(n, channels, pixels, tile++ % kSlots, selectors);
        }
      }
    }
    code_.Finish();
    kernel_.tensors.back().bytes = kernel_.instructions.size() * 16;
    return std::move(kernel_);
  }

 private:
  // As many pixels as fit, and then as many channels.
  void ChooseTile() {
    const int64_t inp =
        config_.Depth(Memory::kInp) / (kSlots * shape_.inputs) / selectors_.in_per_unit;
    const int64_t acc = config_.Depth(Memory::kAcc) / kSlots / selectors_.out_per_unit;
    const int64_t room = std::max<int64_t>(std::min(inp, acc), 1);  // pixels of one unit
    tile_pixels_ = CeilDiv(pixels_, CeilDiv(pixels_, std::min(room, pixels_)));
    tile_units_ = std::max<int64_t>(room / tile_pixels_, 1);
    input_tiles_ = tile_units_ * selectors_.in_per_unit * tile_pixels_;
    acc_tiles_ = tile_units_ * selectors_.out_per_unit * tile_pixels_;
  }

  void PlaceTensors() {
    const int64_t batches = CeilDiv(shape_.n, config_.batch());
    const std::string blocks = "(n_blocks, c_blocks, h, w, batch, block_in) int8";
    DramLayout layout(config_, kernel_.tensors);
    inputs_[0] = layout.Add(TensorRole::kInput, "input", blocks, Memory::kInp,
                            batches * in_blocks_ * pixels_);
    if (shape_.inputs == 2) {
      inputs_[1] = layout.Add(TensorRole::kSecondInput, "second_input", blocks, Memory::kInp,
                              batches * in_blocks_ * pixels_);
    }
    weights_ = layout.Add(TensorRole::kSelectors, "selectors",
                          "(selectors, block_out, block_in) int8", Memory::kWgt, selectors_.count);
    output_ = layout.Add(TensorRole::kOutput, "output",
                         "(n_blocks, c_blocks, h, w, batch, block_out) int8", Memory::kOut,
                         batches * out_blocks_ * pixels_);
    const int64_t uops = kSlots * (1 + shape_.inputs * selectors_.count);
    uops_ = layout.Add(TensorRole::kUops, "uops", "micro-ops", Memory::kUop, uops);
    layout.AddInstructions();
  }

  int64_t InputBase(int64_t slot, int64_t input) const {
    return (slot * shape_.inputs + input) * input_tiles_;
  }

  // For each slot: all sums, then each input with each selector. Several blocks on one side are
  // `tile` tiles apart, which only full tiles have: smaller ones use the same places.
  void ListUops() {
    for (int64_t slot = 0; slot < kSlots; ++slot) {
      const auto acc = static_cast<uint32_t>(slot * acc_tiles_);
      kernel_.uops.push_back({.dst = acc, .src = acc});
      for (int64_t input = 0; input < shape_.inputs; ++input) {
        for (int64_t s = 0; s < selectors_.count; ++s) {
          const int64_t block = s * tile_pixels_;
          kernel_.uops.push_back(
              {.dst = acc + static_cast<uint32_t>(selectors_.out_per_unit > 1 ? block : 0),
               .src = static_cast<uint32_t>(InputBase(slot, input) +
                                            (selectors_.in_per_unit > 1 ? block : 0)),
               .wgt = static_cast<uint32_t>(s)});
        }
      }
    }
  }

  void Tile(int64_t n, const Extent& units, const Extent& pixels, int64_t slot,
            Scheduler::Slot selectors) {
    const int64_t first_in = units.begin * selectors_.in_per_unit;
    const int64_t first_out = units.begin * selectors_.out_per_unit;
    const int64_t ins = std::min(units.end * selectors_.in_per_unit, in_blocks_) - first_in;
    const int64_t outs = std::min(units.end * selectors_.out_per_unit, out_blocks_) - first_out;
    const Scheduler::Slot inp = inp_[static_cast<size_t>(slot)];
    const Scheduler::Slot acc = acc_[static_cast<size_t>(slot)];
    const auto origin = [&](int64_t blocks, int64_t first) {
      return (n * blocks + first) * pixels_ + pixels.begin;
    };
    for (int64_t input = 0; input < shape_.inputs; ++input) {
      LoadBlocks(InputBase(slot, input),
                 inputs_[static_cast<size_t>(input)] + origin(in_blocks_, first_in), ins,
                 pixels.size(), inp);
    }
    const int64_t uops_per_slot = 1 + shape_.inputs * selectors_.count;
    const int64_t uop = slot * uops_per_slot;
    const Loops sums = {.uop_begin = uop,
                        .uop_end = uop + 1,
                        .outer = outs,
                        .inner = pixels.size(),
                        .dst_outer = tile_pixels_,
                        .dst_inner = 1,
                        .src_outer = tile_pixels_,
                        .src_inner = 1};
    code_.Reset(sums, acc);
    for (int64_t input = 0; input < shape_.inputs; ++input) {
      for (int64_t s = 0; s < selectors_.count; ++s) {
        const int64_t list = uop + 1 + input * selectors_.count + s;
        const int64_t found = selectors_.UnitsWith(s, selectors_.in_per_unit > 1 ? ins : outs);
        if (found == 0) continue;
        code_.Gemm({.uop_begin = list,
                    .uop_end = list + 1,
                    .outer = found,
                    .inner = pixels.size(),
                    .dst_outer = selectors_.out_per_unit * tile_pixels_,
                    .dst_inner = 1,
                    .src_outer = selectors_.in_per_unit * tile_pixels_,
                    .src_inner = 1},
                   {inp, selectors}, acc);
      }
    }
    code_.AluImmediate(AluOp::kMax, shape_.low, sums, acc);
    code_.AluImmediate(AluOp::kMin, shape_.high, sums, acc);
    StoreBlocks(slot * acc_tiles_, output_ + origin(out_blocks_, first_out), outs, pixels.size(),
                acc);
  }

  // Blocks are tile_pixels_ apart in the buffers; one transfer where they are full.
  void LoadBlocks(int64_t sram, int64_t dram, int64_t blocks, int64_t pixels,
                  Scheduler::Slot slot) {
    const bool one = pixels == tile_pixels_ && pixels_ <= 65'535;
    for (int64_t block = 0; block < (one ? 1 : blocks); ++block) {
      code_.Load(Memory::kInp,
                 {.sram = sram + block * tile_pixels_,
                  .dram = dram + block * pixels_,
                  .rows = one ? blocks : 1,
                  .columns = pixels,
                  .stride = one ? pixels_ : pixels},
                 {slot});
    }
  }

  void StoreBlocks(int64_t sram, int64_t dram, int64_t blocks, int64_t pixels,
                   Scheduler::Slot slot) {
    const bool one = pixels == tile_pixels_ && pixels_ <= 65'535;
    for (int64_t block = 0; block < (one ? 1 : blocks); ++block) {
      code_.Store({.sram = sram + block * tile_pixels_,
                   .dram = dram + block * pixels_,
                   .rows = one ? blocks : 1,
                   .columns = pixels,
                   .stride = one ? pixels_ : pixels},
                  {slot});
    }
  }

  const ElementwiseShape& shape_;
  const Config& config_;
  const Selectors selectors_;
  const int64_t pixels_, in_blocks_, out_blocks_;
  int64_t tile_pixels_ = 1, tile_units_ = 1, input_tiles_ = 0, acc_tiles_ = 0;
  Kernel kernel_;
  Scheduler code_;
  std::array<int64_t, 2> inputs_ = {};
  int64_t weights_ = 0, output_ = 0, uops_ = 0;
  std::vector<Scheduler::Slot> inp_, acc_;
};

}  // namespace

Result<Kernel> GenerateElementwise(const ElementwiseShape& shape, const Config& config) {
  const bool sizes = shape.n >= 1 && shape.channels >= 1 && shape.h >= 1 && shape.w >= 1 &&
                     (shape.inputs == 1 || shape.inputs == 2);
  const Checked bytes = (Checked(shape.n) + config.batch()) *
                        (Checked(shape.channels) + config.block_in() + config.block_out()) *
                        shape.h * shape.w * 3;
  if (!sizes || !bytes.ok() || bytes.value() > int64_t{1} << 31) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("element-wise operation on {} tensors {}x{}x{}x{}: sizes "
                                        "from 1 up, within 2 GiB",
                                        shape.inputs, shape.n, shape.channels, shape.h, shape.w)};
  }
  const Selectors selectors(config);
  if (selectors.count > config.Depth(Memory::kWgt) ||
      selectors.in_per_unit * shape.inputs * kSlots > config.Depth(Memory::kInp) ||
      selectors.out_per_unit * kSlots > config.Depth(Memory::kAcc)) {
    return Error{
        .kind = ErrorKind::kInfeasible,
        .message = fmt::format("{} selectors of unequal blocks do not fit into the buffers",
                               selectors.count)};
  }
  return Generator(shape, config).Generate();
}

Result<Program> LinkElementwise(const Kernel& kernel, const ElementwiseShape& shape,
                                std::span<const std::vector<int8_t>> inputs) {
  Result<Program> program = LinkCode(kernel);
  if (!program) return program.error();
  const Config& config = kernel.config;
  size_t next = 0;
  for (const Tensor& tensor : kernel.tensors) {
    const std::span<uint8_t> bytes = Bytes(*program, {tensor.address, tensor.bytes});
    if (tensor.role == TensorRole::kSelectors) Selectors(config).Write(config, bytes);
    if (tensor.role != TensorRole::kInput && tensor.role != TensorRole::kSecondInput) continue;
    PackActivations(inputs[next++], shape.n, shape.channels, shape.h * shape.w, config.batch(),
                    config.block_in(), bytes);
  }
  return program;
}

}  // namespace tessera::vta
