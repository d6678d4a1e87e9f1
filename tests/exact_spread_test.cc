// What every way to spread a problem over the arrays costs at least (docs/optimality.md, B23)
// against the best of all mappings, and against random ones of larger problems.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exact_case.h"
#include "exact_oracle.h"
#include "tessera/cost/keep_bounds.h"
#include "tessera/search/exact/count.h"
#include "tessera/search/exact/membership.h"
#include "tessera/search/exact/spread_bound.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

using loopnest::Semantics;

constexpr double kRounding = 1e-12;

std::unique_ptr<ExactCase> MakeCase(std::string_view test, uint64_t number,
                                    const RandomCaseOptions& options) {
  return MakeExactCase(29, test, number, options);
}

double BoundOf(const ExactCase& made, bool alone, double enough = kInfinity) {
  LeastHops hops(made.model);
  SpreadBound spread(made.model, hops);
  std::optional<int64_t> cycles;
  const CostBounds closed = KeepBounds(made.setup.data, made.setup.machine, made.keep, cycles);
  const Bound least{.energy_pj = alone ? 0 : *closed.energy_pj, .cycles = *closed.cycles};
  return spread.Least(made.model, made.goal, least, enough);
}

double OracleValue(const OracleResult& oracle, Goal goal) {
  return goal == Goal::kCycles ? oracle.cycles : goal == Goal::kEnergy ? oracle.energy : oracle.edp;
}

TEST(ExactSpread, NoMappingIsBetter) {
  int64_t cases = 0, equal = 0, close = 0, arrays = 0;
  for (uint64_t k = 0; k < Thorough(60'000, 1'500) && !testing::Test::HasFailure(); ++k) {
    const auto made = MakeCase("exact.spread", k,
                               {.max_macs = 64,
                                .max_levels = 5,
                                .perfect = true,
                                .narrow = k % 2 == 0,
                                .widths = k % 4 == 3});
    if (!made || CountMappings(made->random.problem, made->random.machine) > 3'000) continue;
    const double bound = BoundOf(*made, k % 5 == 0);
    if (bound == 0) continue;
    const OracleResult best =
        SearchEverything(made->random.problem, made->random.machine, Semantics::kExact, made->keep);
    if (best.valid == 0) continue;
    const double value = OracleValue(best, made->goal);
    ++cases;
    EXPECT_LE(bound, value * (1 + kRounding)) << k << " " << ToString(made->random.problem);
    // With a limit it is the same, or the limit.
    const double enough = value * 0.9;
    EXPECT_EQ(BoundOf(*made, k % 5 == 0, enough), std::min(bound, enough));
    equal += bound > value * (1 - 1e-9) ? 1 : 0;
    close += bound * 1.02 > value ? 1 : 0;
    int networks = 0;
    for (int i = 0; i < made->model.num_levels; ++i) networks += made->model.levels[i].fan > 1;
    arrays += networks > 1 ? 1 : 0;
  }
  fmt::print("{} cases, {} with several arrays: equal to the optimum in {}, within 2 % in {}\n",
             cases, arrays, equal, close);
  EXPECT_GT(cases, 300);
  EXPECT_GT(arrays, cases / 10);
  // Bounds that are 2 % too high would be noticed.
  EXPECT_GT(equal, cases / 10);
}

TEST(ExactSpread, NoRandomMappingIsBetter) {
  int64_t mappings = 0, close = 0;
  for (uint64_t k = 0; k < Thorough(400'000, 10'000) && !testing::Test::HasFailure(); ++k) {
    const auto made = MakeCase("exact.spread.random", k,
                               {.max_macs = 600,
                                .max_levels = 6,
                                .perfect = true,
                                .narrow = k % 2 == 0,
                                .widths = k % 4 == 3});
    if (!made || !InSpace(made->model, made->random.mapping)) continue;
    const double cost = CostOfMapping(*made);
    if (std::isinf(cost)) continue;
    const double bound = BoundOf(*made, k % 5 == 0);
    if (bound == 0) continue;
    ++mappings;
    EXPECT_LE(bound, cost * (1 + kRounding)) << k << " " << ToString(made->random.problem);
    close += bound * 1.02 > cost ? 1 : 0;
  }
  fmt::print("{} mappings, {} of them within 2 % of their bound\n", mappings, close);
  EXPECT_GT(mappings, 3'000);
  EXPECT_GT(close, mappings / 50);
}

}  // namespace
}  // namespace tessera::exact
