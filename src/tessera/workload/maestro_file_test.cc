// What ParseMaestroFile reads, what it forgives, and what it says about everything else.
#include "tessera/workload/maestro_file.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace tessera {
namespace {

constexpr const char* kTwoLayers = R"(// A model with a mapping for its first layer only.
Constant TileK 16;
Network Tiny {
  Layer CONV1 {
    Type: CONV
    Stride { X: 2, Y: 2 }
    Dimensions { K: 64, C: 3, R: 3, S: 3, Y:224, X:224 }
    Dataflow {
      TemporalMap(TileK,TileK) K;   // a constant
      SpatialMap(Sz(R),1) Y;
      Cluster(Sz(S), P);
      SpatialMap(1,1) X';
    }
  }
  Layer Conv2d-2 {
    Type: GEMM
    Dimensions { M: 4, N: 5, K: 6 }
  }
}
)";

using Kind = MaestroDirective::Kind;

TEST(MaestroFile, ReadsLayersDimensionsAndDirectives) {
  const Result<MaestroFile> file = ParseMaestroFile(kTwoLayers, "tiny.m");
  ASSERT_TRUE(file) << file.error();
  ASSERT_EQ(file->networks.size(), 1u);
  const MaestroNetwork& network = file->networks[0];
  EXPECT_EQ(network.name, "Tiny");
  ASSERT_EQ(network.layers.size(), 2u);

  const MaestroLayer& conv = network.layers[0];
  EXPECT_EQ(conv.name, "CONV1");
  EXPECT_EQ(conv.type, MaestroType::kConv);
  ASSERT_EQ(conv.dimensions.size(), 6u);
  EXPECT_EQ(conv.dimensions[4].name, "Y");
  EXPECT_EQ(conv.Find("Y")->size, 224);
  EXPECT_EQ(conv.Find("N"), nullptr);
  EXPECT_EQ(conv.StrideOf("Y"), 2);
  EXPECT_EQ(conv.StrideOf("R"), 1);
  EXPECT_EQ(ToString(file->At(conv.Find("C")->place)), "tiny.m:7:25");

  ASSERT_TRUE(conv.dataflow);
  const std::vector<std::tuple<Kind, int64_t, int64_t, std::string_view>> expected = {
      {Kind::kTemporalMap, 16, 16, "K"},
      {Kind::kSpatialMap, 3, 1, "Y"},
      {Kind::kCluster, 3, 1, ""},
      {Kind::kSpatialMap, 1, 1, "X'"}};
  ASSERT_EQ(conv.dataflow->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const MaestroDirective& d = (*conv.dataflow)[i];
    EXPECT_EQ(std::tuple(d.kind, d.size, d.offset, d.dimension), expected[i]) << i;
  }
  EXPECT_EQ(ToString(file->At((*conv.dataflow)[2].place)), "tiny.m:11:7");

  EXPECT_EQ(network.layers[1].name, "Conv2d-2");
  EXPECT_EQ(network.layers[1].type, MaestroType::kGemm);
  EXPECT_FALSE(network.layers[1].dataflow);
}

TEST(MaestroFile, ForgivesDecorationOrderAndMissingBlanks) {
  for (const char* text :
       {"Network n{Layer a{Type:CONV Dimensions{K:8 C:4 Y':3}Stride{Y':2}}}",
        "Network n {\n Layer a {\n Stride { Y' -> 2 }\n Type - CONV;\n Dimensions { K 8, C -> 4; "
        "Y'((3)) }\n}\n}",
        "Network n {//\nLayer a//x\n{ Dimensions {K: 8//c\nC: 4 Y': 3} Stride { Y': 2 } Type: "
        "CONV } } // end"}) {
    const Result<MaestroFile> file = ParseMaestroFile(text, "n.m");
    ASSERT_TRUE(file) << file.error();
    const MaestroLayer& layer = file->networks[0].layers[0];
    EXPECT_EQ(layer.name, "a");
    EXPECT_EQ(layer.Find("K")->size, 8);
    EXPECT_EQ(layer.Find("Y'")->size, 3);
    EXPECT_EQ(layer.StrideOf("Y'"), 2);
  }
}

TEST(MaestroFile, NamesMayBeMissing) {
  const Result<MaestroFile> file =
      ParseMaestroFile("Network { Layer { Type: GEMM Dimensions { M: 1 } } }", "n.m");
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(file->networks[0].name, "");
  EXPECT_EQ(file->networks[0].layers[0].name, "");
}

struct BadFile {
  const char* text;
  const char* error;
};

std::string InLayer(const std::string& items) { return "Network n { Layer a { " + items + " } }"; }

