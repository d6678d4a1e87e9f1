// Comparisons: equal budgets, counted alike, whatever the number of threads.
#include "tessera/map.h"

#include "tessera/base/temporary_folder.h"
#include "tessera/mapper/compare_run.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/network.h"

namespace tessera {
namespace {

MapJob Job(const std::string& layer) {
  const Result<Network> network = LoadNetwork("resnet18-gamma");
  Network one = *network;
  one.layers = {**FindLayer(*network, layer)};
  Result<MapJob> job = MakeMapJob({.network = "resnet18-gamma",
                                   .accelerator = "maestro-256",
                                   .model = *ChooseCostModel("maestro"),
                                   .objective = Objective::kEdp,
                                   .budget = {.samples = 300}},
                                  one, *LoadAccelerator("maestro-256"));
  EXPECT_TRUE(job) << job.error();
  return *std::move(job);
}

TEST(Compare, GivesTheSameOnAnyNumberOfThreads) {
  const MapJob job = Job("l2");
  CompareOptions options{.seeds = 2};
  for (const char* method : {"random", "ga", "marl"}) {
    options.methods.push_back(*ParseMethodChoice(method));
  }
  const Result<Comparison> one = CompareMethods(job, options, 1, {});
  const Result<Comparison> two = CompareMethods(job, options, 2, {});
  ASSERT_TRUE(one) << one.error();
  ASSERT_TRUE(two) << two.error();
  ASSERT_EQ(one->runs.size(), 6u);
  for (size_t i = 0; i < one->runs.size(); ++i) {
    EXPECT_EQ(one->runs[i].result.curve, two->runs[i].result.curve);
    EXPECT_EQ(one->runs[i].result.samples, 300);
  }
  EXPECT_EQ(one->best_known, two->best_known);
  EXPECT_EQ(one->runs[3].method, "ga");
  EXPECT_EQ(one->runs[3].seed, 2);
}

TEST(Compare, ARunGoesOnFromItsJournalsAndVerifies) {
  CompareJob job{.problem = Job("l2")};
  job.options = {.methods = {*ParseMethodChoice("random"), *ParseMethodChoice("ga")}, .seeds = 2};
  const Result<Comparison> whole = CompareMethods(job.problem, job.options, 1, {});
  ASSERT_TRUE(whole) << whole.error();
  const TemporaryFolder folder;
  const Result<RunDirectory> directory = CreateCompareRun(folder.File("run"), job, {});
  ASSERT_TRUE(directory) << directory.error();
  const Result<CompareJob> loaded = LoadCompareJob(*directory);
  ASSERT_TRUE(loaded) << loaded.error();
  int polls = 0;
  ASSERT_TRUE(CompareMethods(loaded->problem, loaded->options, 1,
                             {.stopped = [&] { return ++polls > 3; }, .directory = &*directory}));
  const Result<Comparison> resumed =
      CompareMethods(loaded->problem, loaded->options, 2, {.directory = &*directory});
  ASSERT_TRUE(resumed) << resumed.error();
  Verification found;
  const Result<Comparison> again = CompareAgain(*loaded, *directory, {}, found);
  ASSERT_TRUE(again) << again.error();
  EXPECT_TRUE(found.discrepancies.empty());
  for (size_t i = 0; i < whole->runs.size(); ++i) {
    EXPECT_EQ(resumed->runs[i].result.curve, whole->runs[i].result.curve);
    EXPECT_EQ(again->runs[i].result.curve, whole->runs[i].result.curve);
    EXPECT_EQ(again->runs[i].result.samples, whole->runs[i].result.samples);
  }
}

Comparison Made() {
  Comparison comparison{.best_known = 100.0};
  const auto add = [&](const char* method, std::vector<Improvement> curve) {
    CompareRun run{.method = method};
    if (!curve.empty()) {
      run.result.best = Trial{};
      run.result.best->outcome = {.kind = OutcomeKind::kFeasible, .value = curve.back().value};
    }
    run.result.curve = std::move(curve);
    comparison.runs.push_back(std::move(run));
  };
  add("a", {{10, 120}, {20, 104}, {30, 100}});
  add("a", {{5, 109}, {50, 101}});
  add("a", {{7, 130}});
  add("b", {});
  return comparison;
}

TEST(Compare, SummarizesSeeds) {
  const std::vector<MethodSummary> summaries = Summarize(Made());
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].median, 101);
  EXPECT_EQ(summaries[0].lower_quartile, 100.5);
  EXPECT_EQ(summaries[0].upper_quartile, 115.5);
  EXPECT_EQ(summaries[0].to_10, 20);
  EXPECT_EQ(summaries[0].to_5, 50);
  EXPECT_EQ(summaries[0].to_1, 50);
  EXPECT_TRUE(std::isinf(summaries[1].median));
  EXPECT_FALSE(summaries[1].to_10);
}

TEST(Compare, CountsSamplesToAValue) {
  const Comparison comparison = Made();
  EXPECT_EQ(comparison.runs[0].SamplesTo(105), 20);
  EXPECT_EQ(comparison.runs[0].SamplesTo(99), std::nullopt);
}

TEST(Compare, StopsWhereAsked) {
  CompareOptions options{
      .methods = {*ParseMethodChoice("ga")}, .seeds = 1, .best_known = 1e18, .stop_within = 0.05};
  const Result<Comparison> comparison = CompareMethods(Job("l2"), options, 1, {});
  ASSERT_TRUE(comparison) << comparison.error();
  EXPECT_EQ(comparison->runs[0].result.stop, StopReason::kTarget);
  EXPECT_LT(comparison->runs[0].result.samples, 300);
}

TEST(Compare, ExtendsRunsUntilTheyArrive) {
  MapJob job = Job("l2");
  job.settings.budget.samples = 100;
  CompareOptions options{.seeds = 2, .extend = {{"random", 400}}, .extend_within = 0};
  options.methods = {*ParseMethodChoice("random"), *ParseMethodChoice("marl")};
  const Result<Comparison> longer = CompareMethods(job, options, 2, {});
  options.extend.clear();
  const Result<Comparison> plain = CompareMethods(job, options, 1, {});
  ASSERT_TRUE(longer && plain);
  int extended = 0;
  for (size_t i = 0; i < 4; ++i) {
    const CompareRun &run = longer->runs[i], &same = plain->runs[i];
    EXPECT_EQ(run.BestWithinBudget(), same.best());
    if (run.result.samples == 100) continue;
    ++extended;
    EXPECT_LT(i, 2u) << "only random may go on";
    EXPECT_TRUE(run.result.samples == 400 || run.result.stop == StopReason::kTarget);
  }
  EXPECT_GE(extended, 1);
}

}  // namespace
}  // namespace tessera
