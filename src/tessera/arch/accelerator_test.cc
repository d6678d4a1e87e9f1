// What makes a machine a machine; every complaint names the part and the rule.
#include "tessera/accelerator.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace tessera {
namespace {

Accelerator Example() {
  Accelerator accelerator{.name = "m"};
  Hierarchy& hierarchy = accelerator.hierarchy.emplace();
  hierarchy.arithmetic = {.mesh_x = 8, .mesh_y = 4};
  hierarchy.levels.resize(3);
  hierarchy.levels[0] = {.name = "RF", .entries = 16, .mesh_x = 8, .mesh_y = 4};
  hierarchy.levels[1] = {.name = "GLB", .entries = 1024, .mesh_x = 2};
  hierarchy.levels[2] = {.name = "DRAM"};
  accelerator.pe_array.emplace().num_pes = 32;
  return accelerator;
}

std::string ErrorAfter(const std::function<void(Accelerator&)>& change) {
  Accelerator accelerator = Example();
  change(accelerator);
  const Result<void> valid = Validate(accelerator);
  return valid ? "valid" : ToString(valid.error());
}

TEST(Accelerator, FanOutIsTheMeshBelowOverTheOwnMesh) {
  const Accelerator accelerator = Example();
  ASSERT_TRUE(Validate(accelerator));
  EXPECT_EQ(FanoutX(*accelerator.hierarchy, 0), 1);
  EXPECT_EQ(FanoutX(*accelerator.hierarchy, 1), 4);
  EXPECT_EQ(FanoutY(*accelerator.hierarchy, 1), 4);
  EXPECT_EQ(FanoutX(*accelerator.hierarchy, 2), 2);
  EXPECT_EQ(FanoutY(*accelerator.hierarchy, 2), 1);
}

TEST(Accelerator, HasAtMostTwelveLevels) {
  Accelerator machine{.name = "deep", .hierarchy = Hierarchy{}};
  for (size_t i = 0; i < Hierarchy::kMaxLevels; ++i) {
    machine.hierarchy->levels.push_back({.name = "L" + std::to_string(i)});
  }
  EXPECT_TRUE(Validate(machine));
  machine.hierarchy->levels.push_back({.name = "one more"});
  const Result<void> refused = Validate(machine);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "hierarchy: 13 memory levels, but at most 12 are supported");
}

TEST(Accelerator, ALevelMayHoldNothing) {
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->levels[1].entries = 0; }), "valid");
}

TEST(Accelerator, ComplaintsNamePartAndRule) {
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->levels[1].entries = -1; }),
            "GLB: entries is -1, but must not be negative");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->levels[1].mesh_x = 3; }),
            "GLB: meshX 3 does not divide meshX 8 of RF");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->levels[0].mesh_y = 3; }),
            "RF: meshY 3 does not divide meshY 4 of MAC");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->levels[0].read_words_per_cycle = 0; }),
            "RF: read_words_per_cycle is 0, but must be above 0");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->levels[0].read_pj = -1; }),
            "RF: read_pj is -1, but must not be negative");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->levels[2].name = "RF"; }),
            "RF: two levels have this name");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->levels.clear(); }),
            "hierarchy: there is no memory level");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->arithmetic.word_bits = 0; }),
            "MAC: word_bits is 0, but must be in 1..2147483647");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.pe_array->num_pes = 0; }),
            "pe_array: num_pes is 0, but must be in 1..2147483647");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) {
              a.pe_array.reset();
              a.hierarchy.reset();
            }),
            "m: neither a pe_array nor a hierarchy is given");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) {
              a.hierarchy->levels[0].mesh_x = int64_t{1} << 30;
              a.hierarchy->levels[0].mesh_y = int64_t{1} << 30;
            }),
            "RF: instances is 2147483648, but must be in 1..2147483647");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) {
              a.hierarchy->keeps = {{}, {"Weight"}, {}};
            }),
            "GLB: keep names 'Weight', which is no tensor; did you mean 'Weights'?");
  EXPECT_EQ(ErrorAfter([](Accelerator& a) { a.hierarchy->keeps = {{}}; }),
            "hierarchy: keep sets for 1 levels, but there are 3");
}

}  // namespace
}  // namespace tessera
