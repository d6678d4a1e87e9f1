#include "tessera/vta/sim/step.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>

#include <fmt/format.h>

namespace tessera::vta {
namespace {

struct Counter {
  int64_t count = 0;
  bool posted = false, popped = false;  // in this cycle
};

// One of the five read ports.
struct Port {
  std::deque<int64_t> bursts;  // beats of those not handed over yet
  int64_t hand_over_from = 0;  // earliest cycle of the next hand-over
  int64_t slot_beats = 0;      // 0: the slot is empty
  int64_t slot_from = 0;       // cycle from which its request may be issued
  int64_t owner = -1;          // instruction; -1 for fetch
};

struct Burst {
  size_t port = 0;
  int64_t beats = 0, queued_from = 0;
};

// A LOAD under way.
struct Transfer {
  int64_t beats = 0, beats_seen = 0, last_seen = -1, last_beat = -1, first_handed = -1;
  int64_t zeros_done = 0, idled = 0, last_zero = -1;
};

struct Unit {
  std::deque<int64_t> queue;
  std::deque<int64_t> head_from;  // cycle from which the entry of `queue` can be at the head
  int64_t total = 0, retired = 0;
  int64_t active = -1;
  int64_t freed = -1;    // cycle in which an entry last left the queue
  int64_t done_at = -1;  // known ahead for everything but LOAD
  Transfer transfer;
};

class Stepper {
 public:
  Stepper(std::span<const Instruction> instructions, const Config& config,
          const TimingParameters& parameters, std::vector<InstructionTime>& times)
      : instructions_(instructions), config_(config), p_(parameters), times_(times) {
    times_.assign(instructions.size(), {});
    for (const Instruction& instruction : instructions) ++UnitOf(instruction).total;
  }

  Result<CycleReport> Run() {
    fetch_next_ = 1;
    for (now_ = 0; finish_ < 0; ++now_) {
      if (now_ - last_progress_ > p_.read_delay_cycles + p_.write_ack_delay_cycles + 64 &&
          Stuck()) {
        return Error{.kind = ErrorKind::kInfeasible, .message = "the program never finishes"};
      }
      Deliver();
      for (const Stage stage : {Stage::kLoad, Stage::kCompute, Stage::kStore}) Step(stage);
      Fetch();
      HandOver();
      Issue();
      Take();
      UpdateCounters();
    }
    report_.cycles = finish_;
    return report_;
  }

 private:
  enum : size_t { kFetchPort, kUopPort, kInpPort, kWgtPort, kAccPort, kNumPorts };

  Unit& UnitOf(const Instruction& instruction) {
    return units_[static_cast<size_t>(StageOf(instruction))];
  }
  static size_t PortOf(const Instruction& load) {
    switch (load.memory()) {
      case Memory::kUop: return kUopPort;
      case Memory::kInp: return kInpPort;
      case Memory::kWgt: return kWgtPort;
      default: return kAccPort;
    }
  }

  // Nothing moves any more: no beat under way, no unit busy, nothing to fetch.
  bool Stuck() const {
    const bool busy = std::any_of(units_.begin(), units_.end(),
                                  [](const Unit& unit) { return unit.active >= 0; });
    const bool fetching = fetched_ < instructions_.size() && batch_left_ == 0;
    return !busy && beats_.empty() && memory_.empty() && !fetching;
  }

  // Beats that became visible to their owners in this cycle.
  void Deliver() {
    data_seen_.fill(false);
    while (!beats_.empty() && beats_.front().seen == now_) {
      const Beat beat = beats_.front();
      beats_.pop_front();
      last_progress_ = now_;
      if (beat.port == kFetchPort) {
        if (--fetch_beats_ == 0) dispatch_from_ = now_ + 1;
        continue;
      }
      const size_t stage = beat.port == kInpPort || beat.port == kWgtPort ? 0 : 1;
      data_seen_[stage] = true;
      Transfer& transfer = units_[stage].transfer;
      ++transfer.beats_seen;
      transfer.last_seen = now_;
      transfer.last_beat = beat.on_bus;
    }
  }

  Counter* CounterFor(Stage stage, bool pop, bool next) {
    // l2g, g2l, g2s, s2g
    if (stage == Stage::kLoad) return next ? &counters_[pop ? 1 : 0] : nullptr;
    if (stage == Stage::kStore) return next ? nullptr : &counters_[pop ? 2 : 3];
    return pop ? &counters_[next ? 3 : 0] : &counters_[next ? 2 : 1];
  }

  void Step(Stage stage) {
    Unit& unit = units_[static_cast<size_t>(stage)];
    StageUse& use = report_.stages[static_cast<size_t>(stage)];
    if (unit.active >= 0) {
      ++use.busy_cycles;
      last_progress_ = now_;
      if (IsDone(stage, unit)) Retire(stage, unit);
      return;
    }
    if (unit.retired == unit.total) return;
    if (unit.queue.empty() || unit.head_from.front() > now_) {
      ++use.fetch_cycles;
      return;
    }
    const int64_t insn = unit.queue.front();
    const Instruction& instruction = instructions_[static_cast<size_t>(insn)];
    Counter* prev = instruction.pop_prev != 0 ? CounterFor(stage, true, false) : nullptr;
    Counter* next = instruction.pop_next != 0 ? CounterFor(stage, true, true) : nullptr;
    if ((prev != nullptr && prev->count == 0) || (next != nullptr && next->count == 0)) {
      ++use.token_cycles;
      return;
    }
    if (prev != nullptr) prev->popped = true;
    if (next != nullptr) next->popped = true;
    ++use.busy_cycles;
    Start(stage, unit, insn, instruction);
  }

