// Programs tile by tile: where operands lie in the buffers, what is loaded when, and which
// micro-ops do the products.
#include "tessera/vta/codegen/tiled.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "tessera/vta/codegen/fields.h"
#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/codegen/layout.h"
#include "tessera/vta/codegen/parts.h"
#include "tessera/vta/codegen/products.h"
#include "tessera/vta/codegen/regions.h"
#include "tessera/vta/codegen/scheduler.h"
#include "tessera/vta/codegen/tile_cache.h"
#include "tessera/vta/codegen/tile_plan.h"
#include "tessera/vta/codegen/uop_memory.h"

namespace tessera::vta {
namespace {

constexpr int64_t kBiasSlots = 2;

// Cycles that a sum takes to be stored, on the published design.
constexpr int64_t kStoreCycles = 3;

using T = TiledSchedule;
constexpr std::array<NamedField<T>, 23> kFields = {{{"tile_h", &T::tile_h},
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
                                                    {"uop_steps", &T::uop_steps, 1, false},
                                                    {"lead_ci", &T::lead_ci, 0, false},
                                                    {"lead_repeat", &T::lead_repeat, 0, false},
                                                    {"lead_part", &T::lead_part, 0, false},
                                                    {"lead_growth", &T::lead_growth, 0, false},
                                                    {"tail_co", &T::tail_co, 0, false},
                                                    {"tail_rows", &T::tail_rows, 0, false},
                                                    {"split_products", &T::split_products, 0,
                                                     /*always=*/false}}};

// Where the operands of a step lie, and the parts of buffers that they take.
struct Operands {
  int64_t inputs = 0, weights = 0;
  Scheduler::Slots slots = {};
};

class Generator {
 public:
  Generator(const ConvShape& shape, const TiledSchedule& schedule, const Config& config,
            const Epilogue& epilogue, TilePlan plan)
      : shape_(shape),
        schedule_(schedule),
        config_(config),
        epilogue_(epilogue),
        gemm_bias_(epilogue.bias && schedule.gemm_bias),
        taps_(shape.kh * shape.kw),
        plan_(std::move(plan)),
        tiles_(plan_.tiles()),
        code_(kernel_.instructions),
        lists_(kernel_.uops, schedule.short_lists) {
    kernel_.config = config;
  }

  Result<Kernel> Generate() {
    if (Result<void> room = Allocate(); !room) return room.error();
    PlaceTensors();
    OpenPiece();
    if (gemm_bias_ && !schedule_.quick_ends) LoadConstant();
    int64_t step = 0;
    for (size_t t = 0; t < tiles_.size(); ++t) {
      for (size_t k = 0; k < plan_.StepsOf(t); ++k) Multiply(t, k, step++);
      FinishTile(t);
      if (t == 0 && schedule_.uop_pieces > 2) ClosePiece();
      // Checked along the way: most programs that are refused would be long ones.
      if (Result<void> fits = CheckUops(); !fits) return fits.error();
    }
    code_.Finish();
    return Close();
  }

 private:
  // ---- Places in the buffers ----

  // Lays out the buffers and plans which operand tile goes where.
  Result<void> Allocate() {
    ChooseTailChunks();
    CountSlots();
    bias_input_ = std::max(inp_slots_ * inp_slot_tiles_, tail_slots_ * tail_inputs_);
    bias_weights_ = std::max(wgt_slots_ * wgt_slot_tiles_, tail_slots_ * tail_weights_);
    PlaceSums();
    const bool alu_bias = epilogue_.bias && !gemm_bias_;
    struct Need {
      std::string_view name;
      int64_t tiles;
      Memory memory;
    };
    for (const Need& need :
         {Need{"INP", bias_input_ + (gemm_bias_ ? 1 : 0), Memory::kInp},
          {"WGT", bias_weights_ + (gemm_bias_ ? kBiasSlots * plan_.widest() : 0), Memory::kWgt},
          {"ACC", bias_acc_ + (alu_bias ? kBiasSlots * plan_.widest() : 0), Memory::kAcc}}) {
      if (need.tiles <= config_.Depth(need.memory)) continue;
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = fmt::format("{} {} tiles > depth {}", need.tiles, need.name,
                                          config_.Depth(need.memory))};
    }
    CutBuffers();
    return {};
  }

