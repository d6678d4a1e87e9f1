// Native network files: what they hold, that writing and reading is the identity, and messages.
#include "tessera/workload/native.h"

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/network.h"
#include "tessera/workload/builder.h"

namespace tessera {
namespace {

std::string WithLayer(const std::string& layer) {
  return "format: tessera-network-1\nname: t\nlayers:\n- {" + layer + "}\n";
}

Result<Network> Read(const std::string& text, const Bindings& bindings = {}) {
  return ReadNativeNetwork(text, "t.yaml", bindings);
}

Layer ReadLayer(const std::string& layer) {
  const Result<Network> network = Read(WithLayer(layer));
  EXPECT_TRUE(network) << network.error();
  return network ? network->layers[0].layer : Layer{};
}

TEST(Native, ReadsEveryFieldOfEveryType) {
  EXPECT_EQ(ReadLayer("name: a, type: conv, N: 2, K: 8, C: 4, Y: 9, X: 7, R: 3, S: 2, stride: 2, "
                      "dilation: [1, 3], pad: [1, 2, 3, 4], groups: 2, bias: true"),
            (Layer{.bias = true,
                   .n = 2,
                   .k = 8,
                   .c = 4,
                   .y = 9,
                   .x = 7,
                   .r = 3,
                   .s = 2,
                   .groups = 2,
                   .stride = {2, 2},
                   .dilation = {1, 3},
                   .pad = {1, 2, 3, 4}}));
  EXPECT_EQ(
      ReadLayer("name: a, type: dwconv, K: 8, C: 4, Y: 9, X: 7, R: 3, S: 3, pad: 1"),
      (Layer{.k = 8, .c = 4, .y = 9, .x = 7, .r = 3, .s = 3, .groups = 4, .pad = {1, 1, 1, 1}}));
  EXPECT_EQ(ReadLayer("name: a, type: trconv, K: 8, C: 4, Y: 9, X: 7, R: 3, S: 3, stride: [2, 3], "
                      "pad: [1, 0], output_pad: 1"),
            (Layer{.type = LayerType::kTransposedConv,
                   .k = 8,
                   .c = 4,
                   .y = 9,
                   .x = 7,
                   .r = 3,
                   .s = 3,
                   .stride = {2, 3},
                   .pad = {1, 0, 1, 0},
                   .output_pad = {1, 1}}));
  // Without Y and R the inputs are a row.
  EXPECT_EQ(ReadLayer("name: a, type: conv, K: 8, C: 4, X: 99, S: 5, stride: 2, pad: 2"),
            (Layer{.k = 8, .c = 4, .x = 99, .s = 5, .stride = {1, 2}, .pad = {0, 2, 0, 2}}));
  EXPECT_EQ(
      ReadLayer("name: a, type: dwconv, K: 4, C: 4, X: 9, S: 3, dilation: 2, pad: [0, 1]"),
      (Layer{
          .k = 4, .c = 4, .x = 9, .s = 3, .groups = 4, .dilation = {1, 2}, .pad = {0, 1, 0, 1}}));
  EXPECT_EQ(ReadLayer("name: a, type: fc, K: 8, C: 4"),
            (Layer{.type = LayerType::kFullyConnected, .k = 8, .c = 4}));
  EXPECT_EQ(ReadLayer("name: a, type: gemm, H: 2, M: 3, N: 4, K: 5"),
            (Layer{.type = LayerType::kMatmul, .h = 2, .m = 3, .n = 4, .k = 5}));
}

TEST(Native, ParametersHaveDefaultsThatBindingsReplace) {
  const std::string text =
      "format: tessera-network-1\nname: t\nparameters: {batch: 1, seq: 128}\nlayers:\n"
      "- {name: a, type: fc, N: batch*seq, K: 8, C: 4}\n";
  EXPECT_EQ(Read(text)->layers[0].layer.n, 128);
  EXPECT_EQ(Read(text)->batch, 1);
  const Result<Network> bound = Read(text, {{"batch", 2}, {"seq", 5}});
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->layers[0].layer.n, 10);
  EXPECT_EQ(bound->batch, 2);
}

TEST(Native, WithoutStatementTheBatchIsThatOfTheFirstLayerWithOne) {
  EXPECT_EQ(Read(WithLayer("name: a, type: gemm, M: 3, N: 4, K: 5"))->batch, 1);
  EXPECT_EQ(Read(WithLayer("name: a, type: fc, N: 6, K: 4, C: 5"))->batch, 6);
  EXPECT_EQ(Read(WithLayer("name: a, type: fc, N: 6, K: 4, C: 5") + "batch: 3\n")->batch, 3);
}

TEST(Native, CountsAndNamesOfEqualLayersAreMerged) {
  const Result<Network> network =
      Read(WithLayer("name: a, type: fc, K: 4, C: 5, count: 4, also: [b, c]") +
           "- {name: d, type: fc, K: 4, C: 5}\n");
  ASSERT_TRUE(network) << network.error();
  ASSERT_EQ(network->layers.size(), 1u);
  EXPECT_EQ(network->layers[0].count, 5);
  EXPECT_EQ(network->layers[0].also, (std::vector<std::string>{"b", "c", "d"}));
}

TEST(Native, JsonIsReadToo) {
  const Result<Network> network = Read(
      R"({"format": "tessera-network-1", "name": "t", "parameters": {"seq": 3},
          "layers": [{"name": "a", "type": "fc", "N": "2*seq", "K": 4, "C": 5, "bias": true}]})");
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->layers[0].layer.n, 6);
}

