// The exact mapper against optima that were found by visiting every mapping: rows of
// golden/optimal, each for three objectives, from nothing and from incumbents of two qualities.
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/text.h"
#include "tessera/search/exact/count.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/row.h"

namespace tessera::exact {
namespace {

using Json = nlohmann::json;

struct GoldenRow {
  ProblemRow row;
  Json golden;
};

std::vector<GoldenRow> ReadGolden() {
  const Result<std::string> text =
      ReadFile(TESSERA_SOURCE_DIR "/tests/golden/optimal/train.jsonl.gz");
  EXPECT_TRUE(text);
  std::vector<GoldenRow> rows;
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.empty()) continue;
    const Result<Node> node = ParseJson(line, "train.jsonl");
    EXPECT_TRUE(node);
    Result<ProblemRow> row = ReadProblemRow(*node);
    EXPECT_TRUE(row) << row.error();
    rows.push_back({*std::move(row), Json::parse(line)});
  }
  return rows;
}

constexpr std::pair<Goal, const char*> kGoals[] = {
    {Goal::kCycles, "cycles"}, {Goal::kEnergy, "energy"}, {Goal::kEdp, "edp"}};

// Solves all rows; `start` is how much worse than the optimum the known value is, 0: none.
void CheckAll(double start, int dive_width) {
  ThreadPool pool(1);
  const std::vector<GoldenRow> rows = ReadGolden();
  ASSERT_EQ(rows.size(), 124u);
  for (const GoldenRow& row : rows) {
    for (const auto& [goal, name] : kGoals) {
      const double optimum = row.golden["optimum"][name]["value"];
      MapperOptions options{.goal = goal,
                            .semantics = loopnest::Semantics::kTimeloop3,
                            .keep = row.row.keep,
                            .dive_width = dive_width};
      const auto mapper = Mapper::Make(row.row.problem, *row.row.machine.hierarchy, options);
      ASSERT_TRUE(mapper) << mapper.error();
      if (start > 0) (*mapper)->OfferValue(optimum * start);
      while ((*mapper)->Step(pool)) {
      }
      const Progress progress = (*mapper)->progress();
      EXPECT_EQ(progress.status, Status::kOptimal) << row.row.id << " " << name;
      ASSERT_TRUE(progress.best) << row.row.id << " " << name;
      EXPECT_NEAR(progress.best->value / optimum, 1, 1e-9) << row.row.id << " " << name;
      EXPECT_LE(progress.bound, optimum * (1 + 1e-9)) << row.row.id << " " << name;
    }
  }
}

TEST(ExactGolden, FromNothing) { CheckAll(0, 0); }
TEST(ExactGolden, FromADive) { CheckAll(0, 8); }
TEST(ExactGolden, FromAnIncumbent35PercentWorse) { CheckAll(1.35, 0); }
TEST(ExactGolden, FromAnIncumbentTwiceAsBad) { CheckAll(2, 0); }

TEST(ExactGolden, SpacesHaveAsManyMappings) {
  for (const GoldenRow& row : ReadGolden()) {
    EXPECT_EQ(CountMappings(row.row.problem, *row.row.machine.hierarchy),
              row.golden["space"]["mappings"].get<double>())
        << row.row.id;
  }
}

}  // namespace
}  // namespace tessera::exact
