// Programs tile by tile: where operands lie in the buffers, what is loaded when, and which
// micro-ops do the products.
#include "tessera/vta/codegen/tiled.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "tessera/vta/codegen/fields.h"
#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/codegen/layout.h"
#include "tessera/vta/codegen/products.h"
#include "tessera/vta/codegen/scheduler.h"
#include "tessera/vta/codegen/tile_cache.h"

namespace tessera::vta {
namespace {

constexpr int64_t kBiasSlots = 2;

// Tiles after which the last stores start while the ALU still works on the rest.
constexpr int64_t kLastPartTiles = 96;

using T = TiledSchedule;
constexpr std::array<NamedField<T>, 19> kFields = {{{"tile_h", &T::tile_h},
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
                                                    {"short_lists", &T::short_lists, 0, false},
                                                    {"row_groups", &T::row_groups, 0, false},
                                                    {"quick_ends", &T::quick_ends, 0, false},
                                                    {"uop_pieces", &T::uop_pieces, 1, false},
                                                    {"lead_ci", &T::lead_ci, 0, false},
                                                    {"lead_repeat", &T::lead_repeat, 0, false},
                                                    {"lead_part", &T::lead_part, 0, false},
                                                    {"split_products", &T::split_products, 0,
                                                     /*always=*/false}}};

struct OutputTile {
  int64_t n = 0, h = 0, w = 0, c = 0;  // which batch block and which pieces
  Extent rows, columns, channels;
};

// Input blocks, and the channel blocks of a tile that are multiplied with them.
struct Step {
  Extent chunk = {}, part = {};
  int64_t number = 0;  // of the chunk among those of the tile
};

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
    ListFirstSteps();
    if (Result<void> room = Allocate(); !room) return room.error();
    PlaceTensors();
    OpenPiece();
    if (gemm_bias_ && !schedule_.quick_ends) LoadConstant();
    int64_t step = 0;
    for (size_t t = 0; t < tiles_.size(); ++t) {
      for (size_t k = 0; k < StepsOf(t); ++k) Multiply(t, k, step++);
      FinishTile(static_cast<int64_t>(t), t + 1 == tiles_.size());
      if (t == 0 && schedule_.uop_pieces > 2) ClosePiece();
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

  // The steps of the first tile. Its own operands have the numbers after those of all chunks.
  void ListFirstSteps() {
    const int64_t blocks = chunks_.back().end, channels = channels_.front().size();
    const int64_t part = schedule_.lead_part > 0 ? schedule_.lead_part : channels;
    int64_t size = schedule_.lead_ci > 0 ? schedule_.lead_ci : schedule_.tile_ci;
    int64_t own_number = std::ssize(chunks_), repeats = 0;
    bool early = true;
    for (int64_t begin = 0; begin < blocks;) {
      const Extent chunk = {begin, std::min(begin + std::min(size, schedule_.tile_ci), blocks)};
      const auto regular = std::ranges::find(chunks_, chunk) - chunks_.begin();
      const bool own = regular == std::ssize(chunks_);
      for (const Extent& some : Cut(channels, early ? part : channels)) {
        first_steps_.push_back({chunk, some, own ? own_number : regular});
      }
      own_number += own ? 1 : 0;
      begin = chunk.end;
      if (++repeats >= schedule_.lead_repeat) {
        ++size;
        repeats = 0;
        early = false;
      }
    }
  }

  Step StepOf(size_t t, size_t k) const {
    if (t == 0) return first_steps_[k];
    const auto number = static_cast<int64_t>(k);
    return {chunks_[k], {0, tiles_[t].channels.size()}, number};
  }
  size_t StepsOf(size_t t) const { return t == 0 ? first_steps_.size() : chunks_.size(); }

  // Lays out the buffers and plans which operand tile goes where.
  Result<void> Allocate() {
    std::vector<int32_t> inputs, weights, biases;
    const int64_t places = BatchBlocks(shape_, config_) * std::ssize(rows_) * std::ssize(columns_);
    for (const OutputTile& tile : tiles_) {
      const InputTile input = InputOf(tile);
      inp_slot_tiles_ = std::max(inp_slot_tiles_, schedule_.tile_ci * input.tiles());
      acc_slot_tiles_ =
          std::max(acc_slot_tiles_, tile.rows.size() * tile.columns.size() * tile.channels.size());
      const int64_t place = (tile.n * std::ssize(rows_) + tile.h) * std::ssize(columns_) + tile.w;
      const auto t = static_cast<size_t>(&tile - tiles_.data());
      for (size_t k = 0; k < StepsOf(t); ++k) {
        const Step step = StepOf(t, k);
        inputs.push_back(Tag(place, places, step.number));
        weights.push_back(Tag(tile.c, std::ssize(channels_), step.number));
      }
      biases.push_back(static_cast<int32_t>(tile.c));
    }
    wgt_slot_tiles_ = widest_ * chunks_.front().size() * taps_;
    inp_slots_ = std::min<int64_t>(schedule_.inp_slots, Distinct(inputs));
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

  // Of an operand of a tile: regular ones by their places, then those of the first tile.
  int32_t Tag(int64_t place, int64_t places, int64_t number) const {
    const int64_t chunks = std::ssize(chunks_);
    return static_cast<int32_t>(number < chunks ? place * chunks + number
                                                : (places - 1) * chunks + number);
  }

  static int64_t Distinct(std::span<const int32_t> tags) {
    std::vector<bool> seen(static_cast<size_t>(*std::ranges::max_element(tags)) + 1, false);
    for (const int32_t tag : tags) seen[static_cast<size_t>(tag)] = true;
    return std::ranges::count(seen, true);
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

  // A step of a tile: its operands and its products. Weights that come in parts are waited for part
  // by part.
  void Multiply(size_t t, size_t k, int64_t number) {
    const OutputTile& tile = tiles_[t];
    const Step step = StepOf(t, k);
    const TileCache::Place input = inp_cache_->Use(number), weights = wgt_cache_->Use(number);
    const bool in_parts = step.part.size() < tile.channels.size();
    const Scheduler::Slot inp = inp_[static_cast<size_t>(input.slot)],
                          wgt = wgt_[static_cast<size_t>(weights.slot)],
                          part = in_parts ? code_.AddSlot() : wgt;
    if (input.load) LoadInput(tile, step.chunk, input.slot);
    if (weights.load) {
      LoadWeights(tile, step, weights.slot, {wgt, part});
    } else if (in_parts) {
      LoadWeights(tile, step, weights.slot, {part});
    }
    if (k == 0) ClearSums(t);
    const Scheduler::Slot acc = acc_[t % acc_.size()];
    for (const Loops& loops : ProductsFor(t, step, input.slot, weights.slot)) {
      code_.Gemm(loops, {inp, wgt, part}, acc);
    }
    if (number == 0 && schedule_.uop_pieces > 1) ClosePiece();
  }

  // With quick ends those of the second tile are cleared with those of the first.
  void ClearSums(size_t t) {
    if (schedule_.quick_ends && t == 1) return;
    const size_t end = schedule_.quick_ends && t == 0 ? acc_.size() : t + 1;
    for (; t < end; ++t) {
      const size_t slot = t % acc_.size();
      const Loops loops =
          WholeTile(static_cast<int64_t>(t), AccUop(static_cast<int64_t>(slot) * acc_slot_tiles_));
      NeedUops();
      code_.Reset(loops, acc_[slot]);
    }
  }

  // ---- Micro-ops ----

  // A piece of them is loaded before the first instruction that needs one of it; its size is known
  // only when the next piece begins.
  void OpenPiece() {
    piece_ = std::ssize(kernel_.instructions);
    code_.Load(Memory::kUop, {.sram = pieces_end_, .dram = uops_ + pieces_end_, .columns = 1}, {});
  }
  void NeedUops() {
    if (piece_ < 0 && std::ssize(kernel_.uops) > pieces_end_) OpenPiece();
  }
  // Pieces begin at even places, where a beat of the bus does.
  void ClosePiece() {
    if (piece_ < 0) return;
    if (kernel_.uops.size() % 2 != 0) kernel_.uops.push_back(kernel_.uops.back());
    SetPiece();
    piece_ = -1;
  }
  void SetPiece() {
    const int64_t count = std::ssize(kernel_.uops) - pieces_end_;
    Instruction& load = kernel_.instructions[static_cast<size_t>(piece_)];
    load.x_size = load.x_stride = static_cast<uint32_t>(count);
    pieces_end_ += count;
  }

  void LoadConstant() {
    code_.Load(Memory::kInp, {.sram = bias_input_, .dram = constants_, .columns = 1, .stride = 1},
               {constant_slot_});
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

  void LoadWeights(const OutputTile& tile, const Step& step, int64_t slot,
                   std::initializer_list<Scheduler::Slot> writes) {
    const int64_t cib = InputBlocks(shape_, config_);
    code_.Load(Memory::kWgt,
               {.sram = PlaceOfWeights(step, slot),
                .dram = weights_ +
                        ((tile.channels.begin + step.part.begin) * cib + step.chunk.begin) * taps_,
                .rows = step.part.size(),
                .columns = step.chunk.size() * taps_,
                .stride = cib * taps_},
               writes);
  }

  int64_t PlaceOfWeights(const Step& step, int64_t slot) const {
    return slot * wgt_slot_tiles_ + step.part.begin * step.chunk.size() * taps_;
  }

  // GEMM instructions of a step; micro-ops are listed where they are new.
  const std::vector<Loops>& ProductsFor(size_t t, const Step& step, int64_t inp, int64_t wgt) {
    const OutputTile& tile = tiles_[t];
    const InputTile input = InputOf(tile);
    const auto slot = static_cast<int64_t>(t % acc_.size());
    const ProductTile at = {.rows = InBuffer(input.rows),
                            .columns = InBuffer(input.columns),
                            .height = tile.rows.size(),
                            .width = tile.columns.size(),
                            .kernel_h = shape_.kh,
                            .kernel_w = shape_.kw,
                            .ci = step.chunk.size(),
                            .co = step.part.size(),
                            .dst = slot * acc_slot_tiles_ + step.part.begin * PixelsOf(tile),
                            .src = inp * inp_slot_tiles_,
                            .wgt = PlaceOfWeights(step, wgt)};
    const auto [found, is_new] = products_.try_emplace(at);
    if (is_new) {
      for (const Product& product : ProductsOf(at, {.short_lists = schedule_.short_lists,
                                                   .row_groups = schedule_.row_groups,
                                                   .split = schedule_.split_products})) {
        Loops& loops = found->second.emplace_back(product.loops);
        loops.uop_begin = PlaceOf(product.uops);
        loops.uop_end = loops.uop_begin + std::ssize(product.uops);
        hazard_ = hazard_ || product.too_soon;
      }
    }
    NeedUops();
    return found->second;
  }

  // The same window wherever in the image it lies.
  static Window InBuffer(const Window& window) {
    return {.loaded = window.size(), .first_tap = window.first_tap, .step = window.step};
  }

  // Where a list of micro-ops begins, which is put behind the others if it is new.
  int64_t PlaceOf(const std::vector<Uop>& uops) {
    const int64_t end = std::ssize(kernel_.uops);
    const auto [found, is_new] = lists_.try_emplace(uops, end);
    if (!is_new && !schedule_.short_lists) found->second = end;
    if (found->second == end) kernel_.uops.insert(kernel_.uops.end(), uops.begin(), uops.end());
    return found->second;
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

  // Sums that go out together.
  struct Part {
    Extent channels, rows;
  };

  void FinishTile(int64_t t, bool last) {
    const OutputTile& tile = tiles_[static_cast<size_t>(t)];
    if (schedule_.quick_ends && gemm_bias_ && t == 0) LoadConstant();
    const TileCache::Place bias = bias_cache_->Use(t);
    if (epilogue_.bias && bias.load) LoadBias(tile, bias.slot);
    const bool shrinking = last && schedule_.quick_ends;
    for (const Part& part : shrinking ? ShrinkingParts(tile) : EqualParts(tile, last)) {
      // Nothing uses the last tile's sums again, so its parts need not wait for each other.
      const Scheduler::Slot acc =
          shrinking ? code_.AddSlot() : acc_[static_cast<size_t>(t % acc_slots_)];
      Activate(t, part, bias.slot, acc);
      StorePart(t, part, acc);
    }
  }

  // The last tile goes out in parts, so that little remains to be stored when the ALU is done.
  static std::vector<Part> EqualParts(const OutputTile& tile, bool last) {
    const int64_t pixels = PixelsOf(tile), height = tile.rows.size();
    int64_t rows = height, blocks = tile.channels.size();
    if (last) {
      rows = std::clamp<int64_t>(kLastPartTiles / tile.columns.size(), 1, rows);
      blocks = std::clamp<int64_t>(kLastPartTiles / pixels, 1, blocks);
    }
    std::vector<Part> parts;
    for (const Extent& channels : Cut(tile.channels.size(), blocks)) {
      for (const Extent& some : Cut(height, blocks > 1 ? height : rows)) {
        parts.push_back({channels, some});
      }
    }
    return parts;
  }

  // Each part as small as can be stored while the ALU works on the next one.
  static std::vector<Part> ShrinkingParts(const OutputTile& tile) {
    const int64_t pixels = PixelsOf(tile), width = tile.columns.size(), height = tile.rows.size(),
                  blocks = tile.channels.size();
    std::vector<int64_t> sizes = ShrinkingSizes(pixels * blocks);
    std::vector<Part> parts;
    int64_t row = 0;
    for (int64_t block = 0; block < blocks;) {
      const int64_t size = sizes.back();
      if (sizes.size() > 1) sizes.pop_back();
      if (row == 0 && size >= pixels) {
        const int64_t whole = std::min(size / pixels, blocks - block);
        parts.push_back({{block, block + whole}, {0, height}});
        block += whole;
        continue;
      }
      const int64_t rows = std::clamp<int64_t>((size + width / 2) / width, 1, height - row);
      parts.push_back({{block, block + 1}, {row, row + rows}});
      row = (row + rows) % height;
      if (row == 0) ++block;
    }
    return parts;
  }

  // Sizes of parts that are `sums` together, the last one first: each three quarters of the one
  // before, because a sum takes four cycles in the ALU and three to be stored, and as many as keep
  // short what remains after the products: starts of instructions and the last store.
  static std::vector<int64_t> ShrinkingSizes(int64_t sums) {
    constexpr double kRatio = 4.0 / 3.0, kStarts = 28, kStore = 3;
    double best = 0;
    std::vector<int64_t> sizes;
    for (int count = 1; count <= 16; ++count) {
      std::vector<int64_t> some;
      double size = static_cast<double>(sums) * (kRatio - 1) / (std::pow(kRatio, count) - 1);
      const double cycles = kStarts * count + kStore * size;
      for (int k = 0; k < count; ++k, size *= kRatio) {
        some.push_back(std::max<int64_t>(1, std::llround(size)));
      }
      if (!sizes.empty() && cycles >= best) continue;
      best = cycles;
      sizes = std::move(some);
    }
    return sizes;
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

  void Activate(int64_t t, const Part& part, int64_t bias_slot, Scheduler::Slot acc) {
    const OutputTile& tile = tiles_[static_cast<size_t>(t)];
    const Extent &channels = part.channels, &rows = part.rows;
    const int64_t slot = t % acc_slots_, width = tile.columns.size(), pixels = PixelsOf(tile);
    const int64_t base = slot * acc_slot_tiles_ + channels.begin * pixels + rows.begin * width;
    const int64_t count = rows.size() * width;  // per block
    // Several blocks come with all of their rows, so their sums follow each other.
    const Loops sums = Straight(AccUop(base), count * channels.size());
    NeedUops();
    code_.AluImmediate(AluOp::kShr, epilogue_.shift, sums, acc);
    if (epilogue_.bias) {
      const int64_t bias = bias_slot * widest_ + channels.begin;
      Loops add = {.outer = channels.size(), .inner = count, .dst_outer = pixels, .dst_inner = 1};
      const Scheduler::Slot from = bias_[static_cast<size_t>(bias_slot)];
      if (gemm_bias_) {
        add.uop_begin = SingleUop(base, bias_input_, bias_weights_ + bias);
        add.uop_end = add.uop_begin + 1;
        add.wgt_outer = 1;
        NeedUops();
        code_.Gemm(add, {from, constant_slot_}, acc);
      } else {
        add.uop_begin = SingleUop(base, bias_acc_ + bias, 0);
        add.uop_end = add.uop_begin + 1;
        add.src_outer = 1;
        NeedUops();
        code_.AluRegister(AluOp::kAdd, add, {from}, acc);
      }
    }
    code_.AluImmediate(AluOp::kMax, epilogue_.low, sums, acc);
    code_.AluImmediate(AluOp::kMin, epilogue_.high, sums, acc);
  }

  void StorePart(int64_t t, const Part& part, Scheduler::Slot acc) {
    const OutputTile& tile = tiles_[static_cast<size_t>(t)];
    const Extent &channels = part.channels, &rows = part.rows;
    const int64_t slot = t % acc_slots_, width = tile.columns.size(), pixels = PixelsOf(tile);
    const int64_t image = shape_.oh() * shape_.ow();
    const int64_t block =
        tile.n * OutputBlocks(shape_, config_) + tile.channels.begin + channels.begin;
    Transfer transfer = {
        .sram = slot * acc_slot_tiles_ + channels.begin * pixels + rows.begin * width,
        .dram = output_ + block * image + (tile.rows.begin + rows.begin) * shape_.ow() +
                tile.columns.begin};
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
    if (piece_ >= 0) SetPiece();
    const int64_t count = std::ssize(kernel_.uops);
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
  std::vector<Step> first_steps_;  // of the first tile

  Kernel kernel_;
  Scheduler code_;
  int64_t input_ = 0, weights_ = 0, constants_ = 0, biases_ = 0, output_ = 0, uops_ = 0;  // DRAM

  int64_t inp_slots_ = 0, wgt_slots_ = 0, acc_slots_ = 0;
  int64_t inp_slot_tiles_ = 0, wgt_slot_tiles_ = 0, acc_slot_tiles_ = 0;
  int64_t bias_input_ = 0, bias_weights_ = 0, bias_acc_ = 0;  // in their buffers, behind the slots
  std::optional<TileCache> inp_cache_, wgt_cache_, bias_cache_;
  std::vector<Scheduler::Slot> inp_, wgt_, acc_, bias_;
  Scheduler::Slot constant_slot_ = 0;

  std::map<ProductTile, std::vector<Loops>> products_;
  std::map<std::vector<Uop>, int64_t> lists_;  // where they begin
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> singles_;
  bool hazard_ = false;
  int64_t piece_ = -1;      // the LOAD of the last piece of micro-ops, while it can grow
  int64_t pieces_end_ = 0;  // micro-ops that pieces before it have
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