  void Start(Stage stage, Unit& unit, int64_t insn, const Instruction& instruction) {
    last_progress_ = now_;
    unit.active = insn;
    unit.done_at = -1;
    times_[static_cast<size_t>(insn)].start = now_;
    if (instruction.IsKernel()) {
      unit.done_at = now_ + KernelCycles(instruction, p_);
      report_.acc_writes += HardwareRounds(instruction);
    } else if (!instruction.IsMemory() || instruction.IsNop()) {
      unit.done_at = now_ + 1;
    } else if (stage == Stage::kStore) {
      unit.done_at = StoreDone(instruction);
    } else {
      unit.transfer = {};
      Port& port = ports_[PortOf(instruction)];
      port.owner = insn;
      port.hand_over_from = now_ + 1 + instruction.y_pad_0;
      for (BurstIterator burst(instruction, config_.TileBytes(instruction.memory()), p_);
           !burst.done(); burst.Next()) {
        port.bursts.push_back(burst.beats(p_.bus_bytes));
        unit.transfer.beats += port.bursts.back();
      }
    }
  }

  int64_t StoreDone(const Instruction& store) {
    const int64_t tile_bytes = config_.TileBytes(Memory::kOut);
    const int64_t tile_beats = std::max<int64_t>(tile_bytes / p_.bus_bytes, 1);
    int64_t command = now_ + 1, acknowledge = 0;
    for (BurstIterator burst(store, tile_bytes, p_); !burst.done(); burst.Next()) {
      const int64_t tiles = burst.bytes() / tile_bytes;
      acknowledge =
          command + tiles * (tile_beats + p_.store_tile_cycles) + 2 + p_.write_ack_delay_cycles;
      command = acknowledge + 1;
      ++report_.write_bursts;
      report_.write_beats += tiles * tile_beats;
    }
    return acknowledge;
  }

  bool IsDone(Stage stage, Unit& unit) {
    if (unit.done_at >= 0) return now_ == unit.done_at;
    const Instruction& load = instructions_[static_cast<size_t>(unit.active)];
    Transfer& transfer = unit.transfer;
    const ZeroFill zeros = ZeroFillOf(load);
    const int64_t all = zeros.first_tiles + zeros.last_tiles;
    const bool filled = transfer.zeros_done == all && transfer.last_zero < now_;
    FillZeros(zeros, times_[static_cast<size_t>(unit.active)].start,
              data_seen_[static_cast<size_t>(stage)], transfer);
    const Port& port = ports_[PortOf(load)];
    return filled && port.bursts.empty() && transfer.beats_seen == transfer.beats &&
           transfer.last_seen < now_;
  }

  void FillZeros(const ZeroFill& zeros, int64_t start, bool data_seen, Transfer& transfer) {
    if (now_ < start + 2 || transfer.zeros_done == zeros.first_tiles + zeros.last_tiles) return;
    if (transfer.zeros_done >= zeros.first_tiles && transfer.idled < zeros.idle_cycles) {
      ++transfer.idled;
      return;
    }
    if (data_seen) return;
    ++transfer.zeros_done;
    transfer.last_zero = now_;
  }

  void Retire(Stage stage, Unit& unit) {
    const Instruction& instruction = instructions_[static_cast<size_t>(unit.active)];
    times_[static_cast<size_t>(unit.active)].done = now_;
    StageUse& use = report_.stages[static_cast<size_t>(stage)];
    ++use.instructions;
    if (unit.done_at < 0) {
      const int64_t alone =
          3 + p_.read_delay_cycles + (unit.transfer.beats - 1) * p_.beat_gap_cycles;
      use.bus_cycles +=
          std::max<int64_t>(unit.transfer.last_beat - unit.transfer.first_handed - alone, 0);
    }
    if (Counter* counter = CounterFor(stage, false, false);
        counter != nullptr && instruction.push_prev != 0) {
      counter->posted = true;
    }
    if (Counter* counter = CounterFor(stage, false, true);
        counter != nullptr && instruction.push_next != 0) {
      counter->posted = true;
    }
    if (instruction.Is(Opcode::kFinish)) finish_ = now_;
    unit.active = -1;
    unit.queue.pop_front();
    unit.head_from.pop_front();
    unit.freed = now_;
    ++unit.retired;
  }