TEST(Native, TheExampleOfTheManualIsRead) {
  const Result<std::string> manual = ReadTextFile(TESSERA_SOURCE_DIR "/docs/formats.md");
  ASSERT_TRUE(manual) << manual.error();
  const size_t begin = manual->find("format: tessera-network-1");
  ASSERT_NE(begin, std::string::npos);
  const Result<Network> network = Read(manual->substr(begin, manual->find("```", begin) - begin));
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->layers.size(), 5u);
}

TEST(Native, WritingAndReadingTheZooIsTheIdentity) {
  for (const ZooFile& file : Zoo()) {
    const Result<Network> network = LoadZooNetwork(file.name);
    ASSERT_TRUE(network) << network.error();
    const Result<Network> again = Read(WriteNativeNetwork(*network));
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(*again, *network) << file.name;
  }
}

TEST(Native, WritingAndReadingKeepsEverythingElse) {
  Network header{.name = "a: {b}",
                 .source = "somebody's \"list\"\\ #1,\ttab\nline",
                 .variant = "null",
                 .batch = 7,
                 .ignored = {{"Relu", 3}, {"com.x::Op, [y]", 1}},
                 .unknown = {{"", 2}}};
  NetworkBuilder builder(header);
  const Layer layer{.k = 8,
                    .c = 4,
                    .y = 9,
                    .x = 7,
                    .r = 3,
                    .s = 2,
                    .groups = 2,
                    .stride = {2, 1},
                    .dilation = {1, 3},
                    .pad = {1, 2, 3, 4}};
  ASSERT_TRUE(builder.Add("~", layer, 3));
  ASSERT_TRUE(builder.Add("true", layer));
  ASSERT_TRUE(builder.Add("- x", layer));
  Layer transposed = layer;
  transposed.type = LayerType::kTransposedConv;
  transposed.output_pad = {1, 0};
  transposed.bias = true;
  ASSERT_TRUE(builder.Add("\xc3\xa9\x01\x7f", transposed));
  const Network network = builder.Take();
  const Result<Network> again = Read(WriteNativeNetwork(network));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, network);
}

TEST(Native, TypesOfElementsSurvive) {
  const auto read = Read(WithLayer("name: a, type: fc, K: 8, C: 4, types: [int8, int8, int32]"));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->layers[0].types, (ElementTypes{"int8", "int8", "int32"}));
  EXPECT_EQ(*Read(WriteNativeNetwork(*read)), *read);
  const auto one = Read(WithLayer("name: a, type: fc, K: 8, C: 4, types: float16"));
  EXPECT_EQ(one->layers[0].types, (ElementTypes{"float16", "float16", "float16"}));
  EXPECT_FALSE(Read(WithLayer("name: a, type: fc, K: 8, C: 4, types: [int8, int8]")));
}

TEST(Native, WritesOnlyWhatDiffersFromTheDefaults) {
  NetworkBuilder builder(Network{.name = "t"});
  ASSERT_TRUE(builder.Add("a", {.k = 8, .c = 4, .y = 9, .x = 9, .r = 3, .s = 3}));
  ASSERT_TRUE(builder.Add("b", {.type = LayerType::kMatmul, .m = 2, .n = 3, .k = 4}, 2));
  EXPECT_EQ(WriteNativeNetwork(builder.Take()),
            "format: tessera-network-1\n"
            "name: t\n"
            "layers:\n"
            "- {name: a, type: conv, N: 1, K: 8, C: 4, Y: 9, X: 9, R: 3, S: 3}\n"
            "- {name: b, type: gemm, M: 2, N: 3, K: 4, count: 2}\n");
}

