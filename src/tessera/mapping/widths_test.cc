// What an element takes of a level.
#include "tessera/mapping/widths.h"

#include <gtest/gtest.h>

#include "tessera/mapping.h"

namespace tessera {
namespace {

Hierarchy TwoLevels() {
  Hierarchy hierarchy;
  hierarchy.levels = {{.name = "L1", .entries = 100, .word_bits = 16},
                      {.name = "DRAM", .word_bits = 64}};
  return hierarchy;
}

LoopProblem Gemm() { return *MakeLoopProblem("gemm", {{"M", 4}, {"N", 4}, {"K", 4}}); }

int TensorOf(const LoopProblem& problem, std::string_view role) {
  return *FindTensorOrRole(problem, role);
}

TEST(Widths, AreWordsWhereNobodyGivesThem) {
  const LoopProblem problem = Gemm();
  for (const size_t level : {size_t{0}, size_t{1}}) {
    const LevelWidths widths = WidthsAt(problem, TwoLevels(), level);
    EXPECT_EQ(widths.word_units, 1);
    EXPECT_TRUE(widths.plain(problem.num_tensors));
    for (int v = 0; v < problem.num_tensors; ++v) EXPECT_EQ(widths.words(v), 1.0);
  }
  EXPECT_EQ(UsableUnits(WidthsAt(problem, TwoLevels(), 0), TwoLevels().levels[0], 100), 100);
}

TEST(Widths, OfTheNetworkWinOverThoseOfTheMachine) {
  LoopProblem problem = Gemm();
  SetBits({.weights = 4}, problem);
  Hierarchy hierarchy = TwoLevels();
  hierarchy.bits = {.weights = 8, .inputs = 8};
  const LevelWidths widths = WidthsAt(problem, hierarchy, 0);
  EXPECT_EQ(widths.unit_bits, 4);
  EXPECT_EQ(widths.word_units, 4);
  EXPECT_EQ(widths.words(TensorOf(problem, "Weights")), 0.25);
  EXPECT_EQ(widths.words(TensorOf(problem, "Inputs")), 0.5);
  EXPECT_EQ(widths.words(TensorOf(problem, "Outputs")), 1.0);
  EXPECT_EQ(UsableUnits(widths, hierarchy.levels[0], 100), 400);
}

TEST(Widths, OfTheWordsGiveWhatNoWidthsGive) {
  LoopProblem problem = Gemm();
  SetBits({.weights = 16, .inputs = 16, .outputs = 16}, problem);
  const LevelWidths inner = WidthsAt(problem, TwoLevels(), 0);
  EXPECT_EQ(inner.word_units, 1);
  EXPECT_TRUE(inner.plain(problem.num_tensors));
  EXPECT_EQ(WidthsAt(problem, TwoLevels(), 1).words(0), 0.25);
}

TEST(Widths, PartialSumsAreInsideAndOutputsOutside) {
  LoopProblem problem = Gemm();
  const int sums = TensorOf(problem, "Outputs");
  SetBits({.outputs = 8, .partial_sums = 32}, problem);
  EXPECT_EQ(WidthsAt(problem, TwoLevels(), 0).words(sums), 2.0);
  EXPECT_EQ(WidthsAt(problem, TwoLevels(), 1).words(sums), 0.125);
  // A machine's partial sums go with the network's outputs.
  problem = Gemm();
  SetBits({.outputs = 8}, problem);
  Hierarchy hierarchy = TwoLevels();
  EXPECT_EQ(WidthsAt(problem, hierarchy, 0).words(sums), 0.5);
  hierarchy.bits.partial_sums = 24;
  EXPECT_EQ(WidthsAt(problem, hierarchy, 0).words(sums), 1.5);
}

TEST(Widths, MultipleBufferingDividesBits) {
  LoopProblem problem = Gemm();
  SetBits({.weights = 8, .inputs = 8, .outputs = 8}, problem);
  Hierarchy hierarchy = TwoLevels();
  hierarchy.levels[0].multiple_buffering = 3;
  const LevelWidths widths = WidthsAt(problem, hierarchy, 0);
  EXPECT_EQ(widths.word_units, 2);
  EXPECT_EQ(UsableUnits(widths, hierarchy.levels[0], 100), 66);  // of 200 bytes a third
}

}  // namespace
}  // namespace tessera
