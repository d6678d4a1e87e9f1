// Instruction words: known bits, round trips of every field in every configuration, values that do
// not fit. The published vectors are in tests/vta_golden_test.cc.
#include "tessera/vta/isa/encoding.h"

#include <gtest/gtest.h>

#include "tessera/part.h"

namespace tessera::vta {
namespace {

TEST(Encoding, DefaultFieldsLieWhereTheHardwareReadsThem) {
  const Encoding encoding{Config{}};
  const auto place = [&](Format format, std::string_view name) {
    for (const FieldPlace& field : encoding.Fields(format)) {
      if (field.name == name) return std::pair(field.low_bit, field.width);
    }
    return std::pair(-1, -1);
  };
  EXPECT_EQ(place(Format::kMemory, "dram_base"), std::pair(26, 32));
  EXPECT_EQ(place(Format::kMemory, "y_size"), std::pair(64, 16));
  EXPECT_EQ(place(Format::kGemm, "uop_end"), std::pair(21, 14));
  EXPECT_EQ(place(Format::kGemm, "wgt_factor_in"), std::pair(118, 10));
  EXPECT_EQ(place(Format::kAlu, "imm"), std::pair(112, 16));
}

// Every word whose unused bits are 0 survives decoding and encoding.
TEST(Encoding, WordsSurviveDecodingAndEncoding) {
  CounterRng rng(1, StreamId("encoding_test"));
  for (const Config& config : ConfigPresets()) {
    const Encoding encoding(config);
    for (int i = 0; i < 500; ++i) {
      const Word128 random = {rng.Bits64(), rng.Bits64()};
      Word128 used;
      const Instruction decoded = encoding.Decode(random);
      for (const FieldPlace& field : encoding.Fields(FormatOf(decoded.opcode))) {
        const uint64_t mask = ((uint64_t{1} << field.width) - 1) << (field.low_bit % 64);
        (field.low_bit < 64 ? used.low : used.high) |= mask;
      }
      const Result<Word128> again = encoding.Encode(decoded);
      ASSERT_TRUE(again) << again.error();
      EXPECT_EQ(*again, (Word128{random.low & used.low, random.high & used.high}));
      EXPECT_EQ(encoding.Decode(*again), decoded);
      const Uop uop = encoding.DecodeUop(rng.Bits32());
      EXPECT_EQ(encoding.DecodeUop(*encoding.Encode(uop)), uop);
    }
  }
}

TEST(Encoding, ValuesThatDoNotFitAreNamed) {
  const Encoding encoding{Config{}};
  Instruction load;
  load.x_pad_0 = 16;
  EXPECT_EQ(encoding.Encode(load).error().message, "x_pad_0 = 16 does not fit in 4 bits (0..15)");
  Instruction alu;
  alu.opcode = static_cast<uint32_t>(Opcode::kAlu);
  alu.imm = -40000;
  EXPECT_EQ(encoding.Encode(alu).error().message,
            "imm = -40000 does not fit in 16 bits (-32768..32767)");
  EXPECT_EQ(encoding.Encode(Uop{.dst = 2048}).error().message,
            "dst = 2048 does not fit in 11 bits (0..2047)");
}

TEST(Encoding, WordsAreWrittenMostSignificantDigitFirst) {
  const Word128 word = {0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(ToHex(word), "fedcba98765432100123456789abcdef");
  EXPECT_EQ(*ParseWord(ToHex(word)), word);
  EXPECT_FALSE(ParseWord("12"));
  EXPECT_FALSE(ParseWord("fedcba98765432100123456789abcdeg"));
  uint8_t bytes[16];
  StoreWord(word, bytes);
  EXPECT_EQ(bytes[0], 0xef);
  EXPECT_EQ(LoadWord(bytes), word);
}

}  // namespace
}  // namespace tessera::vta
