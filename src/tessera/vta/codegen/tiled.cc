// Programs tile by tile: where operands lie in the buffers, what is loaded when, and which
// micro-ops do the products.
#include "tessera/vta/codegen/tiled.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "tessera/vta/codegen/fields.h"
#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/codegen/layout.h"
#include "tessera/vta/codegen/scheduler.h"
#include "tessera/vta/codegen/tile_cache.h"

namespace tessera::vta {
namespace {

constexpr int64_t kBiasSlots = 2;

// Tiles after which the last stores start while the ALU still works on the rest.
constexpr int64_t kLastPartTiles = 96;

// All that a list of micro-ops depends on.
using ListKey = std::array<int64_t, 17>;

using T = TiledSchedule;
constexpr std::array<NamedField<T>, 12> kFields = {{{"tile_h", &T::tile_h},
                                                    {"tile_w", &T::tile_w},
                                                    {"tile_ci", &T::tile_ci},
                                                    {"tile_co", &T::tile_co},
                                                    {"lead_co", &T::lead_co, 0},
                                                    {"inp_slots", &T::inp_slots},
                                                    {"wgt_slots", &T::wgt_slots},
                                                    {"channels_outermost", &T::channels_outermost},
                                                    {"trim_rows", &T::trim_rows},
                                                    {"trim_columns", &T::trim_columns},
                                                    {"gemm_bias", &T::gemm_bias},
                                                    {"split_products", &T::split_products, 0,
                                                     /*always=*/false}}};

struct OutputTile {
  int64_t n = 0, h = 0, w = 0, c = 0;  // which batch block and which pieces
  Extent rows, columns, channels;
};

bool NearRepeat(std::span<const int64_t> dst) {
  for (size_t i = 1; i < dst.size(); ++i) {
    if (dst[i] == dst[i - 1] || (i > 1 && dst[i] == dst[i - 2])) return true;
  }
  return false;
}

// Whether a sum is used again within two tile operations: inside the list of micro-ops, from one
// inner round to the next, or from one outer round to the next.
bool ReusesSumsTooSoon(const Loops& loops, std::span<const Uop> uops) {
  std::vector<int64_t> inner, outer;
  const auto add = [&uops](std::vector<int64_t>& dst, int64_t offset) {
    for (const Uop& uop : uops) dst.push_back(uop.dst + offset);
  };
  for (int64_t i = 0; i < std::min<int64_t>(loops.inner, 3); ++i) add(inner, i * loops.dst_inner);
  if (loops.outer == 1 || loops.inner > 2) return NearRepeat(inner);
  for (int64_t o = 0; o < std::min<int64_t>(loops.outer, 3); ++o) {
    for (int64_t i = 0; i < loops.inner; ++i) {
      add(outer, o * loops.dst_outer + i * loops.dst_inner);
    }
  }
  return NearRepeat(outer);
}

class Generator {
 public:
  Generator(const ConvShape& shape, const TiledSchedule& schedule, const Config& config,
            const Epilogue& epilogue)
      : shape_(shape),
        schedule_(schedule),
        config_(config),
        epilogue_(epilogue),
        gemm_bias_(epilogue.bias && schedule.gemm_bias),
        taps_(shape.kh * shape.kw),
        rows_(Cut(shape.oh(), schedule.tile_h)),
        columns_(Cut(shape.ow(), schedule.tile_w)),
        channels_(Cut(OutputBlocks(shape, config), schedule.tile_co, schedule.lead_co)),
        widest_(std::min(schedule.tile_co, OutputBlocks(shape, config))),
        chunks_(Cut(InputBlocks(shape, config), schedule.tile_ci)),
        code_(kernel_.instructions) {
    kernel_.config = config;
    for (const Extent& rows : rows_) {
      row_windows_.push_back(
          WindowOf(RowAxis(shape_), rows, schedule.trim_rows, /*may_skip=*/true));
    }
    for (const Extent& columns : columns_) {
      column_windows_.push_back(ColumnWindow(columns));
    }
  }

