// Layers as MAESTRO sees them: what survives, and what it cannot hold.
#include "tessera/cost/maestro/workload.h"

#include <string>

#include <gtest/gtest.h>

namespace tessera::maestro {
namespace {

using enum DataflowDim;

int64_t SizeOf(const Declaration& declaration, Dim dim) {
  for (const DimSize& entry : declaration.dims) {
    if (entry.dim == dim) return entry.size;
  }
  return 0;
}

// Whatever a Tessera layer becomes, its MACs survive.
void ExpectSameMacs(const Layer& layer, MaestroType type) {
  ASSERT_TRUE(Validate(layer));
  const Result<Declaration> declaration = Declare(layer);
  ASSERT_TRUE(declaration) << declaration.error();
  EXPECT_EQ(declaration->type, type) << ToString(layer);
  const Result<Workload> workload = MakeWorkload(*declaration);
  ASSERT_TRUE(workload) << workload.error();
  EXPECT_EQ(workload->exact_macs, Macs(layer)) << ToString(layer);
}

TEST(MaestroWorkload, LayersKeepTheirMacs) {
  ExpectSameMacs(
      {.k = 64, .c = 3, .y = 224, .x = 224, .r = 7, .s = 7, .stride = {2, 2}, .pad = {3, 3, 3, 3}},
      MaestroType::kConv);
  ExpectSameMacs({.n = 4, .k = 8, .c = 8, .y = 9, .x = 7, .r = 3, .s = 1}, MaestroType::kConv);
  ExpectSameMacs(
      {.k = 32, .c = 32, .y = 112, .x = 112, .r = 3, .s = 3, .groups = 32, .pad = {1, 1, 1, 1}},
      MaestroType::kDsconv);
  ExpectSameMacs({.k = 64, .c = 32, .y = 12, .x = 12, .r = 3, .s = 3, .groups = 32},
                 MaestroType::kNgconv);
  ExpectSameMacs({.k = 128, .c = 256, .y = 56, .x = 56, .r = 3, .s = 3, .groups = 4},
                 MaestroType::kNgconv);
  ExpectSameMacs({.type = LayerType::kTransposedConv,
                  .k = 64,
                  .c = 128,
                  .y = 28,
                  .x = 28,
                  .r = 2,
                  .s = 2,
                  .stride = {2, 2}},
                 MaestroType::kTrconv);
  ExpectSameMacs({.type = LayerType::kFullyConnected, .n = 2, .k = 1000, .c = 512},
                 MaestroType::kConv);
  ExpectSameMacs({.type = LayerType::kMatmul, .m = 128, .n = 64, .k = 768}, MaestroType::kGemm);
  ExpectSameMacs({.type = LayerType::kMatmul, .h = 12, .m = 128, .n = 128, .k = 64},
                 MaestroType::kNgconv);
}

TEST(MaestroWorkload, PaddingBecomesInputSize) {
  const Result<Declaration> declaration =
      Declare(Layer{.y = 224, .x = 200, .r = 3, .s = 3, .pad = {1, 2, 3, 4}});
  ASSERT_TRUE(declaration);
  EXPECT_EQ(SizeOf(*declaration, kY), 228);
  EXPECT_EQ(SizeOf(*declaration, kX), 206);
}

// Of 228 rows, 55 windows of 11 with stride 4 touch 227.
TEST(MaestroWorkload, OnlyInputThatIsReadIsDeclared) {
  const Layer layer{
      .k = 64, .c = 3, .y = 224, .x = 224, .r = 11, .s = 11, .stride = {4, 4}, .pad = {2, 2, 2, 2}};
  const Result<Declaration> declaration = Declare(layer);
  ASSERT_TRUE(declaration);
  EXPECT_EQ(SizeOf(*declaration, kY), 227);
  EXPECT_EQ(SizeOf(*declaration, kX), 227);
  ExpectSameMacs(layer, MaestroType::kConv);
}

// Windows that do not overlap are a convolution of 1x1 over their insides.
TEST(MaestroWorkload, WindowsApartBecomeChannels) {
  const Layer patches{.k = 768, .c = 3, .y = 224, .x = 224, .r = 16, .s = 16, .stride = {16, 16}};
  const Result<Declaration> declaration = Declare(patches);
  ASSERT_TRUE(declaration);
  EXPECT_EQ(SizeOf(*declaration, kC), 768);
  EXPECT_EQ(SizeOf(*declaration, kR), 1);
  EXPECT_EQ(SizeOf(*declaration, kY), 14);
  ExpectSameMacs(patches, MaestroType::kConv);

  const Layer downsample{.k = 128, .c = 64, .y = 56, .x = 56, .r = 1, .s = 1, .stride = {2, 2}};
  const Result<Declaration> quarter = Declare(downsample);
  ASSERT_TRUE(quarter);
  EXPECT_EQ(SizeOf(*quarter, kC), 64);
  EXPECT_EQ(SizeOf(*quarter, kY), 28);
  EXPECT_EQ(quarter->strides[0].size, 1);
  ExpectSameMacs(downsample, MaestroType::kConv);

  // The channels of a depthwise one are not summed up.
  ExpectSameMacs(
      {.k = 32, .c = 32, .y = 12, .x = 12, .r = 2, .s = 2, .groups = 32, .stride = {2, 2}},
      MaestroType::kDsconv);
}

TEST(MaestroWorkload, DilationIsNotMaestros) {
  const Result<Declaration> declaration = Declare(Layer{.y = 9, .r = 3, .dilation = {2, 1}});
  ASSERT_FALSE(declaration);
  EXPECT_EQ(ToString(declaration.error()),
            "dilation 2x1: MAESTRO has no dilated convolution; use model 'loopnest'");
}

TEST(MaestroWorkload, OutputSizesGiveInputSizesWithSwappedStrides) {
  const Result<Workload> workload =
      MakeWorkload({.dims = {{kK, 2}, {kC, 2}, {kR, 3}, {kS, 5}, {kYOut, 10}, {kXOut, 20}},
                    .strides = {{kYOut, 2}, {kXOut, 3}}});
  ASSERT_TRUE(workload) << workload.error();
  EXPECT_EQ(workload->size[Index(kY)], 12);
  EXPECT_EQ(workload->size[Index(kX)], 24);
  EXPECT_EQ(workload->stride[Index(kY)], 3);
  EXPECT_EQ(workload->stride[Index(kX)], 2);
  EXPECT_EQ(workload->exact_macs, 2 * 2 * 3 * 5 * 10 * 20);
}

TEST(MaestroWorkload, ReportsBadDeclarations) {
  const auto message = [](const Declaration& declaration) {
    const Result<Workload> workload = MakeWorkload(declaration);
    return workload ? std::string("no error") : workload.error().message;
  };
  EXPECT_EQ(message({.dims = {{kK, 1}, {kC, 1}, {kR, 1}, {kS, 1}, {kY, 1}}}),
            "a layer of type CONV needs dimension X");
  EXPECT_EQ(message({.type = MaestroType::kGemm, .dims = {{kM, 1}, {kN, 1}, {kC, 1}}}),
            "a layer of type GEMM needs dimension K");
  EXPECT_EQ(message({.dims = {{kK, 0}}}), "dimension K is 0, but must be in 1..2147483647");
  EXPECT_EQ(message({.type = MaestroType::kGemm,
                     .dims = {{kM, INT32_MAX}, {kN, INT32_MAX}, {kK, INT32_MAX}}}),
            "the layer's MACs or tensor sizes exceed 60 bits");
}

}  // namespace
}  // namespace tessera::maestro
