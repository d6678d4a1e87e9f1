// The text form of instructions and of whole programs (docs/vta.md), in both directions.
#ifndef TESSERA_VTA_ISA_ASSEMBLY_H_
#define TESSERA_VTA_ISA_ASSEMBLY_H_

#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/vta/isa/instruction.h"
#include "tessera/vta/program.h"

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

struct AssemblyOptions {
  // Writes the memory image too; without it the text cannot be assembled again. Default: true.
  bool data = true;
};

// A whole program. Words that no instruction encodes are written as ".word HEX", so that
// ParseAssembly gives back the same program, byte for byte.
std::string WriteAssembly(const Program& program, const AssemblyOptions& options = {});
Result<Program> ParseAssembly(std::string_view text, const std::string& file);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_ISA_ASSEMBLY_H_
