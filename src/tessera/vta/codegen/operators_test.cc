// Additions, clipping and max pooling against the obvious computation, on every configuration.
#include <algorithm>

#include <gtest/gtest.h>

#include "tessera/part.h"
#include "tessera/vta.h"
#include "tessera/vta/codegen/elementwise.h"
#include "tessera/vta/codegen/pool.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::vta {
namespace {

std::vector<int8_t> RandomBytes(CounterRng& rng, int64_t count) {
  std::vector<int8_t> bytes(static_cast<size_t>(count));
  for (int8_t& byte : bytes) byte = static_cast<int8_t>(rng.Bits32());
  return bytes;
}

// Runs and checks a program; its kernel must also come to an end in time.
void ExpectClean(Program& program, const Kernel& kernel, const std::string& what) {
  const Result<CheckReport> report = CheckAndRun(program);
  ASSERT_TRUE(report) << report.error() << " " << what;
  for (const Diagnostic& diagnostic : report->diagnostics) {
    ADD_FAILURE() << ToString(diagnostic) << " " << what;
  }
  if (kernel.config.log_batch == 0) {
    EXPECT_EQ(report->not_portable, std::vector<std::string>{}) << what;
  }
  CycleSimulator simulator(kernel.config);
  EXPECT_TRUE(simulator.Run(kernel.instructions)) << what;
}

TEST(Elementwise, AddsAndClips) {
  for (uint64_t trial = 0; trial < 68; ++trial) {
    CounterRng rng(41, StreamId("elementwise"), trial);
    const Config& config = ConfigPresets()[trial % ConfigPresets().size()];
    const ElementwiseShape shape = {.n = 1 + rng.UniformInt(3),
                                    .channels = 1 + rng.UniformInt(100),
                                    .h = 1 + rng.UniformInt(12),
                                    .w = 1 + rng.UniformInt(20),
                                    .inputs = 1 + rng.UniformInt(2),
                                    .low = rng.UniformInt(2) == 0 ? 0 : -128,
                                    .high = 127};
    const int64_t count = shape.n * shape.channels * shape.h * shape.w;
    std::vector<std::vector<int8_t>> inputs;
    for (int64_t i = 0; i < shape.inputs; ++i) inputs.push_back(RandomBytes(rng, count));
    const Result<Kernel> kernel = GenerateElementwise(shape, config);
    ASSERT_TRUE(kernel) << kernel.error() << config.name;
    Result<Program> program = LinkElementwise(*kernel, shape, inputs);
    ASSERT_TRUE(program) << program.error();
    ExpectClean(*program, *kernel, config.name);
    std::vector<int8_t> expected;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const int32_t sum = inputs[0][i] + (shape.inputs == 2 ? inputs[1][i] : 0);
      expected.push_back(static_cast<int8_t>(std::clamp(sum, shape.low, shape.high)));
    }
    const ConvShape output = {.n = shape.n, .co = shape.channels, .h = shape.h, .w = shape.w};
    EXPECT_EQ(UnpackConvOutput(*program, output), expected) << config.name << " " << trial;
  }
}

TEST(MaxPool, TakesTheLargestOfEachWindow) {
  int programs = 0;
  for (uint64_t trial = 0; trial < 102; ++trial) {
    CounterRng rng(42, StreamId("max_pool"), trial);
    const Config& config = ConfigPresets()[trial % ConfigPresets().size()];
    ConvShape shape = {.n = 1 + rng.UniformInt(2),
                       .ci = 1 + rng.UniformInt(80),
                       .kh = 1 + rng.UniformInt(4),
                       .kw = 1 + rng.UniformInt(4),
                       .stride_h = 1 + rng.UniformInt(3),
                       .stride_w = 1 + rng.UniformInt(3)};
    shape.co = shape.ci;
    shape.pad_top = rng.UniformInt(shape.kh);
    shape.pad_bottom = rng.UniformInt(shape.kh);
    shape.pad_left = rng.UniformInt(shape.kw);
    shape.pad_right = rng.UniformInt(shape.kw);
    shape.h = shape.kh + rng.UniformInt(20);
    shape.w = shape.kw + rng.UniformInt(20);
    const Result<Kernel> kernel = GenerateMaxPool(shape, config);
    if (!kernel) continue;
    ++programs;
    const std::vector<int8_t> input = RandomBytes(rng, shape.n * shape.ci * shape.h * shape.w);
    Result<Program> program = LinkMaxPool(*kernel, shape, input);
    ASSERT_TRUE(program) << program.error();
    ExpectClean(*program, *kernel, config.name);
    EXPECT_EQ(UnpackConvOutput(*program, shape), ReferenceMaxPool(shape, input))
        << config.name << " " << trial;
  }
  EXPECT_GT(programs, 80);
}

}  // namespace
}  // namespace tessera::vta
