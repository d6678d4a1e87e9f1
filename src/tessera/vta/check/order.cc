#include "tessera/vta/check/order.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

namespace tessera::vta {
namespace {

using Clock = std::array<int32_t, kNumStages>;

struct Queue {
  std::string_view name;
  size_t from, to;                                // stages
  std::vector<int32_t> pushed = {}, popped = {};  // instructions
};

class Analysis {
 public:
  explicit Analysis(std::span<const Instruction> instructions) : instructions_(instructions) {
    const size_t count = instructions.size();
    order_.place.resize(count);
    order_.clocks.assign(count, Clock{});
    order_.sequence.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      auto& stage = order_.stages[static_cast<size_t>(StageOf(instructions[i]))];
      order_.place[i] = static_cast<int32_t>(stage.size());
      stage.push_back(static_cast<int32_t>(i));
    }
  }

  Order Run() {
    bool moving = true;
    while (moving) {
      moving = false;
      for (size_t stage = 0; stage < kNumStages; ++stage) {
        while (Advance(stage)) moving = true;
      }
    }
    ReportStuck();
    ReportFinish();
    ReportTokens();
    return std::move(order_);
  }

 private:
  // The queue that an instruction of `stage` pops or pushes on one side, or null.
  Queue* Pops(size_t stage, bool next) {
    if (stage == 0) return next ? &queues_[1] : nullptr;
    if (stage == 1) return next ? &queues_[3] : &queues_[0];
    return next ? nullptr : &queues_[2];
  }
  Queue* Pushes(size_t stage, bool next) {
    if (stage == 0) return next ? &queues_[0] : nullptr;
    if (stage == 1) return next ? &queues_[2] : &queues_[1];
    return next ? nullptr : &queues_[3];
  }

  bool Advance(size_t stage) {
    if (heads_[stage] == order_.stages[stage].size()) return false;
    const int32_t insn = order_.stages[stage][heads_[stage]];
    const Instruction& x = instructions_[static_cast<size_t>(insn)];
    Queue* prev = x.pop_prev != 0 ? Pops(stage, false) : nullptr;
    Queue* next = x.pop_next != 0 ? Pops(stage, true) : nullptr;
    for (const Queue* queue : {prev, next}) {
      if (queue != nullptr && queue->popped.size() == queue->pushed.size()) return false;
    }
    Clock& clock = order_.clocks[static_cast<size_t>(insn)];
    if (heads_[stage] > 0) {
      clock = order_.clocks[static_cast<size_t>(order_.stages[stage][heads_[stage] - 1])];
    }
    for (Queue* queue : {prev, next}) {
      if (queue == nullptr) continue;
      // Both sides are in order, so the n-th pop needs the n-th push.
      const Clock& sender = order_.clocks[static_cast<size_t>(queue->pushed[queue->popped.size()])];
      for (size_t s = 0; s < kNumStages; ++s) clock[s] = std::max(clock[s], sender[s]);
      queue->popped.push_back(insn);
    }
    clock[stage] = static_cast<int32_t>(++heads_[stage]);
    order_.sequence.push_back(insn);
    if (Queue* queue = Pushes(stage, false); queue != nullptr && x.push_prev != 0) {
      queue->pushed.push_back(insn);
    }
    if (Queue* queue = Pushes(stage, true); queue != nullptr && x.push_next != 0) {
      queue->pushed.push_back(insn);
    }
    return true;
  }

  void Report(Defect defect, Severity severity, int64_t insn, std::string message) {
    order_.diagnostics.push_back(
        {.defect = defect, .severity = severity, .insn = insn, .message = std::move(message)});
  }

  // COMPUTE first: it is the stage that keeps the program from finishing.
  void ReportStuck() {
    for (const size_t stage : {size_t{1}, size_t{2}, size_t{0}}) {
      if (heads_[stage] == order_.stages[stage].size()) continue;
      const int32_t insn = order_.stages[stage][heads_[stage]];
      const Instruction& x = instructions_[static_cast<size_t>(insn)];
      std::string missing;
      for (const bool next : {false, true}) {
        const Queue* queue = (next ? x.pop_next : x.pop_prev) != 0 ? Pops(stage, next) : nullptr;
        if (queue == nullptr || queue->popped.size() < queue->pushed.size()) continue;
        missing += fmt::format("{}token {} from {} to {}", missing.empty() ? "" : " and ",
                               queue->popped.size() + 1, StageName(static_cast<Stage>(queue->from)),
                               StageName(static_cast<Stage>(queue->to)));
      }
      Report(Defect::kTokenDeadlock, Severity::kError, insn,
             fmt::format("can never start: {} is never pushed", missing));
      return;
    }
  }

  void ReportFinish() {
    for (const int32_t insn : order_.stages[1]) {
      if (!instructions_[static_cast<size_t>(insn)].Is(Opcode::kFinish)) continue;
      if (order_.place[static_cast<size_t>(insn)] >= static_cast<int32_t>(heads_[1])) return;
      const Clock& clock = order_.clocks[static_cast<size_t>(insn)];
      for (const size_t stage : {size_t{0}, size_t{2}}) {
        const size_t done = static_cast<size_t>(clock[stage]);
        if (done == order_.stages[stage].size()) continue;
        return Report(
            Defect::kFinishEarly, Severity::kError, insn,
            fmt::format("FINISH does not wait for {} instruction {}",
                        StageName(static_cast<Stage>(stage)), order_.stages[stage][done]));
      }
      return;
    }
  }

  void ReportTokens() {
    std::string left;
    for (const Queue& queue : queues_) {
      const size_t count = queue.pushed.size() - queue.popped.size();
      if (count > 0) left += fmt::format("{}{} of {}", left.empty() ? "" : ", ", count, queue.name);
      for (size_t i = 0; i < queue.pushed.size(); ++i) {
        // Pops that surely came before this push.
        const int32_t seen = order_.clocks[static_cast<size_t>(queue.pushed[i])][queue.to];
        const auto popped = std::partition_point(
            queue.popped.begin(), queue.popped.end(),
            [&](int32_t insn) { return order_.place[static_cast<size_t>(insn)] < seen; });
        order_.most_tokens = std::max(
            order_.most_tokens, static_cast<int64_t>(i + 1) - (popped - queue.popped.begin()));
      }
    }
    if (!left.empty()) {
      Report(Defect::kTokensLeftOver, Severity::kWarning, std::ssize(instructions_) - 1,
             fmt::format("tokens are never popped: {}", left));
    }
  }

  const std::span<const Instruction> instructions_;
  std::array<Queue, 4> queues_ = {{{"l2g", 0, 1}, {"g2l", 1, 0}, {"g2s", 1, 2}, {"s2g", 2, 1}}};
  std::array<size_t, kNumStages> heads_ = {};
  Order order_;
};

}  // namespace

Order AnalyseOrder(std::span<const Instruction> instructions) {
  return Analysis(instructions).Run();
}

}  // namespace tessera::vta
