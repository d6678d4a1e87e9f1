// Generated convolutions compute what a plain convolution computes, on every configuration, and
// their programs pass every check.
#include <gtest/gtest.h>

#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/vta.h"
#include "tessera/vta/codegen/best.h"
#include "tessera/vta/codegen/data.h"
#include "tessera/vta/codegen/reference.h"
#include "tessera/vta/codegen/tiled.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::vta {
namespace {

int64_t Pick(CounterRng& rng, std::initializer_list<int64_t> values) {
  return values.begin()[rng.UniformInt(std::ssize(values))];
}

ConvShape RandomShape(CounterRng& rng) {
  ConvShape s;
  s.n = Pick(rng, {1, 1, 1, 2, 5});
  s.ci = 1 + rng.UniformInt(70);
  s.co = 1 + rng.UniformInt(70);
  s.kh = Pick(rng, {1, 1, 2, 3, 3, 3, 5, 7});
  s.kw = rng.UniformInt(3) == 0 ? Pick(rng, {1, 3, 5}) : s.kh;
  s.stride_h = Pick(rng, {1, 1, 2, 3});
  s.stride_w = rng.UniformInt(4) == 0 ? Pick(rng, {1, 2}) : s.stride_h;
  s.pad_top = rng.UniformInt(s.kh);
  s.pad_bottom = rng.UniformInt(s.kh);
  s.pad_left = rng.UniformInt(s.kw);
  s.pad_right = rng.UniformInt(s.kw);
  s.h = s.kh + rng.UniformInt(12);
  s.w = s.kw + rng.UniformInt(12);
  return s;
}

Epilogue RandomEpilogue(CounterRng& rng) {
  return {.shift = static_cast<int32_t>(rng.UniformInt(12)),
          .bias = rng.UniformInt(4) != 0,
          .low = rng.UniformInt(2) == 0 ? 0 : -128,
          .high = rng.UniformInt(2) == 0 ? 127 : 6};
}

std::string ShapeText(const ConvShape& s, const Config& config) {
  return testing::PrintToString(std::vector<int64_t>{s.n, s.ci, s.co, s.h, s.w, s.kh, s.kw,
                                                     s.stride_h, s.stride_w, s.pad_top, s.pad_left,
                                                     s.pad_bottom, s.pad_right}) +
         " on " + config.name;
}

// Checked, run, and compared with the plain convolution; also timed to its end.
void ExpectRight(const Kernel& kernel, const ConvShape& shape, const Epilogue& epilogue,
                 uint64_t seed, const std::string& what) {
  const ConvData data = RandomConvData(shape, epilogue.bias, seed);
  Result<Program> program = LinkConv(kernel, shape, data);
  ASSERT_TRUE(program) << program.error() << " " << what;
  const Result<CheckReport> report = CheckAndRun(*program);
  ASSERT_TRUE(report) << report.error() << " " << what;
  for (const Diagnostic& diagnostic : report->diagnostics) {
    ADD_FAILURE() << ToString(diagnostic) << " " << what;
  }
  if (kernel.config.log_batch == 0) {
    EXPECT_EQ(report->not_portable, std::vector<std::string>{}) << what;
  }
  EXPECT_EQ(UnpackConvOutput(*program, shape), ReferenceConv(shape, data, epilogue)) << what;
  CycleSimulator simulator(kernel.config);
  EXPECT_TRUE(simulator.Run(kernel.instructions)) << what;
}

const Config& RandomConfig(CounterRng& rng) {
  return ConfigPresets()[static_cast<size_t>(rng.UniformInt(std::ssize(ConfigPresets())))];
}

TEST(Codegen, ReferenceProgramsComputeTheConvolution) {
  int programs = 0;
  for (uint64_t trial = 0; trial < 150; ++trial) {
    CounterRng rng(21, StreamId("reference_program"), trial);
    const ConvShape shape = RandomShape(rng);
    const Epilogue epilogue = RandomEpilogue(rng);
    const Config& config = RandomConfig(rng);
    const std::vector<Knobs> space = KnobSpace(shape, config);
    const Knobs& knobs = space[static_cast<size_t>(rng.UniformInt(std::ssize(space)))];
    if (!Validate(shape, config) || !CheckKnobs(shape, knobs, config).valid()) continue;
    ++programs;
    ExpectRight(GenerateReference(shape, knobs, config, epilogue), shape, epilogue, trial,
                ShapeText(shape, config) + " " + ToString(knobs));
  }
  EXPECT_GT(programs, 30);
}

TEST(Codegen, TiledProgramsComputeTheConvolution) {
  int programs = 0;
  for (uint64_t trial = 0; trial < 400; ++trial) {
    CounterRng rng(22, StreamId("tiled_program"), trial);
    const ConvShape shape = RandomShape(rng);
    const Epilogue epilogue = RandomEpilogue(rng);
    const Config& config = RandomConfig(rng);
    if (!Validate(shape, config)) continue;
    const TiledSchedule schedule = {.tile_h = 1 + rng.UniformInt(shape.oh()),
                                    .tile_w = 1 + rng.UniformInt(shape.ow()),
                                    .tile_ci = 1 + rng.UniformInt(InputBlocks(shape, config)),
                                    .tile_co = 1 + rng.UniformInt(OutputBlocks(shape, config)),
                                    .lead_co = rng.UniformInt(3),
                                    .inp_slots = 1 + rng.UniformInt(4),
                                    .wgt_slots = 1 + rng.UniformInt(4),
                                    .channels_outermost = rng.UniformInt(2) == 0,
                                    .trim_rows = rng.UniformInt(3) != 0,
                                    .trim_columns = rng.UniformInt(3) != 0,
                                    .gemm_bias = rng.UniformInt(2) == 0,
                                    .short_lists = rng.UniformInt(2) == 0,
                                    .row_groups = rng.UniformInt(2) == 0,
                                    .quick_ends = rng.UniformInt(2) == 0,
                                    .tail_co = rng.UniformInt(3),
                                    .tail_rows = rng.UniformInt(3),
                                    .uop_pieces = 1 + rng.UniformInt(3),
                                    .uop_steps = 1 + rng.UniformInt(3),
                                    .lead_ci = rng.UniformInt(3),
                                    .lead_repeat = rng.UniformInt(3),
                                    .lead_part = rng.UniformInt(3),
                                    .lead_growth = 70 * rng.UniformInt(3)};
    const Result<Kernel> kernel = GenerateTiled(shape, schedule, config, epilogue);
    if (!kernel) continue;
    ++programs;
    ExpectRight(*kernel, shape, epilogue, trial,
                ShapeText(shape, config) + " " + ToString(schedule));
  }
  EXPECT_GT(programs, 80);
}

TEST(Codegen, ScheduleThatDoesNotFitIsRefusedWithTheLimit) {
  const ConvShape shape = SquareConv(64, 64, 56, 3, 1, 1);
  const auto message = [&](const TiledSchedule& schedule) {
    const Result<Kernel> kernel = GenerateTiled(shape, schedule, Config{});
    return kernel ? "generated" : kernel.error().message;
  };
  EXPECT_EQ(message({.tile_h = 8, .tile_w = 56, .tile_ci = 1, .tile_co = 2}), "generated");
  EXPECT_EQ(message({.tile_h = 8, .tile_w = 56, .tile_ci = 2, .tile_co = 2}),
            "2241 INP tiles > depth 2048")
      << "10 rows of 56 in two blocks, twice, and the constant";
  EXPECT_EQ(message({.tile_h = 10, .tile_w = 56, .tile_ci = 1, .tile_co = 4}),
            "2240 ACC tiles > depth 2048");
  EXPECT_EQ(message({.tile_h = 1, .tile_w = 56, .tile_ci = 1, .tile_co = 1}),
            "a sum would be used again within two micro-ops");
}

// Tiles whose sums take more than half of their room, so that a tile begins with those that the
// tile before has left free: right, whatever is left, and with pieces at the end.
TEST(Codegen, TilesMayHaveMoreThanHalfOfTheSums) {
  int64_t split = 0, tails = 0;
  for (uint64_t trial = 0; trial < 120; ++trial) {
    CounterRng rng(27, StreamId("large_tiles"), trial);
    const int64_t blocks = 3 + rng.UniformInt(6), width = 10 + rng.UniformInt(12);
    const int64_t kernel = Pick(rng, {1, 3}), rows = 2048 / (blocks * width);
    const ConvShape shape = {.ci = 16 * (1 + rng.UniformInt(3)),
                             .co = 16 * blocks * (1 + rng.UniformInt(2)),
                             .h = rows + rng.UniformInt(rows),
                             .w = width,
                             .kh = kernel,
                             .kw = kernel,
                             .pad_top = kernel / 2,
                             .pad_left = kernel / 2,
                             .pad_bottom = kernel / 2,
                             .pad_right = kernel / 2};
    const TiledSchedule schedule = {.tile_h = rows - rng.UniformInt(rows / 3 + 1),
                                    .tile_w = width,
                                    .tile_ci = 1 + rng.UniformInt(3),
                                    .tile_co = blocks,
                                    .inp_slots = 1 + rng.UniformInt(2),
                                    .channels_outermost = rng.UniformInt(2) == 0,
                                    .gemm_bias = rng.UniformInt(4) != 0,
                                    .short_lists = true,
                                    .row_groups = rng.UniformInt(2) == 0,
                                    .quick_ends = rng.UniformInt(4) != 0,
                                    .tail_co = rng.UniformInt(3),
                                    .tail_rows = rng.UniformInt(2),
                                    .lead_ci = 1,
                                    .lead_part = 1 + rng.UniformInt(blocks),
                                    .lead_growth = 40 * rng.UniformInt(3)};
    const Result<Kernel> kernel_code = GenerateTiled(shape, schedule, Config{});
    if (!kernel_code) continue;
    split += 2 * schedule.tile_h * width * blocks > 2048 ? 1 : 0;
    tails += schedule.tail_co + schedule.tail_rows > 0 ? 1 : 0;
    ExpectRight(*kernel_code, shape, {}, trial, ToString(schedule));
  }
  EXPECT_GT(split, 20);
  EXPECT_GT(tails, 20);
}

// A layer of two large tiles takes less time than one of four that fit beside each other.
TEST(Codegen, LargeTilesAndATailSaveTime) {
  const ConvShape shape = SquareConv(256, 256, 14, 3, 1, 1);
  const auto cycles = [&](const TiledSchedule& schedule) {
    const Result<Kernel> kernel = GenerateTiled(shape, schedule, Config{});
    EXPECT_TRUE(kernel) << kernel.error();
    const Result<CycleReport> report = CycleSimulator(Config{}).Run(kernel->instructions);
    EXPECT_TRUE(report) << report.error();
    return report->cycles;
  };
  TiledSchedule schedule = {.tile_h = 7,
                            .tile_w = 14,
                            .tile_ci = 2,
                            .tile_co = 8,
                            .short_lists = true,
                            .quick_ends = true,
                            .lead_ci = 1,
                            .lead_part = 4,
                            .lead_growth = 100};
  const int64_t four = cycles(schedule);
  schedule.tile_co = 16;
  const int64_t two = cycles(schedule);
  schedule.tail_co = 1;
  const int64_t tail = cycles(schedule);
  EXPECT_LT(two, four);
  EXPECT_LT(tail, two);
}

// Tiles of one or two outputs, as in fully connected layers: sums are apart as soon as there are
// three of them, whichever loop they are in.
TEST(Codegen, FewOutputsPerTileAreNoHazardByThemselves) {
  const ConvShape shape = {.ci = 96, .co = 96, .h = 2, .w = 2};
  for (const int64_t tile_w : {1, 2}) {
    const TiledSchedule wide = {.tile_h = 1, .tile_w = tile_w, .tile_ci = 1, .tile_co = 4};
    const Result<Kernel> kernel = GenerateTiled(shape, wide, Config{});
    ASSERT_TRUE(kernel) << kernel.error();
    ExpectRight(*kernel, shape, {}, 1, ToString(wide));
    const TiledSchedule deep = {.tile_h = 1, .tile_w = tile_w, .tile_ci = 2, .tile_co = 1};
    EXPECT_FALSE(GenerateTiled(shape, deep, Config{})) << "one or two sums, used twice";
  }
}

// No GEMM instruction uses a sum again within two tile operations, by running its loops.
void ExpectSumsApart(const Kernel& kernel, const std::string& what) {
  for (const Instruction& x : kernel.instructions) {
    if (!x.Is(Opcode::kGemm) || x.reset != 0) continue;
    int64_t before = -1, last = -1;
    for (int64_t round = 0; round < int64_t{x.iter_out} * x.iter_in; ++round) {
      for (uint32_t u = x.uop_bgn; u < x.uop_end; ++u) {
        const int64_t sum = kernel.uops[u].dst + round / x.iter_in * x.dst_factor_out +
                            round % x.iter_in * x.dst_factor_in;
        ASSERT_TRUE(sum != last && sum != before) << "sum " << sum << " " << what;
        before = last;
        last = sum;
      }
    }
  }
}

// Outputs of 1 x 1 to 3 x 13 in one to three blocks of channels.
ConvShape RandomSmallShape(CounterRng& rng) {
  ConvShape s;
  s.n = Pick(rng, {1, 1, 1, 2});
  s.ci = 1 + rng.UniformInt(48);
  s.co = 1 + rng.UniformInt(48);
  s.kh = Pick(rng, {1, 2, 3, 3, 3, 5, 7, 11});
  s.kw = rng.UniformInt(3) == 0 ? Pick(rng, {1, 3, 5, 11}) : s.kh;
  s.stride_h = Pick(rng, {1, 1, 2, 3});
  s.stride_w = rng.UniformInt(3) == 0 ? Pick(rng, {1, 2, 3}) : s.stride_h;
  const int64_t rows = 1 + rng.UniformInt(3), columns = 1 + rng.UniformInt(13);
  do {
    s.pad_top = rng.UniformInt(s.kh);
    s.pad_bottom = rng.UniformInt(s.kh);
    s.h = std::max<int64_t>(1, (rows - 1) * s.stride_h + s.kh - s.pad_top - s.pad_bottom);
  } while (s.oh() > 3);
  do {
    s.pad_left = rng.UniformInt(s.kw);
    s.pad_right = rng.UniformInt(s.kw);
    s.w = std::max<int64_t>(1, (columns - 1) * s.stride_w + s.kw - s.pad_left - s.pad_right);
  } while (s.ow() > 13);
  return s;
}

// A layer that was refused because no schedule kept the uses of its 13 sums apart.
TEST(Codegen, LayerWithOneRowOfOutputsCompiles) {
  const Result<Network> network = ParseNetwork(
      "format: tessera-network-1\nname: t\nlayers:\n"
      "- {name: l9, type: conv, N: 1, K: 3, C: 33, Y: 3, X: 11, R: 3, S: 3, stride: [3, 1], "
      "pad: [0, 2, 0, 2], bias: true}\n",
      "t.yaml");
  ASSERT_TRUE(network) << network.error();
  const Result<ConvShape> shape = ConvShapeOf(network->layers[0].layer);
  ASSERT_TRUE(shape) << shape.error();
  EXPECT_EQ(shape->oh(), 1);
  EXPECT_EQ(shape->ow(), 13);
  const Result<BestConv> best = FindBest(*shape, Config{});
  ASSERT_TRUE(best) << best.error();
  ASSERT_TRUE(best->tiled);
  EXPECT_TRUE(best->tiled->split_products) << DescribeSchedule(*best);
  ExpectSumsApart(best->kernel, DescribeSchedule(*best));
  ExpectRight(best->kernel, *shape, {}, 9, DescribeSchedule(*best));
  const Result<TiledSchedule> read = ParseTiledSchedule(ToString(*best->tiled));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, *best->tiled);
  EXPECT_EQ(ToString(TiledSchedule{}).find("split_products"), std::string::npos);
}

