// Model `maestro`: the worked example, units, area formulas, legality and what its CSV looks like.
#include "tessera/cost/maestro/maestro.h"

#include <string>

#include <gtest/gtest.h>

#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/report.h"

namespace tessera::maestro {
namespace {

using enum DataflowDim;

Dataflow Parse(std::string_view text) {
  const Result<Dataflow> dataflow = ParseDataflow(text);
  EXPECT_TRUE(dataflow) << dataflow.error();
  return dataflow ? *dataflow : Dataflow();
}

// The worked example of docs/cost-maestro.md.
const Declaration kDeclaration = {.dims = {{kK, 6}, {kC, 4}, {kR, 3}, {kS, 3}, {kY, 8}, {kX, 8}}};
const PeArray kArray = {.num_pes = 8,
                        .noc_elements_per_cycle = 4,
                        .noc_hop_latency_cycles = 1,
                        .offchip_elements_per_cycle = 16};
constexpr std::string_view kExample =
    "SpatialMap(1,1) K; TemporalMap(4,4) C; TemporalMap(3,3) R; TemporalMap(3,3) S;"
    "TemporalMap(3,1) Y; TemporalMap(8,6) X; Cluster(2,P);"
    "SpatialMap(2,2) C; TemporalMap(3,1) Y; TemporalMap(3,1) X; TemporalMap(3,3) R;"
    "TemporalMap(3,3) S;";

TEST(Maestro, WorkedExample) {
  const Result<Workload> workload = MakeWorkload(kDeclaration);
  ASSERT_TRUE(workload) << workload.error();
  Analyser analyser;
  Analysis analysis;
  const Violation broken =
      analyser.Run(*workload, kArray, MaestroVersion::kHead, Parse(kExample), analysis);
  ASSERT_EQ(broken.rule, 0) << Describe(broken);
  EXPECT_EQ(analysis.cycles, 1572);
  EXPECT_EQ(analysis.macs, 7776);
  EXPECT_EQ(analysis.l2_required, (std::array<int64_t, 3>{192, 288, 48}));
  EXPECT_EQ(analysis.l1_required, (std::array<int64_t, 3>{36, 36, 18}));
  EXPECT_NEAR(CsvEnergyNj(analysis, nullptr), 5.649996, 1e-12);
  EXPECT_EQ(analysis.offchip_required, 1);
  EXPECT_EQ(analysis.noc_average, 0.25);
  EXPECT_EQ(analysis.busy_units, 6);
}

TEST(Maestro, RecordHoldsEveryCaseOfTheWorkedExample) {
  const Result<Workload> workload = MakeWorkload(kDeclaration);
  ASSERT_TRUE(workload);
  Analyser analyser;
  Analysis analysis, plain;
  Record record;
  const Dataflow dataflow = Parse(kExample);
  analyser.Run(*workload, kArray, MaestroVersion::kHead, dataflow, plain);
  analyser.Run(*workload, kArray, MaestroVersion::kHead, dataflow, analysis, &record);
  EXPECT_EQ(analysis.cycles, plain.cycles);
  ASSERT_EQ(record.levels.size(), 2u);
  EXPECT_EQ(record.levels[0].units, 4);
  EXPECT_EQ(record.levels[0].edge_units, 2);
  ASSERT_EQ(record.visits.size(), 2u);  // the level below, then the top

  const VisitRecord& below = record.visits[0];
  EXPECT_EQ(below.level, 1u);
  EXPECT_EQ(below.cycles, 126);
  ASSERT_EQ(below.cases.size(), 2u);
  EXPECT_EQ(below.cases[0].cycles.all, 36);
  EXPECT_EQ(below.cases[1].occurrences, 5);
  EXPECT_EQ(below.cases[1].cycles.all, 18);

  const VisitRecord& top = record.visits[1];
  ASSERT_EQ(top.cases.size(), 4u);
  const int64_t expected[4][5] = {// occurrences, input, filter, output, cycles
                                  {1, 96, 144, 24, 186},
                                  {5, 32, 0, 12, 126},
                                  {1, 0, 72, 12, 126},
                                  {5, 32, 0, 24, 126}};
  for (size_t i = 0; i < 4; ++i) {
    const CaseRecord& c = top.cases[i];
    EXPECT_EQ(c.occurrences, expected[i][0]) << i;
    EXPECT_EQ(c.volumes.ingress[0], expected[i][1]) << i;
    EXPECT_EQ(c.volumes.ingress[1], expected[i][2]) << i;
    EXPECT_EQ(c.volumes.egress, expected[i][3]) << i;
    EXPECT_EQ(c.cycles.all, expected[i][4]) << i;
  }
}

TEST(Maestro, CostHasTheAnalysisInTesserasUnits) {
  const auto model = MakeMaestroModel(kDeclaration, kArray, {.energy = MaestroEnergy::kLayer});
  ASSERT_TRUE(model) << model.error();
  const Result<Cost> cost = Evaluate(**model, Parse(kExample));
  ASSERT_TRUE(cost) << cost.error();
  EXPECT_EQ(cost->cycles, 1572);
  EXPECT_EQ(cost->utilization, 6.0 / 8);
  ASSERT_EQ(cost->num_levels, 2);
  const LevelAccesses &l1 = cost->levels[0], &l2 = cost->levels[1];
  int64_t l1_sum = 0, l2_sum = 0;
  for (size_t t = 0; t < 3; ++t) {
    l1_sum += l1.reads[t] + l1.writes[t];
    l2_sum += l2.reads[t] + l2.writes[t];
  }
  EXPECT_NEAR(
      cost->energy_pj,
      0.23 * (7776 + 1.68 * static_cast<double>(l1_sum) + 18.61 * static_cast<double>(l2_sum)),
      1e-9);
}

TEST(Maestro, EnergyIsThatOfTheCsvFileByDefault) {
  const auto model = MakeMaestroModel(kDeclaration, kArray, {});
  ASSERT_TRUE(model) << model.error();
  const Result<Cost> cost = Evaluate(**model, Parse(kExample));
  ASSERT_TRUE(cost) << cost.error();
  EXPECT_NEAR(cost->energy_pj, 5649.996, 1e-9);
}

TEST(Maestro, AreaFormulas) {
  Analysis analysis;
  analysis.l1_required = {36, 36, 18};    // 90 elements
  analysis.l2_required = {192, 288, 48};  // 528 elements
  EXPECT_DOUBLE_EQ(AreaUm2(analysis, kArray, MaestroArea::kGamma),
                   8 * 282 + (90 * 8 + 528) * 0.086 * 8);
  EXPECT_DOUBLE_EQ(AreaUm2(analysis, kArray, MaestroArea::kArchGym),
                   8 * 4470 + 1 * 4161.536 + 2 * 4505.1889 * 8);
  EXPECT_DOUBLE_EQ(AreaUm2(analysis, kArray, MaestroArea::kMaestro),
                   8 * (283 + 0.104 * 90) + 0.104 * 528 + 101.7938 * (14.662 * 8 + 28.895) * 4 +
                       395.473 * (1.2886 * 64 + 5.5814 * 8 - 23.711));
}

// Each rule with a mapping that breaks it and what a user reads.
TEST(Maestro, SaysWhichRuleIsBroken) {
  const struct {
    std::string_view dataflow, message;
  } cases[] = {
      {"SpatialMap(1,1) K; Cluster(16,P); SpatialMap(1,1) C;",
       "SIGFPE: clusters of 16 PEs > 8 PEs, so the top level has no units; reduce "
       "the Cluster sizes or add PEs"},
      {"TemporalMap(1,1) K; Cluster(2,P); SpatialMap(1,1) C;",
       "level 0: no SpatialMap, but every level needs one"},
      {"SpatialMap(1,1) K; Cluster(2,P); SpatialMap(1,1) C; SpatialMap(3,1) Y; SpatialMap(3,1) X;",
       "level 1: 3 SpatialMaps > 2"},
      {"SpatialMap(1,1) K; TemporalMap(3,1) R;",
       "level 0: TemporalMap(3,1) R: size and offset of R must be equal; MAESTRO's older version "
       "(--maestro-version pinned) does not check this"},
      {"SpatialMap(1,1) K; TemporalMap(1,1) S;",
       "level 0: TemporalMap(1,1) S: the size must be the layer's S = 3; MAESTRO's older version "
       "(--maestro-version pinned) does not check this"},
      {"SpatialMap(1,1) K; TemporalMap(1,1) G;",
       "level 0: dimension G not found; the layer has no such dimension"},
      {"SpatialMap(1,1) Y';",
       "undefined: level 0 maps Y' without R, and MAESTRO then reads memory that nobody wrote; map "
       "the kernel in the same level"},
      {"SpatialMap(1,1) K; Cluster(1,P); SpatialMap(1,1) K; Cluster(1,P); SpatialMap(1,1) K;"
       "Cluster(1,P); SpatialMap(1,1) K; Cluster(1,P); SpatialMap(1,1) K;",
       "SIGABRT: 4 Cluster directives > 3"},
  };
  const auto model = MakeMaestroModel(kDeclaration, kArray, {});
  ASSERT_TRUE(model) << model.error();
  for (const auto& [dataflow, message] : cases) {
    const Result<Cost> cost = Evaluate(**model, Parse(dataflow));
    ASSERT_FALSE(cost) << dataflow;
    EXPECT_EQ(ToString(cost.error()), message);
  }
}

TEST(Maestro, StrictLegalityNamesTheRuleAndItsNumbers) {
  PeArray small = kArray;
  small.l1_elements = 80;
  const Dataflow dataflow = Parse(kExample);
  const auto strict = MakeMaestroModel(kDeclaration, small, {});
  ASSERT_TRUE(strict);
  const Result<Cost> refused = Evaluate(**strict, dataflow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInfeasible);
  EXPECT_EQ(refused.error().message, "L1: 90 elements required > 80");

  const auto compat = MakeMaestroModel(kDeclaration, small, {.legality = MaestroLegality::kCompat});
  ASSERT_TRUE(compat);
  const Result<Cost> cost = Evaluate(**compat, dataflow);
  ASSERT_TRUE(cost) << cost.error();
  EXPECT_EQ(cost->flags.Names(), std::vector<std::string_view>{"L1"});
}

TEST(Maestro, HugeSizesAreAnOverflowNotANumber) {
  const auto model = MakeMaestroModel(kDeclaration, kArray, {});
  ASSERT_TRUE(model);
  const Result<Cost> cost =
      Evaluate(**model, Parse("SpatialMap(2147483647,1) K; TemporalMap(2147483647,1) C;"
                              "TemporalMap(2147483647,1) Y; TemporalMap(2147483647,1) X;"));
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.error().kind, ErrorKind::kOverflow);
}

TEST(Maestro, NeedsAPeArray) {
  const auto model = MaestroChoice({})->Make(Layer{}, Accelerator{.name = "none"});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message,
            "model 'maestro' needs a pe_array, but accelerator 'none' has none");
}

TEST(Maestro, CsvRowLooksLikeMaestros) {
  std::array<Column, kColumns> columns;
  columns.fill(int64_t{1});
  columns[5] = 419047413.824041;
  columns[8] = std::numeric_limits<double>::quiet_NaN();
  const std::string row = CsvRow("net", "a", columns);
  EXPECT_EQ(row.substr(0, 40), "net,a,1,1,1,1,1,4.19047e+08,1,1,-nan,1,1");
  // A bare comma up to and after NOC power, the 24th value; from there on a comma and a blank.
  std::string rest = ",1,1";
  for (int i = 0; i < 25; ++i) rest += ", 1";
  EXPECT_TRUE(row.ends_with(rest)) << row;
}

}  // namespace
}  // namespace tessera::maestro
