// The schedule template: which knobs are refused and why, and text forms. Cycle counts of its
// programs are in tests/vta_golden_test.cc, their results in codegen_test.cc.
#include "tessera/vta/codegen/reference.h"

#include <gtest/gtest.h>

namespace tessera::vta {
namespace {

TEST(Reference, RefusesKnobsByTheFirstRuleTheyBreak) {
  const ConvShape c2 = SquareConv(64, 64, 56, 3, 1, 1);
  const auto reason = [&](const Knobs& knobs) {
    return std::string(CheckKnobs(c2, knobs, Config{}).reason);
  };
  EXPECT_EQ(reason({4, 56, 1, 2, 2, 2}), "");
  EXPECT_EQ(reason({5, 56, 1, 2, 2, 2}), "factors");
  EXPECT_EQ(reason({0, 56, 1, 2, 2, 2}), "factors");
  EXPECT_EQ(reason({4, 56, 1, 4, 2, 1}), "vthread");
  EXPECT_EQ(reason({4, 56, 1, 2, 3, 1}), "vthread");
  EXPECT_EQ(reason({56, 56, 1, 1, 1, 1}), "inp_sram");
  EXPECT_EQ(reason({28, 28, 2, 4, 1, 1}), "acc_sram");
  EXPECT_EQ(reason({2, 56, 1, 1, 1, 1}), "acc_hazard");
  EXPECT_EQ(reason({28, 7, 2, 4, 1, 2}), "uops");
  EXPECT_EQ(
      std::string(
          CheckKnobs(SquareConv(512, 512, 14, 3, 1, 1), {14, 14, 32, 4, 1, 1}, Config{}).reason),
      "inp_sram");
  EXPECT_EQ(CheckKnobs(c2, {28, 28, 2, 4, 1, 1}, Config{}).explanation,
            "1 contexts need 3140 tiles > 2048");
}

TEST(Reference, KnobSpaceHasAllDivisors) {
  EXPECT_EQ(KnobSpace(SquareConv(64, 64, 56, 3, 1, 1), Config{}).size(), 2304u);
  EXPECT_EQ(KnobSpace(SquareConv(512, 512, 7, 3, 1, 1), Config{}).size(), 576u);
}

TEST(Knobs, TextReadsBack) {
  const Knobs knobs = {4, 28, 1, 2, 2, 1};
  EXPECT_EQ(ToString(knobs), "tile_h=4,tile_w=28,tile_ci=1,tile_co=2,oc_nthread=2,h_nthread=1");
  EXPECT_EQ(*ParseKnobs(ToString(knobs)), knobs);
  EXPECT_EQ(ToString(ParseKnobs("tile_hh=4").error()),
            "unknown schedule knob 'tile_hh=4'; did you mean 'tile_h'?");
  EXPECT_EQ(ParseKnobs("tile_h=0").error().message, "tile_h = 0 is outside 1..2147483647");
}

TEST(ConvShape, RefusesWhatTheTemplateCannotExpress) {
  const auto message = [](const ConvShape& shape) {
    const Result<void> valid = Validate(shape, Config{});
    return valid ? "accepted" : valid.error().message;
  };
  EXPECT_EQ(message(SquareConv(64, 64, 56, 3, 1, 1)), "accepted");
  EXPECT_EQ(message(SquareConv(64, 64, 56, 13, 1, 1)), "kernel 13x13 > 11x11");
  EXPECT_EQ(message(SquareConv(64, 64, 56, 3, 1, 3)),
            "padding that a 3x3 kernel can lie in entirely");
  EXPECT_EQ(message(SquareConv(64, 64, 2, 5, 1, 1)),
            "the kernel does not fit into the padded input");
  Layer layer = {.k = 32, .c = 32, .y = 8, .x = 8, .r = 3, .s = 3, .groups = 32};
  EXPECT_EQ(ConvShapeOf(layer).error().message, "a convolution with 32 groups: only dense ones");
  layer = {.type = LayerType::kFullyConnected, .n = 3, .k = 10, .c = 20};
  EXPECT_EQ(*ConvShapeOf(layer), (ConvShape{.ci = 20, .co = 10, .w = 3}));
}

}  // namespace
}  // namespace tessera::vta
