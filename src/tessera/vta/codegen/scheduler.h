// Turns a program that is correct when run one instruction after another into one whose stages run
// side by side: it finds the tokens. Code says which slots (parts of buffers) an instruction reads
// and writes; every conflict between stages that is not ordered yet gets one token.
#ifndef TESSERA_VTA_CODEGEN_SCHEDULER_H_
#define TESSERA_VTA_CODEGEN_SCHEDULER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tessera/vta/codegen/emitter.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// Why the tokens are enough: both sides of a token queue are in order, and needs are added in
// program order, so the n-th pop meets the n-th push. No deadlock: every need points backwards.
class Scheduler {
 public:
  using Slot = int32_t;

  // Those that an instruction reads or writes: a few ranges of them. One stands for itself.
  class Slots {
   public:
    Slots() = default;
    Slots(Slot slot) { Add(slot, slot + 1); }  // NOLINT(google-explicit-constructor)
    Slots(std::initializer_list<Slot> slots) {
      for (const Slot slot : slots) Add(slot, slot + 1);
    }

    static Slots Range(Slot begin, Slot end) {
      Slots slots{};
      slots.Add(begin, end);
      return slots;
    }
    Slots With(const Slots& others) const {
      Slots all = *this;
      for (size_t i = 0; i < others.count_; ++i) {
        all.Add(others.ranges_[i].first, others.ranges_[i].second);
      }
      return all;
    }

    template <typename Visit>
    void ForEach(const Visit& visit) const {
      for (size_t i = 0; i < count_; ++i) {
        for (Slot slot = ranges_[i].first; slot < ranges_[i].second; ++slot) visit(slot);
      }
    }

   private:
    void Add(Slot begin, Slot end) { ranges_.at(count_++) = {begin, end}; }
    std::array<std::pair<Slot, Slot>, 4> ranges_ = {};
    size_t count_ = 0;
  };

  explicit Scheduler(std::vector<Instruction>& instructions)
      : instructions_(instructions), emit_(instructions) {}

  Slot AddSlot() { return AddSlots(1); }

  // The first of so many, whose numbers follow each other.
  Slot AddSlots(size_t count) {
    slots_.resize(slots_.size() + count);
    return static_cast<Slot>(slots_.size() - count);
  }

  // Each appends one instruction that reads and writes the given slots.
  void Load(Memory memory, const Transfer& transfer, const Slots& writes);
  void Store(const Transfer& transfer, const Slots& reads);
  void Gemm(const Loops& loops, const Slots& reads, const Slots& acc);
  void Reset(const Loops& loops, const Slots& acc);
  void AluImmediate(AluOp op, int32_t imm, const Loops& loops, const Slots& acc);
  void AluRegister(AluOp op, const Loops& loops, const Slots& reads, const Slots& acc);

  // Waits for everything and ends the program.
  void Finish();

 private:
  using Clock = std::array<int32_t, kNumStages>;
  struct SlotState {
    int32_t last_write = -1;
    std::array<int32_t, kNumStages> last_read = {-1, -1, -1};
  };

  void Order(const Slots& reads, const Slots& writes);
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
