// The fast cycle simulator against the slow one on random programs, and properties of its report.
// Exact counts of real programs are in tests/vta_golden_test.cc.
#include "tessera/vta/sim/cycles.h"

#include <gtest/gtest.h>

#include "tessera/part.h"
#include "tessera/vta/isa/assembly.h"
#include "tessera/vta/sim/step.h"

namespace tessera::vta {
namespace {

std::vector<Instruction> Assemble(std::initializer_list<std::string_view> lines) {
  std::vector<Instruction> instructions;
  for (const std::string_view line : lines) {
    const Result<Instruction> parsed = ParseInstruction(line, {});
    EXPECT_TRUE(parsed) << parsed.error();
    instructions.push_back(*parsed);
  }
  return instructions;
}

// Transfers, kernels and NOPs with few tokens, so that most programs run to their end.
std::vector<Instruction> RandomProgram(CounterRng& rng) {
  std::vector<Instruction> program;
  const int64_t count = 5 + rng.UniformInt(rng.UniformInt(8) == 0 ? 400 : 40);
  int64_t tokens[4] = {};  // l2g, g2l, g2s, s2g: pushed and not popped
  for (int64_t i = 0; i < count; ++i) {
    Instruction x;
    const auto draw = [&](int64_t bound) { return static_cast<uint32_t>(rng.UniformInt(bound)); };
    switch (rng.UniformInt(5)) {
      case 0:
      case 1:
        x.memory_type = draw(4);
        x.sram_base = 0;
        x.dram_base = draw(5000);
        x.x_size = draw(20);
        x.y_size = 1 + draw(x.memory_type == 0 ? 1 : 6);
        x.x_stride = x.x_size + draw(5);
        if (x.memory_type != 0 && rng.UniformInt(2) == 0) {
          x.y_pad_0 = draw(4);
          x.y_pad_1 = draw(4);
          x.x_pad_0 = draw(3);
          x.x_pad_1 = draw(3);
        }
        break;
      case 2:
        x.opcode = 1;
        x.memory_type = 4;
        x.dram_base = draw(5000);
        x.x_size = draw(30);
        x.y_size = 1 + draw(4);
        x.x_stride = x.x_size + draw(20);
        break;
      default:
        x.opcode = rng.UniformInt(2) == 0 ? 2 : 4;
        x.use_imm = draw(2);
        x.uop_end = 1 + draw(4);
        x.iter_out = 1 + draw(10);
        x.iter_in = 1 + draw(10);
        break;
    }
    const Stage stage = StageOf(x);
    const auto pop = [&](uint32_t& flag, int queue) {
      if (tokens[queue] > 0 && rng.UniformInt(2) == 0) {
        flag = 1;
        --tokens[queue];
      }
    };
    const auto push = [&](uint32_t& flag, int queue) {
      flag = draw(2);
      tokens[queue] += flag;
    };
    if (stage == Stage::kLoad) {
      pop(x.pop_next, 1);
      push(x.push_next, 0);
    } else if (stage == Stage::kStore) {
      pop(x.pop_prev, 2);
      push(x.push_prev, 3);
    } else {
      pop(x.pop_prev, 0);
      pop(x.pop_next, 3);
      push(x.push_prev, 1);
      push(x.push_next, 2);
    }
    program.push_back(x);
  }
  program.push_back(Assemble({"FINISH"})[0]);
  return program;
}

TEST(CycleSimulator, EqualsTheSlowTwinOnRandomPrograms) {
  for (uint64_t trial = 0; trial < 400; ++trial) {
    CounterRng rng(11, StreamId("cycles_test"), trial);
    const Config& config =
        ConfigPresets()[static_cast<size_t>(rng.UniformInt(std::ssize(ConfigPresets())))];
    TimingParameters parameters;
    if (rng.UniformInt(2) == 0) {
      parameters.read_delay_cycles = rng.UniformInt(40);
      parameters.beat_gap_cycles = 1 + rng.UniformInt(4);
      parameters.write_ack_delay_cycles = rng.UniformInt(20);
      parameters.bus_bytes = int64_t{4} << rng.UniformInt(5);
      parameters.max_outstanding_bursts = 1 + rng.UniformInt(16);
      parameters.fetch_batch = 1 + rng.UniformInt(128);
      parameters.queue_depth = 1 + rng.UniformInt(16);
      parameters.max_tokens = 1 + rng.UniformInt(8);
    }
    const std::vector<Instruction> program = RandomProgram(rng);
    CycleSimulator fast(config, parameters);
    const Result<CycleReport> report = fast.Run(program);
    if (!report && report.error().kind == ErrorKind::kBadValue) continue;  // a buffer too small
    std::vector<InstructionTime> times;
    const Result<CycleReport> slow = StepThrough(program, config, parameters, &times);
    ASSERT_EQ(report.ok(), slow.ok()) << trial;
    if (!report) continue;
    EXPECT_EQ(report->cycles, slow->cycles) << trial;
    for (size_t i = 0; i < times.size(); ++i) {
      // The slow twin stops at FINISH; what has not ended by then has no end there.
      if (times[i].done < 0) continue;
      EXPECT_EQ(fast.timeline()[i], times[i]) << trial << " " << i;
    }
  }
}

TEST(CycleSimulator, CountsSingleInstructionsAsTheRulesSay) {
  const auto duration = [](std::string_view line) {
    CycleSimulator simulator{Config{}};
    const std::vector<Instruction> program = Assemble({line, "FINISH"});
    const Result<CycleReport> report = simulator.Run(program);
    EXPECT_TRUE(report) << report.error();
    return simulator.timeline()[0].done - simulator.timeline()[0].start + 1;
  };
  EXPECT_EQ(duration("NOP.COMPUTE"), 2);
  EXPECT_EQ(duration("LOAD.ACC size=4x3 stride=4"), 23 + 4 * 3 * 8);
  EXPECT_EQ(duration("LOAD.UOP size=7x1"), 22 + 4);
  EXPECT_EQ(duration("LOAD.UOP dram=1 size=7x1"), 22 + 4) << "one word before, one line";
  EXPECT_EQ(duration("GEMM uop=0..4 iter=3x5"), 7 + 60);
  EXPECT_EQ(duration("ALU.ADD uop=0..4 iter=3x5 imm=1"), 7 + 60);
  EXPECT_EQ(duration("ALU.ADD uop=0..4 iter=3x5"), 7 + 120);
  EXPECT_EQ(duration("GEMM uop=0..4 iter=0x5"), 7 + 16384 * 20) << "a 14-bit counter of 0";
}

TEST(CycleSimulator, ReportsWhyStagesWait) {
  CycleSimulator simulator{Config{}};
  const std::vector<Instruction> program = Assemble(
      {"LOAD.INP size=64x4 stride=64 push_next", "GEMM uop=0..4 iter=3x5 pop_prev", "FINISH"});
  const Result<CycleReport> report = simulator.Run(program);
  ASSERT_TRUE(report) << report.error();
  const StageUse& compute = report->stages[static_cast<size_t>(Stage::kCompute)];
  EXPECT_EQ(compute.instructions, 2);
  EXPECT_EQ(compute.busy_cycles, 7 + 60 + 2);
  EXPECT_EQ(compute.busy_cycles + compute.token_cycles + compute.fetch_cycles, report->cycles + 1);
  EXPECT_GT(compute.token_cycles, 500) << "the load's 512 beats";
}

TEST(CycleSimulator, ProgramsWithoutEndAreReported) {
  CycleSimulator simulator{Config{}};
  const auto message = [&](std::initializer_list<std::string_view> lines) {
    const Result<CycleReport> report = simulator.Run(Assemble(lines));
    return report ? "finished" : report.error().message;
  };
  EXPECT_EQ(message({}), "the program never finishes: it has no FINISH instruction");
  EXPECT_EQ(message({"NOP.COMPUTE pop_prev", "FINISH"}),
            "the program never finishes: COMPUTE instruction 0 can never start");
  EXPECT_EQ(message({"LOAD.INP size=4x0", "FINISH"}),
            "instruction 0 moves 0 rows of 4 tiles of memory INP, which its buffer cannot hold");
}

// 300 tokens against counters that stop at 255: the hardware loses 45 of them and hangs.
TEST(CycleSimulator, LostTokensHangTheProgram) {
  std::vector<Instruction> program = Assemble({"GEMM.RESET uop=0..4 iter=40x40"});
  for (int i = 0; i < 300; ++i) program.push_back(Assemble({"NOP.LOAD push_next"})[0]);
  for (int i = 0; i < 300; ++i) program.push_back(Assemble({"NOP.COMPUTE pop_prev"})[0]);
  program.push_back(Assemble({"FINISH"})[0]);
  CycleSimulator simulator{Config{}};
  EXPECT_EQ(simulator.Run(program).error().message, "the program never finishes");
  CycleSimulator roomy(Config{}, {.max_tokens = 300});
  EXPECT_TRUE(roomy.Run(program));
}

TEST(TimingParameters, BadOnesAreNamed) {
  TimingParameters parameters;
  parameters.bus_bytes = 12;
  EXPECT_EQ(Validate(parameters).error().message, "bus_bytes = 12 is not a power of two");
  parameters = {};
  parameters.beat_gap_cycles = 0;
  EXPECT_EQ(Validate(parameters).error().message, "beat_gap_cycles = 0 is outside 1..1000000");
}

}  // namespace
}  // namespace tessera::vta
