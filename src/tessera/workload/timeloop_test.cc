// Timeloop problems as layers, both ways.
#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/network.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/conformance.h"

namespace tessera {
namespace {

const NetworkFormat& Timeloop() { return **FindNetworkFormat("timeloop"); }

Result<Network> Read(const std::string& text) { return Timeloop().read(text, "p.yaml", {}); }

Layer ReadLayer(const std::string& text) {
  const Result<Network> network = Read(text);
  EXPECT_TRUE(network) << network.error();
  return network ? network->layers[0].layer : Layer{};
}

constexpr const char* kConvolution = R"(problem:
  shape:
    name: CNN-Layer
    dimensions: [C, M, R, S, N, P, Q]
    coefficients:
    - {name: Wstride, default: 1}
    - {name: Hstride, default: 1}
    - {name: Wdilation, default: 1}
    - {name: Hdilation, default: 1}
    data-spaces:
    - name: Weights
      projection: [[[C]], [[M]], [[R]], [[S]]]
    - name: Inputs
      projection:
      - [[N]]
      - [[C]]
      - [[R, Wdilation], [P, Wstride]]
      - [[S, Hdilation], [Q, Hstride]]
    - name: Outputs
      projection: [[[N]], [[M]], [[Q]], [[P]]]
      read-write: true
  instance: {C: 3, M: 96, R: 11, S: 7, N: 2, P: 54, Q: 30, Wstride: 4, Hdilation: 2}
)";

// The input is what the loops touch: 4 * 53 + 11, and 1 * 29 + 2 * 6 + 1.
const Layer kConvolutionLayer{.n = 2,
                              .k = 96,
                              .c = 3,
                              .y = 223,
                              .x = 42,
                              .r = 11,
                              .s = 7,
                              .stride = {4, 1},
                              .dilation = {1, 2}};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(Timeloop, ReadsBothDialects) {
  const std::string old_style = kConvolution;
  EXPECT_EQ(ReadLayer(old_style), kConvolutionLayer);
  std::string new_style = Replaced(old_style, "data-spaces", "data_spaces");
  new_style = Replaced(new_style, "read-write", "read_write");
  new_style = Replaced(new_style, "problem:\n", "problem:\n  version: 0.4\n");
  EXPECT_EQ(ReadLayer(new_style), kConvolutionLayer);
}

TEST(Timeloop, ProjectionsMayBeText) {
  std::string text = kConvolution;
  const size_t begin = text.find("    data-spaces"), end = text.find("  instance");
  text.replace(begin, end - begin, R"(    data_spaces:
    - {name: Weights, projection: "[C, M, R, S]"}
    - {name: Inputs, projection: "N, C, R*Wdilation + P*Wstride, Hdilation * S + Q*Hstride"}
    - {name: Outputs, projection: [N, M, Q, P], read_write: true}
)");
  EXPECT_EQ(ReadLayer(text), kConvolutionLayer);
}

TEST(Timeloop, ShapesHaveNames) {
  const Layer conv{.k = 8, .c = 4, .y = 9, .x = 9, .r = 3, .s = 3, .stride = {2, 2}};
  const std::string sizes = "R: 3, S: 3, P: 4, Q: 4, C: 4, K: 8, N: 1, Wstride: 2, Hstride: 2";
  EXPECT_EQ(ReadLayer("problem: {shape: cnn-layer, instance: {" + sizes + "}}"), conv);
  EXPECT_EQ(ReadLayer("problem: {shape: cnn_layer, " + sizes + "}"), conv);  // before 0.3
  EXPECT_EQ(ReadLayer("problem: {" + sizes + "}"), conv);                    // the default shape
  EXPECT_EQ(ReadLayer("problem: {shape: gemm, instance: {M: 2, N: 3, K: 4}}"),
            (Layer{.type = LayerType::kMatmul, .m = 2, .n = 3, .k = 4}));
  EXPECT_EQ(ReadLayer("problem: {shape: bgemm, instance: {H: 5, M: 2, N: 3, K: 4}}"),
            (Layer{.type = LayerType::kMatmul, .h = 5, .m = 2, .n = 3, .k = 4}));
  EXPECT_EQ(ReadLayer("problem: {shape: dwconv, instance: {R: 3, S: 3, P: 4, Q: 4, C: 4, N: 1}}"),
            (Layer{.k = 4, .c = 4, .y = 6, .x = 6, .r = 3, .s = 3, .groups = 4}));
}

// Recognition goes by which tensors share a dimension, whatever it is called.
TEST(Timeloop, RecognisesShapesByTheirStructure) {
  const auto product = [](const std::string& a, const std::string& b, const std::string& z,
                          const std::string& first = "A", const std::string& second = "B") {
    return ReadLayer("problem: {shape: {dimensions: [u, v, w, x], data_spaces: [{name: " + first +
                     ", projection: '" + a + "'}, {name: " + second + ", projection: '" + b +
                     "'}, {name: Z, projection: '" + z +
                     "', read_write: true}]}, instance: {u: 2, v: 3, w: 5, x: 7}}");
  };
  EXPECT_EQ(product("u, v, w", "u, w, x", "u, v, x"),
            (Layer{.type = LayerType::kMatmul, .h = 2, .m = 3, .n = 7, .k = 5}));
  EXPECT_EQ(product("u, v, w", "w, x", "u, v, x"),
            (Layer{.type = LayerType::kMatmul, .m = 6, .n = 7, .k = 5}));
  // A product with weights is a fully connected layer, wherever they stand.
  const Layer fc{.type = LayerType::kFullyConnected, .n = 6, .k = 7, .c = 5};
  EXPECT_EQ(product("u, v, w", "w, x", "u, v, x", "Inputs", "Weights"), fc);
  EXPECT_EQ(product("w, x", "u, v, w", "u, v, x", "my_weights", "Inputs"), fc);

  const Result<Network> grouped = Read(
      "problem: {shape: {dimensions: [G, C, K, R, S, P, Q], data_spaces: ["
      "{name: W, projection: 'G, C, K, R, S'}, {name: I, projection: 'G, C, P + R, 2*Q + S'}, "
      "{name: O, projection: 'G, K, P, Q', read_write: true}]}, "
      "instance: {G: 2, C: 3, K: 4, R: 3, S: 1, P: 5, Q: 6}}");
  ASSERT_TRUE(grouped) << grouped.error();
  EXPECT_EQ(
      grouped->layers[0].layer,
      (Layer{.k = 8, .c = 6, .y = 7, .x = 11, .r = 3, .s = 1, .groups = 2, .stride = {1, 2}}));
}

TEST(Timeloop, ConvolutionsOfOneAxisAreRows) {
  const auto row = [](const std::string& kernel, const std::string& position) {
    return ReadLayer("problem: {shape: {dimensions: [C, M, " + kernel + ", " + position +
                     "], data_spaces: [{name: Weights, projection: 'C, M, " + kernel +
                     "'}, {name: Inputs, projection: 'C, 2*" + position + " + 3*" + kernel +
                     "'}, {name: Outputs, projection: 'M, " + position +
                     "', read_write: true}]}, instance: {C: 4, M: 8, " + kernel + ": 3, " +
                     position + ": 10}}");
  };
  const Layer along_x{.k = 8, .c = 4, .x = 25, .s = 3, .stride = {1, 2}, .dilation = {1, 3}};
  EXPECT_EQ(row("S", "Q"), along_x);
  EXPECT_EQ(row("taps", "t"), along_x);
  const Layer along_y{.k = 8, .c = 4, .y = 25, .r = 3, .stride = {2, 1}, .dilation = {3, 1}};
  EXPECT_EQ(row("R", "P"), along_y);
}

TEST(Timeloop, RefusesOtherShapes) {
  const auto error = [](const std::string& spaces) {
    const Result<Network> network =
        Read("problem: {shape: {name: odd, dimensions: [A, B, C, D], data_spaces: [" + spaces +
             "]}, instance: {A: 2, B: 3, C: 5, D: 7}}");
    EXPECT_FALSE(network) << spaces;
    if (network) return std::string();
    EXPECT_EQ(network.error().kind, ErrorKind::kUnsupported);
    const std::string prefix =
        "p.yaml:1:10: shape 'odd' is neither a convolution nor a matrix product: ";
    const std::string text = ToString(network.error());
    EXPECT_TRUE(text.starts_with(prefix)) << text;
    return text.substr(prefix.size());
  };
  const std::string z = "{name: Z, projection: 'A, B', read_write: true}";
  EXPECT_EQ(error(z), "it has 1 data spaces, not 3");
  EXPECT_EQ(error("{name: X, projection: 'A'}, {name: Y, projection: 'B'}, {name: Z, projection: "
                  "'C'}"),
            "not exactly one data space is read-write");
  EXPECT_EQ(error("{name: X, projection: 'A, A'}, {name: Y, projection: 'B'}, " + z),
            "dimension 'A' occurs twice in one data space");
  EXPECT_EQ(error("{name: X, projection: 'A + B + C'}, {name: Y, projection: 'B'}, " + z),
            "a rank sums more than two dimensions");
  EXPECT_EQ(error("{name: X, projection: '2*A'}, {name: Y, projection: 'B'}, " + z),
            "a rank of one dimension has a coefficient");
  EXPECT_EQ(error("{name: X, projection: 'A, C'}, {name: Y, projection: 'B, C'}, " + z),
            "dimension 'D' is in one data space only or in none");
  EXPECT_EQ(error("{name: X, projection: 'A + C'}, {name: Y, projection: 'C, B'}, " + z),
            "dimension 'D' is in one data space only or in none");
  EXPECT_EQ(error("{name: X, projection: 'A + C'}, {name: Y, projection: 'C + D'}, " + z),
            "two tensors have ranks of two dimensions");
  EXPECT_EQ(error("{name: X, projection: 'A + B, C + D'}, {name: Y, projection: 'C'}, " + z),
            "a window is not made of a kernel and a position");
}

TEST(Timeloop, SaysWhatIsWrongAndWhere) {
  const std::string good = kConvolution;
  const auto with = [&](const std::string& from, const std::string& to) {
    return Replaced(good, from, to);
  };
  const std::pair<std::string, const char*> cases[] = {
      {"shape: {}", "p.yaml:1:1: unknown key 'shape' in a Timeloop file"},
      {"mapping: []",
       "p.yaml:1:1: the file has no key 'problem'; a Timeloop problem starts with "
       "'problem:'"},
      {"problem: 3", "p.yaml:1:10: expected a map of the keys of a problem, found '3'"},
      {"problem: {shape: cnn-laier}",
       "p.yaml:1:18: unknown shape 'cnn-laier'; did you mean 'cnn-layer'?"},
      {"problem: {shape: gemm, instance: {M: 2, N: 3}}", "p.yaml:1:34: no size for dimension 'K'"},
      {"problem: {shape: gemm, instance: {M: 2, N: 3, K: 4, L: 5}}",
       "p.yaml:1:53: unknown key 'L' in a problem instance; known: densities, M, N, K"},
      {"problem: {shape: gemm, instance: {M: 2, N: 3, K: 0}}",
       "p.yaml:1:50: 0 is outside 1..2147483647"},
      {"problem: {shape: gemm, instance: {M: 2, N: 3, K: 1.5}}",
       "p.yaml:1:50: '1.5' is not an integer"},
      {"problem: {shape: gemm, version: 0.5, instance: {M: 2, N: 3, K: 4}}",
       "p.yaml:1:33: unknown version '0.5'; versions 0.1 to 0.4 are read"},
      {"problem: {shape: gemm, instance: {M: 2, N: 3, K: 4, densities: {A: 0.5}}}",
       "p.yaml:1:64: densities: sparse problems are not modelled; leave them out"},
      {with("[C, M, R, S, N, P, Q]", "[C, C]"), "p.yaml:4:21: 'C' is defined already"},
      {with("dimensions", "dimension"), "p.yaml:3:5: shape without 'dimensions'"},
      {with("data-spaces", "dataspaces"), "p.yaml:3:5: shape without 'data_spaces'"},
      {with("[[N]]\n      - [[C]]", "[[NN]]"),
       "p.yaml:15:10: unknown dimension 'NN'; did you mean "
       "'N'?"},
      {with("[R, Wdilation]", "[R, Wdil]"),
       "p.yaml:17:10: unknown coefficient 'Wdil'; known: Wstride, Hstride, Wdilation, Hdilation"},
      {with("[R, Wdilation]", "[R, 0]"),
       "p.yaml:17:10: a coefficient is 0, but must be in 1..2147483647"},
      {with("[R, Wdilation]", "[R, 1, 2]"),
       "p.yaml:17:10: expected a term [DIMENSION] or [DIMENSION, COEFFICIENT]"},
      {with("read-write: true", "read-write: 1"),
       "p.yaml:21:19: expected true or false, found '1'"},
      {with("P: 54", "P: 2000000000"), "p.yaml:2:3: a size of the layer is larger than 2147483647"},
  };
  for (const auto& [text, message] : cases) {
    const Result<Network> network = Read(text);
    ASSERT_FALSE(network) << text;
    EXPECT_EQ(ToString(network.error()), message);
  }
}

TEST(Timeloop, WritesOneProblemForEachLayer) {
  NetworkBuilder builder(Network{.name = "n"});
  ASSERT_TRUE(builder.Add("q/k", {.type = LayerType::kMatmul, .h = 2, .m = 3, .n = 4, .k = 5}, 12));
  Layer conv{.k = 64, .c = 3, .y = 224, .x = 224, .r = 7, .s = 7, .stride = {2, 2}};
  conv.pad = {3, 3, 3, 3};
  ASSERT_TRUE(builder.Add("stem", conv));
  const Result<Export> exported = Timeloop().write(builder.Take());
  ASSERT_TRUE(exported) << exported.error();
  ASSERT_EQ(exported->files.size(), 2u);
  EXPECT_EQ(exported->files[0].name, "1-q_k.yaml");
  EXPECT_EQ(exported->files[0].contents,
            "# layer 'q/k' of 'n', 12 occurrences: gemm H2 M3 N4 K5\n"
            "problem:\n"
            "  version: 0.4\n"
            "  shape:\n"
            "    name: bgemm\n"
            "    dimensions: [H, M, N, K]\n"
            "    data_spaces:\n"
            "    - name: A\n"
            "      projection:\n"
            "      - [[H]]\n"
            "      - [[M]]\n"
            "      - [[K]]\n"
            "    - name: B\n"
            "      projection:\n"
            "      - [[H]]\n"
            "      - [[K]]\n"
            "      - [[N]]\n"
            "    - name: Z\n"
            "      projection:\n"
            "      - [[H]]\n"
            "      - [[M]]\n"
            "      - [[N]]\n"
            "      read_write: true\n"
            "  instance: {H: 2, M: 3, N: 4, K: 5}\n");
  EXPECT_EQ(exported->files[1].name, "2-stem.yaml");
  EXPECT_NE(
      exported->files[1].contents.find("  instance: {R: 7, S: 7, P: 112, Q: 112, C: 3, K: 64, "
                                       "N: 1, Wstride: 2, Hstride: 2, Wdilation: 1, "
                                       "Hdilation: 1}\n"),
      std::string::npos);
  EXPECT_EQ(exported->lost, (std::vector<std::string>{
                                "the network's name: files are named by layers",
                                "how often a layer occurs, which is in a comment of its file: q/k",
                                "padding, which becomes input size: stem"}));
}

// Every layer, each file by itself: all but padding, bias and count survive.
TEST(Timeloop, LayersOfTheZooSurvive) {
  std::vector<Network> networks = {ConformanceNetwork()};
  for (const ZooFile& file : Zoo()) {
    const Result<Network> network = LoadZooNetwork(file.name, {{"batch", 2}});
    ASSERT_TRUE(network) << network.error();
    networks.push_back(*network);
  }
  for (const Network& network : networks) {
    const Result<Export> exported = Timeloop().write(network);
    ASSERT_TRUE(exported) << exported.error();
    ASSERT_EQ(exported->files.size(), network.layers.size());
    for (size_t i = 0; i < network.layers.size(); ++i) {
      const Layer& layer = network.layers[i].layer;
      const Layer again = ReadLayer(exported->files[i].contents);
      const std::string what = network.name + " " + network.layers[i].name;
      EXPECT_EQ(TypeName(again), TypeName(layer)) << what;
      EXPECT_EQ(Macs(again), Macs(layer)) << what;
      EXPECT_EQ(again.stride, layer.stride) << what;
      EXPECT_EQ(again.dilation, layer.dilation) << what;
      EXPECT_EQ(again.groups, layer.groups) << what;
      EXPECT_EQ(WeightElements(again), WeightElements(layer)) << what;
      const bool cropped = layer.type == LayerType::kTransposedConv && layer.pad != Padding{};
      if (!cropped) {
        EXPECT_EQ(OutputSize(again), OutputSize(layer)) << what;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
