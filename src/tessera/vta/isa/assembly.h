// The text form of single instructions (docs/vta.md), in both directions. tessera/vta.h has that of
// whole programs.
#ifndef TESSERA_VTA_ISA_ASSEMBLY_H_
#define TESSERA_VTA_ISA_ASSEMBLY_H_

#include <string>
#include <string_view>

#include "tessera/result.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// One instruction, without a line end:
//   LOAD.INP sram=0 dram=256 size=8x2 stride=8 pad=1,0,1,0 pop_next push_next
//   GEMM uop=0..4 iter=3x1 dst=1,0 src=0,0 wgt=0,0 pop_prev      (GEMM.RESET zeroes dst)
//   ALU.ADD uop=0..1 iter=1x4 dst=0,1 src=0,1 imm=-3
//   NOP.COMPUTE pop_next                                         (also NOP.LOAD, NOP.STORE)
//   FINISH
// size is x times y, iter outer times inner, a pair of factors is outer, inner; pad is top,
// bottom, left, right. What is 0 may be left out when reading.
std::string ToText(const Instruction& instruction);

// Reads one instruction; the error stands at `where`, its column moved to the offending word.
Result<Instruction> ParseInstruction(std::string_view text, const Where& where);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_ISA_ASSEMBLY_H_
