// Claims that were once refuted (golden/refuted, F1 and F2): counts, bounds and proofs that a walk
// or a better mapping showed to be false.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/text.h"
#include "tessera/cost.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cost/loopnest/interpreter.h"
#include "tessera/cost/loopnest/row.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/row.h"

namespace tessera {
namespace {

using loopnest::Semantics;

std::vector<Node> ReadRows(const std::string& name) {
  const Result<std::string> text = ReadFile(TESSERA_SOURCE_DIR "/tests/golden/refuted/" + name);
  EXPECT_TRUE(text) << name;
  std::vector<Node> rows;
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.empty()) continue;
    Result<Node> node = ParseJson(line, name);
    EXPECT_TRUE(node) << node.error();
    rows.push_back(*std::move(node));
  }
  return rows;
}

std::vector<loopnest::Row> ReadMappings(const std::string& name) {
  std::vector<loopnest::Row> rows;
  for (const Node& node : ReadRows(name)) {
    Result<loopnest::Row> row = loopnest::ReadRow(node);
    EXPECT_TRUE(row) << row.error();
    rows.push_back(*std::move(row));
  }
  return rows;
}

// Energy and cycles under Timeloop's semantics; the mapping is accepted.
loopnest::TimeloopResult TimeloopCost(const loopnest::Row& row) {
  const auto setup = loopnest::Prepare(row.problem, *row.machine.hierarchy, Semantics::kTimeloop3);
  EXPECT_TRUE(setup) << setup.error();
  loopnest::Workspace workspace;
  loopnest::Evaluate(*setup, row.mapping, workspace);
  EXPECT_EQ(workspace.timeloop.status, loopnest::TimeloopResult::Status::kOk) << row.id;
  return workspace.timeloop;
}

exact::Progress Solve(const LoopProblem& problem, const Hierarchy& machine,
                      const exact::MapperOptions& options) {
  ThreadPool pool(1);
  const auto mapper = exact::Mapper::Make(problem, machine, options);
  EXPECT_TRUE(mapper) << mapper.error();
  while ((*mapper)->Step(pool)) {
  }
  return (*mapper)->progress();
}

TEST(Refuted, F1ScaledRanksHaveAsManyElementsAsIndices) {
  const std::vector<loopnest::Row> rows = ReadMappings("F1_exact_scaled_single_term.jsonl");
  ASSERT_EQ(rows.size(), 2u);
  for (const loopnest::Row& row : rows) {
    const auto setup = loopnest::Prepare(row.problem, *row.machine.hierarchy, Semantics::kExact);
    ASSERT_TRUE(setup) << setup.error();
    loopnest::Workspace workspace;
    loopnest::Evaluate(*setup, row.mapping, workspace);
    const Interpreted walked = Interpret(row.problem, *row.machine.hierarchy, row.mapping);
    ASSERT_TRUE(walked.error.empty()) << walked.error;
    EXPECT_EQ(workspace.exact.energy, walked.energy) << row.id;
    EXPECT_EQ(workspace.exact.cycles, walked.cycles) << row.id;
  }
}

TEST(Refuted, F1bBoundsOfScaledSumsAreBelowTheMapping) {
  const std::vector<loopnest::Row> rows = ReadMappings("F1b_timeloop3_bound_above_cost.jsonl");
  ASSERT_EQ(rows.size(), 1u);
  for (const Semantics semantics : {Semantics::kTimeloop3, Semantics::kTimeloop4}) {
    const Result<LoopBounds> bounds =
        LowerBounds(rows[0].problem, *rows[0].machine.hierarchy,
                    {.semantics = semantics, .keep = KeepSets(rows[0].mapping)});
    ASSERT_TRUE(bounds) << bounds.error();
    const loopnest::TimeloopResult cost = TimeloopCost(rows[0]);
    EXPECT_LE(bounds->cycles, cost.cycles);
    EXPECT_LE(bounds->energy_pj, cost.energy);
  }
}

TEST(Refuted, F2NoKnownMappingBeatsAnOptimum) {
  const std::vector<loopnest::Row> better = ReadMappings("F2_timeloop3_not_optimal_better.jsonl");
  ASSERT_EQ(better.size(), 6u);
  int compared = 0;
  for (const Node& node : ReadRows("F2_timeloop3_not_optimal_problem.jsonl")) {
    const Result<exact::ProblemRow> row = exact::ReadProblemRow(node);
    ASSERT_TRUE(row) << row.error();
    for (const exact::Goal goal : {exact::Goal::kCycles, exact::Goal::kEnergy, exact::Goal::kEdp}) {
      const exact::Progress progress = Solve(
          row->problem, *row->machine.hierarchy,
          {.goal = goal, .semantics = Semantics::kTimeloop3, .keep = row->keep, .dive_width = 0});
      ASSERT_EQ(progress.status, exact::Status::kOptimal) << row->id;
      for (const loopnest::Row& mapping : better) {
        if (!mapping.id.starts_with(row->id)) continue;
        const loopnest::TimeloopResult cost = TimeloopCost(mapping);
        const exact::Bound known{.energy_pj = cost.energy,
                                 .cycles = static_cast<double>(cost.cycles)};
        EXPECT_LE(progress.best->value, known.Value(goal) * (1 + 1e-9)) << mapping.id;
        EXPECT_LE(progress.bound, known.Value(goal) * (1 + 1e-9)) << mapping.id;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 18);
}

TEST(Refuted, F2NoKnownMappingBeatsAnOptimumOverBypasses) {
  const std::vector<loopnest::Row> better = ReadMappings("F2_timeloop3_bypass_better.jsonl");
  ASSERT_EQ(better.size(), 1u);
  const exact::Progress progress = Solve(better[0].problem, *better[0].machine.hierarchy,
                                         {.goal = exact::Goal::kEnergy,
                                          .semantics = Semantics::kTimeloop3,
                                          .decide_keep = true,
                                          .dive_width = 0});
  ASSERT_EQ(progress.status, exact::Status::kOptimal);
  EXPECT_LE(progress.best->value, TimeloopCost(better[0]).energy * (1 + 1e-9));
}

}  // namespace
}  // namespace tessera
