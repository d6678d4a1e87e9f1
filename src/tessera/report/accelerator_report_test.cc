// Accelerators as scripts and people see them.
#include "tessera/report/accelerator_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"

namespace tessera {
namespace {

TEST(AcceleratorReport, JsonNamesFieldsAsFilesDo) {
  const Json simple = ToJson(*LoadAccelerator("simple3"));
  EXPECT_EQ(simple["name"], "simple3");
  EXPECT_TRUE(simple["pe_array"].is_null());
  EXPECT_EQ(simple["hierarchy"]["arithmetic"]["mac_pj"].dump(), "0.56");
  const Json& levels = simple["hierarchy"]["levels"];
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[0]["entries"].dump(), "220");
  EXPECT_EQ(levels[0]["keep"].dump(), R"(["Weights","Inputs","Outputs"])");
  EXPECT_TRUE(levels[2]["entries"].is_null());
  const Json gamma = ToJson(*LoadAccelerator("gamma-168"));
  EXPECT_EQ(gamma["pe_array"]["noc_elements_per_cycle"].dump(), "81920000");
}

TEST(AcceleratorReport, SummarySaysWhatItIs) {
  EXPECT_EQ(SizeText(*LoadAccelerator("eyeriss-256")), "256 MACs (16x16), 6 levels");
  EXPECT_EQ(SizeText(*LoadAccelerator("gamma-168")), "168 PEs");
  EXPECT_EQ(Summary({.name = "m", .notes = {"a", "b"}}), "m: \nnote: a\nnote: b\n");
}

TEST(AcceleratorReport, LevelsGoFromTheMacsOutwards) {
  const Accelerator accelerator = *LoadAccelerator("eyeriss-168");
  const std::string text = ToText(LevelTable(*accelerator.hierarchy));
  EXPECT_LT(text.find("MAC"), text.find("PsumSpad"));
  EXPECT_LT(text.find("PsumSpad"), text.find("DRAM"));
  EXPECT_NE(text.find("1.2 shared"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing"), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera
