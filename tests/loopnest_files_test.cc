// Timeloop's files: what the real program was given gives its numbers, and what we write of a
// problem, a machine and a mapping means the same when it is read again. Explanations add up.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loopnest_golden.h"
#include "tessera/accelerator.h"
#include "tessera/arch/energy_table.h"
#include "tessera/arch/timeloop_write.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/cost.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cost/loopnest/explain.h"
#include "tessera/cost/loopnest/result_json.h"
#include "tessera/cost/loopnest/row.h"
#include "tessera/cost/loopnest/violation.h"
#include "tessera/cost/loopnest/visits.h"
#include "tessera/mapping/loop_shape.h"
#include "tessera/mapping/timeloop_mapping.h"

namespace tessera::loopnest {
namespace {

std::string ResultOf(const LoopProblem& problem, const Hierarchy& hierarchy,
                     const LoopMapping& mapping, Semantics semantics, bool extrapolate = true) {
  const Result<Setup> setup = Prepare(problem, hierarchy, semantics, extrapolate);
  if (!setup) return ToString(setup.error());
  Workspace workspace;
  Evaluate(*setup, mapping, workspace);
  return ToJson(*setup, mapping, workspace).dump();
}

// A problem, a machine and a mapping from the texts of files.
struct Files {
  std::string problem, machine, ert, mapping;
};

std::string ResultOf(const Files& files, Semantics semantics, bool links, bool extrapolate) {
  const Result<Node> problem_node = ParseDocument(files.problem, "problem.yaml");
  if (!problem_node) return ToString(problem_node.error());
  const Result<LoopProblem> problem = ReadLoopProblem(*problem_node);
  if (!problem) return ToString(problem.error());
  Result<Accelerator> machine = ParseAccelerator(files.machine, "arch.yaml");
  if (!machine) return ToString(machine.error());
  if (!files.ert.empty()) {
    const Result<EnergyTable> table = ParseEnergyTable(*ParseDocument(files.ert, "ert.yaml"));
    if (!table) return ToString(table.error());
    const auto applied = ApplyEnergyTable(*table, *machine);
    if (!applied) return ToString(applied.error());
  }
  machine->hierarchy->links = links;  // which Timeloop's files cannot say
  const Result<Node> mapping_node = ParseDocument(files.mapping, "mapping.yaml");
  if (!mapping_node) return ToString(mapping_node.error());
  const Result<LoopMapping> mapping =
      ReadTimeloopMapping(*mapping_node, *problem, *machine->hierarchy);
  if (!mapping) return ToString(mapping.error());
  return ResultOf(*problem, *machine->hierarchy, *mapping, semantics, extrapolate);
}

TEST(LoopnestFiles, TheFilesOfTheWorkedExamplesGiveTheirNumbers) {
  size_t same = 0;
  ForEachRow("timeloop/examples.jsonl", [&](const Row& row, std::string_view) {
    const std::string path =
        fmt::format("{}/tests/golden/timeloop/examples/{}.yaml", TESSERA_SOURCE_DIR, row.id);
    const std::string text = *ReadFile(path);
    const std::string expected =
        ResultOf(row.problem, *row.machine.hierarchy, row.mapping, Semantics::kTimeloop3);
    EXPECT_EQ(ResultOf({text, text, "", text}, Semantics::kTimeloop3, false, true), expected)
        << path;
    ++same;
  });
  EXPECT_EQ(same, 14u);
}

// Every row, or each of a few, as three files and back, in both spellings.
void CheckRoundTrips(const std::string& file, std::optional<Semantics> semantics, size_t rows,
                     size_t one_of = 1) {
  size_t written = 0, several_outermost = 0, seen = 0;
  const size_t all = ForEachRow(file, [&](const Row& row, std::string_view) {
    if (seen++ % one_of != 0) return;
    const Hierarchy& hierarchy = *row.machine.hierarchy;
    const Semantics rules = semantics.value_or(row.semantics);
    const std::string expected =
        ResultOf(row.problem, hierarchy, row.mapping, rules, row.extrapolate);
    for (const TimeloopVersion version : {TimeloopVersion::k03, TimeloopVersion::k04}) {
      const Result<TimeloopArchitecture> machine = WriteTimeloopArchitecture(row.machine, version);
      if (!machine) {
        EXPECT_GT(hierarchy.levels.back().instances(), 1);
        ++several_outermost;
        continue;
      }
      const Files files{WriteLoopProblem(row.problem, version), machine->text, machine->ert,
                        WriteTimeloopMapping(row.mapping, row.problem, hierarchy)};
      ASSERT_EQ(ResultOf(files, rules, hierarchy.links, row.extrapolate), expected)
          << row.id << "\n"
          << files.problem << files.machine << files.ert << files.mapping;
      ++written;
    }
  });
  EXPECT_EQ(all, rows);
  EXPECT_EQ(written + several_outermost, 2 * ((rows + one_of - 1) / one_of));
  EXPECT_GT(written, rows / one_of);
}

TEST(LoopnestFiles, GoldenRowsSurviveTheWayThroughFiles) {
  CheckRoundTrips("timeloop/fuzz_train.jsonl.gz", std::nullopt, 1254, /*one_of=*/6);
  CheckRoundTrips("exact/train.jsonl.gz", Semantics::kExact, 518, /*one_of=*/2);
}

// The published reference point, and our own semantics beside it.
TEST(LoopnestFiles, EyerissReferencePoint) {
  const std::string text = *ReadFile(TESSERA_SOURCE_DIR "/docs/examples/eyeriss-256.yaml");
  const Node document = *ParseDocument(text, "eyeriss-256.yaml");
  const LoopProblem problem = *ReadLoopProblem(document);
  const Accelerator machine = *ParseAccelerator(text, "eyeriss-256.yaml");
  const LoopMapping mapping = *ReadTimeloopMapping(document, problem, *machine.hierarchy);
  Workspace workspace;
  Evaluate(*Prepare(problem, *machine.hierarchy, Semantics::kTimeloop3), mapping, workspace);
  EXPECT_EQ(workspace.timeloop.cycles, 9'633'792);
  EXPECT_NEAR(workspace.timeloop.energy / 1e6, 11'198.413972, 5e-7);
  Evaluate(*Prepare(problem, *machine.hierarchy, Semantics::kExact), mapping, workspace);
  EXPECT_EQ(workspace.exact.cycles, 9'633'792);
  EXPECT_NEAR(workspace.exact.energy / 1e6, 11'155.299241, 5e-7);
  const LoopBounds bounds = *LowerBounds(problem, *machine.hierarchy, {.keep = KeepSets(mapping)});
  EXPECT_EQ(bounds.cycles, 7'225'344);  // all 256 MACs busy; the mapping uses 192
  EXPECT_LE(bounds.energy_pj, workspace.exact.energy);
}

// The visits that an explanation lists are the words that the evaluation counted in closed form.
TEST(LoopnestExplain, ListedVisitsAddUpToTheCounts) {
  size_t checked = 0;
  ForEachRow("exact/train.jsonl.gz", [&](const Row& row, std::string_view) {
    const loopnest::Setup setup = *Prepare(row.problem, *row.machine.hierarchy, Semantics::kExact);
    Workspace workspace;
    Evaluate(setup, row.mapping, workspace);
    if (ViolationOf(setup, workspace).rule != 0) return;
    EXPECT_FALSE(Explain(setup, row.mapping, workspace).empty());
    for (int v = 0; v < row.problem.num_tensors; ++v) {
      if (row.problem.tensors[static_cast<size_t>(v)].read_write) continue;
      for (int i = 0; i + 1 < row.mapping.num_levels; ++i) {
        // Residual tiles make instances differ, so only perfect nests multiply.
        if (!row.mapping.levels[static_cast<size_t>(i)].Keeps(v)) continue;
        if (!workspace.nest.perfect && workspace.nest.used[i] > 1) continue;
        const auto classes = ClassifyVisits(setup, workspace.nest, v, i);
        ASSERT_TRUE(classes) << row.id;
        int64_t words = 0;
        for (const VisitClass& c : *classes) words += c.times * c.new_words;
        EXPECT_EQ(words * workspace.nest.used[i], workspace.exact.levels[i].tensors[v].fills)
            << row.id << " " << setup.machine.level_names[static_cast<size_t>(i)];
        ++checked;
      }
    }
  });
  EXPECT_GT(checked, 500u);
}

TEST(LoopnestExplain, ListedVisitsAddUpUnderTimeloopsRules) {
  size_t checked = 0;
  for (const char* file : {"timeloop/fuzz_train.jsonl.gz", "timeloop/v4rule_train.jsonl.gz"}) {
    ForEachRow(file, [&](const Row& row, std::string_view) {
      const loopnest::Setup setup = *Prepare(row.problem, *row.machine.hierarchy, row.semantics);
      Workspace workspace;
      Evaluate(setup, row.mapping, workspace);
      if (ViolationOf(setup, workspace).rule != 0) return;
      for (int v = 0; v < row.problem.num_tensors; ++v) {
        for (int i = 1; i < row.mapping.num_levels; ++i) {
          // Where nothing else scales the words: one child, both ends hold the tensor.
          const bool held = row.mapping.levels[static_cast<size_t>(i)].Keeps(v) &&
                            row.mapping.levels[static_cast<size_t>(i - 1)].Keeps(v);
          if (!held || row.problem.tensors[static_cast<size_t>(v)].read_write) continue;
          if (workspace.nest.HasSpatial(i) ||
              workspace.timeloop.levels[i - 1].network[v].link_transfers > 0)
            continue;
          const auto classes = ClassifyVisits(setup, workspace.nest, v, i - 1);
          ASSERT_TRUE(classes) << row.id;
          int64_t words = 0;
          for (const VisitClass& c : *classes) words += c.times * c.new_words;
          EXPECT_EQ(words, static_cast<int64_t>(workspace.timeloop.levels[i - 1].tensors[v].fills))
              << row.id << " " << setup.machine.level_names[static_cast<size_t>(i)];
          ++checked;
        }
      }
    });
  }
  EXPECT_GT(checked, 500u);
}

}  // namespace
}  // namespace tessera::loopnest
