#include "tessera/vta/codegen/emitter.h"

namespace tessera::vta {
namespace {

uint32_t U32(int64_t value) { return static_cast<uint32_t>(value); }

void SetTransfer(const Transfer& transfer, Instruction& instruction) {
  instruction.sram_base = U32(transfer.sram);
  instruction.dram_base = U32(transfer.dram);
  instruction.y_size = U32(transfer.rows);
  instruction.x_size = U32(transfer.columns);
  instruction.x_stride = U32(transfer.stride);
  instruction.y_pad_0 = U32(transfer.pad_top);
  instruction.y_pad_1 = U32(transfer.pad_bottom);
  instruction.x_pad_0 = U32(transfer.pad_left);
  instruction.x_pad_1 = U32(transfer.pad_right);
}

}  // namespace

Instruction& Emitter::Add(Opcode opcode, const Sync& sync) {
  Instruction& instruction = instructions_.emplace_back();
  instruction.opcode = static_cast<uint32_t>(opcode);
  instruction.pop_prev = sync.pop_prev;
  instruction.pop_next = sync.pop_next;
  instruction.push_prev = sync.push_prev;
  instruction.push_next = sync.push_next;
  return instruction;
}

Instruction& Emitter::AddKernel(Opcode opcode, const Loops& loops, const Sync& sync) {
  Instruction& kernel = Add(opcode, sync);
  kernel.uop_bgn = U32(loops.uop_begin);
  kernel.uop_end = U32(loops.uop_end);
  kernel.iter_out = U32(loops.outer);
  kernel.iter_in = U32(loops.inner);
  kernel.dst_factor_out = U32(loops.dst_outer);
  kernel.dst_factor_in = U32(loops.dst_inner);
  kernel.src_factor_out = U32(loops.src_outer);
  kernel.src_factor_in = U32(loops.src_inner);
  return kernel;
}

void Emitter::Load(Memory memory, const Transfer& transfer, const Sync& sync) {
  Instruction& load = Add(Opcode::kLoad, sync);
  load.memory_type = static_cast<uint32_t>(memory);
  SetTransfer(transfer, load);
}

void Emitter::Store(const Transfer& transfer, const Sync& sync) {
  Instruction& store = Add(Opcode::kStore, sync);
  store.memory_type = static_cast<uint32_t>(Memory::kOut);
  SetTransfer(transfer, store);
}

void Emitter::Gemm(const Loops& loops, const Sync& sync) {
  Instruction& gemm = AddKernel(Opcode::kGemm, loops, sync);
  gemm.wgt_factor_out = U32(loops.wgt_outer);
  gemm.wgt_factor_in = U32(loops.wgt_inner);
}

void Emitter::Reset(const Loops& loops, const Sync& sync) {
  AddKernel(Opcode::kGemm, loops, sync).reset = 1;
}

void Emitter::AluImmediate(AluOp op, int32_t imm, const Loops& loops, const Sync& sync) {
  Instruction& alu = AddKernel(Opcode::kAlu, loops, sync);
  alu.alu_opcode = static_cast<uint32_t>(op);
  alu.use_imm = 1;
  alu.imm = imm;
}

void Emitter::AluRegister(AluOp op, const Loops& loops, const Sync& sync) {
  AddKernel(Opcode::kAlu, loops, sync).alu_opcode = static_cast<uint32_t>(op);
}

void Emitter::ComputeNop(const Sync& sync) {
  Add(Opcode::kLoad, sync).memory_type = static_cast<uint32_t>(Memory::kUop);
}

void Emitter::Finish() { Add(Opcode::kFinish, {}); }

}  // namespace tessera::vta