  void Fetch() {
    if (now_ == fetch_next_ && fetched_ < instructions_.size()) {
      const size_t count =
          std::min(instructions_.size() - fetched_, static_cast<size_t>(p_.fetch_batch));
      fetched_ += count;
      batch_left_ = static_cast<int64_t>(count);
      fetch_beats_ = std::max<int64_t>(batch_left_ * 16 / p_.bus_bytes, 1);
      ports_[kFetchPort].slot_beats = fetch_beats_;
      ports_[kFetchPort].slot_from = now_ + 1;
      dispatch_from_ = -1;
      last_progress_ = now_;
      return;
    }
    if (batch_left_ == 0 || dispatch_from_ < 0 || now_ < dispatch_from_) return;
    Unit& unit = UnitOf(instructions_[dispatched_]);
    // An entry that leaves in this cycle makes room in the next one.
    const int64_t occupied = std::ssize(unit.queue) + (unit.freed == now_ ? 1 : 0);
    if (occupied >= p_.queue_depth) return;
    last_progress_ = now_;
    unit.queue.push_back(static_cast<int64_t>(dispatched_++));
    unit.head_from.push_back(now_ + 1);
    if (--batch_left_ == 0) fetch_next_ = now_ + 2;
  }

  void HandOver() {
    for (size_t i = kUopPort; i < kNumPorts; ++i) {
      Port& port = ports_[i];
      if (port.bursts.empty() || port.slot_beats != 0 || now_ < port.hand_over_from) continue;
      port.slot_beats = port.bursts.front();
      port.slot_from = now_ + 1;
      port.bursts.pop_front();
      const size_t stage = i == kInpPort || i == kWgtPort ? 0 : 1;
      int64_t& first = units_[stage].transfer.first_handed;
      if (first < 0) first = now_;
    }
  }

  void Issue() {
    if (outstanding_ >= p_.max_outstanding_bursts) return;
    if (std::any_of(last_beats_.begin(), last_beats_.end(),
                    [this](int64_t beat) { return beat == now_; })) {
      return;
    }
    for (size_t i = 0; i < kNumPorts; ++i) {
      Port& port = ports_[i];
      if (port.slot_beats == 0 || port.slot_from > now_) continue;
      memory_.push_back({i, port.slot_beats, now_ + 1});
      ++report_.read_bursts;
      report_.read_beats += port.slot_beats;
      ++outstanding_;
      port.slot_beats = 0;
      port.hand_over_from = now_ + 1;
      return;
    }
  }

  void Take() {
    const bool waiting = !memory_.empty() && memory_.front().queued_from <= now_;
    const bool take = waiting && delay_ == p_.read_delay_cycles && now_ >= held_until_;
    delay_ = waiting ? std::min(delay_ + 1, p_.read_delay_cycles) : 0;
    while (!last_beats_.empty() && last_beats_.front() <= now_) {
      last_beats_.pop_front();
      --outstanding_;
    }
    if (!take) return;
    const Burst burst = memory_.front();
    memory_.pop_front();
    held_until_ = now_ + burst.beats * p_.beat_gap_cycles;
    const int64_t delay = burst.port == kFetchPort || burst.port == kUopPort ? 1 : 2;
    int64_t beat = now_ + 1;
    for (int64_t i = 0; i < burst.beats; ++i, beat += p_.beat_gap_cycles) {
      Insert({.port = burst.port, .on_bus = beat, .seen = beat + delay});
    }
    last_beats_.push_back(beat - p_.beat_gap_cycles);
  }

  void UpdateCounters() {
    for (Counter& counter : counters_) {
      if (counter.posted && !counter.popped) {
        counter.count = std::min(counter.count + 1, p_.max_tokens);
      }
      if (counter.popped && !counter.posted) --counter.count;
      counter.posted = counter.popped = false;
    }
  }

  struct Beat {
    size_t port;
    int64_t on_bus, seen;
  };
  // Keeps beats in the order in which they are seen: fetch and UOP see theirs earlier.
  void Insert(const Beat& beat) {
    auto place = beats_.end();
    while (place != beats_.begin() && std::prev(place)->seen > beat.seen) --place;
    beats_.insert(place, beat);
  }

  const std::span<const Instruction> instructions_;
  const Config& config_;
  const TimingParameters& p_;
  std::vector<InstructionTime>& times_;
  int64_t now_ = 0, last_progress_ = 0, finish_ = -1;
  std::array<Unit, kNumStages> units_;
  std::array<Counter, 4> counters_;
  std::array<Port, kNumPorts> ports_;
  std::deque<Burst> memory_;
  std::deque<Beat> beats_;
  std::deque<int64_t> last_beats_;
  std::array<bool, 2> data_seen_ = {};
  int64_t delay_ = 0, held_until_ = 0, outstanding_ = 0;
  size_t fetched_ = 0, dispatched_ = 0;
  int64_t fetch_next_ = 1, batch_left_ = 0, fetch_beats_ = 0, dispatch_from_ = -1;
  CycleReport report_;
};

}  // namespace

Result<CycleReport> StepThrough(std::span<const Instruction> instructions, const Config& config,
                                const TimingParameters& parameters,
                                std::vector<InstructionTime>* times) {
  return Stepper(instructions, config, parameters, *times).Run();
}

}  // namespace tessera::vta
