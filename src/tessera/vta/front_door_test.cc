// What users of tessera/vta.h rely on beyond what the tests of its parts show.
#include <gtest/gtest.h>

#include "tessera/vta.h"

namespace tessera::vta {
namespace {

ConvShape SmallConv() {
  return {.ci = 16,
          .co = 16,
          .h = 8,
          .w = 8,
          .kh = 3,
          .kw = 3,
          .pad_top = 1,
          .pad_left = 1,
          .pad_bottom = 1,
          .pad_right = 1};
}

TEST(FrontDoor, ALayerIsCompiledLinkedAndSimulated) {
  const Result<CompiledLayer> conv = CompileConv(SmallConv(), {});
  ASSERT_TRUE(conv) << conv.error();
  const ConvData data = RandomConvData(conv->shape, /*bias=*/true, /*seed=*/1);
  Result<Program> program = Link(*conv, data);
  ASSERT_TRUE(program) << program.error();
  const Result<Simulation> run = Simulate(*program, {.trace = true, .timeline_columns = 40});
  ASSERT_TRUE(run) << run.error();
  ASSERT_TRUE(run->check.ok() && !run->stuck);
  EXPECT_EQ(run->report, conv->report);
  EXPECT_EQ(std::ssize(run->times), conv->instructions);
  EXPECT_EQ(UnpackConvOutput(*program, conv->shape), ReferenceConv(conv->shape, data, {}));
  EXPECT_FALSE(run->trace.empty());
  EXPECT_FALSE(run->timeline.empty());
}

TEST(FrontDoor, DataOfOtherSizesAreRefused) {
  const Result<CompiledLayer> conv = CompileConv(SmallConv(), {});
  ASSERT_TRUE(conv) << conv.error();
  ConvData data = RandomConvData(conv->shape, /*bias=*/true, /*seed=*/1);
  data.weights.pop_back();
  const Result<Program> program = Link(*conv, data);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().message, "weights has 2303 values, the layer needs 2304");
  EXPECT_FALSE(Link(*conv, RandomConvData(conv->shape, /*bias=*/false, /*seed=*/1)));
}

TEST(FrontDoor, OptionsOutOfRangeAreErrors) {
  EXPECT_FALSE(CompileConv(SmallConv(), {.config = {.log_batch = 31}}));
  EXPECT_FALSE(CompileConv(SmallConv(), {.timing = {.bus_bytes = 7}}));
  EXPECT_FALSE(RowAnswers::Make("", {.bus_bytes = 7}));
  Program program;
  EXPECT_FALSE(Simulate(program, {.timing = {.bus_bytes = 7}}));
}

TEST(FrontDoor, AProgramWithErrorsHasNoTimes) {
  Result<Program> program = ParseAssembly(
      ".config 1x16_i8w8a32_15_15_18_17\n.memory 0x1000 8192\n.output 0x1000 16\n"
      ".code 0x2000\n  NOP.COMPUTE pop_next\n  FINISH\n",
      "deadlock.s");
  ASSERT_TRUE(program) << program.error();
  const Result<Simulation> run = Simulate(*program);
  ASSERT_TRUE(run) << run.error();
  EXPECT_FALSE(run->check.ok());
  EXPECT_EQ(run->check.diagnostics.front().defect, Defect::kTokenDeadlock);
  EXPECT_TRUE(run->times.empty());
}

TEST(FrontDoor, NetworksWithoutGraphsAreErrors) {
  const Result<Network> network = LoadZooNetwork("vgg16-gamma");
  ASSERT_TRUE(network) << network.error();
  const Result<NetworkRun> run = CompileWhole(*network, {});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tessera::vta
