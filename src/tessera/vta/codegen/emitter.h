// Writes instructions one after another, with the tokens each of them takes and gives.
#ifndef TESSERA_VTA_CODEGEN_EMITTER_H_
#define TESSERA_VTA_CODEGEN_EMITTER_H_

#include <cstdint>
#include <vector>

#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

struct Sync {
  bool pop_prev = false, pop_next = false, push_prev = false, push_next = false;
};

// A two-dimensional block of tiles in DRAM and where it lies in SRAM.
struct Transfer {
  int64_t sram = 0, dram = 0;
  int64_t rows = 1, columns = 0, stride = 0;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
};

// The loops of a kernel around its micro-ops: index = micro-op + outer * o + inner * i.
struct Loops {
  int64_t uop_begin = 0, uop_end = 0;
  int64_t outer = 1, inner = 1;
  int64_t dst_outer = 0, dst_inner = 0;
  int64_t src_outer = 0, src_inner = 0;
  int64_t wgt_outer = 0, wgt_inner = 0;
};

class Emitter {
 public:
  explicit Emitter(std::vector<Instruction>& instructions) : instructions_(instructions) {}

  void Load(Memory memory, const Transfer& transfer, const Sync& sync = {});
  void Store(const Transfer& transfer, const Sync& sync = {});
  void Gemm(const Loops& loops, const Sync& sync = {});
  void Reset(const Loops& loops, const Sync& sync = {});
  void AluImmediate(AluOp op, int32_t imm, const Loops& loops, const Sync& sync = {});
  void AluRegister(AluOp op, const Loops& loops, const Sync& sync = {});
  void ComputeNop(const Sync& sync);
  void Finish();

 private:
  Instruction& Add(Opcode opcode, const Sync& sync);
  Instruction& AddKernel(Opcode opcode, const Loops& loops, const Sync& sync);

  std::vector<Instruction>& instructions_;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_EMITTER_H_
