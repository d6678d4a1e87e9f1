#include "tessera/vta/check/portable.h"

#include <fmt/format.h>

namespace tessera::vta {
namespace {

constexpr uint32_t kHardwareUops = 2048;

// Whether two micro-ops in a row, loops included, satisfy `clash(before, after)`, which gets the
// pairs (dst, src) of both.
template <typename Clash>
bool AnyNeighbours(const Instruction& k, std::span<const Uop> uops, const Clash& clash) {
  struct Tiles {
    int64_t dst, src;
  };
  const auto tiles = [&](int64_t o, int64_t i, uint32_t u) {
    return Tiles{uops[u].dst + o * k.dst_factor_out + i * k.dst_factor_in,
                 uops[u].src + o * k.src_factor_out + i * k.src_factor_in};
  };
  for (int64_t o = 0; o < k.iter_out; ++o) {
    for (int64_t i = 0; i < k.iter_in; ++i) {
      for (uint32_t u = k.uop_bgn; u + 1 < k.uop_end; ++u) {
        if (clash(tiles(o, i, u), tiles(o, i, u + 1))) return true;
      }
      const bool wraps = i + 1 == k.iter_in;
      if (wraps && o + 1 == k.iter_out) continue;
      const int64_t next_o = wraps ? o + 1 : o, next_i = wraps ? 0 : i + 1;
      if (clash(tiles(o, i, k.uop_end - 1), tiles(next_o, next_i, k.uop_bgn))) return true;
    }
  }
  return false;
}

std::optional<std::string> ImmediatePortability(const Instruction& alu, std::span<const Uop> uops) {
  bool same = (alu.iter_out == 1 || alu.src_factor_out == alu.dst_factor_out) &&
              (alu.iter_in == 1 || alu.src_factor_in == alu.dst_factor_in);
  for (uint32_t u = alu.uop_bgn; u < alu.uop_end; ++u) same = same && uops[u].src == uops[u].dst;
  if (!same) return "an immediate ALU operation whose src differs from dst: hardware reads src";
  if (alu.alu_opcode == static_cast<uint32_t>(AluOp::kShr) && (alu.imm < -31 || alu.imm > 31)) {
    return fmt::format("a shift by {}: hardware takes its low five bits", alu.imm);
  }
  if (AnyNeighbours(alu, uops, [](const auto& a, const auto& b) { return a.dst == b.dst; })) {
    return "an immediate ALU operation on the same tile twice in a row: hardware reads the old "
           "value";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> TransferPortability(const Instruction& transfer) {
  if (transfer.IsNop() || !transfer.Is(Opcode::kLoad)) return std::nullopt;
  if (transfer.memory() == Memory::kAcc8Bit) return "hardware has no 8-bit accumulator loads";
  if (transfer.memory() != Memory::kUop) return std::nullopt;
  const bool padded =
      (transfer.y_pad_0 | transfer.y_pad_1 | transfer.x_pad_0 | transfer.x_pad_1) != 0;
  if (transfer.y_size != 1 || padded) return "hardware loads micro-ops in one row without padding";
  if (transfer.sram_base + transfer.x_size > kHardwareUops) {
    return fmt::format("hardware holds {} micro-ops", kHardwareUops);
  }
  return std::nullopt;
}

std::optional<std::string> KernelPortability(const Instruction& kernel, std::span<const Uop> uops) {
  if (kernel.Rounds() == 0) return "hardware runs an empty loop 16384 times";
  if (kernel.uop_end > kHardwareUops)
    return fmt::format("hardware holds {} micro-ops", kHardwareUops);
  if (!kernel.Is(Opcode::kAlu)) return std::nullopt;
  if (kernel.alu_opcode == static_cast<uint32_t>(AluOp::kMul)) return "hardware has no MUL";
  if (kernel.use_imm != 0) return ImmediatePortability(kernel, uops);
  if (kernel.imm != 0) return "a register ALU operation with an immediate, which hardware uses";
  if (AnyNeighbours(kernel, uops, [](const auto& a, const auto& b) { return a.dst == b.src; })) {
    return "a register ALU operation that reads the tile written just before: hardware reads the "
           "old value";
  }
  return std::nullopt;
}

}  // namespace tessera::vta
