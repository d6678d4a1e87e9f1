// Graphs: what is valid, what follows, and the native form.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/workload/native.h"

namespace tessera {
namespace {

constexpr char kLayers[] = R"(format: tessera-network-1
name: n
layers:
- {name: a, type: conv, K: 4, C: 2, Y: 8, X: 8, R: 3, S: 3, pad: 1}
- {name: b, type: conv, K: 4, C: 4, Y: 8, X: 8, R: 1, S: 1}
)";

Result<Network> Read(const std::string& graph) {
  return ReadNativeNetwork(kLayers + graph, "n.yaml", {});
}

std::string Message(const std::string& graph) {
  const Result<Network> network = Read(graph);
  return network ? "read" : ToString(network.error());
}

constexpr char kResidual[] = R"(graph:
  inputs:
  - {name: x, shape: [1, 2, 8, 8]}
  nodes:
  - {name: a, in: x}
  - {name: r, type: relu, in: a}
  - {name: b, in: r}
  - {name: s, type: add, in: [b, r]}
  - {name: p, type: maxpool, in: s, kernel: 2}
  - {name: f, type: flatten, in: p, shape: [1, 64]}
  outputs: [f]
)";

TEST(Graph, NativeFilesGiveShapesThatFollow) {
  const Result<Network> network = Read(kResidual);
  ASSERT_TRUE(network) << network.error();
  const Graph& graph = network->graph;
  ASSERT_EQ(graph.nodes.size(), 6u);
  EXPECT_EQ(graph.nodes[0].type, "conv");
  EXPECT_EQ(graph.nodes[0].layer, 0);
  EXPECT_TRUE(graph.nodes[1].view);
  EXPECT_EQ(graph.nodes[4].stride, (Pair{2, 2}));
  std::string text;
  for (const GraphTensor& tensor : graph.tensors) {
    text += fmt::format("{} {} {}; ", tensor.name, Words(tensor),
                        kTensorKindNames[static_cast<size_t>(tensor.kind)]);
  }
  EXPECT_EQ(text,
            "x 128 input; a.weight 72 weight; a 256 activation; r 256 activation; b.weight 16 "
            "weight; b 256 activation; s 256 activation; p 64 activation; f 64 output; ");
  EXPECT_EQ(VectorElements(graph, graph.nodes[0]), 0);
  EXPECT_EQ(VectorElements(graph, graph.nodes[1]), 0);
  EXPECT_EQ(VectorElements(graph, graph.nodes[3]), 256);
  EXPECT_EQ(VectorElements(graph, graph.nodes[4]), 64 * 4);
  const GraphLinks links = Links(graph);
  EXPECT_EQ(links.root[3], 2);  // r is another name of a
  EXPECT_EQ(links.consumers[3], (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(links.producer[0], -1);
}

TEST(Graph, PeakCountsAliasesOnce) {
  const Result<Network> network = Read(kResidual);
  ASSERT_TRUE(network);
  EXPECT_EQ(PeakLiveWords(network->graph), 3 * 256);  // a, b and their sum
  const Result<Network> joined = Read(R"(graph:
  inputs: [{name: x, shape: [1, 2, 8, 8]}]
  nodes:
  - {name: a, in: x}
  - {name: b, in: a}
  - {name: c, type: concat, in: [a, b]}
  - {name: m, type: softmax, in: c}
  outputs: [m]
)");
  ASSERT_TRUE(joined) << joined.error();
  EXPECT_EQ(PeakLiveWords(joined->graph), 1024);  // a, b under two names, and the result
  EXPECT_EQ(VectorElements(joined->graph, joined->graph.nodes[3]), 3 * 512);
}

TEST(Graph, SurvivesWritingAndReading) {
  for (const ZooFile& file : Zoo()) {
    const Result<Network> network = LoadZooNetwork(file.name);
    ASSERT_TRUE(network) << network.error();
    EXPECT_EQ(network->graph.empty(), network->variant == "gamma") << file.name;
    EXPECT_TRUE(ValidateGraph(*network));
    // Text of many megabytes takes a while here: one model with experts is enough.
    if (network->graph.nodes.size() > 6000) continue;
    const Result<Network> again =
        ReadNativeNetwork(WriteNativeNetwork(*network), file.name.data(), {});
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(*again, *network) << file.name;
  }
}

TEST(Graph, MistakesAreErrorsWithAPlace) {
  const std::string head = "graph:\n  inputs: [{name: x, shape: [1, 2, 8, 8]}]\n  nodes:\n";
  EXPECT_EQ(Message(head + "  - {name: b, in: a}\n  - {name: a, in: x}\n  outputs: [b]\n"),
            "n.yaml:9:5: node 'b' reads 'a', which node 'a' on line 10 writes only later; list the "
            "nodes in the order in which they run");
  EXPECT_EQ(Message(head + "  - {name: a, in: x}\n  - {name: b, in: [c, a]}\n"
                           "  - {name: c, type: relu, in: b}\n  outputs: [c]\n"),
            "n.yaml:10:5: the graph has a cycle: 'b' -> 'c' -> 'b'");
  EXPECT_EQ(Message(head + "  - {name: a, in: x}\n  - {name: b, in: aa}\n  outputs: [b]\n"),
            "n.yaml:10:5: node 'b' reads 'aa', which nothing writes; did you mean 'a'?");
  EXPECT_EQ(
      Message(head + "  - {name: a, in: x}\n  - {name: b, in: nowhere}\n  outputs: [b]\n"),
      "n.yaml:10:5: node 'b' reads 'nowhere', which nothing writes; known: a, a.weight, b, x");
  EXPECT_EQ(Message(head + "  - {name: a}\n  - {name: b, in: a}\n  outputs: [b]\n"),
            "n.yaml:9:5: node 'a' (conv) reads nothing; give what it reads as 'in'");
  EXPECT_EQ(Message(head + "  - {name: a, in: x}\n  - {name: b, in: a}\n  outputs: [a]\n"),
            "n.yaml:10:5: graph: tensor 'b' dangles: no node reads it, and it is no output");
  EXPECT_EQ(Message(head + "  - {name: a, in: x}\n  outputs: [a]\n"),
            "n.yaml:7:3: graph: layer 'b' occurs 1 times, but the graph has 0 nodes of it");
  EXPECT_EQ(Message(head + "  - {name: b, in: x}\n  - {name: a, in: x}\n  outputs: [a, b]\n"),
            "n.yaml:9:5: graph: node 'b' (conv): 'x' has 128 words, but layer 'b' has 256 there");
  EXPECT_EQ(Message(head + "  - {name: a, type: fc, layer: a, in: x}\n  outputs: [a]\n"),
            "n.yaml:9:21: layer 'a' is of type conv, not 'fc'");
  EXPECT_EQ(Message(head + "  - {name: c, in: x}\n  outputs: [c]\n"),
            "n.yaml:9:5: node 'c' has no type, and there is no layer 'c'; known: a, b");
  EXPECT_EQ(Message(head + "  - {name: a, in: x}\n  - {name: b, in: a, out: a}\n  outputs: [a]\n"),
            "n.yaml:10:5: node 'b' writes 'a', which the node on line 9 writes, too");
  EXPECT_EQ(Message(head + "  - {name: a, in: x}\n  - {name: b, in: a}\n"
                           "  - {name: s, type: add, in: [b, x], shape: [9]}\n  outputs: [s]\n"),
            "n.yaml:11:5: graph: node 's' (add): its inputs have 256 words, but 's' has 9");
  EXPECT_EQ(Message(head + "  - {name: a, in: x}\n  - {name: b, in: a}\n"
                           "  - {name: p, type: maxpool, in: b, kernel: 9}\n  outputs: [p]\n"),
            "n.yaml:11:5: the shape of 'p' does not follow from what node 'p' reads; give it as "
            "'shape'");
}

TEST(Graph, DamagedFilesAreErrorsOrGraphs) {
  const std::string text = std::string(kLayers) + kResidual;
  CounterRng rng(1, StreamId("graph_test"));
  for (size_t at = sizeof(kLayers); at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(32 + rng.UniformInt(95));
    for (const std::string& bytes : {text.substr(0, at), damaged}) {
      const Result<Network> network = ReadNativeNetwork(bytes, "n.yaml", {});
      if (network) {
        EXPECT_TRUE(ValidateGraph(*network)) << bytes;
      } else {
        EXPECT_EQ(network.error().where.file, "n.yaml") << network.error();
        EXPECT_NE(network.error().kind, ErrorKind::kInternal) << network.error();
      }
    }
  }
}

// Parts that do not hang together are a network like any other.
TEST(Graph, PartsMayBeApart) {
  EXPECT_EQ(
      Message("graph:\n  inputs: [{name: x, shape: [1, 2, 8, 8]}, {name: y, shape: [4, 64]}]\n"
              "  nodes:\n  - {name: a, in: x}\n  - {name: b, in: y}\n  outputs: [a, b]\n"),
      "read");
}

TEST(Graph, AHundredThousandNodesAreReadInNoTime) {
  constexpr int kNodes = 100'000;
  std::string text = kResidual;
  text = text.substr(0, text.find("  - {name: f,"));
  std::string before = "p";
  for (int i = 0; i < kNodes; ++i) {
    text += fmt::format("  - {{name: n{}, type: {}, in: {}}}\n", i, i % 3 == 0 ? "relu" : "softmax",
                        before);
    before = fmt::format("n{}", i);
  }
  text += fmt::format("  outputs: [{}]\n", before);
  const Result<Network> network = Read(text);
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->graph.nodes.size(), 5u + kNodes);
  EXPECT_EQ(PeakLiveWords(network->graph), 3 * 256);
}

}  // namespace
}  // namespace tessera
