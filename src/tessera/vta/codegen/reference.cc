#include "tessera/vta/codegen/reference.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/base/divisors.h"
#include "tessera/vta/codegen/emitter.h"
#include "tessera/vta/codegen/layout.h"

namespace tessera::vta {
namespace {

// Micro-ops that the published hardware can address, whatever the buffer's size in software.

// Everything that follows from shape, knobs and configuration. Capital letters are those of
// docs/vta.md.
struct Plan {
  Plan(const ConvShape& conv, const Knobs& k, const Config& c)
      : shape(conv),
        knobs(k),
        nb(BatchBlocks(conv, c)),
        cib(InputBlocks(conv, c)),
        cob(OutputBlocks(conv, c)),
        oh(conv.oh()),
        ow(conv.ow()),
        nh(oh / k.tile_h),
        nw(ow / k.tile_w),
        nci(cib / k.tile_ci),
        nco(cob / k.tile_co),
        iht((k.tile_h - 1) * conv.stride_h + conv.kh),
        iwt((k.tile_w - 1) * conv.stride_w + conv.kw),
        contexts(k.oc_nthread * k.h_nthread),
        n_inp(k.tile_ci * iht * iwt),
        n_wgt(k.tile_co * k.tile_ci * conv.kh * conv.kw),
        n_acc(k.tile_co * k.tile_h * k.tile_w),
        gemm_uops(conv.kh * k.tile_co * k.tile_h * (k.tile_ci == 1 ? 1 : conv.kw)) {}

  // Of one context's part of the micro-op table.
  int64_t uops_per_context() const { return knobs.tile_h + gemm_uops + 2; }
  // Of the whole program, without the few at its ends.
  int64_t instructions() const {
    const int64_t stores = knobs.tile_w == ow ? 1 : knobs.tile_co;
    return nb * nh * nw * nco * (1 + nci * (knobs.tile_ci + 2) + 5 + stores);
  }
  int64_t acc_base(int64_t t) const { return t * (n_acc + knobs.tile_co); }

  const ConvShape& shape;
  const Knobs& knobs;
  const int64_t nb, cib, cob, oh, ow, nh, nw, nci, nco, iht, iwt, contexts;
  const int64_t n_inp, n_wgt, n_acc;  // tiles per context
  const int64_t gemm_uops;
};

class Generator {
 public:
  Generator(const ConvShape& shape, const Knobs& knobs, const Config& config,
            const Epilogue& epilogue)
      : plan_(shape, knobs, config),
        config_(config),
        epilogue_(epilogue),
        emit_(kernel_.instructions) {
    kernel_.config = config;
  }

  Kernel Generate() {
    WriteUops();
    PlaceTensors();
    emit_.Load(
        Memory::kUop,
        {.dram = uops_, .columns = std::ssize(kernel_.uops), .stride = std::ssize(kernel_.uops)});
    const int64_t rounds = plan_.nb * (plan_.nh / plan_.knobs.h_nthread) *
                           (plan_.nco / plan_.knobs.oc_nthread) * plan_.nw;
    int64_t round = 0;
    for (int64_t b = 0; b < plan_.nb; ++b) {
      for (int64_t i0 = 0; i0 < plan_.nh / plan_.knobs.h_nthread; ++i0) {
        for (int64_t c0 = 0; c0 < plan_.nco / plan_.knobs.oc_nthread; ++c0) {
          for (int64_t j0 = 0; j0 < plan_.nw; ++j0, ++round) {
            Round({b, i0, c0, j0}, round == 0, round + 1 == rounds);
          }
        }
      }
    }
    for (int64_t t = 0; t < plan_.contexts; ++t) emit_.ComputeNop({.pop_next = true});
    emit_.Finish();
    kernel_.tensors.back().bytes = kernel_.instructions.size() * 16;
    return std::move(kernel_);
  }

 private:
  struct RoundIndex {
    int64_t b, i0, c0, j0;
  };