  // The tail's chunks are as large as two of them fit, or all of its inputs where they do.
  void ChooseTailChunks() {
    const OutputTile& last = tiles_.back();
    const int64_t blocks = plan_.chunks().back().end, tiles = plan_.InputsOf(last).tiles(),
                  weights = taps_ * last.channels.size(),
                  bias_weights = kBiasSlots * plan_.widest();
    if (!plan_.has_tail() || plan_.chunks().size() == 1) return;
    const int64_t most = std::min((config_.Depth(Memory::kInp) - 1) / tiles,
                                  (config_.Depth(Memory::kWgt) - bias_weights) / weights);
    const int64_t chunk = most >= blocks ? blocks : most / 2;
    if (chunk <= plan_.chunks().front().size()) return;
    plan_.CutTailInto(chunk);
    tail_slots_ = most >= blocks ? 1 : 2;
    tail_inputs_ = chunk * tiles;
    tail_weights_ = chunk * weights;
  }

  void CountSlots() {
    std::vector<int32_t> inputs, weights, biases;
    for (size_t t = 0; t < tiles_.size(); ++t) {
      const int64_t tiles = plan_.InputsOf(tiles_[t]).tiles();
      inp_slot_tiles_ = std::max(inp_slot_tiles_, schedule_.tile_ci * tiles);
      for (size_t k = 0; k < plan_.StepsOf(t); ++k) {
        const TileStep step = plan_.StepOf(t, k);
        inputs.push_back(plan_.InputTag(tiles_[t], step));
        weights.push_back(plan_.WeightTag(tiles_[t], step));
      }
      biases.push_back(static_cast<int32_t>(tiles_[t].c));
    }
    wgt_slot_tiles_ = plan_.widest() * plan_.chunks().front().size() * taps_;
    inp_slots_ = std::min<int64_t>(schedule_.inp_slots, Distinct(inputs));
    wgt_slots_ = std::min<int64_t>(schedule_.wgt_slots, Distinct(weights));
    inp_cache_.emplace(inputs, inp_slots_);
    wgt_cache_.emplace(weights, wgt_slots_);
    bias_cache_.emplace(biases, kBiasSlots);
  }

  static int64_t Distinct(std::span<const int32_t> tags) {
    std::vector<bool> seen(static_cast<size_t>(*std::ranges::max_element(tags)) + 1, false);
    for (const int32_t tag : tags) seen[static_cast<size_t>(tag)] = true;
    return std::ranges::count(seen, true);
  }

  // Sums of even tiles begin at the left end of their room, those of odd tiles end at the right
  // one, so that as many as possible of a tile's are free while the tile before is being stored.
  // The room is a whole number of channel blocks larger than the largest tile.
  void PlaceSums() {
    const OutputTile& largest = *std::ranges::max_element(tiles_, {}, &OutputTile::sums);
    const bool alu_bias = epilogue_.bias && !gemm_bias_;
    const int64_t room = config_.Depth(Memory::kAcc) - (alu_bias ? kBiasSlots * plan_.widest() : 0);
    const int64_t spare = std::max<int64_t>(room - largest.sums(), 0);
    bias_acc_ = largest.sums();
    if (tiles_.size() == 1) return;
    bias_acc_ += std::min(largest.sums(), spare / largest.pixels() * largest.pixels());
  }
  Extent AreaOf(size_t t) const {
    const int64_t begin = t % 2 == 0 ? 0 : bias_acc_ - tiles_[t].sums();
    return {begin, begin + tiles_[t].sums()};
  }
  Extent AreaOf(size_t t, const Extent& channels) const {
    const int64_t begin = AreaOf(t).begin, pixels = tiles_[t].pixels();
    return {begin + channels.begin * pixels, begin + channels.end * pixels};
  }

  // Channel blocks of a tile whose sums the tile before has no part in.
  Extent FreeBlocks(size_t t) const {
    const int64_t blocks = tiles_[t].channels.size(), pixels = tiles_[t].pixels();
    if (t == 0) return {0, blocks};
    const Extent own = AreaOf(t), other = AreaOf(t - 1);
    if (t % 2 == 0) return {0, std::clamp<int64_t>(other.begin / pixels, 0, blocks)};
    const int64_t taken = std::max<int64_t>(other.end - own.begin, 0);
    return {std::min(CeilDiv(taken, pixels), blocks), blocks};
  }
  Extent TakenBlocks(size_t t) const {
    const Extent free = FreeBlocks(t);
    const int64_t blocks = tiles_[t].channels.size();
    return free.begin == 0 ? Extent{free.end, blocks} : Extent{0, free.begin};
  }

