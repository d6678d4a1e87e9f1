#include "tessera/vta/codegen/scheduler.h"

#include <algorithm>

#include "tessera/result.h"

namespace tessera::vta {
namespace {

constexpr size_t kLoad = static_cast<size_t>(Stage::kLoad);
constexpr size_t kCompute = static_cast<size_t>(Stage::kCompute);
constexpr size_t kStore = static_cast<size_t>(Stage::kStore);

}  // namespace

size_t Scheduler::Append() {
  const size_t insn = instructions_.size() - 1;
  const size_t stage = static_cast<size_t>(StageOf(instructions_[insn]));
  Clock clock = last_[stage] >= 0 ? clocks_[static_cast<size_t>(last_[stage])] : Clock{};
  clock[stage] = ++count_[stage];
  clocks_.push_back(clock);
  last_[stage] = static_cast<int32_t>(insn);
  return insn;
}

// Makes the newest instruction wait for `producer`, unless it is ordered after it already.
void Scheduler::Need(size_t insn, size_t stage, int32_t producer) {
  if (producer < 0) return;
  const size_t from = static_cast<size_t>(StageOf(instructions_[static_cast<size_t>(producer)]));
  const Clock& sent = clocks_[static_cast<size_t>(producer)];
  Clock& clock = clocks_[insn];
  if (from == stage || clock[from] >= sent[from]) return;
  TESSERA_CHECK(from == kCompute || stage == kCompute);  // LOAD and STORE share no tokens
  Instruction& sender = instructions_[static_cast<size_t>(producer)];
  Instruction& receiver = instructions_[insn];
  // Stages are numbered along the pipeline.
  (from < stage ? sender.push_next : sender.push_prev) = 1;
  (from < stage ? receiver.pop_prev : receiver.pop_next) = 1;
  for (size_t s = 0; s < kNumStages; ++s) clock[s] = std::max(clock[s], sent[s]);
}

void Scheduler::Order(const Slots& reads, const Slots& writes) {
  const size_t insn = Append();
  const size_t stage = static_cast<size_t>(StageOf(instructions_[insn]));
  // One token per queue is enough: the newest producer of each stage covers the older ones.
  std::array<int32_t, kNumStages> newest = {-1, -1, -1};
  const auto need = [&](int32_t producer) {
    if (producer < 0) return;
    const size_t from = static_cast<size_t>(StageOf(instructions_[static_cast<size_t>(producer)]));
    newest[from] = std::max(newest[from], producer);
  };
  reads.ForEach([&](Slot slot) { need(slots_[static_cast<size_t>(slot)].last_write); });
  writes.ForEach([&](Slot slot) {
    const SlotState& state = slots_[static_cast<size_t>(slot)];
    need(state.last_write);
    for (const int32_t reader : state.last_read) need(reader);
  });
  for (const int32_t producer : newest) Need(insn, stage, producer);
  const auto number = static_cast<int32_t>(insn);
  reads.ForEach([&](Slot slot) { slots_[static_cast<size_t>(slot)].last_read[stage] = number; });
  writes.ForEach([&](Slot slot) { slots_[static_cast<size_t>(slot)] = {.last_write = number}; });
}

void Scheduler::Load(Memory memory, const Transfer& transfer, const Slots& writes) {
  emit_.Load(memory, transfer);
  Order({}, writes);
}

void Scheduler::Store(const Transfer& transfer, const Slots& reads) {
  emit_.Store(transfer);
  Order(reads, {});
}

void Scheduler::Gemm(const Loops& loops, const Slots& reads, const Slots& acc) {
  emit_.Gemm(loops);
  Order(reads, acc);
}

void Scheduler::Reset(const Loops& loops, const Slots& acc) {
  emit_.Reset(loops);
  Order({}, acc);
}

void Scheduler::AluImmediate(AluOp op, int32_t imm, const Loops& loops, const Slots& acc) {
  emit_.AluImmediate(op, imm, loops);
  Order({}, acc);
}

void Scheduler::AluRegister(AluOp op, const Loops& loops, const Slots& reads, const Slots& acc) {
  emit_.AluRegister(op, loops);
  Order(reads, acc);
}

void Scheduler::Finish() {
  const int32_t last_load = last_[kLoad], last_store = last_[kStore];
  for (const int32_t last : {last_load, last_store}) {
    if (last < 0) continue;
    const size_t stage = static_cast<size_t>(StageOf(instructions_[static_cast<size_t>(last)]));
    const Clock& done = clocks_[static_cast<size_t>(last_[kCompute])];
    if (done[stage] == count_[stage]) continue;
    emit_.ComputeNop({});
    Need(Append(), kCompute, last);
  }
  emit_.Finish();
  Append();
}

}  // namespace tessera::vta
