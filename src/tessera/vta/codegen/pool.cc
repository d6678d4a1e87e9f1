#include "tessera/vta/codegen/pool.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "tessera/vta/codegen/data.h"
#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/codegen/layout.h"
#include "tessera/vta/codegen/scheduler.h"
#include "tessera/vta/codegen/selectors.h"

namespace tessera::vta {
namespace {

constexpr int64_t kSlots = 2;  // double buffering

// A tile is a rectangle of outputs of one channel block. Its inputs go into accumulators, a tap
// that lies inside for all outputs starts the result, and the ALU takes the others into account.
class Generator {
 public:
  Generator(const ConvShape& shape, const Config& config, int64_t tile_h, int64_t tile_w)
      : shape_(shape),
        config_(config),
        selectors_(config),
        in_blocks_(InputBlocks(shape, config)),
        out_blocks_(OutputBlocks(shape, config)),
        rows_(Cut(shape.oh(), tile_h)),
        columns_(Cut(shape.ow(), tile_w)),
        code_(kernel_.instructions) {
    kernel_.config = config;
  }

  // Nothing if the tiles do not fit.
  std::optional<Kernel> Generate() {
    if (!Allocate()) return std::nullopt;
    PlaceTensors();
    code_.Load(Memory::kUop, {.dram = uops_, .columns = 1}, {});
    selector_slot_ = code_.AddSlot();
    code_.Load(Memory::kWgt, {.dram = weights_, .columns = selectors_.count, .stride = 1},
               {selector_slot_});
    int64_t tile = 0;
    for (int64_t n = 0; n < BatchBlocks(shape_, config_); ++n) {
      for (int64_t block = 0; block < out_blocks_; ++block) {
        for (const Extent& rows : rows_) {
          for (const Extent& columns : columns_) Tile(n, block, rows, columns, tile++ % kSlots);
        }
      }
    }
    code_.Finish();
    const int64_t count = std::ssize(kernel_.uops);
    if (count > std::min(kMaxUops, config_.Depth(Memory::kUop))) return std::nullopt;
    kernel_.instructions.front().x_size = static_cast<uint32_t>(count);
    kernel_.instructions.front().x_stride = static_cast<uint32_t>(count);
    for (Tensor& tensor : kernel_.tensors) {
      if (tensor.role == TensorRole::kUops) tensor.bytes = static_cast<uint64_t>(count) * 4;
    }
    kernel_.tensors.back().bytes = kernel_.instructions.size() * 16;
    return std::move(kernel_);
  }

 private:
  bool Allocate() {
    for (const Extent& rows : rows_) {
      for (const Extent& columns : columns_) {
        const int64_t input = WindowOf(RowAxis(shape_), rows, true, false).size() *
                              WindowOf(ColumnAxis(shape_), columns, true, false).size();
        window_tiles_ = std::max(window_tiles_, input);
        output_tiles_ = std::max(output_tiles_, rows.size() * columns.size());
      }
    }
    for (int64_t i = 0; i < kSlots; ++i) {
      inp_.push_back(code_.AddSlot());
      acc_.push_back(code_.AddSlot());
    }
    return kSlots * selectors_.in_per_unit * window_tiles_ <= config_.Depth(Memory::kInp) &&
           kSlots * (window_tiles_ + output_tiles_) <= config_.Depth(Memory::kAcc) &&
           selectors_.count <= config_.Depth(Memory::kWgt);
  }

  void PlaceTensors() {
    const int64_t batches = BatchBlocks(shape_, config_);
    DramLayout layout(config_, kernel_.tensors);
    input_ =
        layout.Add(TensorRole::kInput, "input", "(n_blocks, c_blocks, h, w, batch, block_in) int8",
                   Memory::kInp, batches * in_blocks_ * shape_.h * shape_.w);
    weights_ = layout.Add(TensorRole::kSelectors, "selectors",
                          "(selectors, block_out, block_in) int8", Memory::kWgt, selectors_.count);
    output_ = layout.Add(TensorRole::kOutput, "output",
                         "(n_blocks, c_blocks, oh, ow, batch, block_out) int8", Memory::kOut,
                         batches * out_blocks_ * shape_.oh() * shape_.ow());
    uops_ = layout.Add(TensorRole::kUops, "uops", "micro-ops", Memory::kUop, kMaxUops);
    layout.AddInstructions();
  }

