// Factors that need not divide: the exact mapper against brute force over everything that the
// evaluator accepts, and mappings drawn below what it leaves out against its bounds.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exact_audits.h"
#include "exact_oracle.h"
#include "loopnest_random.h"
#include "tessera/cost.h"
#include "tessera/search/exact/imperfect.h"
#include "tessera/search/exact/keep_choices.h"
#include "tessera/search/exact/mapper.h"
#include "thorough.h"

namespace tessera::exact {
namespace {

constexpr uint64_t kSeed = 11;
constexpr Goal kGoals[] = {Goal::kCycles, Goal::kEnergy, Goal::kEdp};

double OracleValue(const OracleResult& oracle, Goal goal) {
  return goal == Goal::kCycles ? oracle.cycles : goal == Goal::kEnergy ? oracle.energy : oracle.edp;
}

// Ways to split all dimensions, before axes and orders.
double CountSplits(const LoopProblem& problem, const Hierarchy& machine) {
  double splits = 1;
  for (const LoopDimension& dim : problem.dims()) {
    const auto count = [&](const auto& self, size_t slot, int64_t extent) -> double {
      if (slot == 2 * machine.levels.size()) return extent >= dim.bound ? 1 : 0;
      const size_t level = slot / 2;
      const bool parallel = slot % 2 == 0;
      if (parallel && FanoutX(machine, level) * FanoutY(machine, level) == 1) {
        return self(self, slot + 1, extent);
      }
      double sum = 0;
      const int64_t most = std::max<int64_t>(1, (dim.bound + extent - 1) / extent);
      for (int64_t n = 1; n <= most; ++n) sum += self(self, slot + 1, extent * n);
      return sum;
    };
    splits *= count(count, 0, 1);
  }
  return splits;
}

std::vector<uint8_t> KeepOf(const RandomCase& random) {
  std::vector<uint8_t> keep = KeepSets(random.mapping);
  const auto all = static_cast<uint8_t>((1u << random.problem.num_tensors) - 1);
  for (uint8_t& set : keep) set &= all;
  keep.back() = all;
  return keep;
}

RandomCase CaseOf(std::string_view test, uint64_t number, const RandomCaseOptions& options) {
  CounterRng rng(kSeed, StreamId(test), number);
  return MakeRandomCase(rng, options);
}

// A matrix product of random sizes on the machine of a random case.
RandomCase GemmOf(std::string_view test, uint64_t number, int64_t most) {
  RandomCase random = CaseOf(test, number, {.max_macs = 60, .max_levels = 4});
  CounterRng rng(kSeed, StreamId("exact.any.gemm"), number);
  const auto size = [&] { return 1 + rng.UniformInt(most); };
  const Layer layer{.type = LayerType::kMatmul, .m = size(), .n = size(), .k = size()};
  random.problem = *MakeLoopProblem(layer);
  random.family = "gemm";
  return random;
}

// What was compared, so that a change of the generators cannot empty the test.
struct Tally {
  int64_t cases = 0, mappings = 0, infeasible = 0, better = 0;
  ~Tally() {
    fmt::print("{} cases, {} mappings, {} without a mapping, {} better than with perfect factors\n",
               cases, mappings, infeasible, better);
  }
};

void Check(const RandomCase& random, MapperOptions options, uint64_t number, Tally& tally) {
  ThreadPool pool(1);
  options.any_factors = true;
  const auto choices = KeepChoicesOf(random.problem, random.machine, options);
  ASSERT_TRUE(choices) << choices.error();
  OracleResult oracle, perfect;
  const auto add = [](const OracleResult& one, OracleResult& all) {
    all.mappings += one.mappings;
    all.valid += one.valid;
    all.cycles = std::min(all.cycles, one.cycles);
    all.energy = std::min(all.energy, one.energy);
    all.edp = std::min(all.edp, one.edp);
  };
  for (const std::vector<uint8_t>& keep : choices->sets) {
    add(SearchAnyFactors(random.problem, random.machine, keep), oracle);
    add(SearchEverything(random.problem, random.machine, loopnest::Semantics::kExact, keep),
        perfect);
  }
  ++tally.cases;
  tally.mappings += oracle.mappings;
  tally.infeasible += oracle.valid == 0 ? 1 : 0;
  for (const Goal goal : kGoals) {
    options.goal = goal;
    options.dive_width = number % 2 == 0 ? 0 : 4;
    const std::string name = fmt::format("case {} {} goal {}: {}", number, random.family,
                                         static_cast<int>(goal), ToString(random.problem));
    const auto mapper = Mapper::Make(random.problem, random.machine, options);
    if (!mapper) {
      EXPECT_EQ(oracle.valid, 0) << mapper.error();
      continue;
    }
    const double wanted = OracleValue(oracle, goal);
    const double starts[] = {0, 1.35, 2};
    const double start = starts[(number + static_cast<uint64_t>(goal)) % 3];
    if (oracle.valid > 0 && start * wanted > 0) (*mapper)->OfferValue(start * wanted);
    while ((*mapper)->Step(pool)) {
    }
    const Progress progress = (*mapper)->progress();
    if (oracle.valid == 0) {
      EXPECT_EQ(progress.status, Status::kInfeasible) << name;
      continue;
    }
    EXPECT_LE(wanted, OracleValue(perfect, goal)) << name;
    tally.better += wanted < OracleValue(perfect, goal) * (1 - 1e-9) ? 1 : 0;
    EXPECT_EQ(progress.status, Status::kOptimal) << name;
    ASSERT_TRUE(progress.best) << name;
    EXPECT_NEAR(progress.best->value, wanted, 1e-9 * wanted) << name;
  }
}

TEST(ExactAnyFactors, MatrixProducts) {
  Tally tally;
  for (uint64_t k = 0; k < Thorough(4'000, 300) && !testing::Test::HasFailure(); ++k) {
    const RandomCase random = GemmOf("exact.any.gemms", k, static_cast<int64_t>(Thorough(11, 7)));
    if (CountSplits(random.problem, random.machine) > static_cast<double>(Thorough(20'000, 2'000)))
      continue;
    Check(random, {.keep = KeepOf(random)}, k, tally);
  }
  EXPECT_GT(tally.cases, 100);
  EXPECT_GT(tally.better, 20);
}

// Rows and columns are twins. R7.
TEST(ExactAnyFactors, SquarePointwiseLayers) {
  Tally tally;
  for (uint64_t k = 0; k < Thorough(2'000, 120) && !testing::Test::HasFailure(); ++k) {
    RandomCase random = CaseOf("exact.any.square", k, {.max_macs = 60, .max_levels = 3});
    CounterRng rng(kSeed, StreamId("exact.any.square.size"), k);
    const auto size = [&](int64_t most) { return 1 + rng.UniformInt(most); };
    const int64_t side = 1 + size(2);
    const Layer layer{.k = size(3), .c = size(3), .y = side, .x = side};
    random.problem = *MakeLoopProblem(layer);
    random.family = "square";
    if (CountSplits(random.problem, random.machine) > static_cast<double>(Thorough(20'000, 2'000)))
      continue;
    Check(random, {.keep = KeepOf(random)}, k, tally);
  }
  EXPECT_GT(tally.cases, 50);
}

// Strides, dilations, grouped and depthwise layers, links, bypasses.
TEST(ExactAnyFactors, EveryKindOfProblem) {
  Tally tally;
  for (uint64_t k = 0; k < Thorough(6'000, 500) && !testing::Test::HasFailure(); ++k) {
    const RandomCase random = CaseOf("exact.any", k,
                                     {.max_macs = static_cast<int64_t>(Thorough(60, 24)),
                                      .max_levels = 4,
                                      .narrow = k % 3 == 0,
                                      .widths = k % 4 == 3});
    if (CountSplits(random.problem, random.machine) > static_cast<double>(Thorough(3'000, 500)))
      continue;
    Check(random, {.keep = KeepOf(random)}, k, tally);
  }
  EXPECT_GT(tally.cases, 200);
}

TEST(ExactAnyFactors, Bypasses) {
  Tally tally;
  for (uint64_t k = 0; k < Thorough(1'000, 80) && !testing::Test::HasFailure(); ++k) {
    const RandomCase random =
        k % 2 == 0 ? GemmOf("exact.any.bypass", k, 5)
                   : CaseOf("exact.any.bypass", k, {.max_macs = 24, .max_levels = 3});
    if (CountSplits(random.problem, random.machine) > 200) continue;
    Check(random, {.keep = KeepOf(random), .decide_keep = true}, k, tally);
  }
  EXPECT_GT(tally.cases, 20);
}

// Mappings drawn below what searches leave out, all factors among them, until each rule has enough.
// Choices of kept tensors are audited elsewhere.
Audits AuditAnyFactors(uint64_t cases, int64_t enough, double scale) {
  Audits audits(enough);
  for (uint64_t k = 0; k < cases && !audits.Enough({Rule::kChoice}); ++k) {
    const RandomCase random = k % 2 == 0 ? GemmOf("exact.any.audit", k, 40)
                                         : CaseOf("exact.any.audit", k, {.max_macs = 400});
    const MapperOptions options{.goal = static_cast<Goal>(k % 3),
                                .any_factors = true,
                                .keep = KeepOf(random),
                                .node_steps = 5'000,
                                .split_steps = 5'000,
                                .bound_scale = scale};
    audits.Run(random.problem, random.machine, options, k, /*per_part=*/8,
               static_cast<int64_t>(Thorough(1'000, 200)), /*rounds=*/4);
  }
  audits.Print("any factors");
  return audits;
}

TEST(ExactAnyFactors, NoMappingIsBelowItsBound) {
  const auto most = static_cast<int64_t>(Thorough(100'000, 1'200));
  const Audits audits = AuditAnyFactors(Thorough(3'000, 12), most, 1);
  for (const RuleAudit& rule : audits.rules()) {
    EXPECT_EQ(rule.violations, 0) << audits.first_violation();
  }
  for (const Rule rule : {Rule::kTile, Rule::kSplit, Rule::kTiling}) {
    EXPECT_GT(audits.Of(rule).audited, most / 2);
  }
}

TEST(ExactAnyFactors, BoundsTwoPercentTooHighAreNoticed) {
  const Audits audits = AuditAnyFactors(12, 1'200, 1.02);
  for (const Rule rule : {Rule::kTile, Rule::kSplit, Rule::kTiling}) {
    EXPECT_GT(audits.Of(rule).violations, 0);
  }
}

}  // namespace
}  // namespace tessera::exact
