// The contract of every method, the baselines' parts, and that DCOC finds what is to be found.
#include <algorithm>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/coopt/boosted_trees.h"
#include "tessera/coopt/confidence_sampling.h"
#include "tessera/coopt/emit.h"
#include "tessera/coopt/exhaustive.h"
#include "tessera/coopt/maestro_target.h"
#include "tessera/coopt/measurement_journal.h"
#include "tessera/coopt/methods.h"
#include "tessera/coopt/session.h"
#include "tessera/coopt/vta_target.h"
#include "tessera/network.h"

namespace tessera::coopt {
namespace {

// Two layers of ResNet-18 that are quick to simulate: C10 and C11.
std::vector<TaskLayer> SmallLayers() {
  return {{"C10", "net", {}, vta::SquareConv(256, 512, 14, 1, 2, 0), 1},
          {"C11", "net", {}, vta::SquareConv(512, 512, 7, 3, 1, 1), 3}};
}

CooptProblem FixedProblem() {
  return CooptProblem(SmallLayers(), VtaTarget::Fixed(vta::Config{}),
                      {.generator = Generator::kReference});
}

CooptProblem FreeProblem() {
  Result<std::shared_ptr<const VtaTarget>> hardware =
      VtaTarget::Make({.macs = 256, .sram_bytes = 512 << 10, .max_batch = 2});
  return CooptProblem(SmallLayers(), *hardware, {.generator = Generator::kReference});
}

// The same layers on PE arrays, with a depthwise layer and a product of matrices.
CooptProblem PeArrayProblem(const std::shared_ptr<const Target>& target) {
  Network network = {.name = "net", .layers = {}};
  for (const Layer& layer :
       {Layer{.k = 128, .c = 64, .y = 14, .x = 14, .r = 3, .s = 3},
        Layer{.k = 32, .c = 32, .y = 14, .x = 14, .r = 3, .s = 3, .groups = 32},
        Layer{.type = LayerType::kMatmul, .m = 64, .n = 96, .k = 48}}) {
    network.layers.push_back({.name = "layer", .layer = layer});
  }
  Result<TaskList> tasks = MaestroTasksOf({&network, 1});
  return CooptProblem(tasks->layers, target, {});
}

CooptProblem FreeArrays() {
  return PeArrayProblem(*MaestroTarget::Make({.pes = 64, .area_um2 = 150'000}));
}

CooptProblem FixedArray() {
  return PeArrayProblem(
      MaestroTarget::Fixed({.num_pes = 64, .l1_elements = 256, .l2_elements = 65'536}));
}

Result<SessionResult> RunMethod(const CooptProblem& problem, std::string_view method, uint64_t seed,
                                int64_t measurements, int threads, bool filter = true,
                                const Outcomes* recorded = nullptr) {
  ThreadPool pool(threads);
  const Simulator simulator(problem, pool);
  const Result<MethodChoice> choice = ParseMethodChoice(method, CooptMethods());
  if (!choice) return choice.error();
  const Result<std::unique_ptr<JointSearcher>> searcher = MakeSearcher(
      *choice,
      {.problem = problem, .seed = seed, .measurements = measurements, .validity_filter = filter});
  if (!searcher) return searcher.error();
  return RunSession(
      **searcher, problem, simulator,
      {.measurements = measurements, .validity_filter = filter, .recorded = recorded});
}

class MethodTest : public testing::TestWithParam<std::string> {};

// Whether a method of one space has a joint version.
bool HasJointVersion(std::string_view name) {
  return std::ranges::any_of(
      JointMethods(), [&](const MethodInfo* method) { return method->joint_version_of == name; });
}

// All that propose and learn.
std::vector<std::string> TestedMethods() {
  std::vector<std::string> names;
  for (const MethodInfo* method : CooptMethods()) {
    if (method->make || method->make_joint) names.emplace_back(method->name);
  }
  return names;
}

TEST_P(MethodTest, KeepsItsContractOnFixedAndFreeHardwareOfBothTargets) {
  const CooptProblem fixed = FixedProblem(), array = FixedArray(), free = FreeProblem(),
                     arrays = FreeArrays();
  // By default, its walks over the cost model take as long as all other methods together.
  const std::string method = GetParam() == "chameleon" ? "chameleon:episodes=16" : GetParam();
  const bool decides_hardware =
      (*CooptMethods().Find(GetParam()))->make_joint || HasJointVersion(GetParam());
  for (const CooptProblem* problem : {&fixed, &array, &free, &arrays}) {
    if (!decides_hardware && !problem->hardware().fixed()) {
      EXPECT_FALSE(RunMethod(*problem, method, 3, 16, 1));
      continue;
    }
    const Result<SessionResult> once = RunMethod(*problem, method, 3, 16, 1);
    ASSERT_TRUE(once) << once.error();
    const Result<SessionResult> again = RunMethod(*problem, method, 3, 16, 2);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(once->curve, again->curve);
    EXPECT_EQ(once->hardware, again->hardware);
    EXPECT_EQ(once->measurements, again->measurements);
    EXPECT_EQ(once->invalid, 0);
    for (const int64_t used : once->layer_measurements) EXPECT_LE(used, 16);
    ASSERT_NE(once->best(), nullptr);
    for (size_t i = 1; i < once->curve.size(); ++i) {
      EXPECT_LT(once->curve[i].value, once->curve[i - 1].value);
      EXPECT_GE(once->curve[i].measurements, once->curve[i - 1].measurements);
    }
  }
}

TEST_P(MethodTest, WithoutFilterInvalidPointsCostMeasurements) {
  const CooptProblem problem = FixedProblem();
  const Result<SessionResult> result = RunMethod(problem, GetParam(), 1, 64, 2, /*filter=*/false);
  ASSERT_TRUE(result) << result.error();
  // DCOC knows what is valid in any case.
  EXPECT_EQ(result->invalid > 0, GetParam() != "dcoc");
  EXPECT_EQ(result->refused, 0);
}

INSTANTIATE_TEST_SUITE_P(, MethodTest, testing::ValuesIn(TestedMethods()), [](const auto& method) {
  std::string name = method.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(DcocTest, ComesWithinAPercentOfTheOptimumInSixtyMeasurements) {
  const CooptProblem problem = FixedProblem();
  ThreadPool pool;
  const Simulator simulator(problem, pool);
  const Result<SessionResult> result = RunMethod(problem, "dcoc", 1, 60, 2);
  ASSERT_TRUE(result) << result.error();
  for (size_t layer = 0; layer < problem.layers().size(); ++layer) {
    const LayerOptimum optimum = BestOfLayer(problem, simulator, 0, layer);
    EXPECT_LE(result->best()->layers[layer]->outcome.value, 1.01 * optimum.best->outcome.value);
  }
}

// The improved generator refuses some of what looks valid, which must not spread the measurements
// of layers over accelerators of which none runs them all.
TEST(DcocTest, FewMeasurementsAreEnoughForAnAcceleratorThatRunsAllLayers) {
  const Result<Network> network = LoadNetwork("resnet18");
  ASSERT_TRUE(network) << network.error();
  const CooptProblem problem(TasksOf({&*network, 1})->layers, *VtaTarget::Make({}), {});
  for (const int64_t measurements : {1, 2}) {
    const Result<SessionResult> result = RunMethod(problem, "dcoc", 1, measurements, 2);
    ASSERT_TRUE(result) << result.error();
    EXPECT_NE(result->best(), nullptr) << measurements;
  }
}

TEST(DcocTest, AblationsRun) {
  const CooptProblem problem = FixedProblem();
  for (const char* method :
       {"dcoc:team=one", "dcoc:team=independent", "dcoc:sampling=uniform", "dcoc:confidence=critic",
        "dcoc:roofline=false:transfer=false:ensemble=1:confidence=critic"}) {
    const Result<SessionResult> result = RunMethod(problem, method, 1, 12, 2);
    ASSERT_TRUE(result) << method << ": " << result.error();
    EXPECT_NE(result->best(), nullptr) << method;
  }
}

// What a run keeps comes back on other layers, bit for bit: agents that only act propose the same
// from the file of a file, and their cost model has learned from both networks.
TEST(DcocTest, PoliciesOfARunActOnOtherLayers) {
  const TemporaryFolder folder;
  const auto run = [&](const CooptProblem& problem, const std::string& from,
                       const std::string& to) {
    ThreadPool pool(1);
    JointSetup setup{.problem = problem, .seed = 3, .measurements = 4};
    if (!from.empty()) {
      setup.policy = std::make_shared<const TensorReader>(*TensorReader::Open(folder.File(from)));
    }
    const auto searcher = *MakeSearcher(*ParseMethodChoice("dcoc", CooptMethods()), setup);
    EXPECT_TRUE(searcher->Keeps());
    const Simulator simulator(problem, pool);
    const SessionResult result = *RunSession(*searcher, problem, simulator, {.measurements = 4});
    TensorWriter writer;
    searcher->Save(writer);
    EXPECT_TRUE(writer.Write(folder.File(to)));
    return result;
  };
  const CooptProblem first = FreeProblem();
  run(first, "", "a");
  std::vector<TaskLayer> layers = {{"other", "net", {}, vta::SquareConv(128, 256, 14, 3, 1, 1), 2}};
  const auto hardware = *VtaTarget::Make({.macs = 256, .sram_bytes = 512 << 10, .max_batch = 2});
  const CooptProblem second(layers, hardware, {.generator = Generator::kReference});
  const SessionResult taken = run(second, "a", "b"), again = run(second, "a", "c");
  ASSERT_NE(taken.best(), nullptr);
  EXPECT_EQ(taken.best()->value, again.best()->value);
  const TensorReader a = *TensorReader::Open(folder.File("a"));
  const TensorReader b = *TensorReader::Open(folder.File("b"));
  EXPECT_EQ(*b.Count("model.0.labels"), *a.Count("model.0.labels") + taken.measurements);
  // They acted and did not learn.
  std::vector<float> before(static_cast<size_t>(*a.Count("agents.unit0.actor.w1")));
  std::vector<float> after = before;
  ASSERT_TRUE(a.Read("agents.unit0.actor.w1", std::span(before)));
  ASSERT_TRUE(b.Read("agents.unit0.actor.w1", std::span(after)));
  EXPECT_EQ(before, after);
  // Another target's agents are no agents here.
  const CooptProblem arrays = FreeArrays();
  const JointSetup wrong{
      .problem = arrays,
      .policy = std::make_shared<const TensorReader>(*TensorReader::Open(folder.File("a")))};
  EXPECT_FALSE(MakeSearcher(*ParseMethodChoice("dcoc", CooptMethods()), wrong));
}

TEST(MethodsTest, UnknownNamesAndSettingsHaveHints) {
  const Result<MethodChoice> unknown = ParseMethodChoice("autotv", CooptMethods());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(ToString(unknown.error()),
            "unknown co-optimization method 'autotv'; did you mean 'autotvm'?");
  const Result<MethodChoice> setting = ParseMethodChoice("dcoc:team=four", CooptMethods());
  ASSERT_FALSE(setting);
  EXPECT_NE(setting.error().message.find("team"), std::string::npos) << setting.error();
}

// A run's folder whose inputs do not matter: problems are made by hand here.
Result<RunDirectory> SomeRun(const TemporaryFolder& folder) {
  return RunDirectory::Create(folder.File("run"), {.kind = "cooptimize", .settings = "{}"}, {});
}

TEST(JournalTest, ResumedRunEndsAsTheUninterruptedOne) {
  const CooptProblem problem = FreeProblem();
  const TemporaryFolder folder;
  const Result<RunDirectory> run = SomeRun(folder);
  ThreadPool pool;
  const Simulator simulator(problem, pool);
  const auto searcher = MakeSearcher(*ParseMethodChoice("dcoc", CooptMethods()),
                                     {.problem = problem, .measurements = 24});
  ASSERT_TRUE(searcher) << searcher.error();
  {
    Result<MeasurementJournal> journal = MeasurementJournal::Open(*run, problem);
    ASSERT_TRUE(journal) << journal.error();
    SessionOptions options = {.measurements = 24};
    int batches = 0;
    options.observe = [&](std::span<const Measured> fresh, const SessionResult&) {
      return journal->Append(fresh);
    };
    options.interrupted = [&] { return ++batches > 1; };
    ASSERT_TRUE(RunSession(**searcher, problem, simulator, options));
  }
  // Killed in the middle of a line.
  const std::string path = run->Journal("measurements").path;
  std::string text = *ReadFile(path);
  text.resize(text.size() - 3);
  ASSERT_TRUE(WriteFileAtomically(path, text));
  const Result<MeasurementJournal> journal = MeasurementJournal::Open(*run, problem);
  ASSERT_TRUE(journal) << journal.error();
  EXPECT_GT(journal->recorded().size(), 0u);
  const Result<SessionResult> whole = RunMethod(problem, "dcoc", 1, 24, 2);
  const Result<SessionResult> resumed =
      RunMethod(problem, "dcoc", 1, 24, 2, true, &journal->recorded());
  ASSERT_TRUE(whole && resumed);
  EXPECT_EQ(whole->curve, resumed->curve);
  EXPECT_EQ(whole->layer_measurements, resumed->layer_measurements);
}

TEST(JournalTest, LinesThatAreNoMeasurementsAreErrorsWithTheirPlace) {
  const CooptProblem problem = FixedProblem();
  for (const std::string line :
       {"{\"nonsense\":1}", R"({"hardware":9,"layer":0,"point":[0,0,0,0,0,0,0,0],"cycles":5})",
        R"({"hardware":0,"layer":0,"point":[99,0,0,0,0,0,0,0],"cycles":5,"energy_pj":1})",
        R"({"hardware":0,"layer":0,"point":[0,0,0,0,0,0,0,0],"cycles":-5,"energy_pj":1})",
        R"({"hardware":0,"layer":0,"point":[0,0],"cycles":5,"energy_pj":1})"}) {
    const TemporaryFolder folder;
    const Result<RunDirectory> run = SomeRun(folder);
    ASSERT_TRUE((*LineJournal::Open(run->Journal("measurements"), {}))->Append(std::vector{line}));
    const Result<std::vector<Measured>> read = ReadMeasurements(*run, problem);
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().where.line, 1) << line;
  }
}

TEST(EmitTest, ProgramsOfBothGeneratorsAreVerified) {
  for (const Generator generator : {Generator::kReference, Generator::kBest}) {
    const CooptProblem problem({SmallLayers().front()}, VtaTarget::Fixed(vta::Config{}),
                               {.generator = generator});
    ThreadPool pool;
    const Simulator simulator(problem, pool);
    const Result<SessionResult> result = RunMethod(problem, "dcoc", 1, 8, 1);
    ASSERT_TRUE(result) << result.error();
    Measured best = *result->best()->layers[0];
    EXPECT_TRUE(EmitProgram(problem, best, 1).ok());
    ++best.outcome.cycles;
    EXPECT_FALSE(EmitProgram(problem, best, 1).ok());
  }
}

TEST(BoostedTreesTest, LearnsAStepAndPredictsTheSameEveryTime) {
  std::vector<float> rows, labels;
  for (int i = 0; i < 200; ++i) {
    rows.push_back(static_cast<float>(i));
    rows.push_back(static_cast<float>(i % 7));
    labels.push_back(i < 100 ? 1.0f : 3.0f + 0.1f * static_cast<float>(i % 7));
  }
  const Result<BoostedTrees> trees = BoostedTrees::Fit(rows, 2, labels, {});
  ASSERT_TRUE(trees) << trees.error();
  const Result<BoostedTrees> again = BoostedTrees::Fit(rows, 2, labels, {});
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::span<const float> row(rows.data() + 2 * i, 2);
    EXPECT_NEAR(trees->Predict(row), labels[i], 0.05);
    EXPECT_EQ(trees->Predict(row), again->Predict(row));
  }
  const Result<BoostedTrees> none = BoostedTrees::Fit({}, 2, {}, {.base = 7});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->Predict(std::span<const float>(rows.data(), 2)), 7);
}

TEST(ConfidenceSamplingTest, KeepsTheBestAndReplacesTheRest) {
  const VtaSpace space(SmallLayers()[1].shape, vta::Config{}, {.generator = Generator::kReference});
  std::vector<SchedulePoint> candidates;
  std::vector<double> values;
  for (int64_t i = 0; i < space.num_points(); ++i) {
    const SchedulePoint point = space.At(i);
    if (!space.Valid(point)) continue;
    candidates.push_back(point);
    values.push_back(-static_cast<double>(candidates.size()));  // the first is the best
  }
  CounterRng rng(1, 2, 3);
  const auto accept = [&](const SchedulePoint& point) { return space.Valid(point); };
  const auto value = [](const SchedulePoint&) { return 0.0; };
  std::vector<int64_t> sizes;
  for (const Decision& knob : space.decisions()) sizes.push_back(knob.size());
  const std::vector<SchedulePoint> chosen = ConfidenceSample<SchedulePoint>(
      sizes, candidates, values, {.count = 8, .temperature = 1e-3}, accept, value, rng);
  EXPECT_LE(chosen.size(), 8u);
  EXPECT_GE(chosen.size(), 5u);
  EXPECT_EQ(chosen.front(), candidates.front());
  for (size_t i = 0; i < chosen.size(); ++i) {
    EXPECT_TRUE(space.Valid(chosen[i]));
    EXPECT_EQ(std::count(chosen.begin(), chosen.end(), chosen[i]), 1);
  }
  const std::vector<SchedulePoint> uniform = ConfidenceSample<SchedulePoint>(
      sizes, candidates, values, {.count = 8, .uniform = true}, accept, value, rng);
  EXPECT_EQ(uniform.size(), 8u);
}

TEST(ParetoTest, NoPointIsBeatenInBoth) {
  const CooptProblem problem = FreeProblem();
  const Result<SessionResult> result = RunMethod(problem, "random", 1, 24, 2);
  ASSERT_TRUE(result) << result.error();
  const std::vector<ParetoPoint> front = ParetoFront(problem, *result);
  ASSERT_FALSE(front.empty());
  EXPECT_EQ(front.back().cycles, result->best()->cycles);
  for (size_t i = 1; i < front.size(); ++i) {
    EXPECT_GT(front[i].area_um2, front[i - 1].area_um2);
    EXPECT_LT(front[i].cycles, front[i - 1].cycles);
  }
}

}  // namespace
}  // namespace tessera::coopt
