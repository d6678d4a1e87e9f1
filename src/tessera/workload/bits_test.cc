// Widths of a network's layers: by name, by data types, in files.
#include "tessera/part.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/network.h"

namespace tessera {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr std::string_view kText = R"(format: tessera-network-1
name: net
bits: {weights: 4, inputs: 8}
layers:
- {name: a, type: fc, K: 4, C: 8}
- {name: b, type: fc, K: 4, C: 8, bits: {weights: 8, partial_sums: 24}}
- {name: c, type: fc, K: 4, C: 8, bits: 8}
- {name: d, type: fc, K: 4, C: 8}
)";

Network Read(std::string_view text) {
  Result<Network> network = ParseNetwork(text, "net.yaml");
  EXPECT_TRUE(network) << network.error();
  return *network;
}

TEST(NetworkBits, LayersOfOtherWidthsAreOtherLayers) {
  const Network network = Read(kText);
  ASSERT_EQ(network.layers.size(), 3);
  EXPECT_EQ(network.layers[0].also, std::vector<std::string>{"d"});
  EXPECT_EQ(network.layers[0].layer.bits, (TensorBits{.weights = 4, .inputs = 8}));
  EXPECT_EQ(network.layers[1].layer.bits,
            (TensorBits{.weights = 8, .inputs = 8, .partial_sums = 24}));
  EXPECT_EQ(network.layers[2].layer.bits, (TensorBits{.weights = 8, .inputs = 8, .outputs = 8}));
  EXPECT_TRUE(Has(ToString(network.layers[0].layer), "bits weights=4,inputs=8"))
      << ToString(network.layers[0].layer);
}

TEST(NetworkBits, AreWrittenAndReadAgain) {
  const Network network = Read(kText);
  const Result<const NetworkFormat*> yaml = FindNetworkFormat("yaml");
  const Result<Export> written = (*yaml)->write(network);
  ASSERT_TRUE(written);
  EXPECT_EQ(Read(written->files.front().contents), network);
  const Result<Export> maestro = (*FindNetworkFormat("maestro"))->write(network);
  ASSERT_TRUE(maestro);
  EXPECT_TRUE(std::ranges::any_of(
      maestro->lost, [](const std::string& line) { return Has(line, "bits of tensors"); }));
}

TEST(NetworkBits, OfARequestWinAndEqualLayersAreOneAgain) {
  Network network = Read(kText);
  ASSERT_TRUE(SetBits("weights=2,partial_sums=32", network));
  ASSERT_EQ(network.layers.size(), 2);  // a, b and d; c gives outputs
  EXPECT_EQ(network.layers[0].count, 3);
  EXPECT_EQ(network.layers[0].layer.bits,
            (TensorBits{.weights = 2, .inputs = 8, .partial_sums = 32}));
  ASSERT_TRUE(SetBits("machine", network));
  ASSERT_EQ(network.layers.size(), 1);
  EXPECT_EQ(network.layers[0].count, 4);
  EXPECT_FALSE(network.layers[0].layer.bits.known());
  ASSERT_TRUE(SetBits("machine,8,outputs=16", network));
  EXPECT_EQ(network.layers[0].layer.bits, (TensorBits{.weights = 8, .inputs = 8, .outputs = 16}));
}

TEST(NetworkBits, OfDataTypesCountOnRequest) {
  Network network = Read(R"(format: tessera-network-1
name: net
layers:
- {name: a, type: fc, K: 4, C: 8, types: [float8e4m3fn, int4, bfloat16]}
- {name: b, type: fc, K: 4, C: 9, types: [bool, uint8, mixed]}
)");
  EXPECT_FALSE(network.layers[0].layer.bits.known());
  const Result<void> mixed = SetBits("file", network);
  ASSERT_FALSE(mixed);
  EXPECT_TRUE(Has(mixed.error().message, "layer 'b'")) << mixed.error().message;
  EXPECT_TRUE(Has(mixed.error().message, "outputs")) << mixed.error().message;
  ASSERT_TRUE(SetBits("file,outputs=32", network));
  EXPECT_EQ(network.layers[0].layer.bits, (TensorBits{.weights = 4, .inputs = 8, .outputs = 32}));
  EXPECT_EQ(network.layers[1].layer.bits, (TensorBits{.weights = 8, .inputs = 8, .outputs = 32}));
}

TEST(NetworkBits, OfGraphsAreWhatTheFileHas) {
  Result<Network> network = LoadNetwork("gpt2:seq=4,bits=8");
  ASSERT_TRUE(network) << network.error();
  ASSERT_TRUE(SetBits("file", *network));
  for (const NetworkLayer& entry : network->layers) {
    EXPECT_EQ(entry.layer.bits, (TensorBits{.weights = 8, .inputs = 8, .outputs = 8}))
        << entry.name;
  }
  EXPECT_TRUE(ValidateGraph(*network));
}

TEST(NetworkBits, BadRequestsAreRefused) {
  Network network = Read(kText);
  for (const std::string bad : {"", "words", "weights", "weights=0", "file,machine", "weights=4,,",
                                "weights=5000", "ouputs=4", "file"}) {
    EXPECT_FALSE(SetBits(bad, network)) << bad;
  }
}

}  // namespace
}  // namespace tessera
