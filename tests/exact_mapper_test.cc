// What the exact mapper promises beside its optima: the same rounds on any number of threads,
// honest status under limits, searched bypasses, constraints, and errors that name what does not
// fit.
#include <string>

#include <gtest/gtest.h>

#include "exact_front.h"
#include "exact_oracle.h"
#include "tessera/accelerator.h"
#include "tessera/search/exact/imperfect.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/problem_options.h"
#include "tessera/space.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

MemoryLevel Memory(std::string name, std::optional<int64_t> entries, int64_t mesh_x, double pj) {
  MemoryLevel level;
  level.name = std::move(name);
  level.entries = entries;
  level.mesh_x = mesh_x;
  level.read_pj = level.fill_pj = level.update_pj = *Decimal::Parse(std::to_string(pj));
  return level;
}

// Four register files under a buffer under DRAM.
Hierarchy SmallMachine() {
  Hierarchy hierarchy;
  hierarchy.arithmetic.mesh_x = 4;
  hierarchy.levels = {Memory("RF", 8, 4, 1), Memory("Buf", 64, 1, 5), Memory("DRAM", {}, 1, 100)};
  hierarchy.levels[2].read_words_per_cycle = 1;
  return hierarchy;
}

LoopProblem Gemm(int64_t m, int64_t n, int64_t k) {
  return *MakeLoopProblem("gemm", {{"M", m}, {"N", n}, {"K", k}});
}

Progress Solve(const LoopProblem& problem, const Hierarchy& machine, const MapperOptions& options,
               int threads = 1) {
  ThreadPool pool(threads);
  const auto mapper = Mapper::Make(problem, machine, options);
  EXPECT_TRUE(mapper) << mapper.error();
  while ((*mapper)->Step(pool)) {
  }
  return (*mapper)->progress();
}

TEST(ExactMapper, RoundsDoNotDependOnThreads) {
  const Accelerator machine = *LoadAccelerator("simple3");
  const LoopProblem problem = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 14}, {"Q", 14}, {"C", 16}, {"K", 24}, {"N", 1}});
  const MapperOptions options{.goal = Goal::kEdp, .dive_width = 4};
  const auto one = Mapper::Make(problem, *machine.hierarchy, options);
  const auto three = Mapper::Make(problem, *machine.hierarchy, options);
  ThreadPool pool_of_one(1), pool_of_three(3);
  bool more = true;
  double bound = 0;
  while (more) {
    more = (*one)->Step(pool_of_one);
    ASSERT_EQ((*three)->Step(pool_of_three), more);
    const Progress a = (*one)->progress(), b = (*three)->progress();
    ASSERT_EQ(a.bound, b.bound);
    ASSERT_EQ(a.counters.evaluations, b.counters.evaluations);
    ASSERT_EQ(a.counters.nodes, b.counters.nodes);
    ASSERT_EQ(a.best.has_value(), b.best.has_value());
    if (a.best) {
      ASSERT_EQ(a.best->value, b.best->value);
      ASSERT_EQ(a.best->mapping, b.best->mapping);
      EXPECT_LE(a.bound, a.best->value);
    }
    EXPECT_GE(a.bound, bound * (1 - kTolerance));
    bound = a.bound;
  }
  EXPECT_EQ((*one)->progress().status, Status::kOptimal);
}

TEST(ExactMapper, MemoryLimitIsBoundedNotOptimal) {
  const LoopProblem problem = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 12}, {"Q", 6}, {"C", 8}, {"K", 12}, {"N", 1}});
  const Progress whole = Solve(problem, SmallMachine(), {});
  ASSERT_EQ(whole.status, Status::kOptimal);
  const Progress little =
      Solve(problem, SmallMachine(), {.node_steps = 1, .max_nodes = 1, .dive_width = 1});
  EXPECT_EQ(little.status, Status::kBounded);
  ASSERT_TRUE(little.best);
  EXPECT_LE(little.bound, whole.best->value);
  EXPECT_GE(little.best->value, whole.best->value);
  EXPECT_GT(little.Gap(), 0);
}

