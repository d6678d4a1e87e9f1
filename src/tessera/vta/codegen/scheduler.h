// Turns a program that is correct when run one instruction after another into one whose stages run
// side by side: it finds the tokens. Code says which slots (parts of buffers) an instruction reads
// and writes; every conflict between stages that is not ordered yet gets one token.
#ifndef TESSERA_VTA_CODEGEN_SCHEDULER_H_
#define TESSERA_VTA_CODEGEN_SCHEDULER_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tessera/vta/codegen/emitter.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// Why the tokens are enough: both sides of a token queue are in order, and needs are added in
// program order, so the n-th pop meets the n-th push. No deadlock: every need points backwards.
class Scheduler {
 public:
  using Slot = int32_t;

  explicit Scheduler(std::vector<Instruction>& instructions)
      : instructions_(instructions), emit_(instructions) {}

  Slot AddSlot() {
    slots_.push_back({});
    return static_cast<Slot>(slots_.size()) - 1;
  }

  // Each appends one instruction that reads and writes the given slots.
  void Load(Memory memory, const Transfer& transfer, std::initializer_list<Slot> writes);
  void Store(const Transfer& transfer, std::initializer_list<Slot> reads);
  void Gemm(const Loops& loops, std::initializer_list<Slot> reads, Slot acc);
  void Reset(const Loops& loops, Slot acc);
  void AluImmediate(AluOp op, int32_t imm, const Loops& loops, Slot acc);
  void AluRegister(AluOp op, const Loops& loops, std::initializer_list<Slot> reads, Slot acc);

  // Waits for everything and ends the program.
  void Finish();

 private:
  using Clock = std::array<int32_t, kNumStages>;
  struct SlotState {
    int32_t last_write = -1;
    std::array<int32_t, kNumStages> last_read = {-1, -1, -1};
  };

  void Order(std::initializer_list<Slot> reads, std::initializer_list<Slot> writes);
  void Need(size_t insn, size_t stage, int32_t producer);
  size_t Append();  // clock and place of the instruction just written

  std::vector<Instruction>& instructions_;
  Emitter emit_;
  std::vector<SlotState> slots_;
  std::vector<Clock> clocks_;                            // by instruction
  std::array<int32_t, kNumStages> last_ = {-1, -1, -1};  // newest instruction of each stage
  std::array<int32_t, kNumStages> count_ = {};
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_SCHEDULER_H_
