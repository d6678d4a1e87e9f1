// How it works: apart from the read bus everything is data flow. When an instruction starts and
// ends follows from times already known (dispatch, tokens, the instruction before), so stages run
// ahead as far as they can; only bursts on the bus are taken in time order, one event each. Once a
// burst is issued its beats are known, because memory serves in order.
#include "tessera/vta/sim/cycles.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tessera/vta/sim/step.h"

namespace tessera::vta {
namespace {

constexpr int64_t kNever = int64_t{1} << 62;

// Token queues: who pushes, who pops.
enum Queue : size_t {
  kLoadToCompute,
  kComputeToLoad,
  kComputeToStore,
  kStoreToCompute,
  kNumQueues
};
constexpr size_t kNoQueue = kNumQueues;

struct StageQueues {
  size_t pop_prev, pop_next, push_prev, push_next;
};
constexpr std::array<StageQueues, kNumStages> kQueues = {{
    {kNoQueue, kComputeToLoad, kNoQueue, kLoadToCompute},
    {kLoadToCompute, kStoreToCompute, kComputeToLoad, kComputeToStore},
    {kComputeToStore, kNoQueue, kStoreToCompute, kNoQueue},
}};

// The sides of the read bus; LOAD and COMPUTE have at most one transfer each.
enum Side : size_t { kFetchSide, kLoadSide, kComputeSide, kNumSides };

// Fixed priority of the five read ports; lower goes first.
int PortPriority(Memory memory) {
  switch (memory) {
    case Memory::kUop: return 1;
    case Memory::kInp: return 2;
    case Memory::kWgt: return 3;
    default: return 4;
  }
}

}  // namespace

class CycleSimulator::State {
 public:
  State(const Config& config, const TimingParameters& parameters)
      : config_(config), parameters_(parameters) {}

  Result<CycleReport> Run(std::span<const Instruction> instructions);

  std::span<const InstructionTime> timeline() const { return times_; }
  std::span<const ReadBurst> bursts() const { return bursts_; }
  std::span<const InstructionWait> waits() const { return waits_; }
  void RecordDetails(bool on) { record_details_ = on; }

 private:
  struct Tokens {
    std::vector<int64_t> posted, popped;  // cycles, in order
  };
  struct StageState {
    std::vector<int32_t> queue;  // all of its instructions
    size_t head = 0;             // the next to start
    int64_t free_from = 0;
    bool loading = false;
  };
  // One side of the bus: a request slot, and the transfer behind it.
  struct Port {
    int64_t ready = kNever;  // first cycle in which the slot's request may be issued
    int priority = 0;
    int64_t insn = -1;
    int64_t beats = 0;  // of the request in the slot
    BurstIterator bursts;
    int64_t first_handed = 0, total_beats = 0;
    bool keep = false;  // padded: zero filling needs to know when beats come
    std::vector<std::pair<int64_t, int64_t>> beats_seen;  // first beat on the bus, count
  };

  Result<void> Prepare(std::span<const Instruction> instructions);
  void RequestFetch(int64_t handed);
  bool Dispatch();
  bool AdvanceStage(Stage stage);
  bool FindStart(Stage stage, const Instruction& instruction, int64_t dispatched, int64_t* start);
  void StartLoad(Stage stage, int64_t insn, int64_t start);
  int64_t StoreDone(const Instruction& store, int64_t start);
  void FinishLoad(Stage stage, int64_t last_beat);
  int64_t ZeroFillEnd(const Port& port, const Instruction& load, int64_t start) const;
  void Retire(Stage stage, int64_t insn, int64_t done);
  bool IssueBurst();
  bool TokensSaturate() const;
  Error NeverFinishes() const;

  Port& PortOf(Stage stage) { return ports_[stage == Stage::kLoad ? kLoadSide : kComputeSide]; }

  const Config config_;
  const TimingParameters parameters_;
  bool record_details_ = false;

  std::span<const Instruction> instructions_;
  std::vector<InstructionTime> times_;
  std::vector<int64_t> dispatched_;  // by instruction; kNever while unknown
  std::vector<int32_t> place_;       // of an instruction in its stage's queue
  std::array<StageState, kNumStages> stages_;
  std::array<Tokens, kNumQueues> tokens_;
  std::array<Port, kNumSides> ports_;