  void PlaceTensors() {
    const ConvShape& s = plan_.shape;
    DramLayout layout(config_, kernel_.tensors);
    input_ =
        layout.Add(TensorRole::kInput, "input", "(n_blocks, ci_blocks, h, w, batch, block_in) int8",
                   Memory::kInp, plan_.nb * plan_.cib * s.h * s.w);
    weights_ = layout.Add(TensorRole::kWeights, "weights",
                          "(co_blocks, ci_blocks, kh, kw, block_out, block_in) int8", Memory::kWgt,
                          plan_.cob * plan_.cib * s.kh * s.kw);
    bias_ = layout.Add(TensorRole::kBias, "bias", "(co_blocks, batch, block_out) int32",
                       Memory::kAcc, plan_.cob);
    output_ = layout.Add(TensorRole::kOutput, "output",
                         "(n_blocks, co_blocks, oh, ow, batch, block_out) int8", Memory::kOut,
                         plan_.nb * plan_.cob * plan_.oh * plan_.ow);
    uops_ =
        layout.Add(TensorRole::kUops, "uops", "micro-ops", Memory::kUop, std::ssize(kernel_.uops));
    layout.AddInstructions();
  }

  void AddUop(int64_t dst, int64_t src, int64_t wgt) {
    kernel_.uops.push_back({.dst = static_cast<uint32_t>(dst),
                            .src = static_cast<uint32_t>(src),
                            .wgt = static_cast<uint32_t>(wgt)});
  }

  void WriteUops() {
    const ConvShape& s = plan_.shape;
    const Knobs& k = plan_.knobs;
    for (int64_t t = 0; t < plan_.contexts; ++t) {
      const int64_t inp = t * plan_.n_inp, wgt = t * plan_.n_wgt, acc = plan_.acc_base(t);
      for (int64_t i = 0; i < k.tile_h; ++i) AddUop(acc + i * k.tile_w, 0, 0);
      for (int64_t dj = 0; dj < (k.tile_ci == 1 ? 1 : s.kw); ++dj) {
        for (int64_t di = 0; di < s.kh; ++di) {
          for (int64_t co = 0; co < k.tile_co; ++co) {
            for (int64_t i = 0; i < k.tile_h; ++i) {
              AddUop(acc + (co * k.tile_h + i) * k.tile_w,
                     inp + (i * s.stride_h + di) * plan_.iwt + dj,
                     wgt + (co * k.tile_ci * s.kh + di) * s.kw + dj);
            }
          }
        }
      }
      AddUop(acc, acc, 0);
      AddUop(acc, acc + plan_.n_acc, 0);
    }
  }

  void Round(const RoundIndex& round, bool first, bool last) {
    const Knobs& k = plan_.knobs;
    for (int64_t t = 0; t < plan_.contexts; ++t) {
      const int64_t uops = t * plan_.uops_per_context();
      emit_.Reset({.uop_begin = uops,
                   .uop_end = uops + k.tile_h,
                   .outer = k.tile_w,
                   .inner = k.tile_co,
                   .dst_outer = 1,
                   .dst_inner = k.tile_h * k.tile_w},
                  {.pop_next = !first});
    }
    for (int64_t ko = 0; ko < plan_.nci; ++ko) {
      for (int64_t t = 0; t < plan_.contexts; ++t) {
        Loads(round, ko, t, /*first_use=*/first && ko == 0);
        Multiply(t, /*free_operands=*/!(last && ko + 1 == plan_.nci));
      }
    }
    for (int64_t t = 0; t < plan_.contexts; ++t) {
      Activate(round, t);
      StoreTile(round, t);
    }
  }

  int64_t RowTile(const RoundIndex& round, int64_t t) const {
    return round.i0 * plan_.knobs.h_nthread + t / plan_.knobs.oc_nthread;
  }
  int64_t ChannelTile(const RoundIndex& round, int64_t t) const {
    return round.c0 * plan_.knobs.oc_nthread + t % plan_.knobs.oc_nthread;
  }