// What a resting search gives up is made again when it is needed, and leads to the same.
TEST(ExactMapper, TrimmingChangesNothingButMemory) {
  const LoopProblem conv = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 8}, {"Q", 8}, {"C", 16}, {"K", 24}, {"N", 1}});
  const Hierarchy machine = *LoadAccelerator("simba")->hierarchy;
  const MapperOptions options{
      .goal = Goal::kEdp, .decide_keep = true, .node_steps = 500, .split_steps = 20'000};
  const auto whole = Mapper::Make(conv, machine, options);
  const auto trimmed = Mapper::Make(conv, machine, options);
  ASSERT_TRUE(whole && trimmed);
  ThreadPool pool(1);
  for (int round = 0; round < 4; ++round) {
    ASSERT_EQ((*whole)->Step(pool), (*trimmed)->Step(pool));
    const Progress a = (*whole)->progress(), b = (*trimmed)->progress();
    ASSERT_EQ(a.best->mapping, b.best->mapping);
    ASSERT_EQ(a.bound, b.bound);
    ASSERT_EQ(a.counters.nodes, b.counters.nodes);
    ASSERT_EQ(a.counters.tiles, b.counters.tiles);
    ASSERT_EQ(a.counters.evaluations, b.counters.evaluations);
    const int64_t before = (*trimmed)->bytes();
    (*trimmed)->Trim();
    EXPECT_LE((*trimmed)->bytes(), before);
  }
  EXPECT_GT((*whole)->bytes(), 4 * (*trimmed)->bytes());
}

TEST(ExactMapper, IgnoresOffersFromOutsideTheSpace) {
  const LoopProblem problem = Gemm(4, 4, 4);
  const Progress whole = Solve(problem, SmallMachine(), {});
  ASSERT_TRUE(whole.best);
  const LoopMapping best = whole.best->mapping;
  std::vector<LoopMapping> offers(4, best);
  offers[0].levels[2].temporal[0] *= 2;  // not the product of the bounds
  offers[1].levels[0].keep = 0;          // holds other tensors
  offers[2].num_levels = 2;
  offers[3].levels[0].spatial[1] *= 8;  // more than there are
  for (const LoopMapping& offer : offers) {
    const auto mapper = Mapper::Make(problem, SmallMachine(), {.dive_width = 0});
    ASSERT_TRUE(mapper);
    (*mapper)->Offer(offer);
    EXPECT_FALSE((*mapper)->progress().best);
    (*mapper)->Offer(best);
    ASSERT_TRUE((*mapper)->progress().best);
    EXPECT_EQ((*mapper)->progress().best->value, whole.best->value);
  }
}

// Seven rows on four PEs: two steps of four, the last with one idle, instead of seven of one.
TEST(ExactMapper, AnyFactorsAreProvedNextToThoseThatDivide) {
  const LoopProblem problem = Gemm(7, 5, 6);
  Hierarchy machine = SmallMachine();
  machine.levels[2].read_words_per_cycle.reset();
  ThreadPool pool(1);
  const auto result =
      MapWithAnyFactors(problem, machine, {.mapper = {.goal = Goal::kCycles}, .rounds = 0}, pool);
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->perfect.status, Status::kOptimal);
  EXPECT_EQ(result->any.status, Status::kOptimal);
  ASSERT_TRUE(result->any.best);
  EXPECT_FALSE(result->divides);
  EXPECT_LT(result->any.best->cycles, result->perfect.best->cycles);
  EXPECT_GE(result->any.best->cycles, 7 * 5 * 6 / 4);

  const auto even = MapWithAnyFactors(Gemm(4, 4, 4), machine,
                                      {.mapper = {.goal = Goal::kEnergy}, .rounds = 0}, pool);
  ASSERT_TRUE(even) << even.error();
  EXPECT_EQ(even->any.status, Status::kOptimal);
  EXPECT_LE(even->any.best->value, even->perfect.best->value);

  const auto timeloop =
      MapWithAnyFactors(problem, machine, {.mapper = {.semantics = Semantics::kTimeloop3}}, pool);
  ASSERT_FALSE(timeloop);
  EXPECT_EQ(ToString(timeloop.error()),
            "factors that do not divide are counted by semantics exact only; use semantics exact, "
            "or perfect factors");
}

