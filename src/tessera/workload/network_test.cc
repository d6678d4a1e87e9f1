// Merging of equal layers, names, totals, overflow, and finding a layer.
#include "tessera/network.h"

#include "tessera/workload/builder.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const Layer kSmall{.k = 8, .c = 4, .y = 9, .x = 9, .r = 3, .s = 3};
const Layer kLarge{.k = 16, .c = 8, .y = 9, .x = 9, .r = 3, .s = 3};

TEST(NetworkBuilder, MergesEqualLayersInOrderOfFirstOccurrence) {
  NetworkBuilder builder(Network{.name = "net"});
  ASSERT_TRUE(builder.Add("b", kLarge));
  ASSERT_TRUE(builder.Add("a", kSmall, 2));
  ASSERT_TRUE(builder.Add("c", kLarge, 3));
  const Network network = builder.Take();
  EXPECT_EQ(network.name, "net");
  ASSERT_EQ(network.layers.size(), 2u);
  EXPECT_EQ(network.layers[0],
            (NetworkLayer{.name = "b", .layer = kLarge, .count = 4, .also = {"c"}}));
  EXPECT_EQ(network.layers[1], (NetworkLayer{.name = "a", .layer = kSmall, .count = 2}));
  EXPECT_EQ(TotalLayers(network), 6);
  EXPECT_EQ(TotalMacs(network), 4 * Macs(kLarge) + 2 * Macs(kSmall));
  EXPECT_EQ(TotalParameters(network), 4 * Parameters(kLarge) + 2 * Parameters(kSmall));
}

TEST(NetworkBuilder, TakenNamesGetSuffixes) {
  NetworkBuilder builder(Network{});
  for (const char* name : {"conv", "conv", "conv~2", "conv", "", ""}) {
    ASSERT_TRUE(builder.Add(name, kSmall));
  }
  const Network network = builder.Take();
  EXPECT_EQ(network.layers[0].name, "conv");
  EXPECT_EQ(network.layers[0].also,
            (std::vector<std::string>{"conv~2", "conv~2~2", "conv~3", "layer", "layer~2"}));
}

// Ten thousand layers of one name must not take quadratic time.
TEST(NetworkBuilder, ManyEqualNamesStayCheap) {
  NetworkBuilder builder(Network{});
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(builder.Add("x", kSmall));
  EXPECT_EQ(builder.Take().layers[0].also.back(), "x~10000");
}

TEST(NetworkBuilder, RefusesWhatCannotBeCounted) {
  NetworkBuilder builder(Network{});
  EXPECT_EQ(ToString(builder.Add("a", {.k = 0}).error()),
            "layer 'a': K is 0, but must be at least 1");
  EXPECT_EQ(ToString(builder.Add("a", kSmall, 0).error()),
            "layer 'a': count is 0, but must be in 1..2147483647");
  const Layer huge{.type = LayerType::kMatmul, .m = 1 << 30, .n = 1 << 30, .k = 4};
  ASSERT_TRUE(builder.Add("h", huge));
  const Result<void> overflow = builder.Add("i", huge, 2);
  EXPECT_EQ(overflow.error().kind, ErrorKind::kOverflow);
  EXPECT_EQ(ToString(overflow.error()),
            "layer 'i': the network's total number of MACs does not fit in 64 bits");
  // What was refused left no trace.
  const Network network = builder.Take();
  EXPECT_EQ(TotalMacs(network), Macs(huge));
  EXPECT_EQ(TotalLayers(network), 1);
}

TEST(Network, TheUsualBatchIsThatOfTheFirstLayerWithOne) {
  EXPECT_EQ(UsualBatch(Network{}), 1);
  NetworkBuilder builder(Network{});
  ASSERT_TRUE(builder.Add("a", {.type = LayerType::kMatmul, .m = 2, .n = 3, .k = 4}));
  ASSERT_TRUE(builder.Add("b", {.n = 5}));
  ASSERT_TRUE(builder.Add("c", {.n = 6}));
  EXPECT_EQ(UsualBatch(builder.Take()), 5);
}

TEST(FindLayer, TakesNamesOfAnyOccurrenceAndIndices) {
  NetworkBuilder builder(Network{.name = "net"});
  ASSERT_TRUE(builder.Add("conv1", kSmall));
  ASSERT_TRUE(builder.Add("conv2", kLarge));
  ASSERT_TRUE(builder.Add("conv3", kSmall));
  ASSERT_TRUE(builder.Add("1", {.k = 3}));
  const Network network = builder.Take();
  EXPECT_EQ(*FindLayer(network, "conv2"), &network.layers[1]);
  EXPECT_EQ(*FindLayer(network, "conv3"), &network.layers[0]);
  EXPECT_EQ(*FindLayer(network, "2"), &network.layers[1]);
  EXPECT_EQ(*FindLayer(network, "1"), &network.layers[2]);  // a name goes before an index
  EXPECT_EQ(ToString(FindLayer(network, "4").error()),
            "network 'net' has no layer 4: its layers are 1..3");
  EXPECT_EQ(ToString(FindLayer(network, "0").error()),
            "network 'net' has no layer 0: its layers are 1..3");
  EXPECT_EQ(ToString(FindLayer(network, "cnov2").error()),
            "network 'net' has no layer 'cnov2'; did you mean 'conv2'?");
}

}  // namespace
}  // namespace tessera
