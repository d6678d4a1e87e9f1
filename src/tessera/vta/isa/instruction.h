// VTA instructions and micro-ops in decoded form: plain fields under the names of the hardware
// headers. isa/encoding.h turns them into bits and back.
#ifndef TESSERA_VTA_ISA_INSTRUCTION_H_
#define TESSERA_VTA_ISA_INSTRUCTION_H_

#include <compare>
#include <cstdint>
#include <string>

#include "tessera/vta.h"

namespace tessera::vta {

enum class Opcode : uint8_t { kLoad = 0, kStore = 1, kGemm = 2, kFinish = 3, kAlu = 4 };
enum class AluOp : uint8_t { kMin = 0, kMax = 1, kAdd = 2, kShr = 3, kMul = 4 };

// Raw field values: a decoded instruction may hold numbers that no unit knows (check/static.h
// refuses them). Fields that a format does not have stay 0.
struct Instruction {
  uint32_t opcode = 0;
  uint32_t pop_prev = 0, pop_next = 0, push_prev = 0, push_next = 0;

  // LOAD and STORE. Sizes count tiles; SRAM is written densely, DRAM rows are x_stride apart.
  uint32_t memory_type = 0;
  uint32_t sram_base = 0, dram_base = 0;
  uint32_t y_size = 0, x_size = 0, x_stride = 0;
  uint32_t y_pad_0 = 0, y_pad_1 = 0, x_pad_0 = 0, x_pad_1 = 0;

  // GEMM and ALU: for o < iter_out, i < iter_in, u in [uop_bgn, uop_end).
  uint32_t reset = 0;
  uint32_t uop_bgn = 0, uop_end = 0, iter_out = 0, iter_in = 0;
  uint32_t dst_factor_out = 0, dst_factor_in = 0, src_factor_out = 0, src_factor_in = 0;
  uint32_t wgt_factor_out = 0, wgt_factor_in = 0;  // GEMM
  uint32_t alu_opcode = 0, use_imm = 0;            // ALU
  int32_t imm = 0;

  bool Is(Opcode op) const { return opcode == static_cast<uint32_t>(op); }
  bool IsMemory() const { return Is(Opcode::kLoad) || Is(Opcode::kStore); }
  bool IsKernel() const { return Is(Opcode::kGemm) || Is(Opcode::kAlu); }
  // A transfer of nothing: it only waits for tokens and gives some.
  bool IsNop() const { return IsMemory() && x_size == 0; }
  Memory memory() const { return static_cast<Memory>(memory_type); }

  // Tiles in SRAM, padding included.
  int64_t SramTiles() const {
    return (int64_t{x_pad_0} + x_size + x_pad_1) * (int64_t{y_pad_0} + y_size + y_pad_1);
  }
  // Tile operations; 0 if any of the loops is empty.
  int64_t Rounds() const {
    return uop_end > uop_bgn ? int64_t{iter_out} * iter_in * (uop_end - uop_bgn) : 0;
  }

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

// The unit that executes an instruction: LOAD of INP and WGT, STORE, COMPUTE for all others (LOAD
// of a memory that does not exist included).
Stage StageOf(const Instruction& instruction);

struct Uop {
  uint32_t dst = 0, src = 0, wgt = 0;
  friend auto operator<=>(const Uop&, const Uop&) = default;
};

// Names of the hardware headers: "LOAD", "UOP", "ADD", "COMPUTE"; "?7" for a value without one.
std::string OpcodeName(uint32_t opcode);
std::string MemoryName(uint32_t memory_type);
std::string AluOpName(uint32_t alu_opcode);

// The value behind a name, "?7" included; the error lists the names.
Result<uint32_t> FindOpcode(std::string_view name);
Result<uint32_t> FindMemory(std::string_view name);
Result<uint32_t> FindAluOp(std::string_view name);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_ISA_INSTRUCTION_H_
