// MAESTRO files as networks, both ways.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tessera/network.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/conformance.h"

namespace tessera {
namespace {

const NetworkFormat& Maestro() { return **FindNetworkFormat("maestro"); }

Result<Network> Read(const std::string& text) { return Maestro().read(text, "net.m", {}); }

Layer ReadLayer(const std::string& items) {
  const Result<Network> network = Read("Network n { Layer a { " + items + " } }");
  EXPECT_TRUE(network) << network.error();
  return network ? network->layers[0].layer : Layer{};
}

Network OneLayer(const Layer& layer) {
  NetworkBuilder builder(Network{.name = "n"});
  EXPECT_TRUE(builder.Add("a", layer));
  return builder.Take();
}

// The text between the layer's braces, and what was lost.
std::pair<std::string, std::vector<std::string>> Written(const Layer& layer) {
  const Result<Export> exported = Maestro().write(OneLayer(layer));
  EXPECT_TRUE(exported) << exported.error();
  std::string text = exported->files[0].contents;
  const std::string head = "Network n {\n  Layer a {\n", tail = "  }\n}\n";
  EXPECT_TRUE(text.starts_with(head) && text.ends_with(tail)) << text;
  return {text.substr(head.size(), text.size() - head.size() - tail.size()), exported->lost};
}

TEST(Maestro, ReadsItsLayerTypes) {
  EXPECT_EQ(ReadLayer("Type: CONV Stride { X: 2, Y: 3 } Dimensions { K: 64, C: 3, R: 7, S: 5, "
                      "Y: 229, X: 228, N: 2 }"),
            (Layer{.n = 2, .k = 64, .c = 3, .y = 229, .x = 228, .r = 7, .s = 5, .stride = {3, 2}}));
  EXPECT_EQ(ReadLayer("Type: GEMM Dimensions { M: 2, N: 3, K: 4 }"),
            (Layer{.type = LayerType::kMatmul, .m = 2, .n = 3, .k = 4}));
  EXPECT_EQ(ReadLayer("Type: TRCONV Stride { X: 2, Y: 2 } Dimensions { K: 8, C: 4, R: 2, S: 2, "
                      "Y: 5, X: 6 }"),
            (Layer{.type = LayerType::kTransposedConv,
                   .k = 8,
                   .c = 4,
                   .y = 5,
                   .x = 6,
                   .r = 2,
                   .s = 2,
                   .stride = {2, 2}}));
  // K and C of one group.
  EXPECT_EQ(ReadLayer("Type: NGCONV Dimensions { G: 32, K: 4, C: 2, R: 3, S: 3, Y: 9, X: 9 }"),
            (Layer{.k = 128, .c = 64, .y = 9, .x = 9, .r = 3, .s = 3, .groups = 32}));
  // A 1 x 1 convolution of one position is how the format says "fully connected".
  EXPECT_EQ(ReadLayer("Type: CONV Dimensions { N: 3, K: 8, C: 4, R: 1, S: 1, Y: 1, X: 1 }"),
            (Layer{.type = LayerType::kFullyConnected, .n = 3, .k = 8, .c = 4}));
  EXPECT_EQ(ReadLayer("Type: CONV Stride { X: 1, Y: 1 } Dimensions { K: 8, C: 4, R: 1, S: 1, "
                      "Y: 1, X: 1 }"),
            (Layer{.k = 8, .c = 4}));
}

TEST(Maestro, DepthwiseLayersHaveKOfOneOrOfC) {
  const Layer expected{.k = 32, .c = 32, .y = 9, .x = 9, .r = 3, .s = 3, .groups = 32};
  EXPECT_EQ(ReadLayer("Type: DSCONV Dimensions { K: 1, C: 32, R: 3, S: 3, Y: 9, X: 9 }"), expected);
  EXPECT_EQ(ReadLayer("Type: DSCONV Dimensions { K: 32, C: 32, R: 3, S: 3, Y: 9, X: 9 }"),
            expected);
  EXPECT_EQ(ReadLayer("Type: DSCONV Dimensions { C: 32, R: 3, S: 3, Y: 9, X: 9 }"), expected);
}

TEST(Maestro, OutputSizesStandForTheInputsThatGiveThem) {
  EXPECT_EQ(ReadLayer("Type: CONV Stride { Y': 2 } Dimensions { K: 1, C: 1, R: 7, S: 3, Y': 112, "
                      "X': 10 }"),
            (Layer{.y = 229, .x = 12, .r = 7, .s = 3, .stride = {2, 1}}));
  EXPECT_EQ(ReadLayer("Type: TRCONV Stride { Y': 2, X': 2 } Dimensions { K: 1, C: 1, R: 2, S: 2, "
                      "Y': 56, X': 8 }")
                .y,
            28);
}

TEST(Maestro, MergesEqualLayersAndIgnoresMappings) {
  const Result<Network> network = Read(
      "Network Net {\n"
      "  Layer A { Type: CONV Stride { Y: 1, X: 1 } Dimensions { K: 4, C: 4, R: 1, S: 1, Y: 8, X: "
      "8 }\n"
      "    Dataflow { SpatialMap(1,1) K; TemporalMap(1,1) C; Cluster(2,P); SpatialMap(1,1) Y'; } "
      "}\n"
      "  Layer A { Type: CONV Dimensions { K: 4, C: 4, R: 1, S: 1, Y: 8, X: 8 } }\n"
      "}\n");
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->name, "Net");
  ASSERT_EQ(network->layers.size(), 1u);
  EXPECT_EQ(network->layers[0].count, 2);
  EXPECT_EQ(network->layers[0].also, std::vector<std::string>{"A~2"});
}

TEST(Maestro, AcceptsBomAndCrlf) {
  const Result<Network> network = Read(
      "\xef\xbb\xbfNetwork n {\r\nLayer a {\r\nType: GEMM\r\nDimensions { M: 2, N: 3, K: 4 "
      "}\r\n}\r\n}\r\n");
  EXPECT_TRUE(network) << network.error();
}

TEST(Maestro, SaysWhatIsMissing) {
  const std::pair<const char*, const char*> cases[] = {
      {"Type: CONV Dimensions { K: 8, C: 4, R: 1, S: 1, Y: 1 }",
       "net.m:1:13: layer 'a' of type CONV without dimension 'X'"},
      {"Type: NGCONV Dimensions { K: 8, C: 4, R: 1, S: 1, Y: 1, X: 1 }",
       "net.m:1:13: layer 'a' of type NGCONV without dimension 'G'"},
      {"Type: GEMM Dimensions { M: 8 }",
       "net.m:1:13: layer 'a' of type GEMM without dimension 'N'"},
      {"Type: CONV Stride { K: 2 } Dimensions { K: 8, C: 4, R: 1, S: 1, Y: 1, X: 1 }",
       "net.m:1:43: a stride of 'K': only Y and X have strides"},
      {"Type: DSCONV Dimensions { K: 8, C: 4, R: 1, S: 1, Y: 1, X: 1 }",
       "net.m:1:49: DSCONV with K = 8: K must be 1 or C = 4; for 8 outputs per channel write "
       "NGCONV "
       "with G = 4, K = 8, C = 1"},
      {"Type: TRCONV Stride { Y': 2 } Dimensions { K: 8, C: 4, R: 2, S: 2, Y': 5, X: 1 }",
       "net.m:1:90: no input size gives a transposed convolution Y' = 5 with kernel 2 and stride "
       "2"},
      {"Type: CONV Dimensions { K: 8, C: 4, R: 3, S: 3, Y: 2, X: 2 }",
       "net.m:1:13: layer 'a': kernel R = 3 is larger than the padded input Y = 2; raise Y or the "
       "padding"},
      {"Type: GEMM Dimensions { M: 2147483647, N: 2147483647, K: 2147483647 }",
       "net.m:1:13: layer 'a': the number of MACs does not fit in 64 bits; reduce the layer's "
       "sizes"},
  };
  for (const auto& [items, message] : cases) {
    const Result<Network> network = Read("Network n { Layer a { " + std::string(items) + " } }");
    ASSERT_FALSE(network) << items;
    EXPECT_EQ(ToString(network.error()), message);
  }
  const std::string layer = "{ Layer a { Type: GEMM Dimensions { M: 1, N: 1, K: 1 } } }";
  EXPECT_EQ(ToString(Read("Network m " + layer + "\nNetwork n " + layer).error()),
            "net.m:2:1: a second Network in the file; put each into a file of its own");
}

// Y holds the padding, less what no output uses: (229 - 7) / 2 + 1 = 112, as for 224 + 6.
TEST(Maestro, PaddingBecomesInputSize) {
  Layer layer{.k = 64, .c = 3, .y = 224, .x = 224, .r = 7, .s = 7, .stride = {2, 2}};
  layer.pad = {3, 3, 3, 3};
  const auto [text, lost] = Written(layer);
  EXPECT_EQ(text,
            "    Type: CONV\n"
            "    Stride { Y: 2, X: 2 }\n"
            "    Dimensions { K: 64, C: 3, R: 7, S: 7, Y: 229, X: 229 }\n");
  EXPECT_EQ(lost, std::vector<std::string>{"padding, which becomes input size: a"});
}

TEST(Maestro, WritesEveryTypeAndListsWhatItLoses) {
  Layer depthwise{.k = 4, .c = 4, .y = 9, .x = 9, .r = 3, .s = 3, .groups = 4};
  EXPECT_EQ(Written(depthwise).first,
            "    Type: DSCONV\n"
            "    Stride { Y: 1, X: 1 }\n"
            "    Dimensions { K: 1, C: 4, R: 3, S: 3, Y: 9, X: 9 }\n");
  depthwise.k = 8;
  EXPECT_EQ(Written(depthwise).first,
            "    Type: NGCONV\n"
            "    Stride { Y: 1, X: 1 }\n"
            "    Dimensions { G: 4, K: 2, C: 1, R: 3, S: 3, Y: 9, X: 9 }\n");
  EXPECT_EQ(Written({.type = LayerType::kFullyConnected, .n = 3, .k = 8, .c = 4}).first,
            "    Type: CONV\n"
            "    Dimensions { N: 3, K: 8, C: 4, R: 1, S: 1, Y: 1, X: 1 }\n");
  const auto [heads, heads_lost] =
      Written({.type = LayerType::kMatmul, .h = 12, .m = 128, .n = 64, .k = 32});
  EXPECT_EQ(heads, "    Type: GEMM\n    Dimensions { M: 1536, N: 64, K: 32 }\n");
  EXPECT_EQ(heads_lost,
            std::vector<std::string>{"the batch H of a product, which is folded into M: a"});

  Layer transposed{
      .type = LayerType::kTransposedConv, .bias = true, .k = 8, .c = 4, .y = 5, .x = 5};
  transposed.r = transposed.s = 3;
  transposed.pad = {1, 1, 1, 1};
  transposed.groups = 2;
  const auto [up, up_lost] = Written(transposed);
  EXPECT_EQ(up,
            "    Type: TRCONV\n"
            "    Stride { Y: 1, X: 1 }\n"
            "    Dimensions { K: 8, C: 2, R: 3, S: 3, Y: 5, X: 5 }\n");
  EXPECT_EQ(up_lost, (std::vector<std::string>{
                         "bias: a", "padding of a transposed convolution, so its output size: a",
                         "groups of a transposed convolution: C is that of one group: a",
                         "MAESTRO itself evaluates TRCONV as CONV: a"}));
}

TEST(Maestro, RepeatsALayerUnderTheNamesOfItsOccurrences) {
  NetworkBuilder builder(Network{.name = "my net", .source = "here"});
  const Layer layer{.type = LayerType::kMatmul, .m = 2, .n = 3, .k = 4};
  ASSERT_TRUE(builder.Add("block.0-qk", layer, 2));
  ASSERT_TRUE(builder.Add("other", layer));
  const Result<Export> exported = Maestro().write(builder.Take());
  ASSERT_TRUE(exported) << exported.error();
  EXPECT_EQ(exported->files[0].name, "my_net.m");
  const std::string body = "    Type: GEMM\n    Dimensions { M: 2, N: 3, K: 4 }\n  }\n";
  EXPECT_EQ(exported->files[0].contents, "Network my_net {\n  Layer block.0_qk {\n" + body +
                                             "  Layer other {\n" + body +
                                             "  Layer block.0_qk~2 {\n" + body + "}\n");
  EXPECT_EQ(exported->lost,
            (std::vector<std::string>{"the network's source", "characters of the network's name",
                                      "characters of a name: block.0-qk"}));
}

// MAESTRO takes tensor shapes from a type's first layer: N is in all of them, or in none.
TEST(Maestro, BatchIsWrittenEverywhereOrNowhere) {
  NetworkBuilder builder(Network{.name = "n"});
  ASSERT_TRUE(builder.Add("a", {.k = 2}));
  ASSERT_TRUE(builder.Add("b", {.n = 2, .k = 2}));
  const Result<Export> exported = Maestro().write(builder.Take());
  ASSERT_TRUE(exported) << exported.error();
  EXPECT_NE(exported->files[0].contents.find("{ N: 1, K: 2,"), std::string::npos);
  EXPECT_NE(exported->files[0].contents.find("{ N: 2, K: 2,"), std::string::npos);
}

TEST(Maestro, RefusesWhatItCannotHold) {
  EXPECT_EQ(ToString(Maestro()
                         .write(OneLayer({.type = LayerType::kMatmul, .h = 1 << 20, .m = 1 << 20}))
                         .error()),
            "layer 'a': M would be larger than 2147483647");
  NetworkBuilder builder(Network{.name = "n"});
  ASSERT_TRUE(builder.Add("a", {.k = 2}, 2'000'000'000));
  EXPECT_EQ(ToString(Maestro().write(builder.Take()).error()),
            "the network's 2000000000 layers, one by one, do not fit into a text file of 67108864 "
            "bytes");
}

// What must survive, counted over occurrences.
using Survivors =
    std::map<std::tuple<std::string_view, int64_t, int64_t, int64_t, int64_t, int64_t>, int64_t>;

Survivors SurvivorsOf(const Network& network) {
  Survivors survivors;
  for (const auto& [name, layer, count, also, types] : network.layers) {
    const Pair output = OutputSize(layer);
    survivors[{TypeName(layer), output.y, output.x, layer.stride.y, layer.stride.x, Macs(layer)}] +=
        count;
  }
  return survivors;
}

TEST(Maestro, TypeOutputStrideMacsAndCountsOfTheZooSurvive) {
  for (const ZooFile& file : Zoo()) {
    for (const int64_t batch : {1, 4}) {
      const Result<Network> network = LoadZooNetwork(file.name, {{"batch", batch}});
      ASSERT_TRUE(network) << network.error();
      const Result<Export> exported = Maestro().write(*network);
      ASSERT_TRUE(exported) << exported.error();
      const Result<Network> again = ReadExport(Maestro(), *exported);
      ASSERT_TRUE(again) << again.error();
      EXPECT_EQ(SurvivorsOf(*again), SurvivorsOf(*network)) << file.name;
      EXPECT_EQ(TotalMacs(*again), TotalMacs(*network)) << file.name;
    }
  }
}

}  // namespace
}  // namespace tessera