TEST(MaestroFile, SaysWhatIsWrongAndWhere) {
  const BadFile cases[] = {
      {"Network n { Layer a { Type: CONV Dimensions { KK: 64 } } }",
       "net.m:1:47: unknown dimension 'KK'; did you mean 'K'?"},
      {"// nothing",
       "net.m:1:11: the file has no Network; write: Network NAME { Layer NAME { ... } }"},
      {"Netwrok n { }", "net.m:1:1: unknown block 'Netwrok'; did you mean 'Network'?"},
      {"# hash\nNetwork n { }", "net.m:1:1: unknown block '#'; comments start with //"},
      {"Network n { }", "net.m:1:1: a Network without layers"},
      {"Network n m { }", "net.m:1:11: expected '{', found 'm'"},
      {"Network n { Layer a {", "net.m:1:22: expected '}', found the end of the file"},
      {"Network n { layer a { } }",
       "net.m:1:13: unknown word in a Network 'layer'; did you mean 'Layer'?"},
      {"Network n { Layer a { } }", "net.m:1:13: layer 'a' without Type"},
      {"Network n { Layer a { Type: CONV } }", "net.m:1:13: layer 'a' without Dimensions"},
      {"Network n { Layer a { Kind: CONV } }",
       "net.m:1:23: unknown word in a Layer 'Kind'; known: Type, Stride, Dimensions, Dataflow"},
      {"Accelerator { PE { NumPEs: 128 } }",
       "net.m:1:1: an Accelerator block cannot stand in a mapping file; describe the hardware in "
       "a file of its own"},
      {"Constant A 1\nConstant A 2\nNetwork n { }", "net.m:2:10: constant 'A' has a value already"},
      {"Constant A x", "net.m:1:12: 'x' is neither a number nor a constant"},
      {"Constant A", "net.m:1:11: expected a constant's value, found the end of the file"},
  };
  for (const auto& [text, error] : cases) {
    const Result<MaestroFile> file = ParseMaestroFile(text, "net.m");
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(ToString(file.error()), error);
  }
}

TEST(MaestroFile, SaysWhatIsWrongInALayer) {
  // The items begin in column 23.
  const BadFile cases[] = {
      {"Type: FC",
       "net.m:1:29: layer type 'FC' cannot be evaluated; write it as CONV with R, S, "
       "Y and X of 1"},
      {"Type: POOL",
       "net.m:1:29: layer type 'POOL' cannot be evaluated; leave it out: it has no "
       "multiplications"},
      {"Type: COMV", "net.m:1:29: unknown layer type 'COMV'; did you mean 'CONV'?"},
      {"Type: CONV Type: CONV", "net.m:1:34: a Layer with a second Type"},
      {"Dimensions { K: -5 }", "net.m:1:39: the size of 'K' is negative: '-5'"},
      {"Dimensions { K:-5 }", "net.m:1:38: the size of 'K' is negative: '-5'"},
      {"Dimensions { K: 0 }", "net.m:1:39: the size of 'K' is 0, but must be in 1..2147483647"},
      {"Dimensions { K: 2147483648 }",
       "net.m:1:39: the size of 'K' is 2147483648, but must be in 1..2147483647"},
      {"Dimensions { K: 99999999999999999999 }",
       "net.m:1:39: '99999999999999999999' does not fit in 64 bits"},
      {"Dimensions { K: 1.5 }", "net.m:1:39: '1.5' is not an integer"},
      {"Dimensions { K: 12x }", "net.m:1:39: '12x' is not an integer"},
      {"Dimensions { K: nan }", "net.m:1:39: 'nan' is neither a number nor a constant"},
      {"Dimensions { K: }", "net.m:1:39: expected the size of 'K', found '}'"},
      {"Dimensions { K: 1, K: 2 }", "net.m:1:42: the size of 'K' is given twice"},
      {"Dimensions { G: 2 } Type: CONV",
       "net.m:1:36: dimension 'G' does not belong to CONV; it has N, K, C, R, S, Y, X, Y', X'"},
      {"Type: CONV Dimensions { Y: 3, Y': 2 }",
       "net.m:1:53: layer 'a' has both Y and Y'; give the input size Y or the output size Y'"},
      {"Type: CONV Dimensions { Y': 3 } Stride { Y: 2 }",
       "net.m:1:64: stride of 'Y', which the layer's Dimensions do not have; name it as in "
       "Dimensions"},
      {"Dimensions { K: 4 } Dataflow { SpatialMp(1,1) K }",
       "net.m:1:54: unknown directive 'SpatialMp'; did you mean 'SpatialMap'?"},
      {"Dimensions { K: 4 } Dataflow { SpatialMap(1,-1) K }",
       "net.m:1:67: the offset of a map is negative: '-1'"},
      {"Dimensions { S: 4 } Dataflow { TemporalMap(8+Sz(S)-1,8) X }",
       "net.m:1:66: '8+Sz' is not an integer; write the value: expressions are not part of the "
       "format"},
      {"Dimensions { K: 4 } Dataflow { TemporalMap(Sz(C),8) C }",
       "net.m:1:69: Sz of 'C', which the layer's Dimensions before it do not have; known: K"},
      {"Dimensions { K: 4 } Dataflow { Cluster(8,Q) }",
       "net.m:1:64: expected P or L as the kind of a Cluster, found 'Q'"},
      {"Dimensions { K: 4 } Dataflow { Cluster(0,P) }",
       "net.m:1:62: the size of a Cluster is 0, but must be in 1..2147483647"},
  };
  for (const auto& [items, error] : cases) {
    const Result<MaestroFile> file = ParseMaestroFile(InLayer(items), "net.m");
    ASSERT_FALSE(file) << items;
    EXPECT_EQ(ToString(file.error()), error);
  }
}

// Truncation anywhere gives a value or an error with the file's name, never a crash.
TEST(MaestroFile, SurvivesTruncationAnywhere) {
  const std::string text = kTwoLayers;
  for (size_t length = 0; length < text.size(); ++length) {
    const Result<MaestroFile> file = ParseMaestroFile(text.substr(0, length), "net.m");
    if (!file) {
      EXPECT_EQ(file.error().where.file, "net.m");
    }
  }
}

}  // namespace
}  // namespace tessera