  // Parts of the first tile's inputs, and sums that one tile has and its neighbours have not, are
  // ordered on their own.
  void CutBuffers() {
    std::set<int64_t> inputs, weights, sums, biases;
    const int64_t tiles = plan_.InputsOf(tiles_.front()).tiles();
    for (int64_t slot = 0; slot < inp_slots_; ++slot) {
      for (size_t k = 0; k < plan_.StepsOf(0); ++k) {
        inputs.insert(slot * inp_slot_tiles_ + OffsetOf(plan_.StepOf(0, k)) * tiles);
      }
    }
    // The tail's own slots overlap with those: so that they do not hinder each other.
    if (tail_slots_ == 2) inputs.insert(tail_inputs_);
    if (tail_slots_ == 2 && tail_weights_ > wgt_slot_tiles_) weights.insert(tail_weights_);
    for (int64_t slot = 0; slot < wgt_slots_; ++slot) weights.insert(slot * wgt_slot_tiles_);
    for (size_t t = 0; t < tiles_.size(); ++t) {
      const Extent area = AreaOf(t), free = AreaOf(t, FreeBlocks(t));
      sums.insert({area.begin, area.end, free.begin, free.end});
    }
    for (int64_t slot = 0; slot < kBiasSlots; ++slot) biases.insert(slot * plan_.widest());
    inp_.emplace(code_, std::move(inputs));
    wgt_.emplace(code_, std::move(weights));
    acc_.emplace(code_, std::move(sums));
    bias_.emplace(code_, std::move(biases));
    constant_slot_ = code_.AddSlot();
  }

