// The exact mapper against brute force on random small problems and machines: strides, dilations,
// links, bypasses, several fan-outs, both semantics.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exact_oracle.h"
#include "loopnest_random.h"
#include "tessera/cost/bounds.h"
#include "tessera/search/exact/count.h"
#include "tessera/search/exact/mapper.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

struct Tally {
  int64_t cases = 0, mappings = 0, infeasible = 0;
};

double ValueOf(const OracleResult& oracle, Goal goal) {
  return goal == Goal::kCycles ? oracle.cycles : goal == Goal::kEnergy ? oracle.energy : oracle.edp;
}

void CheckCase(const RandomCase& random, Semantics semantics, uint64_t number, Tally& tally) {
  std::vector<uint8_t> keep = KeepSets(random.mapping);
  const auto all = static_cast<uint8_t>((1u << random.problem.num_tensors) - 1);
  for (uint8_t& set : keep) set &= all;
  keep.back() = all;
  if (CountMappings(random.problem, random.machine) > 6'000) return;
  const OracleResult oracle = SearchEverything(random.problem, random.machine, semantics, keep);
  ++tally.cases;
  tally.mappings += oracle.mappings;
  tally.infeasible += oracle.valid == 0 ? 1 : 0;
  ThreadPool pool(1);
  for (const Goal goal : {Goal::kCycles, Goal::kEnergy, Goal::kEdp}) {
    const double starts[] = {0, 1.35, 2};
    const double start = starts[(number + static_cast<uint64_t>(goal)) % 3];
    const MapperOptions options{
        .goal = goal, .semantics = semantics, .keep = keep, .dive_width = number % 2 == 0 ? 0 : 4};
    const auto mapper = Mapper::Make(random.problem, random.machine, options);
    if (!mapper) {
      EXPECT_EQ(oracle.valid, 0) << mapper.error();
      continue;
    }
    if (start > 0 && oracle.valid > 0) (*mapper)->OfferValue(ValueOf(oracle, goal) * start);
    while ((*mapper)->Step(pool)) {
    }
    const Progress progress = (*mapper)->progress();
    std::vector<std::string> levels;
    for (const MemoryLevel& level : random.machine.levels) levels.push_back(level.name);
    const std::string name = fmt::format("case {} {} goal {} start {}: {}", number, random.family,
                                         static_cast<int>(goal), start, ToString(random.problem));
    if (oracle.valid == 0) {
      EXPECT_EQ(progress.status, Status::kInfeasible) << name;
      continue;
    }
    EXPECT_EQ(progress.status, Status::kOptimal) << name;
    ASSERT_TRUE(progress.best) << name;
    EXPECT_NEAR(progress.best->value / ValueOf(oracle, goal), 1, 1e-9)
        << name << "\n"
        << PrintLoopNest(progress.best->mapping, random.problem, levels);
  }
}

void CheckMany(Semantics semantics, uint64_t cases, uint64_t stream) {
  Tally tally;
  for (uint64_t k = 0; k < cases && !testing::Test::HasFailure(); ++k) {
    CounterRng rng(7, StreamId("exact.brute", stream), k);
    const RandomCase random =
        MakeRandomCase(rng, {.max_macs = 60, .max_levels = 4, .perfect = true});
    CheckCase(random, semantics, k, tally);
  }
  fmt::print("{} cases, {} mappings, {} without a mapping\n", tally.cases, tally.mappings,
             tally.infeasible);
  EXPECT_GT(tally.cases, static_cast<int64_t>(cases / 4));
}

TEST(ExactBruteForce, Timeloop3) { CheckMany(Semantics::kTimeloop3, 3'000, 1); }
TEST(ExactBruteForce, ExactSemantics) { CheckMany(Semantics::kExact, 3'000, 2); }

}  // namespace
}  // namespace tessera::exact