  Result<Kernel> Generate() {
    const int64_t tiles = BatchBlocks(shape_, config_) * std::ssize(rows_) * std::ssize(columns_) *
                          std::ssize(channels_);
    const int64_t steps = tiles * std::ssize(chunks_) *
                          (schedule_.split_products ? chunks_.front().size() * taps_ : 1);
    if (steps > kMaxInstructions / 4) {
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = fmt::format("{} steps of a few instructions each > {}", steps,
                                          kMaxInstructions / 4)};
    }
    ListTiles();
    if (Result<void> room = Allocate(); !room) return room.error();
    PlaceTensors();
    // Its size is known only at the end.
    code_.Load(Memory::kUop, {.dram = uops_, .columns = 1}, {});
    if (gemm_bias_) {
      code_.Load(Memory::kInp, {.sram = bias_input_, .dram = constants_, .columns = 1, .stride = 1},
                 {constant_slot_});
    }
    int64_t step = 0;
    for (size_t t = 0; t < tiles_.size(); ++t) {
      for (size_t c = 0; c < chunks_.size(); ++c, ++step) Chunk(static_cast<int64_t>(t), c, step);
      FinishTile(static_cast<int64_t>(t), t + 1 == tiles_.size());
      // Checked along the way: most programs that are refused would be long ones.
      if (Result<void> fits = CheckUops(); !fits) return fits.error();
    }
    code_.Finish();
    return Close();
  }

 private:
  struct InputTile {
    const Window& rows;
    const Window& columns;
    int64_t tiles() const { return rows.size() * columns.size(); }  // per channel block
  };

  // With a 1x1 kernel and room to the right, a row of inputs is a whole number of steps long, so
  // that all outputs of a tile are one loop.
  Window ColumnWindow(const Extent& columns) const {
    const Axis axis = ColumnAxis(shape_);
    Window window = WindowOf(axis, columns, schedule_.trim_columns, /*may_skip=*/false);
    const int64_t whole = columns.size() * axis.stride;
    if (axis.kernel == 1 && window.begin + whole <= axis.size) window.loaded = whole;
    return window;
  }

  InputTile InputOf(const OutputTile& tile) const {
    return {row_windows_[static_cast<size_t>(tile.h)],
            column_windows_[static_cast<size_t>(tile.w)]};
  }

  void ListTiles() {
    const auto add = [&](int64_t n, size_t h, size_t w, size_t c) {
      tiles_.push_back({.n = n,
                        .h = static_cast<int64_t>(h),
                        .w = static_cast<int64_t>(w),
                        .c = static_cast<int64_t>(c),
                        .rows = rows_[h],
                        .columns = columns_[w],
                        .channels = channels_[c]});
    };
    const int64_t batches = BatchBlocks(shape_, config_);
    const size_t outer = schedule_.channels_outermost ? channels_.size() : 1;
    const size_t inner = schedule_.channels_outermost ? 1 : channels_.size();
    for (size_t co = 0; co < outer; ++co) {
      for (int64_t n = 0; n < batches; ++n) {
        for (size_t h = 0; h < rows_.size(); ++h) {
          for (size_t w = 0; w < columns_.size(); ++w) {
            for (size_t ci = 0; ci < inner; ++ci) add(n, h, w, co + ci);
          }
        }
      }
    }
  }