TEST(Codegen, LayersWithVerySmallOutputsCompile) {
  int64_t split = 0;
  for (uint64_t trial = 0; trial < 300; ++trial) {
    CounterRng rng(24, StreamId("small_outputs"), trial);
    const ConvShape shape = RandomSmallShape(rng);
    const Epilogue epilogue = RandomEpilogue(rng);
    const Config config;
    ASSERT_TRUE(Validate(shape, config)) << ShapeText(shape, config);
    const Result<BestConv> best = FindBest(shape, config, epilogue, {.max_evaluations = 20});
    ASSERT_TRUE(best) << best.error() << " " << ShapeText(shape, config);
    const std::string what = ShapeText(shape, config) + " " + DescribeSchedule(*best);
    if (best->tiled) ExpectSumsApart(best->kernel, what);
    ExpectRight(best->kernel, shape, epilogue, trial, what);
    split += best->tiled && best->tiled->split_products ? 1 : 0;
  }
  EXPECT_GT(split, 20);
}

// On other configurations only buffers and micro-ops refuse a layer.
TEST(Codegen, SmallOutputsAreRefusedForWantOfRoomOnly) {
  for (uint64_t trial = 0; trial < 200; ++trial) {
    CounterRng rng(25, StreamId("small_outputs"), trial);
    const ConvShape shape = RandomSmallShape(rng);
    const Config& config = RandomConfig(rng);
    const Epilogue epilogue = RandomEpilogue(rng);
    const Result<BestConv> best = FindBest(shape, config, epilogue, {.max_evaluations = 20});
    if (best) {
      ExpectRight(best->kernel, shape, epilogue, trial, DescribeSchedule(*best));
    } else {
      EXPECT_NE(best.error().message.find(" > "), std::string::npos) << best.error();
    }
  }
}

