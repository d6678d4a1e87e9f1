// Measuring a schedule on a VTA: it becomes a program, and the cycle simulator times it. Where only
// a bound is needed, it is counted.
#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/coopt/vta_space.h"
#include "tessera/coopt/vta_target.h"
#include "tessera/vta/codegen/best.h"
#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::coopt {
namespace {

using vta::Memory;

// Bytes over the bus, accesses of the buffers and products, each with its energy.
double EnergyPj(const vta::Kernel& kernel) {
  const vta::Config& config = kernel.config;
  const auto access = [&config](Memory memory) {
    const int64_t tile = config.TileBytes(memory);
    return SramAccessPj(config.Depth(memory) * tile, tile);
  };
  const double inp = access(Memory::kInp), wgt = access(Memory::kWgt), acc = access(Memory::kAcc);
  const double product = inp + wgt + 2 * acc + kMacPj * static_cast<double>(config.macs());
  double energy_pj = 0;
  for (const vta::Instruction& instruction : kernel.instructions) {
    if (instruction.Is(vta::Opcode::kGemm)) {
      const double rounds = static_cast<double>(vta::HardwareRounds(instruction));
      energy_pj += rounds * (instruction.reset != 0 ? acc : product);
    } else if (instruction.Is(vta::Opcode::kAlu)) {
      const double rounds = static_cast<double>(vta::HardwareRounds(instruction));
      energy_pj += rounds * (instruction.use_imm != 0 ? 2 : 3) * acc;
    }
  }
  const vta::Traffic traffic = CountTraffic(kernel);
  return energy_pj + kDramPjPerByte * static_cast<double>(traffic.read() + traffic.written);
}

// Pairs of an output and a tap along an axis that do not meet padding.
int64_t ProductsOf(const vta::Axis& axis, int64_t outputs) {
  int64_t products = 0;
  for (int64_t tap = 0; tap < axis.kernel; ++tap) {
    const vta::Window whole = WindowOf(axis, {0, outputs}, /*trim=*/true, /*may_skip=*/false);
    products += OutputsOfTap(whole, outputs, tap).size();
  }
  return products;
}

// Inputs along an axis that some output needs.
int64_t InputsOf(const vta::Axis& axis, int64_t outputs) {
  const bool gaps = axis.kernel < axis.stride;
  return gaps ? outputs : std::min(axis.size, (outputs - 1) * axis.stride + axis.kernel - axis.pad);
}

// Zeros that all tiles along an axis take for padding, at most.
int64_t MostPadding(int64_t pad, int64_t tile, int64_t stride) {
  return pad * CeilDiv(pad, tile * stride);
}

}  // namespace

MeasuredOutcome VtaSpace::Measure(const SchedulePoint& point) const {
  const Result<GeneratedSchedule> code = Generate(point);
  if (!code) return {.why = code.error().message};
  vta::CycleSimulator simulator(config_, options_.timing);
  const Result<vta::CycleReport> report = simulator.Run(code->kernel.instructions);
  if (!report) return {.why = report.error().message};
  return {.valid = true, .cycles = report->cycles, .energy_pj = EnergyPj(code->kernel)};
}

int64_t FloorCycles(const vta::ConvShape& shape, const vta::Config& config,
                    const CooptOptions& options) {
  const vta::Axis rows = RowAxis(shape), columns = ColumnAxis(shape);
  const int64_t in = InputBlocks(shape, config), out = OutputBlocks(shape, config);
  const int64_t batches = BatchBlocks(shape, config);
  const int64_t products =
      options.generator == Generator::kReference
          ? GemmFloor(shape, config)
          : batches * in * out * ProductsOf(rows, shape.oh()) * ProductsOf(columns, shape.ow());
  const int64_t inputs = batches * in * InputsOf(rows, shape.oh()) * InputsOf(columns, shape.ow());
  const int64_t bytes = inputs * config.TileBytes(Memory::kInp) +
                        in * out * shape.kh * shape.kw * config.TileBytes(Memory::kWgt);
  return std::max(products, bytes / options.timing.bus_bytes * options.timing.beat_gap_cycles);
}

// Cycles of the matrix unit and the ALU, and those of the bus for operands without padding.
int64_t VtaSpace::LowerBoundCycles(const SchedulePoint& point) const {
  if (options_.generator != Generator::kReference) {
    return coopt::FloorCycles(shape_, config_, options_);
  }
  const vta::ConvShape& s = shape_;
  const vta::Config& config = config_;
  const vta::Knobs k = ReferenceKnobs(point);
  const int64_t compute =
      vta::ReferenceLowerBound(s, k, config, options_.epilogue, options_.timing);
  const int64_t rows = s.oh() / k.tile_h * ((k.tile_h - 1) * s.stride_h + s.kh) -
                       MostPadding(s.pad_top, k.tile_h, s.stride_h) -
                       MostPadding(s.pad_bottom, k.tile_h, s.stride_h);
  const int64_t columns = s.ow() / k.tile_w * ((k.tile_w - 1) * s.stride_w + s.kw) -
                          MostPadding(s.pad_left, k.tile_w, s.stride_w) -
                          MostPadding(s.pad_right, k.tile_w, s.stride_w);
  const int64_t channel_tiles = OutputBlocks(s, config) / k.tile_co;
  const int64_t inputs = BatchBlocks(s, config) * channel_tiles * InputBlocks(s, config) *
                         std::max<int64_t>(rows, 0) * std::max<int64_t>(columns, 0);
  const int64_t weights = BatchBlocks(s, config) * (s.oh() / k.tile_h) * (s.ow() / k.tile_w) *
                          OutputBlocks(s, config) * InputBlocks(s, config) * s.kh * s.kw;
  const int64_t bytes =
      inputs * config.TileBytes(vta::Memory::kInp) + weights * config.TileBytes(vta::Memory::kWgt);
  return std::max(compute, bytes / options_.timing.bus_bytes * options_.timing.beat_gap_cycles);
}

}  // namespace tessera::coopt
