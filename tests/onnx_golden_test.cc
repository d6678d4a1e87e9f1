// Real ONNX graphs: two torchvision exports with their MACs layer by layer, and the nine graphs
// that the PyPI package `onnx` ships with their totals.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/network.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path Golden() { return fs::path(TESSERA_SOURCE_DIR) / "tests/golden/onnx"; }

std::map<std::string, int64_t> MacsByName(const Network& network) {
  std::map<std::string, int64_t> macs;
  for (const NetworkLayer& entry : network.layers) {
    macs[entry.name] = Macs(entry.layer);
    for (const std::string& name : entry.also) macs[name] = Macs(entry.layer);
  }
  return macs;
}

TEST(OnnxGolden, ExportsOfBothKindsGiveTheirMacsLayerByLayer) {
  const Json expected = Json::parse(std::ifstream(Golden() / "expected.json"));
  ASSERT_EQ(expected.size(), 2u);
  for (const auto& [file, facts] : expected.items()) {
    const Result<Network> network = ReadNetwork((Golden() / file).string());
    ASSERT_TRUE(network) << network.error();
    EXPECT_EQ(TotalMacs(*network), facts["macs"]) << file;
    EXPECT_EQ(network->batch, 1);
    EXPECT_EQ(network->unknown.size(), 0u) << file;
    std::map<std::string, int64_t> macs, operators;
    for (const Json& layer : facts["layers"]) {
      macs[layer[0]] = layer[2];
      ++operators[layer[1]];
    }
    EXPECT_EQ(MacsByName(*network), macs) << file;
    operators.insert(network->ignored.begin(), network->ignored.end());
    EXPECT_EQ(operators, (facts["operators"].get<std::map<std::string, int64_t>>())) << file;
  }
}

// Weights and biases; normalisation, the class token and the position embedding are no layers.
TEST(OnnxGolden, ParametersIncludeTheBiasesThatFollowAProduct) {
  const Result<Network> vit = ReadNetwork((Golden() / "vit_b_16.dynamo.onnx").string());
  ASSERT_TRUE(vit) << vit.error();
  EXPECT_EQ(TotalParameters(*vit), 86'567'656 - 25 * 2 * 768 - 768 - 197 * 768);
}

// Language models of transformers as PyTorch exports them, against PyTorch's own count of their
// MACs and against what their configs make (scripts/check-exports writes them).
TEST(OnnxGolden, ExportsOfLanguageModelsHaveTheMacsOfTheirConfigs) {
  const fs::path folder = fs::path(TESSERA_SOURCE_DIR) / "tests/golden/llm";
  const Json expected = Json::parse(std::ifstream(folder / "expected.json"));
  std::map<std::string, int> exports;
  for (const auto& [file, facts] : expected.items()) {
    const Result<Network> network = ReadNetwork((folder / file).string());
    ASSERT_TRUE(network) << network.error();
    EXPECT_EQ(TotalMacs(*network), facts["macs"]) << file;
    EXPECT_EQ(network->unknown.size(), 0u) << file;
    EXPECT_FALSE(network->graph.empty()) << file;
    ++exports[facts["config"]["model_type"]];
    Bindings settings;
    std::stringstream words(facts["setting"].get<std::string>());
    for (std::string word; std::getline(words, word, ',');) {
      const size_t equals = word.find('=');
      const std::string value = word.substr(equals + 1);
      settings[word.substr(0, equals)] =
          value == "decode" ? Binding(value) : Binding(std::stoi(value));
    }
    const Result<Network> built = ParseNetwork(facts["config"].dump(), "config.json", settings);
    ASSERT_TRUE(built) << built.error();
    EXPECT_EQ(TotalMacs(*built), facts["macs"]) << file;
  }
  EXPECT_EQ(exports.size(), 10u);
  for (const auto& [family, count] : exports) EXPECT_GE(count, 2) << family;
}

// Where the package's graphs are: in .venv, unless the environment names another folder.
fs::path LightGraphs() {
  if (const char* const folder = std::getenv("TESSERA_ONNX_LIGHT")) return folder;
  const fs::path libraries = fs::path(TESSERA_SOURCE_DIR) / ".venv/lib";
  std::error_code error;
  for (const fs::directory_entry& python : fs::directory_iterator(libraries, error)) {
    const fs::path folder = python.path() / "site-packages/onnx/backend/test/data/light";
    if (fs::exists(folder)) return folder;
  }
  return {};
}