// Whatever the tiles, splitting leaves no hazard; where there was none, it changes nothing.
TEST(Codegen, SplitProductsChangeOnlyWhatWasRefused) {
  int64_t same = 0, mended = 0;
  for (uint64_t trial = 0; trial < 300; ++trial) {
    CounterRng rng(26, StreamId("split_products"), trial);
    const ConvShape shape = trial % 2 == 0 ? RandomShape(rng) : RandomSmallShape(rng);
    const Config config;
    TiledSchedule schedule = {.tile_h = 1 + rng.UniformInt(shape.oh()),
                              .tile_w = 1 + rng.UniformInt(shape.ow()),
                              .tile_ci = 1 + rng.UniformInt(InputBlocks(shape, config)),
                              .tile_co = 1 + rng.UniformInt(OutputBlocks(shape, config)),
                              .lead_co = rng.UniformInt(3),
                              .channels_outermost = rng.UniformInt(2) == 0,
                              .trim_rows = rng.UniformInt(3) != 0,
                              .trim_columns = rng.UniformInt(3) != 0};
    const Result<Kernel> plain = GenerateTiled(shape, schedule, config);
    schedule.split_products = true;
    const Result<Kernel> split = GenerateTiled(shape, schedule, config);
    if (!split) continue;
    const std::string what = ShapeText(shape, config) + " " + ToString(schedule);
    if (plain) {
      EXPECT_EQ(plain->instructions, split->instructions) << what;
      EXPECT_EQ(plain->uops, split->uops) << what;
      ++same;
      continue;
    }
    ++mended;
    ExpectSumsApart(*split, what);
    ExpectRight(*split, shape, {}, trial, what);
  }
  EXPECT_GT(same, 60);
  EXPECT_GT(mended, 60);
}