  // Lays out the buffers and plans which operand tile goes where.
  Result<void> Allocate() {
    std::vector<int32_t> inputs, weights, biases;
    for (const OutputTile& tile : tiles_) {
      const InputTile input = InputOf(tile);
      inp_slot_tiles_ = std::max(inp_slot_tiles_, schedule_.tile_ci * input.tiles());
      acc_slot_tiles_ =
          std::max(acc_slot_tiles_, tile.rows.size() * tile.columns.size() * tile.channels.size());
      const int64_t place = (tile.n * std::ssize(rows_) + tile.h) * std::ssize(columns_) + tile.w;
      for (int64_t chunk = 0; chunk < std::ssize(chunks_); ++chunk) {
        inputs.push_back(static_cast<int32_t>(place * std::ssize(chunks_) + chunk));
        weights.push_back(static_cast<int32_t>(tile.c * std::ssize(chunks_) + chunk));
      }
      biases.push_back(static_cast<int32_t>(tile.c));
    }
    wgt_slot_tiles_ = widest_ * chunks_.front().size() * taps_;
    inp_slots_ = std::min<int64_t>(schedule_.inp_slots, inputs.empty() ? 1 : Distinct(inputs));
    wgt_slots_ = std::min<int64_t>(schedule_.wgt_slots, Distinct(weights));
    acc_slots_ = std::min<int64_t>(2, std::ssize(tiles_));
    const bool alu_bias = epilogue_.bias && !gemm_bias_;
    bias_input_ = inp_slots_ * inp_slot_tiles_;
    bias_weights_ = wgt_slots_ * wgt_slot_tiles_;
    bias_acc_ = acc_slots_ * acc_slot_tiles_;
    struct Need {
      std::string_view name;
      int64_t tiles;
      Memory memory;
    };
    for (const Need& need :
         {Need{"INP", bias_input_ + (gemm_bias_ ? 1 : 0), Memory::kInp},
          {"WGT", bias_weights_ + (gemm_bias_ ? kBiasSlots * widest_ : 0), Memory::kWgt},
          {"ACC", bias_acc_ + (alu_bias ? kBiasSlots * widest_ : 0), Memory::kAcc}}) {
      if (need.tiles <= config_.Depth(need.memory)) continue;
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = fmt::format("{} {} tiles > depth {}", need.tiles, need.name,
                                          config_.Depth(need.memory))};
    }
    inp_cache_.emplace(inputs, inp_slots_);
    wgt_cache_.emplace(weights, wgt_slots_);
    bias_cache_.emplace(biases, kBiasSlots);
    AddSlots(inp_slots_, inp_);
    AddSlots(wgt_slots_, wgt_);
    AddSlots(acc_slots_, acc_);
    AddSlots(kBiasSlots, bias_);
    constant_slot_ = code_.AddSlot();
    return {};
  }

  void AddSlots(int64_t count, std::vector<Scheduler::Slot>& slots) {
    for (int64_t i = 0; i < count; ++i) slots.push_back(code_.AddSlot());
  }

  static int64_t Distinct(std::span<const int32_t> tags) {
    return *std::max_element(tags.begin(), tags.end()) + 1;
  }

  void PlaceTensors() {
    const ConvShape& s = shape_;
    const int64_t nb = BatchBlocks(s, config_), cib = InputBlocks(s, config_),
                  cob = OutputBlocks(s, config_);
    DramLayout layout(config_, kernel_.tensors);
    input_ =
        layout.Add(TensorRole::kInput, "input", "(n_blocks, ci_blocks, h, w, batch, block_in) int8",
                   Memory::kInp, nb * cib * s.h * s.w);
    weights_ = layout.Add(TensorRole::kWeights, "weights",
                          "(co_blocks, ci_blocks, kh, kw, block_out, block_in) int8", Memory::kWgt,
                          cob * cib * taps_);
    if (gemm_bias_) {
      constants_ = layout.Add(TensorRole::kBiasInput, "bias_input",
                              "(batch, block_in) int8: 1, 127, 127, ...", Memory::kInp, 1);
      biases_ =
          layout.Add(TensorRole::kBiasWeights, "bias_weights",
                     "(co_blocks, block_out, block_in) int8: bias / bias_input", Memory::kWgt, cob);
    } else if (epilogue_.bias) {
      biases_ = layout.Add(TensorRole::kBias, "bias", "(co_blocks, batch, block_out) int32",
                           Memory::kAcc, cob);
    }
    output_ = layout.Add(TensorRole::kOutput, "output",
                         "(n_blocks, co_blocks, oh, ow, batch, block_out) int8", Memory::kOut,
                         nb * cob * s.oh() * s.ow());
    uops_ = layout.Add(TensorRole::kUops, "uops", "micro-ops", Memory::kUop, kMaxUops);
    layout.AddInstructions();
  }

