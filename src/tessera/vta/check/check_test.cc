// Every kind of defect in its smallest program, what is said about it, and that no bytes whatever
// make the simulators crash.
#include "tessera/vta.h"

#include <gtest/gtest.h>

#include "tessera/part.h"
#include "tessera/vta/check/static.h"
#include "tessera/vta/isa/assembly.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::vta {
namespace {

constexpr std::string_view kHead =
    ".config default_1x16\n.memory 0 16384\n.uops 0x1000\n0 0 0\n1 1 1\n.code 0x2000\n";

CheckReport Check(const std::string& code) {
  Result<Program> program = ParseAssembly(std::string(kHead) + code, "p.s");
  EXPECT_TRUE(program) << program.error();
  const Result<CheckReport> report = CheckAndRun(*program);
  EXPECT_TRUE(report) << report.error();
  return *report;
}

std::string First(const std::string& code) {
  const CheckReport report = Check(code);
  return report.diagnostics.empty() ? "fine" : ToString(report.diagnostics.front());
}

TEST(Check, TransfersOutOfRange) {
  EXPECT_EQ(First("LOAD.ACC sram=2000 size=49x1 stride=49\nFINISH"),
            "error: instruction 0: sram_range: tiles 2000 to 2048 of ACC > depth 2048");
  EXPECT_EQ(First("LOAD.ACC size=10x1 dram=250\nFINISH"),
            "error: instruction 0: dram_range: bytes 0x3e80 to 0x40ff lie outside the image of "
            "16384 bytes at 0x0");
  EXPECT_EQ(First("LOAD.ACC size=4x0\nFINISH"),
            "error: instruction 0: zero_rows: x_size 4 but y_size 0: hardware never ends it");
}

TEST(Check, TokensThatNeverComeOrNeverGo) {
  EXPECT_EQ(
      First("NOP.COMPUTE pop_prev\nFINISH"),
      "error: instruction 0: token_deadlock: can never start: token 1 from LOAD to COMPUTE is "
      "never pushed");
  EXPECT_EQ(First("NOP.LOAD push_next\nFINISH"),
            "error: instruction 1: finish_early: FINISH does not wait for LOAD instruction 0");
  EXPECT_EQ(
      First("NOP.COMPUTE push_next push_prev\nFINISH"),
      "warning: instruction 1: tokens_left_over: tokens are never popped: 1 of g2l, 1 of g2s");
  EXPECT_EQ(First("NOP.STORE pop_prev\nFINISH"),
            "error: instruction 1: finish_early: FINISH does not wait for STORE instruction 0");
}

TEST(Check, TheLastInstructionMustBeFinish) {
  EXPECT_EQ(First("NOP.COMPUTE\nNOP.LOAD"),
            "error: instruction 1: missing_finish: the program has no FINISH instruction");
  for (const char* last :
       {"LOAD.UOP dram=1024 size=2x1", "LOAD.INP size=2x1", "NOP.STORE", "NOP.COMPUTE"}) {
    const CheckReport report = Check(std::string("NOP.COMPUTE\nFINISH\n") + last);
    EXPECT_FALSE(report.ok()) << last;
    ASSERT_EQ(report.diagnostics.size(), 2u) << last;
    EXPECT_EQ(ToString(report.diagnostics[0]),
              "error: instruction 2: missing_finish: the last instruction is not FINISH");
    EXPECT_EQ(ToString(report.diagnostics[1]),
              "warning: instruction 1: finish_not_last: instructions follow FINISH");
  }
  EXPECT_EQ(First("FINISH\nNOP.COMPUTE\nFINISH"),
            "warning: instruction 0: finish_not_last: instructions follow FINISH");
}

TEST(Check, ComputedIndices) {
  EXPECT_EQ(First("LOAD.UOP dram=1024 size=2x1\nGEMM.RESET uop=0..2 iter=2x3 dst=2000,30\nFINISH"),
            "error: instruction 1: tile_index_range: micro-op 0 and the loops give ACC index 2060 "
            ">= depth 2048");
  EXPECT_EQ(First("LOAD.UOP dram=1024 size=2x1\nGEMM.RESET uop=0..3 iter=1x1\nFINISH"),
            "error: instruction 1: uninitialised_read: micro-op 2 was never loaded");
  EXPECT_EQ(First("LOAD.UOP dram=1024 size=2x1\nLOAD.ACC size=3x1\n"
                  "ALU.ADD uop=0..2 iter=1x2 dst=0,2 src=0,2\nFINISH"),
            "error: instruction 2: uninitialised_read: reads ACC tile 3 (of 0 to 3), which nothing "
            "has written before");
}

// A double-buffered loop that waits for its operands but not for the buffer to be free again.
TEST(Check, OverwrittenOperandsAreARace) {
  const std::string load = "LOAD.INP size=2x1\nLOAD.WGT size=2x1 push_next\n";
  const std::string code = "LOAD.UOP dram=1024 size=2x1\nGEMM.RESET uop=0..2 iter=1x1\n" + load +
                           "GEMM uop=0..2 iter=1x1 pop_prev push_prev\n" + load +
                           "GEMM uop=0..2 iter=1x1 pop_prev\nNOP.LOAD pop_next push_next\n"
                           "NOP.COMPUTE pop_prev\nFINISH";
  const CheckReport report = Check(code);
  ASSERT_EQ(report.diagnostics.size(), 2u);
  EXPECT_EQ(
      ToString(report.diagnostics[0]),
      "error: instruction 5: race: no token orders it against instruction 4, which shares INP "
      "tiles with it");
  EXPECT_EQ(report.diagnostics[0].with_insn, 4);
  EXPECT_EQ(report.diagnostics[1].insn, 6);
}

TEST(Check, StoredBytesReadBackNeedAToken) {
  const std::string compute =
      "LOAD.UOP dram=1024 size=2x1\nLOAD.ACC size=1x1\nALU.ADD uop=0..1 iter=1x1 imm=1 push_next\n"
      "STORE.OUT dram=768 size=1x1 pop_prev push_prev\n";
  EXPECT_EQ(First(compute + "LOAD.ACC sram=1 dram=192 size=1x1\nNOP.COMPUTE pop_next\nFINISH"),
            "error: instruction 4: race: no token orders it against instruction 3, which shares "
            "bytes of memory with it");
  EXPECT_EQ(First(compute + "NOP.COMPUTE pop_next\nLOAD.ACC sram=1 dram=192 size=1x1\nFINISH"),
            "fine");
}

TEST(Check, SaysWhereHardwareDiffers) {
  const auto reason = [](const std::string& code) {
    const CheckReport report =
        Check("LOAD.UOP dram=1024 size=2x1\nLOAD.ACC size=8x1\n" + code + "\nFINISH");
    EXPECT_TRUE(report.diagnostics.empty());
    return report.not_portable.empty() ? "portable" : report.not_portable.front();
  };
  EXPECT_EQ(reason("ALU.ADD uop=0..2 iter=1x3 dst=0,2 src=0,2 imm=3"), "portable");
  EXPECT_EQ(reason("ALU.ADD uop=0..2 iter=1x3 dst=0,2 src=0,1 imm=3"),
            "instruction 2: an immediate ALU operation whose src differs from dst: hardware reads "
            "src");
  EXPECT_EQ(reason("ALU.ADD uop=0..1 iter=1x3 imm=3"),
            "instruction 2: an immediate ALU operation on the same tile twice in a row: hardware "
            "reads the old value");
  EXPECT_EQ(reason("ALU.ADD uop=0..2 iter=1x2 dst=0,1 src=0,2"), "portable");
  EXPECT_EQ(reason("ALU.ADD uop=1..2 iter=1x3 dst=0,1 src=0,2"), "portable");
  EXPECT_EQ(reason("ALU.ADD uop=0..1 iter=1x3 dst=0,0 src=0,0"),
            "instruction 2: a register ALU operation that reads the tile written just before: "
            "hardware reads the old value");
  EXPECT_EQ(reason("ALU.MUL uop=0..1 iter=1x1 imm=3"), "instruction 2: hardware has no MUL");
  EXPECT_EQ(reason("ALU.SHR uop=0..1 iter=1x1 imm=32"),
            "instruction 2: a shift by 32: hardware takes its low five bits");
}

TEST(Check, RefusesToRunForHours) {
  std::string code = "LOAD.UOP dram=1024 size=2x1\n";
  for (int i = 0; i < 3; ++i) code += "GEMM.RESET uop=0..2 iter=16383x16383\n";
  Result<Program> program = ParseAssembly(std::string(kHead) + code + "FINISH", "p.s");
  ASSERT_TRUE(program) << program.error();
  EXPECT_EQ(CheckAndRun(*program).error().message, "more than 1000000000 tile operations");
}

// Random words, and well-formed programs with random bits flipped: a report, never a crash.
TEST(Check, AnyBytesGetAReport) {
  const Result<Program> sound = ParseAssembly(
      std::string(kHead) +
          "LOAD.UOP dram=1024 size=2x1\nGEMM.RESET uop=0..2 iter=1x4 dst=0,2\n"
          "LOAD.INP size=3x2 stride=5 pad=1,1,1,1\nLOAD.WGT size=2x1 push_next\n"
          "GEMM uop=0..2 iter=1x4 dst=0,2 src=0,3 pop_prev\n"
          "ALU.ADD uop=0..2 iter=1x4 dst=0,2 src=0,2 imm=3 push_next\n"
          "STORE.OUT dram=800 size=4x2 stride=4 pop_prev push_prev\nNOP.COMPUTE pop_next\nFINISH",
      "p.s");
  ASSERT_TRUE(sound) << sound.error();
  int clean = 0;
  for (uint64_t trial = 0; trial < 3000; ++trial) {
    CounterRng rng(5, StreamId("check_test"), trial);
    Program program = *sound;
    program.config =
        ConfigPresets()[static_cast<size_t>(rng.UniformInt(std::ssize(ConfigPresets())))];
    if (trial % 2 == 0) program.config = Config{};
    const int64_t code_bytes = program.insn_count * kInstructionBytes;
    const std::span<uint8_t> code =
        Bytes(program, {program.insn_addr, static_cast<uint64_t>(code_bytes)});
    for (int64_t flips = rng.UniformInt(trial % 3 == 0 ? 600 : 4); flips > 0; --flips) {
      code[static_cast<size_t>(rng.UniformInt(code_bytes))] ^=
          static_cast<uint8_t>(1 << rng.UniformInt(8));
    }
    if (trial % 5 == 0) {
      for (uint8_t& byte : code) byte = static_cast<uint8_t>(rng.Bits32());
    }
    const Result<CheckReport> report = CheckAndRun(program, {.max_tile_ops = 100'000});
    clean += report && report->ok() ? 1 : 0;
    const std::vector<Instruction> instructions = DecodeInstructions(program);
    if (HasErrors(CheckStatic(instructions, program))) continue;
    CycleSimulator simulator(program.config);
    (void)simulator.Run(instructions);
  }
  EXPECT_GT(clean, 100);
}

}  // namespace
}  // namespace tessera::vta
