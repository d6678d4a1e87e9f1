// Hardware files of MAESTRO, with its defaults and without its traps.
#include <gtest/gtest.h>

#include "tessera/accelerator.h"

namespace tessera {
namespace {

std::string ErrorOf(std::string_view text) {
  const Result<Accelerator> accelerator = ParseAccelerator(text, "hw.m");
  return accelerator ? "valid" : ToString(accelerator.error());
}

TEST(MaestroHardware, ReadsEveryKey) {
  const Result<Accelerator> accelerator = ParseAccelerator(
      "// a comment\nnum_pes: 256\nl1_size_cstr: 512 // trailing\nl2_size_cstr : 108000\n"
      "noc_bw_cstr: 64\noffchip_bw_cstr: 32\nNoC_NumHops: 2\n",
      "dir/hw.m");
  ASSERT_TRUE(accelerator) << accelerator.error();
  EXPECT_EQ(accelerator->name, "hw");
  EXPECT_TRUE(accelerator->notes.empty());
  EXPECT_EQ(*accelerator->pe_array, (PeArray{.num_pes = 256,
                                             .l1_elements = 512,
                                             .l2_elements = 108000,
                                             .noc_elements_per_cycle = 64,
                                             .noc_hops = 2,
                                             .noc_hop_latency_cycles = 1,
                                             .offchip_elements_per_cycle = 32}));
}

TEST(MaestroHardware, NamesItsDefaults) {
  const Result<Accelerator> accelerator = ParseAccelerator("l1_size_cstr: 512\n", "hw.m");
  ASSERT_TRUE(accelerator) << accelerator.error();
  EXPECT_EQ(accelerator->pe_array->num_pes, 1);
  EXPECT_EQ(accelerator->pe_array->offchip_elements_per_cycle, PeArray::kUnlimited);
  EXPECT_EQ(accelerator->notes,
            (std::vector<std::string>{
                "num_pes is not given: 1", "l2_size_cstr is not given: unlimited",
                "noc_bw_cstr is not given: unlimited", "offchip_bw_cstr is not given: unlimited",
                "NoC_NumHops is not given: 1"}));
}

TEST(MaestroHardware, Mistakes) {
  EXPECT_EQ(ErrorOf("num_pes: 4\nl1_size: 3\n"),
            "hw.m:2:1: unknown key 'l1_size'; known: num_pes, l1_size_cstr, l2_size_cstr, "
            "noc_bw_cstr, offchip_bw_cstr, NoC_NumHops");
  EXPECT_EQ(ErrorOf("num_pes: 4\nnum_pse: 3\n"),
            "hw.m:2:1: unknown key 'num_pse'; did you mean 'num_pes'?");
  EXPECT_EQ(ErrorOf("num_pes: -4\n"),
            "hw.m:1:11: num_pes has a minus before '4'; write a number of at least 1");
  EXPECT_EQ(ErrorOf("num_pes: 0\n"), "hw.m:1:10: num_pes is 0, but must be in 1..2147483647");
  EXPECT_EQ(ErrorOf("num_pes: 3000000000\n"),
            "hw.m:1:10: num_pes is 3000000000, but must be in 1..2147483647");
  EXPECT_EQ(ErrorOf("num_pes: 1.5\n"), "hw.m:1:10: '1.5' is not an integer");
  EXPECT_EQ(ErrorOf("num_pes:\n"), "hw.m:1:1: num_pes has no value");
  EXPECT_EQ(ErrorOf("num_pes: 4 num_pes: 5\n"), "hw.m:1:12: num_pes is given twice");
}

}  // namespace
}  // namespace tessera