  void Chunk(int64_t t, size_t chunk, int64_t step) {
    const OutputTile& tile = tiles_[static_cast<size_t>(t)];
    const TileCache::Place input = inp_cache_->Use(step), weights = wgt_cache_->Use(step);
    if (input.load) LoadInput(tile, chunks_[chunk], input.slot);
    if (weights.load) LoadWeights(tile, chunks_[chunk], weights.slot);
    const int64_t acc = t % acc_slots_;
    if (chunk == 0) {
      code_.Reset(WholeTile(t, AccUop(acc * acc_slot_tiles_)), acc_[static_cast<size_t>(acc)]);
    }
    const std::vector<TapGroup> groups =
        GroupTaps(InputOf(tile).columns, tile.columns.size(), shape_.kw);
    const Slots slots = {input.slot, weights.slot, acc};
    for (const TapGroup& group : groups) {
      Multiply(tile, chunks_[chunk], {group, {0, shape_.kh}, {0, chunks_[chunk].size()}}, slots);
    }
  }

  void LoadInput(const OutputTile& tile, const Extent& chunk, int64_t slot) {
    const InputTile input = InputOf(tile);
    const Window& rows = input.rows;
    const Window& columns = input.columns;
    const int64_t image = shape_.h * shape_.w;
    const int64_t block = tile.n * InputBlocks(shape_, config_) + chunk.begin;
    Transfer transfer = {.sram = slot * inp_slot_tiles_,
                         .dram = input_ + block * image + rows.begin * shape_.w + columns.begin,
                         .pad_top = rows.pad_before,
                         .pad_bottom = rows.pad_after,
                         .pad_left = columns.pad_before,
                         .pad_right = columns.pad_after};
    const bool dense = columns.size() == shape_.w && columns.loaded == shape_.w &&
                       rows.load_step == 1 && rows.size() == rows.loaded;
    if (dense && rows.loaded * shape_.w <= 65'535 && image <= 65'535) {
      // Whole rows follow each other in memory: one transfer for all blocks.
      transfer.rows = chunk.size();
      transfer.columns = rows.loaded * shape_.w;
      transfer.stride = image;
      code_.Load(Memory::kInp, transfer, {inp_[static_cast<size_t>(slot)]});
      return;
    }
    transfer.rows = rows.loaded;
    transfer.columns = columns.loaded;
    transfer.stride = rows.load_step * shape_.w;
    for (int64_t ci = 0; ci < chunk.size(); ++ci) {
      code_.Load(Memory::kInp, transfer, {inp_[static_cast<size_t>(slot)]});
      transfer.sram += input.tiles();
      transfer.dram += image;
    }
  }

  void LoadWeights(const OutputTile& tile, const Extent& chunk, int64_t slot) {
    const int64_t cib = InputBlocks(shape_, config_);
    code_.Load(Memory::kWgt,
               {.sram = slot * wgt_slot_tiles_,
                .dram = weights_ + (tile.channels.begin * cib + chunk.begin) * taps_,
                .rows = tile.channels.size(),
                .columns = chunk.size() * taps_,
                .stride = cib * taps_},
               {wgt_[static_cast<size_t>(slot)]});
  }

  // Where the operands and sums of a chunk lie.
  struct Slots {
    int64_t inp = 0, wgt = 0, acc = 0;
  };

  // What one GEMM instruction multiplies: columns and rows of the kernel, input blocks of a chunk.
  struct Step {
    TapGroup group;
    Extent kernel_rows, blocks;
  };