TEST(OnnxGolden, GraphsOfTheOnnxPackageGiveTheirTotals) {
  const std::map<std::string, int64_t> totals = {
      {"bvlc_alexnet", 654'560'384},   {"densenet121", 2'834'161'664},
      {"inception_v1", 1'431'556'352}, {"inception_v2", 2'018'851'840},
      {"resnet50", 4'089'184'256},     {"shufflenet", 124'664'528},
      {"squeezenet", 349'151'936},     {"vgg19", 19'632'062'464},
      {"zfnet512", 1'481'727'008}};
  const fs::path folder = LightGraphs();
  ASSERT_FALSE(folder.empty()) << "the PyPI package onnx is not in .venv: run scripts/setup";
  for (const auto& [name, macs] : totals) {
    const Result<Network> network = ReadNetwork((folder / ("light_" + name + ".onnx")).string());
    ASSERT_TRUE(network) << network.error();
    EXPECT_EQ(TotalMacs(*network), macs) << name;
    EXPECT_EQ(network->unknown.size(), 0u) << name;
  }
}

// ---- graphs

// A graph by what it computes: every node with MACs and every vector node as a hash of its type,
// its sizes and what it reads, behind all views. Names and the order of nodes do not matter.
std::map<size_t, int> Fingerprint(const Network& network, const std::set<std::string>& without) {
  const Graph& graph = network.graph;
  std::vector<size_t> of(graph.tensors.size(), 0);
  const auto mix = [](size_t a, size_t b) { return (a ^ b) * 0x9E3779B97F4A7C15ull + (a >> 29); };
  const auto words = [&](int32_t tensor) {
    return static_cast<size_t>(Words(graph.tensors[static_cast<size_t>(tensor)]));
  };
  std::map<size_t, int> counts;
  for (const GraphNode& node : graph.nodes) {
    size_t hash = 0;
    if (node.view || without.contains(node.type)) {
      hash = of[static_cast<size_t>(node.inputs[0])];
      // Parts of a tensor are not told apart: exporters find them in many ways.
    } else {
      hash = mix(std::hash<std::string>()(node.type), words(node.outputs[0]));
      if (node.macs())
        hash = mix(
            hash, static_cast<size_t>(Macs(network.layers[static_cast<size_t>(node.layer)].layer)));
      hash = mix(hash, static_cast<size_t>(node.kernel.y * 100 + node.kernel.x));
      for (const int32_t input : node.inputs) {
        if (graph.tensors[static_cast<size_t>(input)].kind != TensorKind::kWeight) {
          hash += mix(77, of[static_cast<size_t>(input)]);  // in any order
        }
      }
      ++counts[hash];
    }
    for (const int32_t output : node.outputs) of[static_cast<size_t>(output)] = hash;
  }
  return counts;
}

std::string Roles(const Network& network) {
  std::map<std::string, int> types;
  for (const GraphNode& node : network.graph.nodes) {
    if (!node.view) ++types[node.type];
  }
  std::string text;
  for (const auto& [type, count] : types) text += type + " " + std::to_string(count) + " ";
  return text;
}

void ExpectSameGraph(const fs::path& file, const std::string& zoo_name,
                     const std::set<std::string>& without = {}) {
  const Result<Network> exported = ReadNetwork(file.string());
  const Result<Network> zoo = LoadZooNetwork(zoo_name);
  ASSERT_TRUE(exported && zoo) << file;
  ASSERT_FALSE(exported->graph.empty()) << file;
  EXPECT_TRUE(ValidateGraph(*exported));
  EXPECT_EQ(Fingerprint(*exported, without), Fingerprint(*zoo, without)) << file << "\n"
                                                                         << Roles(*exported) << "\n"
                                                                         << Roles(*zoo);
}

TEST(OnnxGolden, GraphsAreThoseOfTheZoo) {
  ExpectSameGraph(Golden() / "resnet18.classic.onnx", "resnet18");
  ExpectSameGraph(Golden() / "vit_b_16.dynamo.onnx", "vit-b-16");
}

// Of the same networks by Caffe 2: they end in a softmax.
TEST(OnnxGolden, GraphsOfTheOnnxPackageAreThoseOfTheZoo) {
  const fs::path folder = LightGraphs();
  ASSERT_FALSE(folder.empty());
  const auto file = [&](const char* name) {
    const fs::path plain = folder / (std::string("light_") + name + ".onnx");
    return fs::exists(plain) ? plain : folder / (std::string(name) + ".onnx");
  };
  ExpectSameGraph(file("vgg19"), "vgg19", {"softmax"});
  ExpectSameGraph(file("squeezenet"), "squeezenet1.1", {"softmax"});
}

}  // namespace
}  // namespace tessera