TEST(Native, SaysWhatIsWrongWithTheFile) {
  const std::string head = "format: tessera-network-1\nname: t\n";
  const std::string layers = "layers:\n- {name: a, type: fc, K: 4, C: 5}\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "t.yaml: the file is empty"},
      {"# nothing\n", "t.yaml: the file holds no values"},
      {"[1, 2]", "t.yaml:1:1: expected a map of the keys of a network, found a list"},
      {"name: t\n" + layers,
       "t.yaml:1:1: network without 'format'; the file starts with 'format: "
       "tessera-network-1'"},
      {"format: tessera-network-2\nname: t\n" + layers,
       "t.yaml:1:9: unknown format 'tessera-network-2'; this version reads tessera-network-1"},
      {"format: tessera-network-1\n" + layers, "t.yaml:1:1: network without 'name'"},
      {head, "t.yaml:1:1: network without 'layers'"},
      {head + "layers: []\n", "t.yaml:3:9: expected a list of one or more layers"},
      {head + "layers: 3\n", "t.yaml:3:9: expected a list of one or more layers"},
      {head + "layer: []\n" + layers,
       "t.yaml:3:1: unknown key 'layer' in a network; did you mean 'layers'?"},
      {head + "name: u\n" + layers, "t.yaml:3:1: duplicate key 'name', first on line 2"},
      {head + "source: [x]\n" + layers, "t.yaml:3:9: expected text, found a list"},
      {head + "parameters: [x]\n" + layers,
       "t.yaml:3:13: expected a map of parameters and their defaults"},
      {head + "parameters: {a-b: 1}\n" + layers,
       "t.yaml:3:14: 'a-b' cannot name a parameter; use letters, digits and '_'"},
      {head + "parameters: {a: x}\n" + layers, "t.yaml:3:17: 'x' is not an integer"},
      {head + "parameters: {a: -1}\n" + layers, "t.yaml:3:17: -1 is outside 0..2147483647"},
      {head + "parameters: {batch: 0}\n" + layers,
       "t.yaml:1:1: parameter 'batch' is 0, but must be at least 1"},
      {head + "parameters: {batch: 2}\nbatch: 2\n" + layers,
       "t.yaml:4:8: both a parameter 'batch' and a key 'batch'"},
      {head + "ignored: {Relu: 0}\n" + layers, "t.yaml:3:17: 0 is outside 1..2147483647"},
      {head + "layers: [", "t.yaml:3:1: end of sequence flow not found"},
  };
  for (const auto& [text, message] : cases) {
    const Result<Network> network = Read(text);
    ASSERT_FALSE(network) << text;
    EXPECT_EQ(ToString(network.error()), message) << text;
  }
}