  // Micro-ops, by their places.
  struct List {
    Extent uops;
    bool too_soon = false;  // in the loops around it, a sum is used again within two micro-ops
  };

  // A dimension of the products of one GEMM instruction, and how far its steps are apart.
  struct Dimension {
    int64_t extent = 1, dst = 0, src = 0, wgt = 0;
  };

  // The dimensions that may be a hardware loop or unrolled into micro-ops. Rows are always
  // unrolled, because taps meet different rows; columns are always a loop.
  struct Products {
    Dimension columns, taps, ci, co;
    bool one_row = false;  // rows and columns are one loop
  };

  Products ProductsOf(const OutputTile& tile, const Extent& chunk, const Step& step) const {
    const InputTile input = InputOf(tile);
    Products products = {.columns = {step.group.outputs.size(), 1, input.columns.step, 0},
                         .taps = {step.group.taps.size(), 0, 1, 1},
                         .ci = {step.blocks.size(), 0, input.tiles(), taps_},
                         .co = {tile.channels.size(), PixelsOf(tile), 0, chunk.size() * taps_}};
    products.one_row = taps_ == 1 && input.rows.step * input.columns.size() ==
                                         input.columns.step * tile.columns.size();
    if (products.one_row) products.columns.extent = PixelsOf(tile);
    return products;
  }

  // One GEMM instruction: the taps of a group on all outputs they meet. The outer loop runs over
  // the largest of the other dimensions; micro-ops do the rest.
  void Multiply(const OutputTile& tile, const Extent& chunk, const Step& step, const Slots& slots) {
    Products products = ProductsOf(tile, chunk, step);
    Dimension* outer = &products.ci;
    for (Dimension* other : {&products.co, &products.taps}) {
      if (other->extent > outer->extent) outer = other;
    }
    Loops loops = {.outer = outer->extent,
                   .inner = products.columns.extent,
                   .dst_outer = outer->dst,
                   .dst_inner = products.columns.dst,
                   .src_outer = outer->src,
                   .src_inner = products.columns.src,
                   .wgt_outer = outer->wgt,
                   .wgt_inner = products.columns.wgt};
    outer->extent = 1;
    const List list = ListOf(tile, chunk, step, slots, products, loops);
    if (list.too_soon && schedule_.split_products) return MultiplySplit(tile, chunk, step, slots);
    hazard_ = hazard_ || list.too_soon;
    loops.uop_begin = list.uops.begin;
    loops.uop_end = list.uops.end;
    code_.Gemm(loops, {inp_[static_cast<size_t>(slots.inp)], wgt_[static_cast<size_t>(slots.wgt)]},
               acc_[static_cast<size_t>(slots.acc)]);
  }

  // The same products with every sum once per instruction.
  void MultiplySplit(const OutputTile& tile, const Extent& chunk, const Step& step,
                     const Slots& slots) {
    const Extent &taps = step.group.taps, &rows = step.kernel_rows;
    for (int64_t ci = step.blocks.begin; ci < step.blocks.end; ++ci) {
      for (int64_t di = rows.begin; di < rows.end; ++di) {
        if (OutputsOfTap(InputOf(tile).rows, tile.rows.size(), di).size() == 0) continue;
        for (int64_t dj = taps.begin; dj < taps.end; ++dj) {
          const TapGroup tap = {{dj, dj + 1}, step.group.outputs};
          Multiply(tile, chunk, {tap, {di, di + 1}, {ci, ci + 1}}, slots);
        }
      }
    }
  }

