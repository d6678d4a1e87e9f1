// Loop mappings compare by what they say, print as nests, and refuse orders that are none.
#include "tessera/mapping.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

LoopProblem Gemm() { return *MakeLoopProblem("gemm", {{"M", 4}, {"N", 6}, {"K", 8}}); }

// DRAM: K2 M2 N6, spatial X: M2; L1: K4.
LoopMapping Example() {
  LoopMapping mapping{.num_levels = 2};
  mapping.levels[0].temporal = {1, 1, 4};
  mapping.levels[0].keep = 0b011;
  mapping.levels[1].temporal = {1, 6, 0};
  mapping.levels[1].temporal_order = {2, 0, 1};
  mapping.levels[1].spatial = {2, 2, 1};
  mapping.levels[1].split = 1;
  for (LoopLevel& level : mapping.view()) {
    for (size_t d = 3; d < LoopProblem::kMaxDimensions; ++d) {
      level.temporal[d] = level.spatial[d] = 1;
      level.temporal_order[d] = static_cast<uint8_t>(d);
    }
  }
  return mapping;
}

TEST(LoopMapping, PrintsTheNestOutermostFirst) {
  const std::string names[] = {"L1", "DRAM"};
  EXPECT_EQ(PrintLoopNest(Example(), Gemm(), names),
            "DRAM [ A B Z ]\n"
            "--------------\n"
            "| for N in [0:6)\n"
            "|   for K in [0:8)\n"
            "|     for N in [0:2) (Spatial-Y)\n"
            "|       for M in [0:2) (Spatial-X)\n"
            "\n"
            "L1 [ A B ]\n"
            "----------\n"
            "|         for K in [0:4)\n");
  const TileWords words[] = {{4, 8, 1}, {32, 48, 24}};
  const std::string text = PrintLoopNest(Example(), Gemm(), names, words);
  EXPECT_TRUE(text.starts_with("DRAM [ A:32 B:48 Z:24 ]\n-----------------------\n")) << text;
}

TEST(LoopMapping, ComparesAndHashesTheLevelsInUse) {
  LoopMapping a = Example(), b = Example();
  b.levels[7].split = 3;
  EXPECT_EQ(a, b);
  EXPECT_EQ(LoopMappingHash()(a), LoopMappingHash()(b));
  b.levels[1].split = 0;
  EXPECT_NE(a, b);
  EXPECT_NE(LoopMappingHash()(a), LoopMappingHash()(b));
}

TEST(LoopMapping, ValidateNamesTheLevel) {
  EXPECT_TRUE(Validate(Example(), Gemm()));
  LoopMapping bad = Example();
  bad.levels[1].temporal_order = {0, 0, 1};
  EXPECT_EQ(Validate(bad, Gemm()).error().message,
            "level 1: the temporal order is not a permutation");
  bad = Example();
  bad.levels[0].spatial[1] = -2;
  EXPECT_EQ(Validate(bad, Gemm()).error().message,
            "level 0: the spatial factor of N is -2, but must not be negative");
  bad.num_levels = 0;
  EXPECT_EQ(Validate(bad, Gemm()).error().message, "the mapping has 0 levels, but must have 1..12");
}

TEST(CompleteOrder, AppendsWhatIsLeftOut) {
  const std::string names[] = {"K"};
  const auto order = *CompleteOrder(Gemm(), names);
  EXPECT_EQ(order[0], 2);
  EXPECT_EQ(order[1], 0);
  EXPECT_EQ(order[2], 1);
  const std::string unknown[] = {"Q"}, twice[] = {"K", "K"};
  EXPECT_EQ(CompleteOrder(Gemm(), unknown).error().message, "unknown dimension 'Q'");
  EXPECT_EQ(CompleteOrder(Gemm(), twice).error().message,
            "dimension K occurs twice in the permutation");
}

}  // namespace
}  // namespace tessera
