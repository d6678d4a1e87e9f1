// The fast model against the slow one, on random problems, and against anything.
#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "maestro_oracle.h"
#include "maestro_random.h"
#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/batch.h"
#include "tessera/cost/maestro/maestro.h"
#include "tessera/cost/maestro/report.h"

namespace tessera::maestro {
namespace {

bool Close(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b ||
         std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

void ExpectEqual(const Analysis& a, const Analysis& b, const std::string& row) {
  EXPECT_EQ(a.cycles, b.cycles) << row;
  EXPECT_EQ(a.macs, b.macs) << row;
  EXPECT_EQ(a.l1_reads, b.l1_reads) << row;
  EXPECT_EQ(a.l1_writes, b.l1_writes) << row;
  EXPECT_EQ(a.l2_reads, b.l2_reads) << row;
  EXPECT_EQ(a.l2_writes, b.l2_writes) << row;
  EXPECT_EQ(a.l2_required, b.l2_required) << row;
  EXPECT_EQ(a.l1_required, b.l1_required) << row;
  EXPECT_EQ(a.noc_required, b.noc_required) << row;
  EXPECT_EQ(a.offchip_required, b.offchip_required) << row;
  EXPECT_EQ(a.single_result, b.single_result) << row;
  EXPECT_TRUE(Close(a.noc_average, b.noc_average)) << row;
  EXPECT_TRUE(Close(a.busy_units, b.busy_units)) << row;
  EXPECT_TRUE(Close(a.arithmetic_intensity, b.arithmetic_intensity)) << row;
  const std::pair<const DelayStatistics*, const DelayStatistics*> delays[] = {
      {&a.ingress, &b.ingress}, {&a.egress, &b.egress}, {&a.compute, &b.compute}};
  for (const auto& [x, y] : delays) {
    EXPECT_EQ(x->min_cycles, y->min_cycles) << row;
    EXPECT_EQ(x->max_cycles, y->max_cycles) << row;
    EXPECT_EQ(x->average_cycles, y->average_cycles) << row;
  }
}

std::string RowText(const MaestroProblem& problem) {
  return RowOf("random", {.declaration = problem.declaration, .dataflow = problem.dataflow},
               problem.array, problem.version);
}

OracleStatus ToOracle(const Violation& violation) {
  switch (StatusOf(static_cast<Rule>(violation.rule))) {
    case Status::kOk: return OracleStatus::kOk;
    case Status::kReject: return OracleStatus::kReject;
    case Status::kCrash: return OracleStatus::kCrash;
  }
  return OracleStatus::kGivenUp;
}

void CompareWithOracle(Taste taste, uint64_t count) {
  Analyser analyser;
  std::map<OracleStatus, int> seen;
  for (uint64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const MaestroProblem problem = RandomMaestroProblem(1, i, taste);
    const OracleResult slow = EvaluateByTheBook(problem.declaration, problem.array, problem.version,
                                                problem.dataflow, 20'000);
    ++seen[slow.status];
    if (slow.status == OracleStatus::kGivenUp) continue;
    const Result<Workload> workload = MakeWorkload(problem.declaration);
    ASSERT_TRUE(workload) << workload.error();
    Analysis fast;
    const Violation broken =
        analyser.Run(*workload, problem.array, problem.version, problem.dataflow, fast);
    EXPECT_EQ(ToOracle(broken), slow.status)
        << RowText(problem) << (broken.rule == 0 ? "" : Describe(broken).message);
    if (broken.rule == 0 && slow.status == OracleStatus::kOk) {
      ExpectEqual(fast, slow.analysis, RowText(problem));
    }
  }
  EXPECT_GT(seen[OracleStatus::kOk], static_cast<int>(count) / 10);
}

TEST(MaestroProperty, EqualsTheOracleOnSensibleProblems) {
  CompareWithOracle(Taste::kSensible, 1000);
}

TEST(MaestroProperty, EqualsTheOracleOnCarelessProblems) {
  CompareWithOracle(Taste::kCareless, 2000);
}

TEST(MaestroProperty, BatchEqualsScalar) {
  ThreadPool pool(2);
  for (uint64_t i = 0; i < 20; ++i) {
    const MaestroProblem problem = RandomMaestroProblem(2, i, Taste::kSensible);
    const auto model = MakeMaestroModel(problem.declaration, problem.array, {});
    ASSERT_TRUE(model) << model.error();
    std::vector<Mapping> mappings;
    for (uint64_t j = 0; j < 100; ++j) {
      mappings.push_back(RandomMaestroProblem(3, i * 100 + j, Taste::kCareless).dataflow);
    }
    mappings.push_back(problem.dataflow);
    std::vector<Cost> batch(mappings.size());
    BatchEvaluator(**model, pool).EvaluateBatch(mappings, batch);
    const auto workspace = (*model)->MakeWorkspace();
    for (size_t j = 0; j < mappings.size(); ++j) {
      EXPECT_EQ(batch[j], (*model)->Evaluate(mappings[j], *workspace));
    }
  }
}

// Built with sanitizers (make soak) this is the proof that no input leads to undefined behaviour,
// for a million of them; elsewhere a sample has to do.
#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kAbsurdMappings = 1'000'000;
#else
constexpr uint64_t kAbsurdMappings = 100'000;
#endif

TEST(MaestroProperty, SurvivesAbsurdMappings) {
  Analyser analyser;
  std::map<Rule, int> seen;
  for (uint64_t i = 0; i < kAbsurdMappings; ++i) {
    const MaestroProblem problem = RandomMaestroProblem(4, i, Taste::kAbsurd);
    const Result<Workload> workload = MakeWorkload(problem.declaration);
    if (!workload) continue;
    Analysis analysis;
    const Violation broken =
        analyser.Run(*workload, problem.array, problem.version, problem.dataflow, analysis);
    ++seen[static_cast<Rule>(broken.rule)];
    if (broken.rule != 0) continue;
    const CostFlags flags = FlagsOf(*workload, problem.array, analysis);
    const Violation strict = CheckStrict(*workload, problem.array, analysis, flags);
    EXPECT_EQ(strict.rule == 0, (flags & CostFlags{CostFlag::kL1, CostFlag::kL2, CostFlag::kRuntime,
                                                   CostFlag::kNegative, CostFlag::kNan,
                                                   CostFlag::kMacs, CostFlag::kAbovePeak})
                                    .empty());
  }
  for (const Rule rule : {Rule::kNone, Rule::kUnknownDimension, Rule::kNoSpatialMap, Rule::kNoUnits,
                          Rule::kOverflow, Rule::kUniqueZero}) {
    EXPECT_GT(seen[rule], 0) << static_cast<int>(rule);
  }
}

}  // namespace
}  // namespace tessera::maestro