  // The micro-ops of a step, listed where they are new. Those that will be split are not kept.
  List ListOf(const OutputTile& tile, const Extent& chunk, const Step& step, const Slots& slots,
              const Products& products, const Loops& loops) {
    const auto [found, is_new] = lists_.try_emplace(ListKeyOf(tile, chunk, step, slots));
    List& list = found->second;
    if (!is_new) return list;
    list.uops.begin = std::ssize(kernel_.uops);
    ListUops(tile, step, products,
             {.dst = slots.acc * acc_slot_tiles_,
              .src = slots.inp * inp_slot_tiles_,
              .wgt = slots.wgt * wgt_slot_tiles_});
    list.uops.end = std::ssize(kernel_.uops);
    const auto begin = static_cast<size_t>(list.uops.begin);
    list.too_soon = ReusesSumsTooSoon(loops, std::span(kernel_.uops).subspan(begin));
    if (list.too_soon && schedule_.split_products) kernel_.uops.resize(begin);
    return list;
  }

  ListKey ListKeyOf(const OutputTile& tile, const Extent& chunk, const Step& step,
                    const Slots& slots) const {
    const InputTile input = InputOf(tile);
    return {slots.inp,
            slots.wgt,
            slots.acc,
            input.rows.first_tap,
            input.rows.size(),
            tile.rows.size(),
            input.columns.first_tap,
            input.columns.size(),
            tile.columns.size(),
            step.group.taps.begin,
            step.group.taps.end,
            step.kernel_rows.begin,
            step.kernel_rows.end,
            step.blocks.begin,
            step.blocks.end,
            chunk.size(),
            tile.channels.size()};
  }

  // Micro-ops of what is not a loop. Rows go innermost, so that sums are far apart.
  void ListUops(const OutputTile& tile, const Step& step, const Products& products,
                const Dimension& base) {
    const InputTile input = InputOf(tile);
    const TapGroup& group = step.group;
    const int64_t width = input.columns.size(), first = group.outputs.begin;
    for (int64_t dj = 0; dj < products.taps.extent; ++dj) {
      const int64_t column =
          input.columns.first_tap + first * input.columns.step + group.taps.begin + dj;
      for (int64_t di = step.kernel_rows.begin; di < step.kernel_rows.end; ++di) {
        const Extent rows =
            products.one_row ? Extent{0, 1} : OutputsOfTap(input.rows, tile.rows.size(), di);
        for (int64_t block = 0; block < products.ci.extent; ++block) {
          const int64_t ci = step.blocks.begin + block;
          for (int64_t co = 0; co < products.co.extent; ++co) {
            for (int64_t i = rows.begin; i < rows.end; ++i) {
              const int64_t row = input.rows.first_tap + i * input.rows.step + di;
              AddUop(base.dst + co * products.co.dst + i * tile.columns.size() + first,
                     base.src + ci * products.ci.src + row * width + column,
                     base.wgt + ci * products.ci.wgt + co * products.co.wgt + di * shape_.kw +
                         group.taps.begin + dj);
            }
          }
        }
      }
    }
  }

  static int64_t PixelsOf(const OutputTile& tile) { return tile.rows.size() * tile.columns.size(); }

  void AddUop(int64_t dst, int64_t src, int64_t wgt) {
    kernel_.uops.push_back({.dst = static_cast<uint32_t>(dst),
                            .src = static_cast<uint32_t>(src),
                            .wgt = static_cast<uint32_t>(wgt)});
  }

  // The index of a single micro-op, added where it is new.
  int64_t SingleUop(int64_t dst, int64_t src, int64_t wgt) {
    const auto [found, is_new] =
        singles_.try_emplace(std::tuple(dst, src, wgt), std::ssize(kernel_.uops));
    if (is_new) AddUop(dst, src, wgt);
    return found->second;
  }
  int64_t AccUop(int64_t tile) { return SingleUop(tile, tile, 0); }

  // All sums of a tile, one after another.
  Loops WholeTile(int64_t t, int64_t uop) const {
    const OutputTile& tile = tiles_[static_cast<size_t>(t)];
    return Straight(uop, PixelsOf(tile) * tile.channels.size());
  }
  static Loops Straight(int64_t uop, int64_t count) {
    return {.uop_begin = uop, .uop_end = uop + 1, .inner = count, .dst_inner = 1, .src_inner = 1};
  }