  int64_t UopAt(int64_t dst, int64_t src, int64_t wgt) {
    const auto [found, is_new] =
        indices_.try_emplace(std::tuple(dst, src, wgt), std::ssize(kernel_.uops));
    if (is_new) {
      kernel_.uops.push_back({.dst = static_cast<uint32_t>(dst),
                              .src = static_cast<uint32_t>(src),
                              .wgt = static_cast<uint32_t>(wgt)});
    }
    return found->second;
  }

  static Loops OneUop(int64_t uop, Loops loops) {
    loops.uop_begin = uop;
    loops.uop_end = uop + 1;
    return loops;
  }

  void Tile(int64_t n, int64_t block, const Extent& rows, const Extent& columns, int64_t slot) {
    const Window y = WindowOf(RowAxis(shape_), rows, true, false);
    const Window x = WindowOf(ColumnAxis(shape_), columns, true, false);
    // The input blocks of this output block, and the selectors that find its channels in them.
    const int64_t first = block / selectors_.out_per_unit * selectors_.in_per_unit;
    const int64_t blocks = std::min(first + selectors_.in_per_unit, in_blocks_) - first;
    const int64_t inp = slot * selectors_.in_per_unit * window_tiles_;
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t plane = (n * in_blocks_ + first + i) * shape_.h;
      code_.Load(Memory::kInp,
                 {.sram = inp + i * window_tiles_,
                  .dram = input_ + (plane + y.begin) * shape_.w + x.begin,
                  .rows = y.loaded,
                  .columns = x.loaded,
                  .stride = shape_.w},
                 {inp_[static_cast<size_t>(slot)]});
    }
    const int64_t window = slot * (window_tiles_ + output_tiles_);  // in ACC
    const int64_t result = window + window_tiles_;
    Copy(slot, block, blocks, inp, window,
         {.inner = y.size() * x.size(), .dst_inner = 1, .src_inner = 1});
    const int64_t row_tap = TapOfAll(y, rows.size(), shape_.kh);
    const int64_t column_tap = TapOfAll(x, columns.size(), shape_.kw);
    const bool start_from_tap = row_tap >= 0 && column_tap >= 0;
    const Loops outputs = {.outer = rows.size(),
                           .inner = columns.size(),
                           .dst_outer = columns.size(),
                           .dst_inner = 1,
                           .src_outer = y.step * x.size(),
                           .src_inner = x.step};
    if (start_from_tap) {
      const int64_t first_tap = (y.first_tap + row_tap) * x.size() + x.first_tap + column_tap;
      Copy(slot, block, blocks, inp + first_tap, result, outputs);
    } else {
      StartFromLeast(slot, result, rows.size() * columns.size());
    }
    for (int64_t tap = 0; tap < shape_.kh * shape_.kw; ++tap) {
      const int64_t di = tap / shape_.kw, dj = tap % shape_.kw;
      if (start_from_tap && di == row_tap && dj == column_tap) continue;
      TakeMax(di, dj, y, x, rows, columns, window, result, slot);
    }
    code_.Store(
        {.sram = result,
         .dram = output_ + ((n * out_blocks_ + block) * shape_.oh() + rows.begin) * shape_.ow() +
                 columns.begin,
         .rows = rows.size(),
         .columns = columns.size(),
         .stride = shape_.ow()},
        {acc_[static_cast<size_t>(slot)]});
  }

  // A tap that meets data for every output, or -1.
  static int64_t TapOfAll(const Window& window, int64_t outputs, int64_t kernel) {
    for (int64_t tap = 0; tap < kernel; ++tap) {
      if (OutputsOfTap(window, outputs, tap) == Extent{0, outputs}) return tap;
    }
    return -1;
  }

  void StartFromLeast(int64_t slot, int64_t acc, int64_t tiles) {
    const Scheduler::Slot place = acc_[static_cast<size_t>(slot)];
    const Loops all = OneUop(UopAt(acc, acc, 0), {.inner = tiles, .dst_inner = 1, .src_inner = 1});
    code_.Reset(all, place);
    code_.AluImmediate(AluOp::kAdd, -128, all, place);
  }