TEST(Codegen, LargeBiasNeedsTheAlu) {
  const ConvShape shape = {.ci = 16, .co = 16, .h = 4, .w = 4};
  ConvData data = RandomConvData(shape, true, 1);
  data.bias[3] = 300'000;
  TiledSchedule schedule = {.tile_h = 4, .tile_w = 4};
  Result<Kernel> kernel = GenerateTiled(shape, schedule, Config{});
  ASSERT_TRUE(kernel) << kernel.error();
  EXPECT_EQ(ToString(LinkConv(*kernel, shape, data).error()),
            "bias 300000 of channel 3 is outside -241935..241935; generate with the bias added by "
            "the ALU");
  schedule.gemm_bias = false;
  kernel = GenerateTiled(shape, schedule, Config{});
  ASSERT_TRUE(kernel) << kernel.error();
  Result<Program> program = LinkConv(*kernel, shape, data);
  ASSERT_TRUE(program) << program.error();
  ASSERT_TRUE(CheckAndRun(*program));
  EXPECT_EQ(UnpackConvOutput(*program, shape), ReferenceConv(shape, data, {}));
}

TimingParameters RandomTiming(CounterRng& rng) {
  TimingParameters timing;
  if (rng.UniformInt(2) == 0) return timing;
  timing.read_delay_cycles = rng.UniformInt(100);
  timing.beat_gap_cycles = 1 + rng.UniformInt(3);
  timing.bus_bytes = int64_t{4} << rng.UniformInt(4);
  timing.gemm_startup_cycles = rng.UniformInt(12);
  timing.alu_immediate_cycles = 1 + rng.UniformInt(2);
  return timing;
}

