#include "tessera/vta/sim/trace.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "tessera/vta/isa/assembly.h"

namespace tessera::vta {
namespace {

constexpr int kBusTrack = 4;

int TrackOf(const Instruction& instruction) { return static_cast<int>(StageOf(instruction)) + 1; }

// "LOAD.INP" of "LOAD.INP sram=0 ...".
std::string ShortName(const Instruction& instruction) {
  const std::string text = ToText(instruction);
  return text.substr(0, text.find(' '));
}

// All texts in traces are our own: nothing needs escaping.
std::string Slice(std::string_view name, int track, int64_t start, int64_t cycles,
                  std::string_view args) {
  return fmt::format(
      ",\n{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{{}}}}"
      "}",
      name, track, start, cycles, args);
}

std::string TrackName(int track, std::string_view name) {
  return fmt::format(
      "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}",
      track, name);
}

}  // namespace

std::string PerfettoTrace(std::span<const Instruction> instructions,
                          const CycleSimulator& simulator) {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (const Stage stage : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
    text += TrackName(static_cast<int>(stage) + 1, StageName(stage)) + ",\n";
  }
  text += TrackName(kBusTrack, "READ BUS");
  for (size_t i = 0; i < instructions.size(); ++i) {
    const InstructionTime& time = simulator.timeline()[i];
    if (time.start < 0) continue;
    const int track = TrackOf(instructions[i]);
    const std::string which = fmt::format("\"insn\":{}", i);
    if (!simulator.waits().empty()) {
      const InstructionWait& wait = simulator.waits()[i];
      const int64_t token_from = time.start - wait.token;
      if (wait.fetch > 0) {
        text += Slice("wait: fetch", track, token_from - wait.fetch, wait.fetch, which);
      }
      if (wait.token > 0) text += Slice("wait: token", track, token_from, wait.token, which);
    }
    text += Slice(ShortName(instructions[i]), track, time.start,
                  std::max<int64_t>(time.done - time.start + 1, 0),
                  fmt::format("{},\"text\":\"{}\"", which, ToText(instructions[i])));
  }
  for (const ReadBurst& burst : simulator.bursts()) {
    const std::string owner =
        burst.insn < 0 ? "FETCH" : ShortName(instructions[static_cast<size_t>(burst.insn)]);
    text += Slice(owner, kBusTrack, burst.first_beat, burst.last_beat - burst.first_beat + 1,
                  fmt::format("\"insn\":{},\"issued\":{},\"beats\":{}", burst.insn, burst.issued,
                              burst.beats));
  }
  return text + "\n]}\n";
}

std::string TextTimeline(std::span<const Instruction> instructions,
                         std::span<const InstructionTime> times, int64_t cycles, int64_t columns) {
  columns = std::clamp<int64_t>(columns, 1, 1000);
  const int64_t span = std::max<int64_t>(cycles + 1, 1);
  const auto cycle_of = [&](int64_t column) { return column * span / columns; };
  std::array<std::vector<int64_t>, kNumStages> busy;
  for (std::vector<int64_t>& stage : busy) stage.assign(static_cast<size_t>(columns), 0);
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (times[i].start < 0) continue;
    auto& stage = busy[static_cast<size_t>(StageOf(instructions[i]))];
    const int64_t end = std::min(times[i].done + 1, span);
    for (int64_t column = times[i].start * columns / span;
         column < columns && cycle_of(column) < end; ++column) {
      const int64_t from = std::max(times[i].start, cycle_of(column));
      const int64_t to = std::min(end, cycle_of(column + 1));
      stage[static_cast<size_t>(column)] += std::max<int64_t>(to - from, 0);
    }
  }
  std::string text;
  for (const Stage stage : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
    text += fmt::format("{:<8}", StageName(stage));
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t width = cycle_of(column + 1) - cycle_of(column);
      const int64_t used = busy[static_cast<size_t>(stage)][static_cast<size_t>(column)];
      text += used == 0 ? '.' : 2 * used > width ? '#' : '+';
    }
    text += '\n';
  }
  const std::string last = fmt::format("{}", cycles);
  return text + fmt::format("{:<8}0{:>{}}\n", "cycle", last, std::max<int64_t>(columns - 1, 1));
}

}  // namespace tessera::vta
