// Sizes with units in accelerator files.
#include "tessera/arch/sizes.h"

#include <gtest/gtest.h>

#include "tessera/accelerator.h"

namespace tessera {
namespace {

std::string Words(const std::string& size, int64_t word_bits = 16) {
  const Result<Node> node = ParseDocument(size, "a.yaml");
  const Result<int64_t> words = ReadWords(*node, word_bits);
  return words ? std::to_string(*words) : ToString(words.error());
}

TEST(Sizes, AreWordsBytesOrBits) {
  EXPECT_EQ(Words("65536"), "65536");
  EXPECT_EQ(Words("2KB"), "1024");
  EXPECT_EQ(Words("64KiB"), "32768");
  EXPECT_EQ(Words("64 KiB", 8), "65536");
  EXPECT_EQ(Words("1Mword"), "1048576");
  EXPECT_EQ(Words("3 words"), "3");
  EXPECT_EQ(Words("0.5KB"), "256");
  EXPECT_EQ(Words("1.5Kword"), "1536");
  EXPECT_EQ(Words("512Kbit", 32), "16384");
  EXPECT_EQ(Words("24bit", 8), "3");
  EXPECT_EQ(Words("1GB", 8), "1073741824");
}

TEST(Sizes, AreRefusedWithAReason) {
  const std::string hint = "; write 65536, 64Kword, 128KB, 2MiB or 512Kbit";
  EXPECT_EQ(Words("3B"), "a.yaml:1:1: '3B' is no whole number of words of 16 bits" + hint);
  EXPECT_EQ(Words("2kB"), "a.yaml:1:1: '2kB' is not a size" + hint);
  EXPECT_EQ(Words("2KByte"), "a.yaml:1:1: '2KByte' is not a size" + hint);
  EXPECT_EQ(Words("KB"), "a.yaml:1:1: 'KB' is not a size" + hint);
  EXPECT_EQ(Words("0.1word"),
            "a.yaml:1:1: '0.1word' is no whole number of words of 16 bits" + hint);
  EXPECT_EQ(Words("9000000000GB"), "a.yaml:1:1: '9000000000GB' is too large");
}

TEST(Sizes, CountInTheWordsOfTheirLevel) {
  const Result<Accelerator> machine = ParseAccelerator(
      "format: tessera-accelerator-1\nname: m\nhierarchy:\n  arithmetic: {mesh_x: 4}\n  levels:\n"
      "  - {name: RF, entries: 32B, word_bits: 8, mesh_x: 4}\n"
      "  - {name: GLB, entries: 64KiB}\n  - {name: DRAM}\n",
      "m.yaml");
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_EQ(machine->hierarchy->levels[0].entries, 32);
  EXPECT_EQ(machine->hierarchy->levels[1].entries, 32768);
}

}  // namespace
}  // namespace tessera
