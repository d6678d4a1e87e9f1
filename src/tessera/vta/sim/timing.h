// What the timing rules make of an instruction: its cycles, its transfers, its padding.
// TimingParameters (tessera/vta.h) are the numbers in them.
#ifndef TESSERA_VTA_SIM_TIMING_H_
#define TESSERA_VTA_SIM_TIMING_H_

#include <algorithm>
#include <cstdint>

#include "tessera/vta.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// Tile operations as the hardware counts them: its 14-bit loop counters take 0 for 16384.
inline int64_t HardwareRounds(const Instruction& kernel) {
  constexpr int64_t kModulus = 1 << 14;
  const int64_t uops = (int64_t{kernel.uop_end} - kernel.uop_bgn) & (kModulus - 1);
  const auto count = [](int64_t n) { return n == 0 ? kModulus : n; };
  return count(kernel.iter_out) * count(kernel.iter_in) * count(uops);
}

// Cycles from start to done of a GEMM or ALU instruction.
inline int64_t KernelCycles(const Instruction& kernel, const TimingParameters& parameters) {
  const int64_t rounds = HardwareRounds(kernel);
  if (kernel.Is(Opcode::kGemm)) return parameters.gemm_startup_cycles + rounds;
  return parameters.alu_startup_cycles + rounds * (kernel.use_imm != 0
                                                       ? parameters.alu_immediate_cycles
                                                       : parameters.alu_register_cycles);
}

// The bursts of a LOAD or STORE in order: row by row, each row cut where bursts must end.
class BurstIterator {
 public:
  BurstIterator() = default;
  BurstIterator(const Instruction& transfer, int64_t tile_bytes, const TimingParameters& parameters)
      : row_address_(int64_t{transfer.dram_base} * tile_bytes),
        row_bytes_(transfer.x_size * tile_bytes),
        stride_bytes_(transfer.x_stride * tile_bytes),
        rows_left_(transfer.x_size == 0 ? 0 : transfer.y_size),
        burst_bytes_(parameters.max_burst_beats * parameters.bus_bytes),
        address_(row_address_) {}

  bool done() const { return rows_left_ == 0; }

  // Bytes of the next burst, whose first byte is at address().
  int64_t address() const { return address_; }
  int64_t bytes() const {
    const int64_t to_row_end = row_address_ + row_bytes_ - address_;
    return std::min(to_row_end, burst_bytes_ - (address_ & (burst_bytes_ - 1)));
  }
  // Its beats on a bus of `bus_bytes`, partly used first and last ones included.
  int64_t beats(int64_t bus_bytes) const {
    return ((address_ & (bus_bytes - 1)) + bytes() + bus_bytes - 1) / bus_bytes;
  }

  void Next() {
    address_ += bytes();
    if (address_ < row_address_ + row_bytes_) return;
    --rows_left_;
    row_address_ += stride_bytes_;
    address_ = row_address_;
  }

 private:
  int64_t row_address_ = 0, row_bytes_ = 0, stride_bytes_ = 0, rows_left_ = 0, burst_bytes_ = 1;
  int64_t address_ = 0;
};

// Zero filling of a padded LOAD in tiles: top and sides, then idle cycles, then the bottom. A
// design quirk: with bottom padding and none at the sides, it walks the rows once without writing.
struct ZeroFill {
  int64_t first_tiles = 0;
  int64_t idle_cycles = 0;
  int64_t last_tiles = 0;
  bool any() const { return first_tiles + last_tiles > 0; }
};
inline ZeroFill ZeroFillOf(const Instruction& load) {
  const int64_t sides = int64_t{load.x_pad_0} + load.x_pad_1, width = sides + load.x_size;
  return {.first_tiles = load.y_pad_0 * width + load.y_size * sides,
          .idle_cycles = load.y_pad_1 > 0 && sides == 0 ? int64_t{load.y_size} : 0,
          .last_tiles = load.y_pad_1 * width};
}

}  // namespace tessera::vta

#endif  // TESSERA_VTA_SIM_TIMING_H_
