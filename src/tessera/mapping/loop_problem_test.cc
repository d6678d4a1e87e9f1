// Layers become loop nests with the right sizes, and bad shapes are refused by name.
#include "tessera/mapping.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(LoopProblem, ConvolutionHasItsOutputSizeAndStrides) {
  const Layer layer{.n = 2,
                    .k = 64,
                    .c = 3,
                    .y = 224,
                    .x = 112,
                    .r = 7,
                    .s = 5,
                    .stride = {2, 3},
                    .dilation = {1, 2},
                    .pad = {3, 4, 3, 4}};
  const LoopProblem problem = *MakeLoopProblem(layer);
  EXPECT_EQ(ToString(problem), "conv R7 S5 P112 Q38 C3 K64 N2 Wstride 2 Hstride 3 Hdilation 2");
  EXPECT_EQ(Macs(problem), Macs(layer));
  const LoopTensor& inputs = problem.tensors[static_cast<size_t>(*FindTensor(problem, "Inputs"))];
  const std::span<const RankTerm> rows = inputs.ranks[2].view();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(problem.dims()[static_cast<size_t>(rows[1].dimension)].name.view(), "P");
  EXPECT_EQ(rows[1].coefficient, 2);
}

TEST(LoopProblem, EveryLayerTypeKeepsItsMacs) {
  const Layer layers[] = {
      {.k = 8, .c = 8, .y = 9, .x = 9, .r = 3, .s = 3, .groups = 8},   // depthwise
      {.k = 16, .c = 8, .y = 9, .x = 9, .r = 3, .s = 3, .groups = 8},  // with multiplier
      {.k = 6, .c = 4, .y = 9, .x = 9, .r = 3, .s = 3, .groups = 2},   // grouped
      {.type = LayerType::kTransposedConv,
       .k = 6,
       .c = 4,
       .y = 5,
       .x = 5,
       .r = 2,
       .s = 2,
       .groups = 2,
       .stride = {2, 2}},
      {.type = LayerType::kFullyConnected, .n = 4, .k = 10, .c = 64},
      {.type = LayerType::kMatmul, .m = 12, .n = 5, .k = 7},
      {.type = LayerType::kMatmul, .h = 3, .m = 12, .n = 5, .k = 7}};
  const char* shapes[] = {"dwconv", "gconv", "gconv", "trconv", "fc", "gemm", "bgemm"};
  for (size_t i = 0; i < std::size(layers); ++i) {
    const Result<LoopProblem> problem = MakeLoopProblem(layers[i]);
    ASSERT_TRUE(problem) << problem.error();
    EXPECT_EQ(problem->shape.view(), shapes[i]);
    EXPECT_EQ(Macs(*problem), Macs(layers[i])) << shapes[i];
  }
}

TEST(LoopProblem, TensorsAreFoundByRole) {
  const LoopProblem gemm = *MakeLoopProblem("gemm", {{"M", 2}, {"N", 3}, {"K", 4}});
  EXPECT_EQ(FindTensor(gemm, "Weights"), std::nullopt);
  EXPECT_EQ(FindTensorOrRole(gemm, "Weights"), FindTensor(gemm, "B"));
  EXPECT_EQ(FindTensorOrRole(gemm, "Outputs"), FindTensor(gemm, "Z"));
  EXPECT_EQ(FindTensorOrRole(gemm, "Bias"), std::nullopt);
}

TEST(LoopProblem, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(ToString(MakeLoopProblem("cnv", {}).error()),
            "unknown shape 'cnv'; did you mean 'conv'?");
  EXPECT_EQ(MakeLoopProblem("gemm", {{"Q", 2}}).error().message, "unknown dimension of gemm 'Q'");
  EXPECT_EQ(MakeLoopProblem("conv", {{"P", 2}}, {{"stride", 2}}).error().message,
            "unknown coefficient of conv 'stride'");
  EXPECT_EQ(MakeLoopProblem("gemm", {{"M", 0}}).error().message,
            "M is 0, but must be in 1..2147483647");
  EXPECT_EQ(MakeLoopProblem("conv", {{"P", 2}}, {{"Wstride", 0}}).error().message,
            "Inputs: the coefficient of P is 0, but must be in 1..2147483647");
  EXPECT_EQ(MakeLoopProblem("gemm", {{"M", 1 << 30}, {"N", 1 << 30}}).error().message,
            "the number of MACs does not fit in 50 bits");
}

TEST(LoopProblem, RefusesShapesThatMakeNoSense) {
  const LoopProblem gemm = *MakeLoopProblem("gemm", {});
  LoopProblem bad = gemm;
  bad.tensors[2].read_write = false;
  EXPECT_EQ(Validate(bad).error().message, "no tensor is read-write: nothing is computed");
  bad = gemm;
  bad.dimensions[1].name = "M";
  EXPECT_EQ(Validate(bad).error().message, "two dimensions are called M");
  bad = gemm;
  bad.num_dimensions = 4;
  bad.dimensions[3].name = "X";
  EXPECT_EQ(Validate(bad).error().message, "no tensor uses dimension X");
  bad = gemm;
  bad.tensors[0].ranks[0] = {.num_terms = 2, .terms = {{{.dimension = 0}, {.dimension = 0}}}};
  EXPECT_EQ(Validate(bad).error().message, "A: M occurs twice in one rank");
}

}  // namespace
}  // namespace tessera