  size_t requested_ = 0;  // instructions whose batch has been asked for
  size_t next_dispatch_ = 0;
  int64_t dispatch_from_ = 0;  // earliest cycle of the next dispatch

  std::vector<int64_t> last_beats_;  // of all issued bursts
  size_t oldest_beat_ = 0;           // the first that may still be on its way
  int64_t last_issue_ = -1;
  int64_t taken_ = -2, held_until_ = 0;  // the newest burst: left the queue, frees the bus

  int64_t finish_done_ = -1;
  std::vector<InstructionWait> waits_;
  std::vector<ReadBurst> bursts_;
  CycleReport report_;
};

Result<void> CycleSimulator::State::Prepare(std::span<const Instruction> instructions) {
  instructions_ = instructions;
  times_.assign(instructions.size(), {});
  dispatched_.assign(instructions.size(), kNever);
  place_.resize(instructions.size());
  for (StageState& stage : stages_) {
    stage.queue.clear();
    stage.head = 0;
    stage.free_from = 0;
    stage.loading = false;
  }
  for (Tokens& tokens : tokens_) {
    tokens.posted.clear();
    tokens.popped.clear();
  }
  for (Port& port : ports_) port.ready = kNever;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    StageState& stage = stages_[static_cast<size_t>(StageOf(instruction))];
    place_[i] = static_cast<int32_t>(stage.queue.size());
    stage.queue.push_back(static_cast<int32_t>(i));
    const bool known = !instruction.IsMemory() || instruction.memory_type <= 5;
    if (instruction.IsMemory() && !instruction.IsNop() &&
        (!known || instruction.SramTiles() > config_.Depth(instruction.memory()) ||
         instruction.y_size == 0)) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("instruction {} moves {} rows of {} tiles of memory {}, "
                                          "which its buffer cannot hold",
                                          i, instruction.y_size, instruction.x_size,
                                          MemoryName(instruction.memory_type))};
    }
  }
  requested_ = next_dispatch_ = 0;
  last_beats_.clear();
  oldest_beat_ = 0;
  last_issue_ = -1;
  taken_ = -2;
  held_until_ = 0;
  finish_done_ = -1;
  bursts_.clear();
  waits_.assign(record_details_ ? instructions.size() : 0, {});
  report_ = {};
  return {};
}

Result<CycleReport> CycleSimulator::State::Run(std::span<const Instruction> instructions) {
  if (Result<void> ok = Prepare(instructions); !ok) return ok.error();
  if (!instructions.empty()) RequestFetch(/*handed=*/1);
  bool moving = true;
  while (moving) {
    moving = false;
    for (const Stage stage : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
      while (AdvanceStage(stage)) moving = true;
    }
    if (Dispatch()) moving = true;
    if (!moving) moving = IssueBurst();
  }
  if (TokensSaturate()) {
    // Tokens are lost, which data flow cannot see: go cycle by cycle.
    bursts_.clear();
    waits_.clear();
    return StepThrough(instructions_, config_, parameters_, &times_);
  }
  if (finish_done_ < 0) return NeverFinishes();
  report_.cycles = finish_done_;
  return report_;
}

void CycleSimulator::State::RequestFetch(int64_t handed) {
  const size_t count =
      std::min(instructions_.size() - requested_, static_cast<size_t>(parameters_.fetch_batch));
  if (count == 0) return;
  requested_ += count;
  Port& port = ports_[kFetchSide];
  port.ready = handed + 1;
  port.priority = 0;
  port.insn = -1;
  port.beats = std::max<int64_t>(static_cast<int64_t>(count) * 16 / parameters_.bus_bytes, 1);
  port.bursts = {};
  dispatch_from_ = kNever;
}

