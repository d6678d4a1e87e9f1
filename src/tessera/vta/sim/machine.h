// The state of a VTA and what each instruction does to it, bit by bit and without time. Semantics
// follow the published functional simulator; where hardware differs, check/portable.h says so.
#ifndef TESSERA_VTA_SIM_MACHINE_H_
#define TESSERA_VTA_SIM_MACHINE_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tessera/vta.h"
#include "tessera/vta/isa/encoding.h"
#include "tessera/vta/isa/instruction.h"
#include "tessera/vta/program.h"

namespace tessera::vta {

// Contract:
//   Threads      used by one thread at a time.
//   Ownership    the program outlives the machine; STORE writes into its image.
//   Preconditions of Execute  the instruction passed check/static.h, and check/access.h found its
//                tile indices in range. Instructions of different stages may come in any order
//                that their tokens allow.
class Machine {
 public:
  explicit Machine(Program& program);

  void Execute(const Instruction& instruction);

  // The micro-op buffer as it stands.
  std::span<const Uop> uops() const { return uops_; }
  const ExecutionCounts& counts() const { return counts_; }

  // Whether a register shift by an amount outside 0..31 was executed since the last call.
  bool TakeOddShift() { return std::exchange(odd_shift_, false); }

 private:
  void Load(const Instruction& instruction);
  void LoadTile(Memory memory, int64_t index, const uint8_t* bytes);
  void ClearTile(Memory memory, int64_t index);
  void Store(const Instruction& instruction);
  void Gemm(const Instruction& instruction);
  template <int kBlockIn>
  void MultiplyTiles(const Instruction& instruction);
  void Alu(const Instruction& instruction);

  Program& program_;
  const Encoding encoding_;
  const int64_t inp_elements_, wgt_elements_, acc_elements_;  // per tile
  std::vector<Uop> uops_;
  // 16-bit copies of int8 operands: products then come from one multiply-add instruction.
  std::vector<int16_t> inp_, wgt_;
  std::vector<uint32_t> acc_;  // unsigned: sums wrap around
  ExecutionCounts counts_;
  bool odd_shift_ = false;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_SIM_MACHINE_H_