  void Loads(const RoundIndex& round, int64_t ko, int64_t t, bool first_use) {
    const ConvShape& s = plan_.shape;
    const Knobs& k = plan_.knobs;
    const int64_t ys = RowTile(round, t) * k.tile_h * s.stride_h - s.pad_top;
    const int64_t xs = round.j0 * k.tile_w * s.stride_w - s.pad_left;
    Transfer tile = {.stride = s.w,
                     .pad_top = std::max<int64_t>(0, -ys),
                     .pad_bottom = std::max<int64_t>(0, ys + plan_.iht - s.h),
                     .pad_left = std::max<int64_t>(0, -xs),
                     .pad_right = std::max<int64_t>(0, xs + plan_.iwt - s.w)};
    tile.rows = plan_.iht - tile.pad_top - tile.pad_bottom;
    tile.columns = plan_.iwt - tile.pad_left - tile.pad_right;
    for (int64_t ci = 0; ci < k.tile_ci; ++ci) {
      tile.sram = t * plan_.n_inp + ci * plan_.iht * plan_.iwt;
      const int64_t block = round.b * plan_.cib + ko * k.tile_ci + ci;
      tile.dram =
          input_ + (block * s.h + std::max<int64_t>(0, ys)) * s.w + std::max<int64_t>(0, xs);
      emit_.Load(Memory::kInp, tile, {.pop_next = ci == 0 && !first_use});
    }
    const int64_t kernel_tiles = s.kh * s.kw;
    emit_.Load(
        Memory::kWgt,
        {.sram = t * plan_.n_wgt,
         .dram = weights_ +
                 (ChannelTile(round, t) * k.tile_co * plan_.cib + ko * k.tile_ci) * kernel_tiles,
         .rows = k.tile_co,
         .columns = k.tile_ci * kernel_tiles,
         .stride = plan_.cib * kernel_tiles},
        {.push_next = true});
  }

  void Multiply(int64_t t, bool free_operands) {
    const ConvShape& s = plan_.shape;
    const Knobs& k = plan_.knobs;
    const int64_t uops = t * plan_.uops_per_context() + k.tile_h;
    Loops loops = {.uop_begin = uops, .uop_end = uops + plan_.gemm_uops};
    if (k.tile_ci == 1) {
      loops.outer = k.tile_w;
      loops.dst_outer = 1;
      loops.src_outer = s.stride_w;
      loops.inner = s.kw;
      loops.src_inner = 1;
      loops.wgt_inner = 1;
    } else {
      loops.outer = k.tile_ci;
      loops.src_outer = plan_.iht * plan_.iwt;
      loops.wgt_outer = s.kh * s.kw;
      loops.inner = k.tile_w;
      loops.dst_inner = 1;
      loops.src_inner = s.stride_w;
    }
    emit_.Gemm(loops, {.pop_prev = true, .push_prev = free_operands});
  }

  void Activate(const RoundIndex& round, int64_t t) {
    const Knobs& k = plan_.knobs;
    const int64_t sp = k.tile_h * k.tile_w;
    if (epilogue_.bias) {
      emit_.Load(Memory::kAcc, {.sram = plan_.acc_base(t) + plan_.n_acc,
                                .dram = bias_ + ChannelTile(round, t) * k.tile_co,
                                .columns = k.tile_co,
                                .stride = k.tile_co});
    }
    const int64_t alu = (t + 1) * plan_.uops_per_context() - 2;
    const Loops tiles = {.uop_begin = alu,
                         .uop_end = alu + 1,
                         .outer = k.tile_co,
                         .inner = sp,
                         .dst_outer = sp,
                         .dst_inner = 1,
                         .src_outer = sp,
                         .src_inner = 1};
    Loops biases = tiles;
    biases.uop_begin = alu + 1;
    biases.uop_end = alu + 2;
    biases.src_outer = 1;
    biases.src_inner = 0;
    emit_.AluImmediate(AluOp::kShr, epilogue_.shift, tiles);
    if (epilogue_.bias) emit_.AluRegister(AluOp::kAdd, biases);
    emit_.AluImmediate(AluOp::kMax, epilogue_.low, tiles);
    emit_.AluImmediate(AluOp::kMin, epilogue_.high, tiles, {.push_next = true});
  }

  void StoreTile(const RoundIndex& round, int64_t t) {
    const Knobs& k = plan_.knobs;
    const int64_t sp = k.tile_h * k.tile_w, image = plan_.oh * plan_.ow;
    const int64_t block = round.b * plan_.cob + ChannelTile(round, t) * k.tile_co;
    const int64_t origin =
        output_ + block * image + RowTile(round, t) * k.tile_h * plan_.ow + round.j0 * k.tile_w;
    if (k.tile_w == plan_.ow) {
      emit_.Store({.sram = plan_.acc_base(t),
                   .dram = origin,
                   .rows = k.tile_co,
                   .columns = sp,
                   .stride = image},
                  {.pop_prev = true, .push_prev = true});
      return;
    }
    for (int64_t co = 0; co < k.tile_co; ++co) {
      emit_.Store({.sram = plan_.acc_base(t) + co * sp,
                   .dram = origin + co * image,
                   .rows = k.tile_h,
                   .columns = k.tile_w,
                   .stride = plan_.ow},
                  {.pop_prev = co == 0, .push_prev = co + 1 == k.tile_co});
    }
  }

