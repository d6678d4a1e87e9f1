// Study files: what they may say, and where their errors are.
#include "tessera/study/study_file.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::string_view kHead = "format: tessera-study-1\n";

Result<StudyFile> Parse(std::string_view text) {
  return ParseStudyFile(std::string(kHead) + std::string(text), "s.yaml");
}

std::string ErrorOf(std::string_view text) {
  const Result<StudyFile> study = Parse(text);
  return study ? "no error" : ToString(study.error());
}

TEST(StudyFile, AxesMayBeSingleWords) {
  const Result<StudyFile> study =
      Parse("networks: alexnet\naccelerators: eyeriss-256\nobjectives: edp\nlayers: each\n");
  ASSERT_TRUE(study) << study.error();
  EXPECT_EQ(study->name, "s");
  ASSERT_EQ(study->networks.size(), 1U);
  EXPECT_EQ(study->networks[0].name.text, "alexnet");
  EXPECT_EQ(study->networks[0].name.where, (Where{"s.yaml", 2, 11}));
  EXPECT_TRUE(study->layers.each);
  EXPECT_EQ(study->seeds, std::vector<int64_t>{1});
  ASSERT_EQ(study->methods.size(), 1U);
  EXPECT_FALSE(study->methods[0].has_value());
}

TEST(StudyFile, NetworksMayBindSizesAndHaveLayersOfTheirOwn) {
  const Result<StudyFile> study = Parse(
      "networks: [{network: bert-base, bind: {seq: 64}, layers: [1, qkv]}]\n"
      "accelerators: [a, b]\nseeds: {from: 7, count: 3}\n");
  ASSERT_TRUE(study) << study.error();
  const NetworkRequest& network = study->networks.at(0);
  EXPECT_EQ(network.bindings, (Bindings{{"seq", 64}}));
  ASSERT_TRUE(network.layers.has_value());
  ASSERT_EQ(network.layers->chosen.size(), 2U);
  EXPECT_EQ(network.layers->chosen[1].text, "qkv");
  EXPECT_EQ(study->seeds, (std::vector<int64_t>{7, 8, 9}));
}

TEST(StudyFile, UnitsInheritBudgetsAndSettings) {
  const Result<StudyFile> study = Parse(
      "budget: {samples: 100, target_gap: 0.1}\n"
      "settings: {bypass: true}\n"
      "needs: {cores: 2}\n"
      "units:\n"
      "  - {network: alexnet, accelerator: nvdla}\n"
      "  - {network: alexnet, layer: 2, accelerator: nvdla, seed: 4, budget: {samples: 7},\n"
      "     needs: {memory_mib: 99}}\n");
  ASSERT_TRUE(study) << study.error();
  ASSERT_EQ(study->units.size(), 2U);
  EXPECT_EQ(study->units[0].settings.budget.samples, 100);
  EXPECT_EQ(study->units[1].settings.budget.samples, 7);
  EXPECT_EQ(study->units[1].settings.target_gap, 0.1);
  EXPECT_EQ(study->units[1].settings.bypass, true);
  EXPECT_EQ(study->units[1].settings.cores, 2);
  EXPECT_EQ(study->units[1].settings.memory_mib, 99);
  EXPECT_EQ(study->units[1].seed, 4);
  EXPECT_EQ(study->units[1].layer->text, "2");
}

TEST(StudyFile, ErrorsHaveLineAndColumn) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"network: [alexnet]\n", "s.yaml:2:1: unknown key 'network'"},
      {"networks: []\naccelerators: [a]\n", "s.yaml:2:11: expected one or more networks"},
      {"networks: [a]\n", "the study has networks, but no 'accelerators'"},
      {"accelerators: [a]\n", "the study has accelerators, but no 'networks'"},
      {"name: x\n", "the study has no work"},
      {"networks: [a]\naccelerators: [b]\nseeds: 5\n", "s.yaml:4:8: expected a list of seeds"},
      {"networks: [a]\naccelerators: [b]\nseeds: [-1]\n", "s.yaml:4:9"},
      {"networks: [a]\naccelerators: [b]\nseeds: {from: 1}\n", "s.yaml:4:8"},
      {"networks: [a]\naccelerators: [b]\nseeds: {count: 0}\n", "s.yaml:4:16"},
      {"networks: [{bind: {a: 1}}]\naccelerators: [b]\n", "s.yaml:2:12"},
      {"networks: [{network: a, bind: [1]}]\naccelerators: [b]\n", "s.yaml:2:31"},
      {"networks: [a]\naccelerators: [b]\nbudget: {samples: 0}\n", "s.yaml:4:19"},
      {"networks: [a]\naccelerators: [b]\nbudget: {samples: many}\n", "s.yaml:4:19"},
      {"networks: [a]\naccelerators: [b]\nbudget: {seconds: -1}\n", "s.yaml:4:19: -1 is below 0"},
      {"networks: [a]\naccelerators: [b]\nbudget: {sample: 1}\n",
       "s.yaml:4:10: unknown key 'sample' in a budget; did you mean 'samples'?"},
      {"networks: [a]\naccelerators: [b]\nneeds: {cores: 0}\n", "s.yaml:4:16"},
      {"units: [{network: a}]\n", "s.yaml:2:9"},
      {"units: [{network: a, accelerator: b, layers: each}]\n", "s.yaml:2:38: unknown key"},
      {"units: 5\n", "s.yaml:2:8"},
      {"units: [{network: {network: a, layers: each}, accelerator: b}]\n", "unknown key 'layers'"},
      {"settings: [bypass]\nunits: [{network: a, accelerator: b}]\n", "s.yaml:2:11"},
      {"networks: [a\n", "s.yaml:"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(ErrorOf(text).find(expected), std::string::npos) << text << ErrorOf(text);
  }
}

TEST(StudyFile, OtherFormatsAreRefused) {
  const Result<StudyFile> other = ParseStudyFile("format: tessera-network-1\n", "n.yaml");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().where.line, 1);
  EXPECT_FALSE(ParseStudyFile("networks: [a]\n", "n.yaml"));
}

}  // namespace
}  // namespace tessera