  void FinishTile(int64_t t, bool last) {
    const OutputTile& tile = tiles_[static_cast<size_t>(t)];
    const TileCache::Place bias = bias_cache_->Use(t);
    if (epilogue_.bias && bias.load) LoadBias(tile, bias.slot);
    const int64_t pixels = PixelsOf(tile);
    // The last tile goes out in parts, so that little remains to be stored when the ALU is done.
    const int64_t rows =
        last ? std::clamp<int64_t>(kLastPartTiles / tile.columns.size(), 1, tile.rows.size())
             : tile.rows.size();
    const int64_t blocks =
        last ? std::clamp<int64_t>(kLastPartTiles / pixels, 1, tile.channels.size())
             : tile.channels.size();
    for (const Extent& channels : Cut(tile.channels.size(), blocks)) {
      for (const Extent& part : Cut(tile.rows.size(), blocks > 1 ? tile.rows.size() : rows)) {
        Activate(t, channels, part, bias.slot);
        StorePart(t, channels, part);
      }
    }
  }

  void LoadBias(const OutputTile& tile, int64_t slot) {
    const int64_t blocks = tile.channels.size(), first = tile.channels.begin;
    code_.Load(gemm_bias_ ? Memory::kWgt : Memory::kAcc,
               {.sram = (gemm_bias_ ? bias_weights_ : bias_acc_) + slot * widest_,
                .dram = biases_ + first,
                .columns = blocks,
                .stride = blocks},
               {bias_[static_cast<size_t>(slot)]});
  }

  void Activate(int64_t t, const Extent& channels, const Extent& rows, int64_t bias_slot) {
    const OutputTile& tile = tiles_[static_cast<size_t>(t)];
    const int64_t slot = t % acc_slots_, width = tile.columns.size(), pixels = PixelsOf(tile);
    const Scheduler::Slot acc = acc_[static_cast<size_t>(slot)];
    const int64_t base = slot * acc_slot_tiles_ + channels.begin * pixels + rows.begin * width;
    const int64_t count = rows.size() * width;  // per block
    // Several blocks come with all of their rows, so their sums follow each other.
    const Loops sums = Straight(AccUop(base), count * channels.size());
    code_.AluImmediate(AluOp::kShr, epilogue_.shift, sums, acc);
    if (epilogue_.bias) {
      const int64_t bias = bias_slot * widest_ + channels.begin;
      Loops add = {.outer = channels.size(), .inner = count, .dst_outer = pixels, .dst_inner = 1};
      const Scheduler::Slot from = bias_[static_cast<size_t>(bias_slot)];
      if (gemm_bias_) {
        add.uop_begin = SingleUop(base, bias_input_, bias_weights_ + bias);
        add.uop_end = add.uop_begin + 1;
        add.wgt_outer = 1;
        code_.Gemm(add, {from, constant_slot_}, acc);
      } else {
        add.uop_begin = SingleUop(base, bias_acc_ + bias, 0);
        add.uop_end = add.uop_begin + 1;
        add.src_outer = 1;
        code_.AluRegister(AluOp::kAdd, add, {from}, acc);
      }
    }
    code_.AluImmediate(AluOp::kMax, epilogue_.low, sums, acc);
    code_.AluImmediate(AluOp::kMin, epilogue_.high, sums, acc);
  }

