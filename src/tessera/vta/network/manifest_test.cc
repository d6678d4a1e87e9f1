// Manifests as `tessera compile` writes them, and what is said about broken ones. Whole networks
// from files are in tests/cli/vta_whole.test.
#include "tessera/vta/network/manifest.h"

#include <gtest/gtest.h>

namespace tessera::vta {
namespace {

constexpr std::string_view kManifest = R"({"network": "net", "steps": [
  {"name": "a", "on": "vta", "program": "1.vta", "inputs": ["image"],
   "output": {"n": 1, "channels": 20, "pixels": 2},
   "tensors": [{"name": "input", "address": 4096, "bytes": 64}]},
  {"name": "b", "on": "vta", "program": "2.vta", "inputs": ["a", "a"],
   "output": {"n": 1, "channels": 20, "pixels": 2},
   "tensors": [{"name": "input", "address": 4096, "bytes": 64},
               {"name": "second_input", "address": 8192, "bytes": 64}]},
  {"name": "c", "on": "host"}]})";

std::string Replaced(std::string_view from, std::string_view to) {
  std::string text(kManifest);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  const Result<Manifest> manifest = ParseManifest(text, "manifest.json");
  return manifest ? "read" : ToString(manifest.error());
}

TEST(Manifest, TellsProgramsAndConnections) {
  const Result<Manifest> manifest = ParseManifest(kManifest, "manifest.json");
  ASSERT_TRUE(manifest) << manifest.error();
  EXPECT_EQ(manifest->network, "net");
  EXPECT_EQ(manifest->host_steps, std::vector<std::string>{"c"});
  ASSERT_EQ(manifest->programs.size(), 2u);
  const ManifestEntry& b = manifest->programs[1];
  EXPECT_EQ(b.program, "2.vta");
  ASSERT_EQ(b.inputs.size(), 2u);
  EXPECT_EQ(b.inputs[1].from, "a");
  EXPECT_EQ(b.inputs[1].region, (Region{8192, 64}));
}

TEST(Manifest, OutputsBecomeInputsInTheirLayout) {
  const Result<Manifest> manifest = ParseManifest(kManifest, "manifest.json");
  ASSERT_TRUE(manifest) << manifest.error();
  Program first;
  first.dram_base = 4096;
  first.dram.resize(64);
  for (size_t i = 0; i < 64; ++i) first.dram[i] = static_cast<uint8_t>(i + 1);
  first.out = {4096, 64};
  const Result<std::vector<int8_t>> output = TakeOutput(manifest->programs[0], first);
  ASSERT_TRUE(output) << output.error();
  EXPECT_EQ(output->size(), 40u) << "20 channels of 32";
  Program second;
  second.dram_base = 4096;
  second.dram.resize(8192);
  ASSERT_TRUE(FeedInputs(manifest->programs[1], *manifest, {{"a", *output}}, second));
  EXPECT_EQ(second.dram[0], 1) << "first channel of the first pixel";
  EXPECT_EQ(second.dram[4096 + 17], 18) << "second channel of the second pixel";
  EXPECT_EQ(second.dram[32 + 4], 0) << "a channel that is not there";
  EXPECT_EQ(ToString(FeedInputs(manifest->programs[1], *manifest, {}, second).error()),
            "step b needs the output of 'a', which no step before it gives");
  second.dram.resize(64);
  EXPECT_EQ(
      ToString(FeedInputs(manifest->programs[1], *manifest, {{"a", *output}}, second).error()),
      "the output of a is not as large as the input of b");
  first.out.bytes = 32;
  EXPECT_EQ(ToString(TakeOutput(manifest->programs[0], first).error()),
            "the output of a is not as large as the manifest says");
}

TEST(Manifest, BrokenOnesAreExplained) {
  EXPECT_EQ(ErrorOf("{}"), "manifest.json:1:1: the manifest lacks 'network' here");
  EXPECT_EQ(ErrorOf("{\"network\": \"x\"}"),
            "manifest.json:1:1: the manifest has neither 'steps' nor 'layers'");
  EXPECT_EQ(ErrorOf(Replaced("\"program\": \"1.vta\", ", "")),
            "manifest.json:2:3: the manifest lacks 'program' here");
  EXPECT_EQ(ErrorOf(Replaced("1.vta", "../1.vta")),
            "manifest.json:2:3: program '../1.vta' is not beside the manifest");
  EXPECT_EQ(ErrorOf(Replaced("second_input", "other")),
            "manifest.json:5:3: no tensor 'second_input'");
  EXPECT_EQ(ErrorOf(Replaced("\"pixels\": 2", "\"pixels\": -2")),
            "manifest.json:3:49: -2 is outside 0..1099511627776");
}

}  // namespace
}  // namespace tessera::vta