TEST(Native, SaysWhatIsWrongWithALayer) {
  const std::string conv = "name: a, type: conv, K: 8, C: 4, Y: 9, X: 9, R: 3, S: 3";  // column 4
  const std::pair<std::string, const char*> cases[] = {
      {"name: a, K: 8", "t.yaml:4:3: layer without 'type'"},
      {"type: fc, K: 8, C: 4", "t.yaml:4:3: layer of type 'fc' without 'name'"},
      {"name: '', type: fc, K: 8, C: 4", "t.yaml:4:10: a layer's name is empty"},
      {"name: a, type: cnv", "t.yaml:4:19: unknown layer type 'cnv'; did you mean 'conv'?"},
      {"name: a, type: pool",
       "t.yaml:4:19: unknown layer type 'pool'; known: conv, dwconv, trconv, fc, gemm"},
      {"name: a, type: fc, K: 8", "t.yaml:4:3: layer of type 'fc' without 'C'"},
      {"name: a, type: fc, KK: 8, K: 8, C: 4",
       "t.yaml:4:23: unknown key 'KK' in a layer of type 'fc'; did you mean 'K'?"},
      {"name: a, type: fc, K: 8, C: 4, Y: 1",
       "t.yaml:4:35: unknown key 'Y' in a layer of type 'fc'; known: type, name, also, count, "
       "types, bits, N, "
       "K, C, bias"},
      {"name: a, type: fc, K: 8, CC: 4",
       "t.yaml:4:29: unknown key 'CC' in a layer of type 'fc'; did you mean 'C'?"},
      {"name: a, type: dwconv, K: 8, C: 4, Y: 9, X: 9, R: 3, S: 3, groups: 2",
       "t.yaml:4:63: unknown key 'groups' in a layer of type 'dwconv'"},
      {"name: a, type: fc, K: 0, C: 4", "t.yaml:4:26: K is 0, but must be at least 1"},
      {"name: a, type: fc, K: -8, C: 4", "t.yaml:4:26: K is -8, but must be at least 1"},
      {"name: a, type: fc, K: 1.5, C: 4", "t.yaml:4:26: '1.5' is not an integer"},
      {"name: a, type: fc, K: .nan, C: 4", "t.yaml:4:26: '.nan' is not an integer"},
      {"name: a, type: fc, K: '8', C: 4", "t.yaml:4:26: expected an integer, found '8'"},
      {"name: a, type: fc, K: [8], C: 4", "t.yaml:4:26: expected an integer, found a list"},
      {"name: a, type: fc, K: , C: 4", "t.yaml:4:26: expected an integer, found nothing"},
      {"name: a, type: fc, K: 2147483648, C: 4",
       "t.yaml:4:26: K is 2147483648, but must be at most 2147483647"},
      {"name: a, type: fc, K: 99999999999999999999, C: 4",
       "t.yaml:4:26: '99999999999999999999' does not fit in 64 bits"},
      {"name: a, type: fc, K: 2*x, C: 4", "t.yaml:4:28: 'x' is neither an integer nor a parameter"},
      {"name: a, type: fc, K: 7/2, C: 4", "t.yaml:4:27: 7 / 2 is not an integer"},
      {"name: a, type: fc, K: 8, C: 4, bias: 1", "t.yaml:4:41: expected true or false, found '1'"},
      {conv + ", stride: [1, 2, 3]",
       "t.yaml:4:69: stride is a list of 3; give one size, or [y, x]"},
      {conv + ", pad: [1, 2, 3]",
       "t.yaml:4:66: pad is a list of 3; give one size, [y, x] or [top, left, bottom, right]"},
      {conv + ", stride: 0", "t.yaml:4:69: stride is 0, but must be at least 1"},
      {conv + ", pad: -1", "t.yaml:4:66: pad is -1, but must be at least 0"},
      {conv + ", groups: 3", "t.yaml:4:3: layer 'a': groups = 3 does not divide C = 4"},
      {conv + ", dilation: 5",
       "t.yaml:4:3: layer 'a': kernel R = 3 (dilation 5) is larger than the padded input Y = 9; "
       "raise Y or the padding"},
      {"name: a, type: gemm, H: 2000000000, M: 2000000000, N: 2000000000, K: 1",
       "t.yaml:4:3: layer 'a': the number of MACs does not fit in 64 bits; reduce the layer's "
       "sizes"},
      {conv + ", count: 0", "t.yaml:4:68: count is 0, but must be at least 1"},
      {conv + ", also: b", "t.yaml:4:67: expected a list of names of equal layers"},
      {conv + ", also: [a]", "t.yaml:4:68: a second layer named 'a', first on line 4"},
      {conv + ", count: 2, also: [b, c]", "t.yaml:4:68: count is 2, but the layer has 3 names"},
  };
  for (const auto& [layer, message] : cases) {
    const Result<Network> network = Read(WithLayer(layer));
    ASSERT_FALSE(network) << layer;
    EXPECT_EQ(ToString(network.error()), message) << layer;
  }
  EXPECT_EQ(ToString(Read(WithLayer(conv) + "- {" + conv + "}\n").error()),
            "t.yaml:5:10: a second layer named 'a', first on line 4");
}

TEST(Native, RefusesBindingsThatTheNetworkDoesNotHave) {
  const std::string text = WithLayer("name: a, type: fc, K: 8, C: 4");
  EXPECT_EQ(ToString(Read(text, {{"batch", 2}}).error()),
            "t.yaml: network 't' has no parameter 'batch'; it has none");
  EXPECT_EQ(ToString(Read("parameters: {batch: 1}\n" + text, {{"batch", -2}}).error()),
            "t.yaml: parameter 'batch' is -2, but must be in 0..2147483647");
}

// Hostile documents end in an error, quickly.
TEST(Native, SurvivesHostileDocuments) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j > 0 ? ", " : "") + before;
    bomb += "]\n";
  }
  EXPECT_NE(Read(bomb).error().message.find("more than 2000000 values"), std::string::npos);
  EXPECT_EQ(Read("x: " + std::string(10'000, '[')).error().message,
            "nested more than 64 levels deep");
  EXPECT_EQ(Read(std::string("\xff\xfe\x66\x00", 4)).error().message,
            "the file is UTF-16, not UTF-8");
  EXPECT_EQ(Read(std::string("\x00\x01\x02", 3)).error().message,
            "binary data: this is not a text file in UTF-8");
  EXPECT_TRUE(Read("\xef\xbb\xbf" + WithLayer("name: a, type: fc, K: 8, C: 4")));
}

}  // namespace
}  // namespace tessera
