// The joint space: which accelerators a budget allows, which schedules exist, and why others do
// not.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/coopt/exhaustive.h"
#include "tessera/coopt/maestro_target.h"
#include "tessera/coopt/roofline.h"
#include "tessera/coopt/vta_target.h"
#include "tessera/network.h"

namespace tessera::coopt {
namespace {

// 7 x 7, 512 -> 512 channels, 3 x 3: C11 of ResNet-18.
const vta::ConvShape kC11 = vta::SquareConv(512, 512, 7, 3, 1, 1);

TEST(HardwareSpaceTest, HoldsOnlyWhatFormatAndLimitsAllow) {
  const HardwareLimits limits = {.macs = 256, .sram_bytes = 512 << 10, .area_um2 = 2.5e6};
  const Result<std::shared_ptr<const VtaTarget>> space = VtaTarget::Make(limits);
  ASSERT_TRUE(space) << space.error();
  EXPECT_GT((*space)->ruled_out_by_format(), 0);
  EXPECT_GT((*space)->ruled_out_by_limits(), 0);
  for (size_t i = 0; i < (*space)->size(); ++i) {
    const vta::Config& config = (*space)->config(i);
    EXPECT_TRUE(vta::Validate(config).ok()) << config.name;
    const HardwareCost cost = CostOf(config, limits.clock_mhz);
    EXPECT_LE(cost.macs, 256);
    EXPECT_GE(cost.macs, 64);
    EXPECT_LE(cost.sram_bytes, 512 << 10);
    EXPECT_LE(cost.area_um2, 2.5e6);
    EXPECT_EQ((*space)->Find((*space)->point(i)), i);
  }
}

TEST(HardwareSpaceTest, LargestBuffersDominateAllOthers) {
  const Result<std::shared_ptr<const VtaTarget>> space =
      VtaTarget::Make({.macs = 256, .sram_bytes = 512 << 10});
  ASSERT_TRUE(space) << space.error();
  const std::vector<size_t> largest = (*space)->LargestBuffers();
  for (size_t i = 0; i < (*space)->size(); ++i) {
    const HardwarePoint& point = (*space)->point(i);
    EXPECT_TRUE(std::any_of(largest.begin(), largest.end(), [&](size_t other) {
      const HardwarePoint& large = (*space)->point(other);
      return std::equal(point.begin(), point.begin() + 3, large.begin()) && point[3] <= large[3] &&
             point[4] <= large[4] && point[5] <= large[5];
    })) << (*space)->config(i).name;
  }
}

TEST(HardwareSpaceTest, BudgetWithoutHardwareNamesTheInequality) {
  const Result<std::shared_ptr<const VtaTarget>> space =
      VtaTarget::Make({.macs = 256, .sram_bytes = 100});
  ASSERT_FALSE(space);
  EXPECT_EQ(space.error().kind, ErrorKind::kInfeasible);
  EXPECT_NE(space.error().message.find("SRAM bytes"), std::string::npos) << space.error();
}

TEST(HardwareSpaceTest, PowerLimitIsKnownBeforeMeasuring) {
  const vta::Config config;
  const double power_mw = PeakSramPowerMw(config, 100);
  HardwareLimits limits = {.macs = 256, .sram_power_mw = power_mw * 0.99};
  const Result<void> refused = CheckHardware(config, limits);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("SRAM power"), std::string::npos);
  limits.sram_power_mw = power_mw;
  EXPECT_TRUE(CheckHardware(config, limits).ok());
}

TEST(ScheduleSpaceTest, NumbersAndPointsAreTheSame) {
  for (const Generator generator : {Generator::kReference, Generator::kBest}) {
    const VtaSpace space(kC11, vta::Config{}, {.generator = generator});
    for (int64_t i = 0; i < space.num_points(); i += 1 + space.num_points() / 997) {
      EXPECT_EQ(space.IndexOf(space.At(i)), i);
      EXPECT_EQ(space.Translate(space, space.At(i)), space.At(i));
    }
  }
}

TEST(ScheduleSpaceTest, KnobsOfHugeLayersFitAPoint) {
  const vta::ConvShape shape = {.ci = 64, .co = 64, .h = 100'000, .w = 1};
  const VtaSpace space(shape, vta::Config{}, {.generator = Generator::kBest});
  EXPECT_LE(space.decisions()[0].size(), 256);
  EXPECT_EQ(space.decisions()[0].value(space.decisions()[0].size() - 1), 100'000);
}

// What the check rules out has no program with any trimming, unless its tiles take more than half
// of all sums; of what it lets pass most has one.
TEST(ScheduleSpaceTest, ChecksOfTheImprovedGeneratorAgreeWithIt) {
  CounterRng rng(1, 2, 3);
  int64_t passed = 0, generated = 0;
  for (const vta::ConvShape& shape :
       {kC11, vta::SquareConv(64, 128, 56, 1, 2, 0), vta::SquareConv(64, 64, 14, 1, 1, 0),
        vta::SquareConv(3, 64, 28, 7, 2, 3), vta::ConvShape{.ci = 512, .co = 1'000}}) {
    for (const vta::Config& config : {vta::Config{}, vta::Config{.log_batch = 1}}) {
      const VtaSpace space(shape, config, {.generator = Generator::kBest});
      for (int trial = 0; trial < 200; ++trial) {
        const SchedulePoint point = space.AnyPoint(rng);
        vta::TiledSchedule schedule = space.Tiled(point);
        bool exists = false;
        for (int trims = 0; trims < 4; ++trims) {
          schedule.trim_rows = trims / 2 != 0;
          schedule.trim_columns = trims % 2 != 0;
          exists = exists || GenerateTiled(shape, schedule, config).ok();
        }
        const vta::Verdict verdict = space.Judge(point);
        if (verdict.valid()) {
          ++passed;
          generated += exists ? 1 : 0;
        } else if (verdict.reason != "instructions" && verdict.reason != "acc_sram") {
          EXPECT_FALSE(exists) << verdict.reason << " " << ToString(schedule);
        }
      }
    }
  }
  EXPECT_GT(generated, passed * 8 / 10) << passed;
}

// Whether any schedule of a layer has a program without splitting products.
bool AnyWholeProgram(const VtaSpace& space) {
  for (int64_t i = 0; i < space.num_points(); ++i) {
    vta::TiledSchedule schedule = space.Tiled(space.At(i));
    if (schedule.inp_slots > 1 || schedule.wgt_slots > 1) continue;
    schedule.split_products = false;
    for (int trims = 0; trims < 4; ++trims) {
      schedule.trim_rows = trims / 2 != 0;
      schedule.trim_columns = trims % 2 != 0;
      if (GenerateTiled(space.shape(), schedule, space.config()).ok()) return true;
    }
  }
  return false;
}

// Products are split exactly where a layer would have no program otherwise; then every candidate
// can be measured, and its program is right.
TEST(ScheduleSpaceTest, LayersWithVerySmallOutputsHaveSchedules) {
  int64_t split = 0;
  for (uint64_t trial = 0; trial < 60; ++trial) {
    CounterRng rng(7, 8, trial);
    const auto pick = [&rng](std::initializer_list<int64_t> values) {
      return values.begin()[rng.UniformInt(std::ssize(values))];
    };
    const int64_t kh = pick({1, 1, 2, 3, 3, 5}), kw = pick({1, 2, 3, 3, 5});
    const vta::ConvShape shape = {.ci = pick({16, 48, 80}),
                                  .co = pick({16, 32, 48}),
                                  .h = kh + rng.UniformInt(3),
                                  .w = kw + rng.UniformInt(4),
                                  .kh = kh,
                                  .kw = kw,
                                  .pad_left = rng.UniformInt(kw)};
    const VtaSpace space(shape, vta::Config{}, {.generator = Generator::kBest});
    const bool splits = space.Tiled(space.At(0)).split_products;
    const std::string what = testing::PrintToString(std::vector<int64_t>{
        shape.ci, shape.co, shape.h, shape.w, shape.kh, shape.kw, shape.pad_left});
    EXPECT_EQ(AnyWholeProgram(space), !splits) << what;
    const std::vector<SchedulePoint> candidates = space.Candidates();
    ASSERT_FALSE(candidates.empty()) << what;
    if (!splits) continue;
    ++split;
    for (size_t i = 0; i < candidates.size(); i += 1 + candidates.size() / 3) {
      const MeasuredOutcome outcome = space.Measure(candidates[i]);
      ASSERT_TRUE(outcome.valid) << outcome.why << " " << what;
      EXPECT_GE(static_cast<double>(outcome.cycles), space.FloorCycles()) << what;
      const Result<std::string> program = space.Program(candidates[i], outcome, trial);
      EXPECT_TRUE(program) << program.error() << " " << what;
      EXPECT_NE(space.Describe(candidates[i]).find(",split_products=1"), std::string::npos);
    }
  }
  EXPECT_GT(split, 10);
}

TEST(ScheduleSpaceTest, NoProgramIsBelowTheFloor) {
  CounterRng rng(4, 5, 6);
  for (const Generator generator : {Generator::kReference, Generator::kBest}) {
    const CooptOptions options = {.generator = generator};
    for (const vta::ConvShape& shape :
         {kC11, vta::SquareConv(64, 128, 28, 1, 2, 0), vta::SquareConv(3, 64, 28, 7, 2, 3),
          vta::ConvShape{.ci = 512, .co = 1'000}}) {
      const VtaSpace space(shape, vta::Config{}, options);
      const std::vector<SchedulePoint> candidates = space.Candidates();
      for (int trial = 0; trial < 20; ++trial) {
        const int64_t drawn = rng.UniformInt(std::ssize(candidates));
        const MeasuredOutcome outcome = space.Measure(candidates[static_cast<size_t>(drawn)]);
        if (!outcome.valid) continue;
        EXPECT_GE(static_cast<double>(outcome.cycles), space.FloorCycles());
      }
    }
  }
  const VtaSpace connected({.ci = 512, .co = 1'000}, vta::Config{}, {});
  EXPECT_EQ(connected.FloorCycles(), (512 + 512 * 1'008) / 8) << "weights, 63 blocks of 16";
}

TEST(ScheduleSpaceTest, ReasonsAndCyclesAreThoseOfTheGoldenLandscape) {
  const CooptProblem problem({{"C11", "resnet18", {}, kC11, 1}}, VtaTarget::Fixed(vta::Config{}),
                             {.generator = Generator::kReference});
  ThreadPool pool;
  const Simulator simulator(problem, pool);
  const auto& space = static_cast<const VtaSpace&>(problem.task(0, 0).space);
  const Result<std::string> csv =
      ReadFile(TESSERA_SOURCE_DIR "/tests/golden/vta/conv-default/landscape_C11.csv.gz");
  ASSERT_TRUE(csv) << csv.error();
  const std::vector<std::string_view> lines = Split(Trim(*csv), '\n');
  ASSERT_EQ(std::ssize(lines) - 1, space.num_points());
  int64_t least = 0;
  std::vector<Measured> batch;
  std::vector<int64_t> expected;
  for (size_t row = 1; row < lines.size(); ++row) {
    const std::vector<std::string_view> cells = Split(lines[row], ',');
    const SchedulePoint point = space.At(static_cast<int64_t>(row) - 1);
    const vta::Verdict verdict = space.Judge(point);
    EXPECT_EQ(verdict.valid() ? "ok" : verdict.reason, cells[6]) << lines[row];
    if (cells[6] != "ok") continue;
    batch.push_back({{0, 0, point}});
    expected.push_back(*ParseInt(cells[7]));
    if (least == 0 || expected.back() < least) least = expected.back();
  }
  simulator.Measure(batch);
  for (size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(batch[i].outcome.cycles, expected[i]);
  const LayerOptimum optimum = BestOfLayer(problem, simulator, 0, 0);
  ASSERT_TRUE(optimum.best);
  EXPECT_EQ(optimum.best->outcome.cycles, least);
  EXPECT_LT(optimum.measured, std::ssize(batch));
}

// What accelerators with other buffers tell and bounds rule out changes nothing but the effort.
TEST(ExhaustiveTest, BestOfNetworkIsTheBestOfAllAccelerators) {
  Result<std::shared_ptr<const VtaTarget>> target =
      VtaTarget::Make({.macs = 256, .sram_bytes = 256 << 10, .max_batch = 2});
  ASSERT_TRUE(target) << target.error();
  const CooptProblem problem({{"C10", "net", {}, vta::SquareConv(256, 512, 14, 1, 2, 0), 1},
                              {"fc", "net", {}, {.ci = 512, .co = 1'000}, 1}},
                             *target, {.generator = Generator::kReference});
  ThreadPool pool;
  const Simulator simulator(problem, pool);
  std::vector<size_t> among = problem.hardware().LargestBuffers();
  among.resize(12);
  double best = 0;
  int64_t measured = 0;
  for (const size_t hardware : among) {
    double sum = 0;
    for (size_t layer = 0; layer < 2; ++layer) {
      const LayerOptimum optimum = BestOfLayer(problem, simulator, hardware, layer);
      ASSERT_TRUE(optimum.best);
      sum += optimum.best->outcome.value;
      measured += optimum.measured;
    }
    if (best == 0 || sum < best) best = sum;
  }
  const Result<NetworkOptimum> optimum = BestOfNetwork(problem, simulator, among);
  ASSERT_TRUE(optimum) << optimum.error();
  EXPECT_EQ(optimum->value, best);
  EXPECT_LT(optimum->measured, measured);
  int64_t last = 0;
  const Result<NetworkOptimum> ended =
      BestOfNetwork(problem, simulator, among, [&last](int64_t so_far, std::optional<double>) {
        last = so_far;
        return so_far < 40;
      });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "ended before the optimum was known");
  EXPECT_LT(last, 80);
}

TEST(ExhaustiveTest, WalksTheImprovedGeneratorWhereItsSchedulesAreFew) {
  const CooptProblem small({{"fc", "net", {}, {.ci = 64, .co = 64}, 1}},
                           VtaTarget::Fixed(vta::Config{}), {});
  ThreadPool pool;
  const std::vector<size_t> one = {0};
  EXPECT_TRUE(CheckSize(small, one).ok());
  const Result<NetworkOptimum> optimum = BestOfNetwork(small, Simulator(small, pool), one);
  ASSERT_TRUE(optimum) << optimum.error();
  for (const Measured& item : Landscape(small, Simulator(small, pool), 0, 0)) {
    if (!item.outcome.valid) continue;
    EXPECT_GE(item.outcome.value, optimum->value);
  }
  const CooptProblem large({{"C11", "net", {}, kC11, 1}}, VtaTarget::Fixed(vta::Config{}), {});
  const Result<void> refused = CheckSize(large, one);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("C11 alone has 1,"), std::string::npos) << refused.error();
}

TEST(ScheduleSpaceTest, ImprovedGeneratorSaysWhyItRefusesAPoint) {
  const CooptProblem problem({{"C11", "resnet18", {}, kC11, 1}}, VtaTarget::Fixed(vta::Config{}),
                             {.generator = Generator::kBest});
  const Task& task = problem.task(0, 0);
  int64_t generated = 0;
  for (size_t i = 0; i < task.candidates.size(); i += 41) {
    const Result<GeneratedSchedule> code =
        static_cast<const VtaSpace&>(task.space).Generate(task.candidates[i]);
    if (code) {
      ++generated;
    } else {
      EXPECT_EQ(code.error().kind, ErrorKind::kInfeasible) << code.error();
    }
  }
  EXPECT_GT(generated, 3);
}

TEST(RooflineTest, RanksTheBestSchedulesHigh) {
  const CooptProblem problem({{"C11", "resnet18", {}, kC11, 1}}, VtaTarget::Fixed(vta::Config{}),
                             {.generator = Generator::kReference});
  ThreadPool pool;
  const std::vector<Measured> landscape = Landscape(problem, Simulator(problem, pool), 0, 0);
  const Task& task = problem.task(0, 0);
  size_t best = 0, promising = 0;
  for (size_t i = 1; i < landscape.size(); ++i) {
    if (landscape[i].outcome.cycles < landscape[best].outcome.cycles) best = i;
    if (task.estimates[i] < task.estimates[promising]) promising = i;
  }
  EXPECT_LT(static_cast<double>(landscape[promising].outcome.cycles),
            1.02 * static_cast<double>(landscape[best].outcome.cycles));
}

TEST(MaestroTargetTest, HoldsOnlyArraysWithinTheBudget) {
  const Result<std::shared_ptr<const MaestroTarget>> target =
      MaestroTarget::Make({.pes = 256, .sram_bytes = 1 << 20, .area_um2 = 400'000});
  ASSERT_TRUE(target) << target.error();
  for (size_t i = 0; i < (*target)->size(); ++i) {
    const HardwareCost cost = (*target)->Cost(i, 100);
    EXPECT_LE(cost.macs, 256);
    EXPECT_GE(cost.macs, 64);
    EXPECT_LE(cost.sram_bytes, 1 << 20);
    EXPECT_LE(cost.area_um2, 400'000);
  }
  const auto none = MaestroTarget::Make({.pes = 256, .area_um2 = 1});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("area um2"), std::string::npos) << none.error();
}

TEST(MaestroTargetTest, DescriptionReadsBackAsTheSameArray) {
  const auto target = MaestroTarget::Make({.pes = 16});
  ASSERT_TRUE(target) << target.error();
  const Result<Accelerator> read = ParseAccelerator((*target)->FileText(3), "a.yaml");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->pe_array, (*target)->array(3));
}

// What is valid by counting is mostly accepted by the model, and the estimate is near.
TEST(MaestroSchedulesTest, CountingAgreesWithTheModel) {
  const Result<Network> network = LoadZooNetwork("mobilenet-v2");
  ASSERT_TRUE(network) << network.error();
  const auto tasks = MaestroTasksOf({&*network, 1});
  ASSERT_TRUE(tasks) << tasks.error();
  EXPECT_TRUE(tasks->left_out.empty());
  const CooptProblem problem(tasks->layers, *MaestroTarget::Make({.pes = 256, .area_um2 = 400'000}),
                             {});
  int64_t measured = 0, valid = 0, near = 0;
  for (size_t layer = 0; layer < problem.layers().size(); layer += 7) {
    const Task& task = problem.task(problem.hardware().size() - 1, layer);
    EXPECT_GT(task.candidates.size(), 100u) << problem.layers()[layer].name;
    for (size_t i = 0; i < task.candidates.size(); i += 16) {
      const MeasuredOutcome outcome = task.space.Measure(task.candidates[i]);
      ++measured;
      if (!outcome.valid) continue;
      ++valid;
      near += task.estimates[i] < 2.0 * static_cast<double>(outcome.cycles) ? 1 : 0;
    }
  }
  EXPECT_GE(valid * 4, measured * 3) << measured;
  EXPECT_GT(near * 10, valid * 9) << valid;
}

TEST(TasksTest, ListsWhatVtaDoesNotRun) {
  const Result<Network> network = LoadZooNetwork("mobilenet-v2");
  ASSERT_TRUE(network) << network.error();
  const Result<TaskList> tasks = TasksOf({&*network, 1});
  ASSERT_TRUE(tasks) << tasks.error();
  EXPECT_FALSE(tasks->left_out.empty());
  for (const LeftOut& layer : tasks->left_out) {
    EXPECT_NE(layer.why.find("groups"), std::string::npos) << layer.why;
  }
}

}  // namespace
}  // namespace tessera::coopt
