// The binary container: it reads back, and damaged files are refused with the reason.
#include "tessera/vta/program.h"

#include <gtest/gtest.h>

#include "tessera/part.h"

namespace tessera::vta {
namespace {

Program SomeProgram() {
  Program program = {.dram_base = 4096, .dram = std::vector<uint8_t>(256)};
  for (size_t i = 0; i < program.dram.size(); ++i) program.dram[i] = static_cast<uint8_t>(i * 7);
  program.insn_addr = 4096 + 64;
  program.insn_count = 4;
  program.out = {4096 + 16, 32};
  return program;
}

TEST(Container, ReadsWhatItWrote) {
  for (const Config& config : ConfigPresets()) {
    Program program = SomeProgram();
    program.config = config;
    const Result<Program> again = ParseContainer(WriteContainer(program), "p.vta");
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(*again, program);
  }
}

TEST(Container, DamageIsExplained) {
  const std::string good = WriteContainer(SomeProgram());
  const auto message = [](const std::string& bytes) {
    const Result<Program> parsed = ParseContainer(bytes, "p.vta");
    return parsed ? "accepted" : ToString(parsed.error());
  };
  const auto with = [&](size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  EXPECT_EQ(message(""), "p.vta: 0 bytes are fewer than the 80 of a VTA program's header");
  EXPECT_EQ(message(with(0, 'X')), "p.vta: not a VTA program: it does not start with VTAORC01");
  EXPECT_EQ(message(good.substr(0, 100)),
            "p.vta: the header announces an image of 256 bytes, the file holds 20");
  EXPECT_EQ(message(with(36, 1)), "p.vta: reserved bytes of the header are set");
  EXPECT_EQ(message(with(32, 100)),
            "p.vta: instructions: 1600 bytes at 0x1040 are outside the "
            "memory image of 256 bytes at 0x1000");
  EXPECT_EQ(message(with(42, 1)),
            "p.vta: output: 32 bytes at 0x11010 are outside the memory image "
            "of 256 bytes at 0x1000");
  EXPECT_EQ(
      message(with(56, 2)),
      "p.vta: data widths other than int8 inputs, weights and outputs and int32 accumulators");
  EXPECT_EQ(message(with(63, 40)),
            "p.vta: VTA configuration 'container': LOG_UOP_BUFF_SIZE = 40 is outside 0..30");
  EXPECT_EQ(message(with(71, 1)), "p.vta: reserved bytes of the config tag are set");
}

// Any bytes: an answer, never a crash.
TEST(Container, RandomDamageNeverCrashes) {
  CounterRng rng(3, StreamId("program_test"));
  const std::string good = WriteContainer(SomeProgram());
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = good.substr(0, static_cast<size_t>(rng.UniformInt(400)));
    for (int64_t flips = rng.UniformInt(4); flips > 0 && !bytes.empty(); --flips) {
      const size_t at = static_cast<size_t>(rng.UniformInt(std::ssize(bytes)));
      bytes[at] = static_cast<char>(rng.Bits32());
    }
    const Result<Program> parsed = ParseContainer(bytes, "p.vta");
    if (parsed) {
      EXPECT_EQ(WriteContainer(*parsed), bytes);
    }
  }
}

TEST(Program, InstructionsThatDoNotFitTheirFieldsAreNamed) {
  Program program = SomeProgram();
  std::vector<Instruction> instructions(3);
  instructions[2].x_size = 70'000;
  const Result<void> placed = PlaceInstructions(instructions, program);
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().message,
            "instruction 2: x_size = 70000 does not fit in 16 bits (0..65535)");
}

}  // namespace
}  // namespace tessera::vta