  void StorePart(int64_t t, const Extent& channels, const Extent& rows) {
    const OutputTile& tile = tiles_[static_cast<size_t>(t)];
    const int64_t slot = t % acc_slots_, width = tile.columns.size(), pixels = PixelsOf(tile);
    const int64_t image = shape_.oh() * shape_.ow();
    const int64_t block =
        tile.n * OutputBlocks(shape_, config_) + tile.channels.begin + channels.begin;
    Transfer transfer = {
        .sram = slot * acc_slot_tiles_ + channels.begin * pixels + rows.begin * width,
        .dram = output_ + block * image + (tile.rows.begin + rows.begin) * shape_.ow() +
                tile.columns.begin};
    const Scheduler::Slot acc = acc_[static_cast<size_t>(slot)];
    if (width == shape_.ow() && rows.size() == tile.rows.size() && image <= 65'535) {
      transfer.rows = channels.size();
      transfer.columns = pixels;
      transfer.stride = image;
      code_.Store(transfer, {acc});
      return;
    }
    const bool whole_rows = width == shape_.ow();
    transfer.rows = whole_rows ? 1 : rows.size();
    transfer.columns = whole_rows ? rows.size() * width : width;
    transfer.stride = shape_.ow();
    for (int64_t c = 0; c < channels.size(); ++c) {
      code_.Store(transfer, {acc});
      transfer.sram += pixels;
      transfer.dram += image;
    }
  }

  // Of the program so far.
  Result<void> CheckUops() const {
    const int64_t limit = std::min(kMaxUops, config_.Depth(Memory::kUop));
    const int64_t count = std::ssize(kernel_.uops);
    if (count > limit) {
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = fmt::format("at least {} micro-ops > {}", count, limit)};
    }
    if (hazard_) {
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = "a sum would be used again within two micro-ops"};
    }
    return {};
  }

  Kernel Close() {
    const int64_t count = std::ssize(kernel_.uops);
    kernel_.instructions.front().x_size = static_cast<uint32_t>(count);
    kernel_.instructions.front().x_stride = static_cast<uint32_t>(count);
    for (Tensor& tensor : kernel_.tensors) {
      if (tensor.role == TensorRole::kUops) tensor.bytes = static_cast<uint64_t>(count) * 4;
      if (tensor.role == TensorRole::kInstructions) {
        tensor.bytes = kernel_.instructions.size() * 16;
      }
    }
    return std::move(kernel_);
  }

  const ConvShape& shape_;
  const TiledSchedule& schedule_;
  const Config& config_;
  const Epilogue& epilogue_;
  const bool gemm_bias_;
  const int64_t taps_;
  const std::vector<Extent> rows_, columns_, channels_;
  const int64_t widest_;  // blocks of the largest channel tile
  const std::vector<Extent> chunks_;
  std::vector<Window> row_windows_, column_windows_;
  std::vector<OutputTile> tiles_;

  Kernel kernel_;
  Scheduler code_;
  int64_t input_ = 0, weights_ = 0, constants_ = 0, biases_ = 0, output_ = 0, uops_ = 0;  // DRAM

  int64_t inp_slots_ = 0, wgt_slots_ = 0, acc_slots_ = 0;
  int64_t inp_slot_tiles_ = 0, wgt_slot_tiles_ = 0, acc_slot_tiles_ = 0;
  int64_t bias_input_ = 0, bias_weights_ = 0, bias_acc_ = 0;  // in their buffers, behind the slots
  std::optional<TileCache> inp_cache_, wgt_cache_, bias_cache_;
  std::vector<Scheduler::Slot> inp_, wgt_, acc_, bias_;
  Scheduler::Slot constant_slot_ = 0;

  std::map<ListKey, List> lists_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> singles_;
  bool hazard_ = false;
};

}  // namespace

std::string ToString(const TiledSchedule& schedule) { return FieldsToText(schedule, kFields); }

Result<TiledSchedule> ParseTiledSchedule(std::string_view text) {
  return TextToFields(text, "tiled schedule field", int64_t{1} << 30, kFields);
}

Result<Kernel> GenerateTiled(const ConvShape& shape, const TiledSchedule& schedule,
                             const Config& config, const Epilogue& epilogue) {
  return Generator(shape, schedule, config, epilogue).Generate();
}

}  // namespace tessera::vta
