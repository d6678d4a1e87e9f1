#include "tessera/coopt/roofline.h"

#include <algorithm>

#include "tessera/base/checked.h"

namespace tessera::coopt {
namespace {

using vta::Memory;

// Cycles of a LOAD beside its beats, when nothing else is on the bus (specs: 23).
constexpr double kLoadOverhead = 7;
constexpr double kFirstLoad = 40;

double Beats(double tiles, const vta::Config& config, Memory memory,
             const vta::TimingParameters& timing) {
  return tiles * static_cast<double>(config.TileBytes(memory)) /
         static_cast<double>(timing.bus_bytes) * static_cast<double>(timing.beat_gap_cycles);
}

double StoreCycles(double tiles, double bursts, const vta::Config& config,
                   const vta::TimingParameters& timing) {
  const double beats = std::max(1.0, static_cast<double>(config.TileBytes(Memory::kOut)) /
                                         static_cast<double>(timing.bus_bytes));
  return tiles * (beats + static_cast<double>(timing.store_tile_cycles)) + 4 * bursts;
}

// Operand tiles that are loaded, given how many distinct ones there are, how often the loops come
// back to them, and whether the slots hold all that one round needs.
double Loads(double distinct, double rounds, double needed, double slots) {
  return slots >= needed ? distinct : distinct * rounds;
}

struct Counts {
  double places, channels, chunks;  // tiles of outputs by place and channel; of reduction
  double pixels, window;            // of a tile: outputs, inputs per channel block
  double tile_ci, tile_co, taps;
};

Work Compute(const Counts& n, const vta::Epilogue& epilogue, double bias_cycles,
             const vta::TimingParameters& timing) {
  const double gemm = static_cast<double>(timing.gemm_startup_cycles) + 1;
  const double alu = static_cast<double>(timing.alu_startup_cycles) + 1;
  const double sums = n.pixels * n.tile_co, tiles = n.places * n.channels;
  Work work;
  work.tiles = tiles;
  work.chunks = n.chunks;
  work.gemm = tiles * (gemm + sums + n.chunks * (gemm + sums * n.tile_ci * n.taps));
  work.alu = tiles * 3 * (alu + sums * static_cast<double>(timing.alu_immediate_cycles));
  if (epilogue.bias) work.alu += tiles * (alu + sums * bias_cycles);
  return work;
}

}  // namespace

Work CountWork(const VtaSpace& space, const SchedulePoint& point) {
  const vta::Epilogue& epilogue = space.options().epilogue;
  const vta::TimingParameters& timing = space.options().timing;
  const vta::ConvShape& shape = space.shape();
  const vta::Config& config = space.config();
  const bool reference = space.options().generator == Generator::kReference;
  const auto size = [&](size_t knob) { return static_cast<double>(space.value(point, knob)); };
  const int64_t th = space.value(point, 0), tw = space.value(point, 1);
  const double taps = static_cast<double>(shape.kh * shape.kw);
  Counts n = {
      .places = static_cast<double>(BatchBlocks(shape, config) * CeilDiv(shape.oh(), th) *
                                    CeilDiv(shape.ow(), tw)),
      .channels = static_cast<double>(CeilDiv(OutputBlocks(shape, config), space.value(point, 3))),
      .chunks = static_cast<double>(CeilDiv(InputBlocks(shape, config), space.value(point, 2))),
      .pixels = static_cast<double>(th * tw),
      .window = static_cast<double>(((th - 1) * shape.stride_h + shape.kh) *
                                    ((tw - 1) * shape.stride_w + shape.kw)),
      .tile_ci = size(2),
      .tile_co = size(3),
      .taps = taps};
  double inp_loads = n.places * n.channels * n.chunks, wgt_loads = inp_loads;
  double bias_cycles = static_cast<double>(timing.alu_register_cycles);
  bool overlaps = reference && size(4) * size(5) > 1;
  if (!reference) {
    const double inp_slots = size(5), wgt_slots = size(4);
    overlaps = inp_slots > 1 && wgt_slots > 1;
    bias_cycles = 1;
    if (shape.kh == 1 && shape.kw == 1) n.window = n.pixels;
    const bool channels_outermost = space.value(point, 6) != 0;
    const double inputs = n.places * n.chunks, weights = n.channels * n.chunks;
    inp_loads = Loads(inputs, n.channels, channels_outermost ? inputs : n.chunks, inp_slots);
    wgt_loads = Loads(weights, n.places, channels_outermost ? n.chunks : weights, wgt_slots);
  }
  Work work = Compute(n, epilogue, bias_cycles, timing);
  work.overlaps = overlaps;
  const double inp_tiles = inp_loads * n.tile_ci * n.window;
  const double wgt_tiles = wgt_loads * n.tile_ci * n.tile_co * taps;
  const double out_tiles = work.tiles * n.pixels * n.tile_co;
  work.load = Beats(inp_tiles, config, Memory::kInp, timing) +
              Beats(wgt_tiles, config, Memory::kWgt, timing) +
              kLoadOverhead * (inp_loads * n.tile_ci + wgt_loads);
  if (epilogue.bias && reference) {
    work.alu += work.tiles * (kFirstLoad + Beats(n.tile_co, config, Memory::kAcc, timing));
  }
  const double bursts = tw == shape.ow() ? n.tile_co : n.tile_co * static_cast<double>(th);
  work.store = StoreCycles(out_tiles, work.tiles * bursts, config, timing);
  work.inp_bytes = inp_tiles * static_cast<double>(config.TileBytes(Memory::kInp));
  work.wgt_bytes = wgt_tiles * static_cast<double>(config.TileBytes(Memory::kWgt));
  work.out_bytes = out_tiles * static_cast<double>(config.TileBytes(Memory::kOut));
  return work;
}

double EstimateCycles(const VtaSpace& space, const SchedulePoint& point) {
  const Work work = CountWork(space, point);
  const double compute = work.gemm + work.alu;
  const double first = kFirstLoad + work.load / (work.tiles * work.chunks);
  const double last = work.store / work.tiles;
  if (work.overlaps) return std::max({compute, work.load, work.store}) + first + last;
  const double waits = kFirstLoad * work.tiles * work.chunks;
  return std::max(compute + work.load + waits, work.store) + last;
}

}  // namespace tessera::coopt