// Tiles are any number with any factors, so a level of prime sizes has hundreds of thousands: to
// look at them all is put off, as a split is that has too many children.
TEST(ExactMapper, RoundsAreAsShortAsTheirSteps) {
  const LoopProblem conv = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 17}, {"Q", 13}, {"C", 11}, {"K", 19}, {"N", 1}});
  Hierarchy machine = *LoadAccelerator("shidiannao")->hierarchy;
  ASSERT_EQ(machine.levels.size(), 6u);
  constexpr int64_t kSplitSteps = 1'000, kLooksPerStep = 8;
  const auto mapper = Mapper::Make(
      conv, machine,
      {.any_factors = true, .node_steps = 100, .split_steps = kSplitSteps, .dive_width = 0});
  ASSERT_TRUE(mapper) << mapper.error();
  ThreadPool pool(1);
  int64_t most = 0;
  for (int64_t patience = 1; patience <= 64; patience *= 8) {
    EXPECT_TRUE((*mapper)->Step(pool));
    most += patience * kSplitSteps * kLooksPerStep + 100 * 64;
    EXPECT_LE((*mapper)->progress().counters.tiles, most);
    EXPECT_EQ((*mapper)->progress().status, Status::kBounded);
  }
  EXPECT_GT((*mapper)->progress().counters.tiles, 9 * kSplitSteps * kLooksPerStep);
}

// What was put off is taken up again, until nothing is left: tiles, and orders of a whole mapping.
TEST(ExactMapper, WhatIsPutOffIsProvedInTheEnd) {
  const LoopProblem conv = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 1}, {"P", 7}, {"Q", 1}, {"C", 5}, {"K", 3}, {"N", 1}});
  for (const bool any_factors : {false, true}) {
    MapperOptions options{.goal = Goal::kEnergy, .any_factors = any_factors, .dive_width = 0};
    const Progress whole = Solve(conv, SmallMachine(), options);
    ASSERT_EQ(whole.status, Status::kOptimal);
    options.node_steps = options.split_steps = 1;
    const Progress slow = Solve(conv, SmallMachine(), options);
    EXPECT_EQ(slow.status, Status::kOptimal);
    EXPECT_EQ(slow.best->value, whole.best->value);
    EXPECT_GT(slow.rounds, whole.rounds);
  }
}

TEST(ExactMapper, SearchesBypasses) {
  const LoopProblem problem = Gemm(4, 2, 6);
  const Hierarchy machine = SmallMachine();
  for (const Semantics semantics : {Semantics::kTimeloop3, Semantics::kExact}) {
    double best = kInfinity;
    for (uint8_t inner = 0; inner < 8; ++inner) {
      for (uint8_t outer = 0; outer < 8; ++outer) {
        best = std::min(best, SearchEverything(problem, machine, semantics, {inner, outer, 7}).edp);
      }
    }
    const Progress progress =
        Solve(problem, machine, {.goal = Goal::kEdp, .semantics = semantics, .decide_keep = true});
    EXPECT_EQ(progress.status, Status::kOptimal);
    EXPECT_NEAR(progress.best->value / best, 1, 1e-9);
  }
}