// Hands out instructions of a batch that has arrived, one per cycle, as long as it is known when
// their queues have room. Returns whether any went out.
bool CycleSimulator::State::Dispatch() {
  bool any = false;
  while (dispatch_from_ != kNever && next_dispatch_ < requested_) {
    const Stage stage = StageOf(instructions_[next_dispatch_]);
    const StageState& state = stages_[static_cast<size_t>(stage)];
    const int64_t place = place_[next_dispatch_];
    int64_t cycle = dispatch_from_;
    if (place >= parameters_.queue_depth) {
      const int32_t ahead = state.queue[static_cast<size_t>(place - parameters_.queue_depth)];
      const int64_t room = times_[static_cast<size_t>(ahead)].done;
      if (room < 0) break;
      cycle = std::max(cycle, room + 1);
    }
    dispatched_[next_dispatch_++] = cycle;
    dispatch_from_ = cycle + 1;
    any = true;
    if (next_dispatch_ == requested_) RequestFetch(/*handed=*/cycle + 2);
  }
  return any;
}

// The start of the instruction at the head of a stage, or false while something it needs is not
// known. Takes its tokens and books the waiting.
bool CycleSimulator::State::FindStart(Stage stage, const Instruction& instruction,
                                      int64_t dispatched, int64_t* start) {
  const StageQueues& queues = kQueues[static_cast<size_t>(stage)];
  int64_t tokens_there = 0;
  for (const size_t queue : {instruction.pop_prev != 0 ? queues.pop_prev : kNoQueue,
                             instruction.pop_next != 0 ? queues.pop_next : kNoQueue}) {
    if (queue == kNoQueue) continue;
    const Tokens& tokens = tokens_[queue];
    if (tokens.popped.size() == tokens.posted.size()) return false;
    tokens_there = std::max(tokens_there, tokens.posted[tokens.popped.size()] + 1);
  }
  const StageState& state = stages_[static_cast<size_t>(stage)];
  const int64_t fetched = std::max(state.free_from, dispatched + 1);
  *start = std::max(fetched, tokens_there);
  StageUse& use = report_.stages[static_cast<size_t>(stage)];
  use.fetch_cycles += fetched - state.free_from;
  use.token_cycles += *start - fetched;
  if (instruction.pop_prev != 0 && queues.pop_prev != kNoQueue) {
    tokens_[queues.pop_prev].popped.push_back(*start);
  }
  if (instruction.pop_next != 0 && queues.pop_next != kNoQueue) {
    tokens_[queues.pop_next].popped.push_back(*start);
  }
  return true;
}

bool CycleSimulator::State::AdvanceStage(Stage stage) {
  StageState& state = stages_[static_cast<size_t>(stage)];
  if (state.loading || state.head == state.queue.size()) return false;
  const size_t insn = static_cast<size_t>(state.queue[state.head]);
  if (dispatched_[insn] == kNever) return false;
  const Instruction& instruction = instructions_[insn];
  int64_t start = 0;
  if (!FindStart(stage, instruction, dispatched_[insn], &start)) return false;
  ++state.head;
  times_[insn].start = start;
  if (record_details_) {
    const int64_t fetched = std::max(state.free_from, dispatched_[insn] + 1);
    waits_[insn] = {.fetch = fetched - state.free_from, .token = start - fetched};
  }
  const int64_t id = static_cast<int64_t>(insn);
  if (instruction.IsKernel()) {
    report_.acc_writes += HardwareRounds(instruction);
    Retire(stage, id, start + KernelCycles(instruction, parameters_));
  } else if (!instruction.IsMemory() || instruction.IsNop()) {
    Retire(stage, id, start + 1);
  } else if (stage == Stage::kStore) {
    Retire(stage, id, StoreDone(instruction, start));
  } else {
    StartLoad(stage, id, start);
  }
  return true;
}

void CycleSimulator::State::Retire(Stage stage, int64_t insn, int64_t done) {
  const Instruction& instruction = instructions_[static_cast<size_t>(insn)];
  InstructionTime& time = times_[static_cast<size_t>(insn)];
  time.done = done;
  stages_[static_cast<size_t>(stage)].free_from = done + 1;
  StageUse& use = report_.stages[static_cast<size_t>(stage)];
  ++use.instructions;
  use.busy_cycles += done - time.start + 1;
  const StageQueues& queues = kQueues[static_cast<size_t>(stage)];
  if (instruction.push_prev != 0 && queues.push_prev != kNoQueue) {
    tokens_[queues.push_prev].posted.push_back(done);
  }
  if (instruction.push_next != 0 && queues.push_next != kNoQueue) {
    tokens_[queues.push_next].posted.push_back(done);
  }
  if (instruction.Is(Opcode::kFinish) && finish_done_ < 0) finish_done_ = done;
}

