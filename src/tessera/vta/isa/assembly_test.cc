// The text form: what it looks like, that it reads back, and what is said about mistakes.
#include "tessera/vta/isa/assembly.h"
#include "tessera/vta/program.h"

#include <gtest/gtest.h>

#include "tessera/part.h"

namespace tessera::vta {
namespace {

Instruction ParseLine(std::string_view text) {
  const Result<Instruction> instruction = ParseInstruction(text, {});
  EXPECT_TRUE(instruction) << instruction.error();
  return instruction ? *instruction : Instruction{};
}

TEST(Assembly, ReadsLikeThis) {
  for (const char* text :
       {"LOAD.INP sram=0 dram=256 size=8x2 stride=8 pad=1,0,1,0 pop_next push_next",
        "STORE.OUT sram=3 dram=768 size=4x1 stride=4 pad=0,0,0,0 pop_prev push_prev",
        "GEMM uop=0..4 iter=3x1 dst=1,0 src=0,0 wgt=0,0 pop_prev",
        "GEMM.RESET uop=0..4 iter=3x1 dst=1,0 src=0,0 wgt=0,0",
        "ALU.ADD uop=0..1 iter=1x4 dst=0,1 src=0,1 imm=-3",
        "ALU.SHR uop=0..1 iter=1x4 dst=0,1 src=0,1 unused_imm=-1",
        "ALU.MAX uop=0..1 iter=1x4 dst=0,1 src=0,1", "NOP.LOAD push_next", "NOP.COMPUTE pop_next",
        "NOP.STORE", "FINISH"}) {
    EXPECT_EQ(ToText(ParseLine(text)), text);
  }
}

TEST(Assembly, WhatIsZeroMayBeLeftOut) {
  EXPECT_EQ(ParseLine("LOAD.UOP dram=7 size=5x1"),
            ParseLine("LOAD.UOP sram=0 dram=7 size=5x1 stride=0 pad=0,0,0,0"));
}

TEST(Assembly, MistakesAreExplainedWhereTheyStand) {
  const auto message = [](std::string_view text) {
    const Result<Instruction> parsed =
        ParseInstruction(text, {.file = "a.s", .line = 3, .column = 5});
    return parsed ? "accepted" : ToString(parsed.error());
  };
  EXPECT_EQ(message("LAOD.INP"), "a.s:3:5: unknown opcode 'LAOD'; did you mean 'LOAD'?");
  EXPECT_EQ(message("LOAD.IMP"), "a.s:3:5: unknown memory type 'IMP'; did you mean 'INP'?");
  EXPECT_EQ(message("GEMM uop=3"), "a.s:3:10: uop needs 2 numbers separated by '..'");
  EXPECT_EQ(message("GEMM uop=0..x"), "a.s:3:10: uop: 'x' is not a number from 0 to 4294967295");
  EXPECT_EQ(message("GEMM uop=0..1 pop_prevv"),
            "a.s:3:19: GEMM has no operand 'pop_prevv'; did you mean 'pop_prev'?");
  EXPECT_EQ(message("ALU.ADD imm=40000"),
            "a.s:3:13: imm: '40000' is not a number from -32768 to 32767");
}

// Random bytes as a program: the disassembly assembles to the same bytes.
TEST(Assembly, AnyProgramSurvivesItsText) {
  CounterRng rng(7, StreamId("assembly_test"));
  for (const Config& config : ConfigPresets()) {
    Program program = {.config = config, .dram_base = 4096, .dram = std::vector<uint8_t>(2048)};
    for (uint8_t& byte : program.dram) {
      byte = rng.UniformInt(3) == 0 ? static_cast<uint8_t>(rng.Bits32()) : uint8_t{0};
    }
    program.insn_addr = 4096 + 512;
    program.insn_count = 40;
    program.out = {4096 + 64, 32};
    // A micro-op load that lies in the image, so that .uops is exercised.
    const Encoding encoding(config);
    StoreWord(*encoding.Encode(ParseLine("LOAD.UOP dram=1344 size=5x1")), &program.dram[512]);
    const std::string text = WriteAssembly(program);
    const Result<Program> again = ParseAssembly(text, "p.s");
    ASSERT_TRUE(again) << again.error() << "\n" << text;
    EXPECT_EQ(*again, program) << text;
  }
}

TEST(Assembly, BadProgramsAreExplained) {
  const auto message = [](std::string_view text) {
    const Result<Program> parsed = ParseAssembly(text, "a.s");
    return parsed ? "accepted" : ToString(parsed.error());
  };
  EXPECT_EQ(message(""), "a.s:1:1: no .config line");
  EXPECT_EQ(message("FINISH"), "a.s:1:1: contents before .config");
  EXPECT_EQ(message(".config default_1x16\n.code 0x1000\n  FINISH"),
            "a.s:3:3: 16 bytes at 0x1000 are outside the memory of 0 bytes at 0x0; give .memory "
            "first, and large enough");
  EXPECT_EQ(message(".config default_1x16\n.memory 0 64\n.data 0\n  1g"),
            "a.s:4:3: '1g' is not a row of bytes; two hexadecimal digits per byte, without blanks");
  EXPECT_EQ(message(".config default_1x16\n.memory 0 64\n.uops 0\n  1 2"),
            "a.s:4:3: '1 2' is not a micro-op; three numbers: dst src wgt");
  EXPECT_EQ(message(".config default_1x16\n.memory 0 64\n.uops 0\n  4000 2 1"),
            "a.s:4:3: dst = 4000 does not fit in 11 bits (0..2047)");
  EXPECT_EQ(message(".config default_1x16\n.memroy 0 64"),
            "a.s:2:1: unknown directive '.memroy 0 64'; .config ID, .memory BASE BYTES, .output "
            "ADDRESS BYTES, .data ADDRESS, .uops ADDRESS, .code ADDRESS");
  EXPECT_EQ(message(".config default_1x16\n.output 64 16\n"),
            "a.s:3:1: output: 16 bytes at 0x40 are outside the memory image of 0 bytes at 0x0");
}

}  // namespace
}  // namespace tessera::vta