// Whatever the machine: after as many rounds, levels that may pass tensors by cost no more.
TEST(ExactMapper, AChoiceOfKeptTensorsIsNeverWorseThanNone) {
  const LoopProblem conv = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 14}, {"Q", 14}, {"C", 24}, {"K", 32}, {"N", 1}});
  const LoopProblem problems[] = {conv, Gemm(96, 56, 120)};
  ThreadPool pool(1);
  int64_t compared = 0, better = 0;
  for (const char* name : {"shidiannao", "nvdla", "simba", "eyeriss-256", "simple3"}) {
    const Hierarchy machine = *LoadAccelerator(name)->hierarchy;
    for (size_t k = 0; k < std::size(problems); ++k) {
      const Semantics semantics = k == 0 ? Semantics::kExact : Semantics::kTimeloop3;
      MapperOptions options{.goal = static_cast<Goal>((compared / 5) % 3),
                            .semantics = semantics,
                            .node_steps = 2'000,
                            .split_steps = 20'000};
      const auto without = Mapper::Make(problems[k], machine, options);
      options.decide_keep = true;
      const auto with = Mapper::Make(problems[k], machine, options);
      ASSERT_TRUE(with) << with.error();
      for (int round = 0; round < 5; ++round) {
        (*without)->Step(pool);
        (*with)->Step(pool);
        const double most = (*without)->progress().best->value;
        const double value = (*with)->progress().best->value;
        EXPECT_LE(value, most) << name << ", problem " << k << ", round " << round;
        ++compared;
        better += value < most ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(compared, 50);
  EXPECT_GT(better, 10);
}

// What a search elsewhere has ended with saves the first chains only where it is near the bound:
// elsewhere chains find in milliseconds what a dive may take a second for.
TEST(ExactMapper, OnlyStartsNearTheBoundTakeThePlaceOfChains) {
  const LoopProblem problem = Gemm(96, 56, 120);
  const Hierarchy machine = *LoadAccelerator("simple3")->hierarchy;
  LoopMapping outside{.num_levels = static_cast<int>(machine.levels.size())};
  for (int i = 0; i < outside.num_levels; ++i) outside.levels[static_cast<size_t>(i)].keep = 7;
  LoopLevel& outermost = outside.levels[machine.levels.size() - 1];
  for (size_t d = 0; d < problem.dims().size(); ++d) {
    outermost.temporal[d] = static_cast<int32_t>(problem.dims()[d].bound);
  }
  ThreadPool pool(1);
  for (const bool decide_keep : {false, true}) {
    MapperOptions options{.goal = Goal::kCycles, .decide_keep = decide_keep};
    const auto first_round = [&](const LoopMapping* offer) {
      const auto mapper = Mapper::Make(problem, machine, options);
      if (offer != nullptr) (*mapper)->Offer(*offer);
      (*mapper)->Step(pool);
      return (*mapper)->progress();
    };
    const Progress fresh = first_round(nullptr);
    const Progress best = Solve(problem, machine, options);
    ASSERT_EQ(best.status, Status::kOptimal);
    options.begun = true;
    const Progress far = first_round(&outside), near = first_round(&best.best->mapping);
    EXPECT_LE(far.best->value, fresh.best->value);
    EXPECT_GE(far.counters.evaluations, near.counters.evaluations + 1'000);
  }
}

TEST(ExactMapper, FindsTheFrontOfCyclesAndEnergy) {
  const LoopProblem problem = *MakeLoopProblem(
      "conv", {{"R", 2}, {"S", 1}, {"P", 4}, {"Q", 1}, {"C", 2}, {"K", 3}, {"N", 1}});
  Hierarchy machine = SmallMachine();
  machine.levels.erase(machine.levels.begin() + 1);
  machine.levels[1].network.hop_pj = 40;  // so that few PEs are cheap and many are fast
  for (const Semantics semantics : {Semantics::kTimeloop3, Semantics::kExact}) {
    const OracleResult oracle = SearchEverything(problem, machine, semantics, {7, 7});
    std::vector<std::pair<double, double>> expected, found;
    for (const auto& [cycles, energy] : oracle.least_energy) {
      if (expected.empty() || energy < expected.back().second * (1 - kTolerance)) {
        expected.emplace_back(cycles, energy);
      }
    }
    std::ranges::reverse(expected);
    ThreadPool pool(1);
    const auto front =
        FindParetoFront(problem, machine, {.mapper = {.semantics = semantics}}, pool);
    ASSERT_TRUE(front) << front.error();
    EXPECT_TRUE(front->complete);
    for (const Candidate& point : front->points) found.emplace_back(point.cycles, point.energy_pj);
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_GT(found.size(), 1u);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].first, expected[i].first);
      EXPECT_NEAR(found[i].second / expected[i].second, 1, 1e-9);
    }
  }
}

TEST(ExactMapper, NamesTheLevelThatNothingFits) {
  Hierarchy machine = SmallMachine();
  machine.levels[0].entries = 2;
  const auto mapper = Mapper::Make(Gemm(4, 4, 4), machine, {});
  ASSERT_FALSE(mapper);
  EXPECT_EQ(ToString(mapper.error()),
            "no mapping is possible: RF has 2 usable words, and one element each of A, B, Z need "
            "more; let the level pass a tensor by, or give it more entries");
}

// The mapper against all points of the decision space, with and without constraints.
class ExactSpaceTest : public testing::TestWithParam<const char*> {};

TEST_P(ExactSpaceTest, EqualsTheBestPointOfTheSpace) {
  Layer layer;
  layer.type = LayerType::kMatmul;
  layer.m = 4, layer.n = 2, layer.k = 4;
  Accelerator machine{.name = "small"};
  machine.hierarchy = SmallMachine();
  machine.hierarchy->levels.erase(machine.hierarchy->levels.begin() + 1);
  const Result<Constraints> constraints = ParseConstraints(GetParam(), "constraints.yaml");
  ASSERT_TRUE(constraints) << constraints.error();
  for (const Objective objective : {Objective::kLatency, Objective::kEnergy, Objective::kEdp}) {
    const auto problem = MappingProblem::Make(
        layer, machine, *ChooseCostModel("loopnest"),
        {.objective = objective, .space = {.decide_keep = true, .constraints = *constraints}});
    ASSERT_TRUE(problem) << problem.error();
    const MappingSpace& space = (*problem)->space();
    const auto workspace = (*problem)->MakeWorkspace();
    double best = kInfinity;
    Point point(space.size());
    bool more = true;
    while (more) {
      const Outcome outcome = (*problem)->Evaluate(point, *workspace);
      if (outcome.feasible()) best = std::min(best, outcome.value);
      more = false;
      for (size_t i = 0; i < space.size() && !more; ++i) {
        more = ++point[i] < space.decisions()[i].size();
        if (!more) point[i] = 0;
      }
    }
    const Result<MapperOptions> options = OptionsFor(**problem);
    ASSERT_TRUE(options) << options.error();
    const auto& [loops, hierarchy] = *(*problem)->loops();
    const Progress progress = Solve(loops, hierarchy, *options);
    ASSERT_TRUE(progress.best);
    EXPECT_EQ(progress.status, Status::kOptimal);
    EXPECT_NEAR(progress.best->value / best, 1, 1e-9);
    EXPECT_NEAR(progress.bound / best, 1, 1e-8);
    EXPECT_TRUE(space.Encode(progress.best->mapping));
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ExactSpaceTest,
    testing::Values("format: tessera-constraints-1\n",
                    "format: tessera-constraints-1\nfixed: {K_RF: 2}\n",
                    "format: tessera-constraints-1\nforbidden: {M_DRAM_par: [4, 2]}\n",
                    "format: tessera-constraints-1\norder: {order_DRAM: [[K, M, N]]}\n",
                    "format: tessera-constraints-1\nfixed: {keep_RF_A: keep, N_RF: 1}\n"));

}  // namespace
}  // namespace tessera::exact