  // Blocks of a tile's chunk that come before those of a step.
  int64_t OffsetOf(const TileStep& step) const {
    return step.chunk.begin - plan_.chunks()[static_cast<size_t>(step.inputs)].begin;
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

  // ---- Products ----

  // A step of a tile: its operands and its products.
  void Multiply(size_t t, size_t k, int64_t number) {
    const TileStep step = plan_.StepOf(t, k);
    const Operands operands = Load(t, k, number);
    if (t == 0) {
      if (k == 0) ClearFirst();
      Emit(Lists(t, step, step.part, operands), AreaOf(t, step.part), operands);
    } else if (k == 0) {
      MultiplyFirst(t, step, operands);
    } else {
      Emit(Lists(t, step, step.part, operands), AreaOf(t), operands);
    }
    if (number + 1 == schedule_.uop_steps && schedule_.uop_pieces > 1) ClosePiece();
  }

  // Begins with the sums that are free, while those that the tile before has left are being stored.
  void MultiplyFirst(size_t t, const TileStep& step, const Operands& operands) {
    const Extent free = FreeBlocks(t), taken = TakenBlocks(t);
    if (free.size() > 0 && !cleared_ahead_) Clear(AreaOf(t, free));
    cleared_ahead_ = false;
    if (free.size() == 0 || taken.size() == 0) {
      if (taken.size() > 0) ClearTaken(t);
      Emit(Lists(t, step, step.part, operands), AreaOf(t), operands);
      return;
    }
    std::vector<Placed>& some = Lists(t, step, free, operands);
    std::vector<Placed>& others = Lists(t, step, taken, operands);
    std::vector<Placed>& all = Lists(t, step, step.part, operands);
    const bool alike = some.size() == all.size() && others.size() == all.size();
    const size_t first = alike ? LongEnough(some, tiles_[t - 1].sums()) : some.size();
    Emit(std::span(some).first(first), AreaOf(t, free), operands);
    ClearTaken(t);
    Emit(std::span(others).first(alike ? first : others.size()), AreaOf(t, taken), operands);
    if (alike) Emit(std::span(all).subspan(first), AreaOf(t), operands);
  }

  // A list of micro-ops and its loops, which run over it once it has a place.
  struct Placed {
    Product product;
    int64_t place = -1;
  };

  // How many of the first instructions take as long as sums are stored.
  static size_t LongEnough(std::span<const Placed> lists, int64_t sums) {
    int64_t cycles = 0;
    for (size_t i = 0; i < lists.size(); ++i) {
      const Product& product = lists[i].product;
      cycles += product.loops.outer * product.loops.inner * std::ssize(product.uops);
      if (cycles >= kStoreCycles * sums) return i + 1;
    }
    return lists.size();
  }

  void Emit(std::span<Placed> lists, const Extent& sums, const Operands& operands) {
    const Scheduler::Slots acc = acc_->Of(sums);
    for (Placed& list : lists) {
      if (list.place < 0) list.place = lists_.PlaceOf(list.product.uops);
      Loops loops = list.product.loops;
      loops.uop_begin = list.place;
      loops.uop_end = list.place + std::ssize(list.product.uops);
      hazard_ = hazard_ || list.product.too_soon;
      NeedUops();
      code_.Gemm(loops, operands.slots, acc);
    }
  }

  // What multiplies channel blocks of a tile with the operands of a step.
  std::vector<Placed>& Lists(size_t t, const TileStep& step, const Extent& channels,
                             const Operands& operands) {
    const OutputTile& tile = tiles_[t];
    const TilePlan::Inputs input = plan_.InputsOf(tile);
    const ProductTile at = {.rows = InBuffer(input.rows),
                            .columns = InBuffer(input.columns),
                            .height = tile.rows.size(),
                            .width = tile.columns.size(),
                            .kernel_h = shape_.kh,
                            .kernel_w = shape_.kw,
                            .ci = step.chunk.size(),
                            .co = channels.size(),
                            .dst = AreaOf(t, channels).begin,
                            .src = operands.inputs,
                            .wgt = operands.weights + channels.begin * step.chunk.size() * taps_};
    const auto [found, is_new] = products_.try_emplace(at);
    if (is_new) {
      for (Product& product : ProductsOf(at, {.short_lists = schedule_.short_lists,
                                             .row_groups = schedule_.row_groups,
                                             .split = schedule_.split_products})) {
        found->second.push_back({std::move(product)});
      }
    }
    return found->second;
  }

  // The same window wherever in the image it lies.
  static Window InBuffer(const Window& window) {
    return {.loaded = window.size(), .first_tap = window.first_tap, .step = window.step};
  }

  // ---- Sums that begin at 0 ----

  // With quick ends those of the second tile that are free are cleared with those of the first.
  void ClearFirst() { ClearWithNext(0, AreaOf(0)); }

  // What is free of the next tile lies beside it.
  void ClearTaken(size_t t) { ClearWithNext(t, AreaOf(t, TakenBlocks(t))); }

  void ClearWithNext(size_t t, Extent area) {
    if (schedule_.quick_ends && t + 1 < tiles_.size()) {
      const Extent next = AreaOf(t + 1, FreeBlocks(t + 1));
      cleared_ahead_ = next.begin == area.end || next.end == area.begin;
      if (cleared_ahead_) {
        area = {std::min(area.begin, next.begin), std::max(area.end, next.end)};
      }
    }
    Clear(area);
  }

  void Clear(const Extent& area) {
    const Loops loops = Straight(lists_.PlaceOf(area.begin, area.begin, 0), area.size());
    NeedUops();
    code_.Reset(loops, acc_->Of(area));
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

  // ---- Loads ----

  Operands Load(size_t t, size_t k, int64_t number) {
    const OutputTile& tile = tiles_[t];
    const TileStep step = plan_.StepOf(t, k);
    const TileCache::Place input = inp_cache_->Use(number), weights = wgt_cache_->Use(number);
    const bool own = plan_.HasOwnChunks(t);
    const int64_t tiles = plan_.InputsOf(tile).tiles(), blocks = step.chunk.size();
    Operands operands = {.inputs = input.slot * inp_slot_tiles_ + OffsetOf(step) * tiles,
                         .weights = weights.slot * wgt_slot_tiles_};
    if (own) {
      const int64_t slot = static_cast<int64_t>(k) % tail_slots_;
      operands.inputs = slot * tail_inputs_;
      if (tail_weights_ > wgt_slot_tiles_) operands.weights = slot * tail_weights_;
    }
    const Scheduler::Slots inp = inp_->Of({operands.inputs, operands.inputs + blocks * tiles});
    const int64_t size = tile.channels.size() * blocks * taps_;
    Scheduler::Slots wgt = wgt_->Of({operands.weights, operands.weights + size});
    const bool in_parts = step.part.size() < tile.channels.size();
    // Of the first tile each chunk is new, and comes once for all parts of its channels.
    const bool again = t == 0 && k > 0 && plan_.StepOf(t, k - 1).chunk == step.chunk;
    const auto load_input = [&] {
      if (t == 0 ? !again : input.load || own) LoadInput(tile, step.chunk, operands.inputs, inp);
    };
    // What must wait longer for its place goes last.
    const bool inputs_first = own ? false : input.last_step <= weights.last_step;
    if (inputs_first) load_input();
    if (in_parts) {
      // Weights that come in parts are waited for part by part.
      const Scheduler::Slot part = code_.AddSlot();
      LoadWeights(tile, step, operands.weights,
                  weights.load ? wgt.With(part) : Scheduler::Slots(part));
      wgt = wgt.With(part);
    } else if (weights.load) {
      LoadWeights(tile, step, operands.weights, wgt);
    }
    if (!inputs_first) load_input();
    operands.slots = inp.With(wgt);
    return operands;
  }

  void LoadConstant() {
    code_.Load(Memory::kInp, {.sram = bias_input_, .dram = constants_, .columns = 1, .stride = 1},
               constant_slot_);
  }

  void LoadInput(const OutputTile& tile, const Extent& chunk, int64_t place,
                 const Scheduler::Slots& writes) {
    const TilePlan::Inputs input = plan_.InputsOf(tile);
    const Window& rows = input.rows;
    const Window& columns = input.columns;
    const int64_t image = shape_.h * shape_.w;
    const int64_t block = tile.n * InputBlocks(shape_, config_) + chunk.begin;
    Transfer transfer = {.sram = place,
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
      code_.Load(Memory::kInp, transfer, writes);
      return;
    }
    transfer.rows = rows.loaded;
    transfer.columns = columns.loaded;
    transfer.stride = rows.load_step * shape_.w;
    for (int64_t ci = 0; ci < chunk.size(); ++ci) {
      code_.Load(Memory::kInp, transfer, writes);
      transfer.sram += input.tiles();
      transfer.dram += image;
    }
  }

  void LoadWeights(const OutputTile& tile, const TileStep& step, int64_t place,
                   const Scheduler::Slots& writes) {
    const int64_t cib = InputBlocks(shape_, config_);
    code_.Load(Memory::kWgt,
               {.sram = place + step.part.begin * step.chunk.size() * taps_,
                .dram = weights_ +
                        ((tile.channels.begin + step.part.begin) * cib + step.chunk.begin) * taps_,
                .rows = step.part.size(),
                .columns = step.chunk.size() * taps_,
                .stride = cib * taps_},
               writes);
  }

  void LoadBias(const OutputTile& tile, const Extent& slot) {
    const int64_t blocks = tile.channels.size(), first = tile.channels.begin;
    code_.Load(gemm_bias_ ? Memory::kWgt : Memory::kAcc,
               {.sram = (gemm_bias_ ? bias_weights_ : bias_acc_) + slot.begin,
                .dram = biases_ + first,
                .columns = blocks,
                .stride = blocks},
               bias_->Of(slot));
  }

  // ---- What happens to sums when all products are in ----

  void FinishTile(size_t t) {
    const OutputTile& tile = tiles_[t];
    const bool last = t + 1 == tiles_.size();
    if (schedule_.quick_ends && gemm_bias_ && t == 0) LoadConstant();
    const TileCache::Place place = bias_cache_->Use(static_cast<int64_t>(t));
    const Extent bias = {place.slot * plan_.widest(),
                         place.slot * plan_.widest() + tile.channels.size()};
    if (epilogue_.bias && place.load) LoadBias(tile, bias);
    const bool shrinking = last && schedule_.quick_ends;
    for (const Part& part : shrinking ? ShrinkingParts(tile) : EqualParts(tile, last)) {
      // Nothing uses the last tile's sums again, so its parts need not wait for each other.
      const Scheduler::Slots acc =
          shrinking ? Scheduler::Slots(code_.AddSlot()) : acc_->Of(AreaOf(t));
      Activate(t, part, bias, acc);
      StorePart(t, part, acc);
    }
  }

  // Sums one after another.
  static Loops Straight(int64_t uop, int64_t count) {
    return {.uop_begin = uop, .uop_end = uop + 1, .inner = count, .dst_inner = 1, .src_inner = 1};
  }

  int64_t PlaceOfPart(size_t t, const Part& part) const {
    return AreaOf(t, part.channels).begin + part.rows.begin * tiles_[t].columns.size();
  }

  void Activate(size_t t, const Part& part, const Extent& bias, const Scheduler::Slots& acc) {
    const OutputTile& tile = tiles_[t];
    const Extent &channels = part.channels, &rows = part.rows;
    const int64_t base = PlaceOfPart(t, part), count = rows.size() * tile.columns.size();
    // Several blocks come with all of their rows, so their sums follow each other.
    const Loops sums = Straight(lists_.PlaceOf(base, base, 0), count * channels.size());
    NeedUops();
    code_.AluImmediate(AluOp::kShr, epilogue_.shift, sums, acc);
    if (epilogue_.bias) {
      const int64_t first = bias.begin + channels.begin;
      Loops add = {
          .outer = channels.size(), .inner = count, .dst_outer = tile.pixels(), .dst_inner = 1};
      const Scheduler::Slots from = bias_->Of(bias);
      if (gemm_bias_) {
        add.uop_begin = lists_.PlaceOf(base, bias_input_, bias_weights_ + first);
        add.uop_end = add.uop_begin + 1;
        add.wgt_outer = 1;
        NeedUops();
        code_.Gemm(add, from.With(constant_slot_), acc);
      } else {
        add.uop_begin = lists_.PlaceOf(base, bias_acc_ + first, 0);
        add.uop_end = add.uop_begin + 1;
        add.src_outer = 1;
        NeedUops();
        code_.AluRegister(AluOp::kAdd, add, from, acc);
      }
    }
    code_.AluImmediate(AluOp::kMax, epilogue_.low, sums, acc);
    code_.AluImmediate(AluOp::kMin, epilogue_.high, sums, acc);
  }

  void StorePart(size_t t, const Part& part, const Scheduler::Slots& acc) {
    const OutputTile& tile = tiles_[t];
    const Extent &channels = part.channels, &rows = part.rows;
    const int64_t width = tile.columns.size(), image = shape_.oh() * shape_.ow();
    const int64_t block =
        tile.n * OutputBlocks(shape_, config_) + tile.channels.begin + channels.begin;
    Transfer transfer = {.sram = PlaceOfPart(t, part),
                         .dram = output_ + block * image +
                                 (tile.rows.begin + rows.begin) * shape_.ow() + tile.columns.begin};
    if (width == shape_.ow() && rows.size() == tile.rows.size() && image <= 65'535) {
      transfer.rows = channels.size();
      transfer.columns = tile.pixels();
      transfer.stride = image;
      code_.Store(transfer, acc);
      return;
    }
    const bool whole_rows = width == shape_.ow();
    transfer.rows = whole_rows ? 1 : rows.size();
    transfer.columns = whole_rows ? rows.size() * width : width;
    transfer.stride = shape_.ow();
    for (int64_t c = 0; c < channels.size(); ++c) {
      code_.Store(transfer, acc);
      transfer.sram += tile.pixels();
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
  TilePlan plan_;
  const std::vector<OutputTile>& tiles_;

  Kernel kernel_;
  Scheduler code_;
  UopMemory lists_;
  int64_t input_ = 0, weights_ = 0, constants_ = 0, biases_ = 0, output_ = 0, uops_ = 0;  // DRAM

  int64_t inp_slots_ = 0, wgt_slots_ = 0;
  int64_t inp_slot_tiles_ = 0, wgt_slot_tiles_ = 0;
  int64_t tail_slots_ = 0, tail_inputs_ = 0, tail_weights_ = 0;  // where the tail has its own
  int64_t bias_input_ = 0, bias_weights_ = 0, bias_acc_ = 0;  // in their buffers, behind the rest
  std::optional<TileCache> inp_cache_, wgt_cache_, bias_cache_;
  std::optional<Regions> inp_, wgt_, acc_, bias_;
  Scheduler::Slot constant_slot_ = 0;

  std::map<ProductTile, std::vector<Placed>> products_;
  bool cleared_ahead_ = false;  // what is free of the next tile
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
  Result<TilePlan> plan = TilePlan::Make(shape, schedule, config);
  if (!plan) return plan.error();
  return Generator(shape, schedule, config, epilogue, *std::move(plan)).Generate();
}

}  // namespace tessera::vta