  // Zeroes accumulators and adds the selected channels of the input.
  void Copy(int64_t slot, int64_t block, int64_t blocks, int64_t inp, int64_t acc, Loops loops) {
    const Scheduler::Slot place = acc_[static_cast<size_t>(slot)];
    Loops zero = loops;
    zero.src_outer = zero.dst_outer;
    zero.src_inner = zero.dst_inner;
    code_.Reset(OneUop(UopAt(acc, acc, 0), zero), place);
    const bool split = selectors_.in_per_unit > 1;
    for (int64_t i = 0; i < (split ? blocks : 1); ++i) {
      const int64_t selector = split ? i : block % selectors_.out_per_unit;
      code_.Gemm(OneUop(UopAt(acc, inp + i * window_tiles_, selector), loops),
                 {inp_[static_cast<size_t>(slot)], selector_slot_}, place);
    }
  }

  void TakeMax(int64_t di, int64_t dj, const Window& y, const Window& x, const Extent& rows,
               const Extent& columns, int64_t window, int64_t result, int64_t slot) {
    const Extent i = OutputsOfTap(y, rows.size(), di), j = OutputsOfTap(x, columns.size(), dj);
    if (i.size() == 0 || j.size() == 0) return;
    const int64_t row = y.first_tap + i.begin * y.step + di;
    const int64_t column = x.first_tap + j.begin * x.step + dj;
    const int64_t uop =
        UopAt(result + i.begin * columns.size() + j.begin, window + row * x.size() + column, 0);
    code_.AluRegister(AluOp::kMax,
                      OneUop(uop, {.outer = i.size(),
                                   .inner = j.size(),
                                   .dst_outer = columns.size(),
                                   .dst_inner = 1,
                                   .src_outer = y.step * x.size(),
                                   .src_inner = x.step}),
                      {}, acc_[static_cast<size_t>(slot)]);
  }

  const ConvShape& shape_;
  const Config& config_;
  const Selectors selectors_;
  const int64_t in_blocks_, out_blocks_;
  const std::vector<Extent> rows_, columns_;
  int64_t window_tiles_ = 0, output_tiles_ = 0;
  Kernel kernel_;
  Scheduler code_;
  int64_t input_ = 0, weights_ = 0, output_ = 0, uops_ = 0;
  std::vector<Scheduler::Slot> inp_, acc_;
  Scheduler::Slot selector_slot_ = 0;
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> indices_;
};

}  // namespace

Result<Kernel> GenerateMaxPool(const ConvShape& shape, const Config& config) {
  if (Result<void> valid = Validate(shape, config); !valid) return valid.error();
  // The largest tile that fits, whole rows first.
  for (int64_t tile_w = shape.ow(); tile_w >= 1; tile_w = tile_w == 1 ? 0 : (tile_w + 1) / 2) {
    for (int64_t tile_h = shape.oh(); tile_h >= 1; --tile_h) {
      std::optional<Kernel> kernel = Generator(shape, config, tile_h, tile_w).Generate();
      if (kernel) return *std::move(kernel);
    }
  }
  return Error{.kind = ErrorKind::kInfeasible,
               .message = fmt::format("a {}x{} pooling window does not fit twice into the buffers",
                                      shape.kh, shape.kw)};
}

Result<Program> LinkMaxPool(const Kernel& kernel, const ConvShape& shape,
                            const std::vector<int8_t>& input) {
  Result<Program> program = LinkCode(kernel);
  if (!program) return program.error();
  const Config& config = kernel.config;
  for (const Tensor& tensor : kernel.tensors) {
    const std::span<uint8_t> bytes = Bytes(*program, {tensor.address, tensor.bytes});
    if (tensor.role == TensorRole::kSelectors) Selectors(config).Write(config, bytes);
    if (tensor.role != TensorRole::kInput) continue;
    PackActivations(input, shape.n, shape.ci, shape.h * shape.w, config.batch(), config.block_in(),
                    bytes);
  }
  return program;
}

std::vector<int8_t> ReferenceMaxPool(const ConvShape& s, const std::vector<int8_t>& input) {
  std::vector<int8_t> output;
  for (int64_t plane = 0; plane < s.n * s.ci; ++plane) {
    for (int64_t y = 0; y < s.oh(); ++y) {
      for (int64_t x = 0; x < s.ow(); ++x) {
        int8_t best = -128;
        for (int64_t tap = 0; tap < s.kh * s.kw; ++tap) {
          const int64_t row = y * s.stride_h - s.pad_top + tap / s.kw;
          const int64_t column = x * s.stride_w - s.pad_left + tap % s.kw;
          if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
          best = std::max(best, input[static_cast<size_t>((plane * s.h + row) * s.w + column)]);
        }
        output.push_back(best);
      }
    }
  }
  return output;
}

}  // namespace tessera::vta
