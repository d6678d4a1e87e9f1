// Sizes and counts of layers against a slow walk over every multiplication, and what is said about
// layers that make no sense.
#include "tessera/network.h"

#include <gtest/gtest.h>

#include <set>

#include "tessera/part.h"

namespace tessera {
namespace {

using Position = std::array<int64_t, 4>;  // batch, channel, row, column

// What a layer touches, found by walking its loops.
struct Touched {
  int64_t macs = 0;
  std::set<Position> inputs, weights, outputs;
  int64_t rows = 0, columns = 0;  // of the output
};

// Convolution: slides the window over the padded input for as long as it fits. Transposed: throws
// every input onto the full output, which is cropped by the padding afterwards.
Touched WalkConvolution(const Layer& l) {
  Touched touched;
  const bool transposed = l.type == LayerType::kTransposedConv;
  const int64_t height = l.y + l.pad.top + l.pad.bottom, width = l.x + l.pad.left + l.pad.right;
  const int64_t reach_y = l.dilation.y * (l.r - 1), reach_x = l.dilation.x * (l.s - 1);
  int64_t rows = 0, columns = 0;
  if (transposed) {
    rows = l.stride.y * (l.y - 1) + reach_y + 1 + l.output_pad.y - l.pad.top - l.pad.bottom;
    columns = l.stride.x * (l.x - 1) + reach_x + 1 + l.output_pad.x - l.pad.left - l.pad.right;
  } else {
    while (rows * l.stride.y + reach_y < height) ++rows;
    while (columns * l.stride.x + reach_x < width) ++columns;
  }
  touched.rows = rows;
  touched.columns = columns;
  const int64_t walked_rows = transposed ? l.y : rows, walked_columns = transposed ? l.x : columns;
  for (int64_t n = 0; n < l.n; ++n) {
    for (int64_t k = 0; k < l.k; ++k) {
      for (int64_t row = 0; row < walked_rows; ++row) {
        for (int64_t column = 0; column < walked_columns; ++column) {
          const int64_t group = k / (l.k / l.groups);
          for (int64_t c = 0; c < l.c / l.groups; ++c) {
            for (int64_t r = 0; r < l.r; ++r) {
              for (int64_t s = 0; s < l.s; ++s) {
                ++touched.macs;
                touched.weights.insert({k, c, r, s});
                if (transposed)
                  touched.inputs.insert({n, group * (l.c / l.groups) + c, row, column});
              }
            }
          }
          if (!transposed) touched.outputs.insert({n, k, row, column});
        }
      }
    }
  }
  return touched;
}

int64_t Draw(CounterRng& rng, int64_t least, int64_t most) {
  return least + rng.UniformInt(most - least + 1);
}

Layer RandomConvolution(CounterRng& rng, LayerType type) {
  Layer layer{.type = type};
  layer.groups = Draw(rng, 1, 3);
  layer.n = Draw(rng, 1, 2);
  layer.k = layer.groups * Draw(rng, 1, 2);
  layer.c = layer.groups * Draw(rng, 1, 2);
  layer.y = Draw(rng, 1, 6);
  layer.x = Draw(rng, 1, 6);
  layer.r = Draw(rng, 1, 3);
  layer.s = Draw(rng, 1, 3);
  layer.stride = {Draw(rng, 1, 3), Draw(rng, 1, 3)};
  layer.dilation = {Draw(rng, 1, 2), Draw(rng, 1, 2)};
  layer.pad = {Draw(rng, 0, 2), Draw(rng, 0, 2), Draw(rng, 0, 2), Draw(rng, 0, 2)};
  if (type == LayerType::kTransposedConv) layer.output_pad = {Draw(rng, 0, 1), Draw(rng, 0, 1)};
  layer.bias = Draw(rng, 0, 1) == 1;
  return layer;
}

TEST(Layer, CountsOfConvolutionsAreThoseOfTheLoopNest) {
  int64_t valid = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    CounterRng rng(seed, StreamId("layer_test"));
    const LayerType type = seed % 2 == 0 ? LayerType::kConv : LayerType::kTransposedConv;
    const Layer layer = RandomConvolution(rng, type);
    if (!Validate(layer)) continue;
    ++valid;
    const Touched touched = WalkConvolution(layer);
    EXPECT_EQ(OutputSize(layer), (Pair{touched.rows, touched.columns})) << ToString(layer);
    EXPECT_EQ(Macs(layer), touched.macs) << ToString(layer);
    EXPECT_EQ(WeightElements(layer), std::ssize(touched.weights)) << ToString(layer);
    EXPECT_EQ(OutputElements(layer), layer.n * layer.k * touched.rows * touched.columns);
    EXPECT_EQ(InputElements(layer), layer.n * layer.c * layer.y * layer.x);
    EXPECT_EQ(Parameters(layer), std::ssize(touched.weights) + (layer.bias ? layer.k : 0));
    if (type == LayerType::kConv) {
      EXPECT_EQ(OutputElements(layer), std::ssize(touched.outputs)) << ToString(layer);
    } else {
      EXPECT_EQ(InputElements(layer), std::ssize(touched.inputs)) << ToString(layer);
    }
  }
  EXPECT_GT(valid, 300);
}

TEST(Layer, CountsOfMatrixProducts) {
  const Layer fc{.type = LayerType::kFullyConnected, .bias = true, .n = 3, .k = 5, .c = 7};
  EXPECT_EQ(Macs(fc), 105);
  EXPECT_EQ(InputElements(fc), 21);
  EXPECT_EQ(WeightElements(fc), 35);
  EXPECT_EQ(OutputElements(fc), 15);
  EXPECT_EQ(Parameters(fc), 40);
  EXPECT_EQ(OutputSize(fc), (Pair{1, 1}));

  const Layer matmul{.type = LayerType::kMatmul, .h = 2, .m = 3, .n = 5, .k = 7};
  EXPECT_EQ(Macs(matmul), 210);
  EXPECT_EQ(InputElements(matmul), 42);
  EXPECT_EQ(WeightElements(matmul), 70);
  EXPECT_EQ(OutputElements(matmul), 30);
  EXPECT_EQ(Parameters(matmul), 0);  // both operands are activations
}

TEST(Layer, TypeNamesTellDepthwiseApart) {
  Layer layer{.k = 8, .c = 4};
  EXPECT_EQ(TypeName(layer), "conv");
  layer.groups = 2;
  EXPECT_EQ(TypeName(layer), "conv");
  EXPECT_FALSE(IsDepthwise(layer));
  layer.groups = 4;
  EXPECT_EQ(TypeName(layer), "dwconv");
  EXPECT_TRUE(IsDepthwise(layer));
  layer = {.k = 8, .c = 1};
  EXPECT_EQ(TypeName(layer), "conv");  // one channel is no group
  layer.type = LayerType::kTransposedConv;
  EXPECT_EQ(TypeName(layer), "trconv");
  layer.type = LayerType::kFullyConnected;
  EXPECT_EQ(TypeName(layer), "fc");
  layer.type = LayerType::kMatmul;
  EXPECT_EQ(TypeName(layer), "gemm");
}

TEST(Layer, PrintsWhatDiffersFromTheDefaults) {
  Layer layer{.k = 64, .c = 3, .y = 224, .x = 224, .r = 7, .s = 7, .stride = {2, 2}};
  layer.pad = {3, 3, 3, 3};
  EXPECT_EQ(ToString(layer), "conv N1 K64 C3 Y224 X224 R7 S7 P112 Q112 stride 2 pad 3");
  layer.pad = {3, 2, 3, 1};
  layer.stride = {2, 1};
  EXPECT_EQ(ToString(layer), "conv N1 K64 C3 Y224 X224 R7 S7 P112 Q221 stride 2x1 pad 3,2,3,1");
  EXPECT_EQ(ToString(Layer{.type = LayerType::kMatmul, .h = 2, .m = 3, .n = 4, .k = 5}),
            "gemm H2 M3 N4 K5");
  EXPECT_EQ(ToString(Layer{.type = LayerType::kFullyConnected, .n = 2, .k = 3, .c = 4}),
            "fc N2 K3 C4");
}

TEST(Layer, SaysWhyALayerMakesNoSense) {
  const Layer good{.k = 8, .c = 4, .y = 9, .x = 9, .r = 3, .s = 3};
  ASSERT_TRUE(Validate(good));
  const auto message = [&](auto change) {
    Layer layer = good;
    change(layer);
    const Result<void> valid = Validate(layer);
    return valid ? std::string("valid") : ToString(valid.error());
  };
  EXPECT_EQ(message([](Layer& l) { l.k = 0; }), "K is 0, but must be at least 1");
  EXPECT_EQ(message([](Layer& l) { l.c = -4; }), "C is -4, but must be at least 1");
  EXPECT_EQ(message([](Layer& l) { l.y = kMaxSize + 1; }),
            "Y is 2147483648, but must be at most 2147483647");
  EXPECT_EQ(message([](Layer& l) { l.stride.x = 0; }), "stride is 0, but must be at least 1");
  EXPECT_EQ(message([](Layer& l) { l.pad.right = -1; }), "pad is -1, but must be at least 0");
  EXPECT_EQ(message([](Layer& l) { l.groups = 3; }), "groups = 3 does not divide C = 4");
  EXPECT_EQ(message([](Layer& l) { l.groups = 4, l.k = 6; }), "groups = 4 does not divide K = 6");
  EXPECT_EQ(message([](Layer& l) { l.r = 10; }),
            "kernel R = 10 is larger than the padded input Y = 9; raise Y or the padding");
  EXPECT_EQ(message([](Layer& l) { l.s = 10, l.pad.left = 1; }), "valid");
  EXPECT_EQ(message([](Layer& l) { l.dilation.x = 5; }),
            "kernel S = 3 (dilation 5) is larger than the padded input X = 9; raise X or the "
            "padding");
  EXPECT_EQ(message([](Layer& l) {
              l.type = LayerType::kTransposedConv;
              l.pad.top = 11;
            }),
            "padding 11 + 0 of Y leaves no output");
  EXPECT_EQ(message([](Layer& l) { l.k = l.c = l.n = kMaxSize; }),
            "the number of MACs does not fit in 64 bits; reduce the layer's sizes");
}

// Sums of sizes near 2^31, and products of all of them, must not overflow on the way.
TEST(Layer, LargestSizesAreCheckedWithoutOverflow) {
  Layer layer{.k = 2, .y = kMaxSize, .x = 1, .r = kMaxSize, .s = 1};
  layer.pad = {kMaxSize, 0, kMaxSize, 0};
  EXPECT_FALSE(Validate(layer));  // MACs do not fit
  layer.r = 1;
  layer.stride = {kMaxSize, 1};
  ASSERT_TRUE(Validate(layer));
  EXPECT_EQ(OutputSize(layer).y, 3);
  layer.type = LayerType::kTransposedConv;
  layer.dilation = {kMaxSize, kMaxSize};
  layer.output_pad = {kMaxSize, 0};
  EXPECT_TRUE(Validate(layer));
}

TEST(Layer, HashFollowsEquality) {
  const Layer a{.k = 8, .c = 4};
  Layer b = a;
  EXPECT_EQ(LayerHash()(a), LayerHash()(b));
  b.output_pad.x = 1;
  EXPECT_NE(a, b);
  EXPECT_NE(LayerHash()(a), LayerHash()(b));
}

}  // namespace
}  // namespace tessera