int64_t CycleSimulator::State::StoreDone(const Instruction& store, int64_t start) {
  const int64_t tile_bytes = config_.TileBytes(Memory::kOut);
  const int64_t tile_beats = std::max<int64_t>(tile_bytes / parameters_.bus_bytes, 1);
  int64_t acknowledged = start;
  for (BurstIterator burst(store, tile_bytes, parameters_); !burst.done(); burst.Next()) {
    const int64_t tiles = burst.bytes() / tile_bytes;
    acknowledged += 1 + tiles * (tile_beats + parameters_.store_tile_cycles) + 2 +
                    parameters_.write_ack_delay_cycles;
    ++report_.write_bursts;
    report_.write_beats += tiles * tile_beats;
  }
  return acknowledged;
}

void CycleSimulator::State::StartLoad(Stage stage, int64_t insn, int64_t start) {
  const Instruction& load = instructions_[static_cast<size_t>(insn)];
  stages_[static_cast<size_t>(stage)].loading = true;
  Port& port = PortOf(stage);
  port.priority = PortPriority(load.memory());
  port.insn = insn;
  port.bursts = BurstIterator(load, config_.TileBytes(load.memory()), parameters_);
  port.beats = port.bursts.beats(parameters_.bus_bytes);
  port.bursts.Next();
  port.first_handed = start + 1 + load.y_pad_0;
  port.ready = port.first_handed + 1;
  port.total_beats = 0;
  port.keep = ZeroFillOf(load).any();
  port.beats_seen.clear();
}

// Issues the next burst of any side. Every side that could ask before this burst's cycle is known
// here: what is still unknown waits for a transfer that has yet to be issued.
bool CycleSimulator::State::IssueBurst() {
  int64_t cycle = kNever;
  for (const Port& port : ports_) cycle = std::min(cycle, port.ready);
  if (cycle == kNever) return false;
  cycle = std::max(cycle, last_issue_ + 1);
  const size_t issued = last_beats_.size(),
               limit = static_cast<size_t>(parameters_.max_outstanding_bursts);
  if (issued >= limit) cycle = std::max(cycle, last_beats_[issued - limit] + 1);
  // No issue in a cycle with the last beat of a burst.
  while (oldest_beat_ < issued && last_beats_[oldest_beat_] <= cycle) {
    if (last_beats_[oldest_beat_] == cycle) ++cycle;
    ++oldest_beat_;
  }
  size_t side = kNumSides;
  for (size_t i = 0; i < kNumSides; ++i) {
    if (ports_[i].ready > cycle) continue;
    if (side == kNumSides || ports_[i].priority < ports_[side].priority) side = i;
  }
  Port& port = ports_[side];
  last_issue_ = cycle;
  // Memory: its delay counter keeps running while the queue is not empty.
  const int64_t queued = cycle + 1;
  const bool idle = queued > taken_ + 1;
  taken_ = std::max(idle ? queued + parameters_.read_delay_cycles : queued, held_until_);
  held_until_ = taken_ + port.beats * parameters_.beat_gap_cycles;
  const int64_t first_beat = taken_ + 1;
  const int64_t last_beat = first_beat + (port.beats - 1) * parameters_.beat_gap_cycles;
  last_beats_.push_back(last_beat);
  ++report_.read_bursts;
  report_.read_beats += port.beats;
  if (port.keep) port.beats_seen.emplace_back(first_beat, port.beats);
  if (record_details_) bursts_.push_back({port.insn, cycle, first_beat, last_beat, port.beats});
  port.total_beats += port.beats;
  if (!port.bursts.done()) {
    port.beats = port.bursts.beats(parameters_.bus_bytes);
    port.bursts.Next();
    port.ready = cycle + 2;
    return true;
  }
  port.ready = kNever;
  if (side == kFetchSide) {
    dispatch_from_ = last_beat + 2;
  } else {
    FinishLoad(side == kLoadSide ? Stage::kLoad : Stage::kCompute, last_beat);
  }
  return true;
}