  const Plan plan_;
  const Config& config_;
  const Epilogue& epilogue_;
  Kernel kernel_;
  Emitter emit_;
  int64_t input_ = 0, weights_ = 0, bias_ = 0, output_ = 0, uops_ = 0;  // in tiles
};

}  // namespace

Verdict CheckKnobs(const ConvShape& shape, const Knobs& knobs, const Config& config) {
  const int64_t oh = shape.oh(), ow = shape.ow(), cib = InputBlocks(shape, config),
                cob = OutputBlocks(shape, config);
  const auto divides = [](int64_t part, int64_t whole) { return part >= 1 && whole % part == 0; };
  if (!divides(knobs.tile_h, oh) || !divides(knobs.tile_w, ow) || !divides(knobs.tile_ci, cib) ||
      !divides(knobs.tile_co, cob)) {
    return {
        "factors",
        fmt::format("tiles {}x{} pixels, {} and {} blocks do not divide {}x{}, {} and {}",
                    knobs.tile_h, knobs.tile_w, knobs.tile_ci, knobs.tile_co, oh, ow, cib, cob)};
  }
  const Plan plan(shape, knobs, config);
  const auto is_thread = [](int64_t n) { return n == 1 || n == 2; };
  if (!is_thread(knobs.oc_nthread) || !is_thread(knobs.h_nthread) ||
      plan.nco % knobs.oc_nthread != 0 || plan.nh % knobs.h_nthread != 0) {
    return {"vthread", fmt::format("{} channel tiles and {} row tiles are not multiples of "
                                   "oc_nthread {} and h_nthread {}, each 1 or 2",
                                   plan.nco, plan.nh, knobs.oc_nthread, knobs.h_nthread)};
  }
  struct Need {
    std::string_view reason;
    int64_t tiles, depth;
  };
  const int64_t t = plan.contexts;
  for (const Need& need :
       {Need{"inp_sram", t * plan.n_inp, config.Depth(Memory::kInp)},
        {"wgt_sram", t * plan.n_wgt, config.Depth(Memory::kWgt)},
        {"acc_sram", t * (plan.n_acc + knobs.tile_co), config.Depth(Memory::kAcc)}}) {
    if (need.tiles > need.depth) {
      return {need.reason,
              fmt::format("{} contexts need {} tiles > {}", t, need.tiles, need.depth)};
    }
  }
  if ((shape.kh > 1 || shape.kw > 1) && knobs.tile_co * knobs.tile_h < 3) {
    return {"acc_hazard",
            fmt::format("tile_co * tile_h = {} < 3: a sum would be used again within two cycles",
                        knobs.tile_co * knobs.tile_h)};
  }
  const int64_t uops = t * plan.uops_per_context();
  const int64_t limit = std::min(kMaxUops, config.Depth(Memory::kUop));
  if (uops > limit) return {"uops", fmt::format("{} micro-ops > {}", uops, limit)};
  if (plan.instructions() > kMaxInstructions) {
    return {"insns", fmt::format("{} instructions > {}", plan.instructions(), kMaxInstructions)};
  }
  return {};
}

Kernel GenerateReference(const ConvShape& shape, const Knobs& knobs, const Config& config,
                         const Epilogue& epilogue) {
  return Generator(shape, knobs, config, epilogue).Generate();
}

std::vector<Knobs> KnobSpace(const ConvShape& shape, const Config& config) {
  std::vector<Knobs> space;
  for (const int64_t th : Divisors(shape.oh())) {
    for (const int64_t tw : Divisors(shape.ow())) {
      for (const int64_t tci : Divisors(InputBlocks(shape, config))) {
        for (const int64_t tco : Divisors(OutputBlocks(shape, config))) {
          for (const int64_t oc : {1, 2}) {
            for (const int64_t h : {1, 2}) space.push_back({th, tw, tci, tco, oc, h});
          }
        }
      }
    }
  }
  return space;
}

}  // namespace tessera::vta