// On small layers of every kind, configurations and memory systems: right, and never slower than
// any knobs of the template, because the bound that spares most of them a timing run is one.
TEST(Codegen, BestIsNeverSlowerThanTheReference) {
  int64_t layers = 0;
  for (uint64_t trial = 0; trial < 30; ++trial) {
    CounterRng rng(23, StreamId("best"), trial);
    const ConvShape shape = RandomShape(rng);
    const Config& config = trial % 2 == 0 ? ConfigPresets()[15] : RandomConfig(rng);
    const Epilogue epilogue = RandomEpilogue(rng);
    const TimingParameters timing = RandomTiming(rng);
    if (!Validate(shape, config)) continue;
    ++layers;
    const Result<BestConv> best =
        FindBest(shape, config, epilogue, {.max_evaluations = 60, .timing = timing});
    ASSERT_TRUE(best) << best.error() << ShapeText(shape, config);
    ExpectRight(best->kernel, shape, epilogue, trial, DescribeSchedule(*best));
    CycleSimulator simulator(config, timing);
    for (const Knobs& knobs : KnobSpace(shape, config)) {
      if (!CheckKnobs(shape, knobs, config).valid()) continue;
      const Result<CycleReport> report =
          simulator.Run(GenerateReference(shape, knobs, config, epilogue).instructions);
      ASSERT_TRUE(report) << report.error();
      EXPECT_GE(report->cycles, best->report.cycles) << ToString(knobs);
      EXPECT_GE(report->cycles, ReferenceLowerBound(shape, knobs, config, epilogue, timing))
          << ToString(knobs) << " " << ShapeText(shape, config);
    }
  }
  EXPECT_GT(layers, 25);
}

TEST(Codegen, ShapesThatFitNowhereAreRefused) {
  Config tiny = ConfigPresets()[6];
  ASSERT_EQ(tiny.name, "b1_8x8_tiny");
  const ConvShape shape = {.ci = 8, .co = 8, .h = 11, .w = 11, .kh = 11, .kw = 11};
  const Result<BestConv> best = FindBest(shape, tiny);
  ASSERT_FALSE(best);
  EXPECT_EQ(best.error().kind, ErrorKind::kInfeasible);
  EXPECT_EQ(best.error().message, "no schedule fits: 123 WGT tiles > depth 64");
}

}  // namespace
}  // namespace tessera::vta