void CycleSimulator::State::FinishLoad(Stage stage, int64_t last_beat) {
  const Port& port = PortOf(stage);
  const Instruction& load = instructions_[static_cast<size_t>(port.insn)];
  const int64_t start = times_[static_cast<size_t>(port.insn)].start;
  int64_t done = last_beat + (load.memory() == Memory::kUop ? 2 : 3);
  if (port.keep) done = std::max(done, ZeroFillEnd(port, load, start) + 1);
  const int64_t alone =
      3 + parameters_.read_delay_cycles + (port.total_beats - 1) * parameters_.beat_gap_cycles;
  report_.stages[static_cast<size_t>(stage)].bus_cycles +=
      std::max<int64_t>(last_beat - port.first_handed - alone, 0);
  stages_[static_cast<size_t>(stage)].loading = false;
  Retire(stage, port.insn, done);
}

// The cycle of the last zero tile: one per cycle, but none while a beat of data is written.
int64_t CycleSimulator::State::ZeroFillEnd(const Port& port, const Instruction& load,
                                           int64_t start) const {
  const int64_t gap = parameters_.beat_gap_cycles;
  const int64_t seen_after = load.memory() == Memory::kUop ? 1 : 2;
  size_t burst = 0;
  int64_t cycle = start + 2;  // the next to be used
  const auto fill = [&](int64_t tiles) {
    while (tiles > 0) {
      if (burst == port.beats_seen.size()) {
        cycle += tiles;
        return;
      }
      const auto [first, beats] = port.beats_seen[burst];
      const int64_t begin = first + seen_after, end = begin + (beats - 1) * gap + 1;
      if (cycle < begin) {
        const int64_t step = std::min(tiles, begin - cycle);
        cycle += step;
        tiles -= step;
      } else if (cycle >= end) {
        ++burst;
      } else if (gap == 1) {
        cycle = end;
      } else {
        if ((cycle - begin) % gap != 0) --tiles;
        ++cycle;
      }
    }
  };
  const ZeroFill zeros = ZeroFillOf(load);
  fill(zeros.first_tiles);
  cycle += zeros.idle_cycles;
  fill(zeros.last_tiles);
  return cycle - 1;
}

// Whether some counter would have had to count past its limit. If not, no token was lost and the
// times stand.
bool CycleSimulator::State::TokensSaturate() const {
  for (const Tokens& tokens : tokens_) {
    size_t popped = 0;
    for (size_t i = 0; i < tokens.posted.size(); ++i) {
      while (popped < tokens.popped.size() && tokens.popped[popped] <= tokens.posted[i]) ++popped;
      if (static_cast<int64_t>(i + 1 - popped) > parameters_.max_tokens) return true;
    }
  }
  return false;
}

Error CycleSimulator::State::NeverFinishes() const {
  for (const Stage stage : {Stage::kCompute, Stage::kStore, Stage::kLoad}) {
    const StageState& state = stages_[static_cast<size_t>(stage)];
    if (state.head == state.queue.size()) continue;
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format("the program never finishes: {} instruction {} can never "
                                        "start",
                                        StageName(stage), state.queue[state.head])};
  }
  return Error{.kind = ErrorKind::kInfeasible,
               .message = "the program never finishes: it has no FINISH instruction"};
}

CycleSimulator::CycleSimulator(const Config& config, const TimingParameters& parameters)
    : state_(std::make_unique<State>(config, parameters)) {}
CycleSimulator::~CycleSimulator() = default;
CycleSimulator::CycleSimulator(CycleSimulator&&) noexcept = default;
CycleSimulator& CycleSimulator::operator=(CycleSimulator&&) noexcept = default;

Result<CycleReport> CycleSimulator::Run(std::span<const Instruction> instructions) {
  return state_->Run(instructions);
}
std::span<const InstructionTime> CycleSimulator::timeline() const { return state_->timeline(); }
void CycleSimulator::RecordDetails(bool on) { state_->RecordDetails(on); }
std::span<const InstructionWait> CycleSimulator::waits() const { return state_->waits(); }
std::span<const ReadBurst> CycleSimulator::bursts() const { return state_->bursts(); }

}  // namespace tessera::vta
