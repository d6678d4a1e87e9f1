// Model `loopnest` against rows of timeloop-model (semantics timeloop3 and timeloop4) and of a slow
// interpreter (semantics exact). Every number of every row is compared.
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "loopnest_golden.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cost/loopnest/result_json.h"

namespace tessera::loopnest {
namespace {

using Json = nlohmann::ordered_json;

// Differences between a golden result and ours, as paths.
void Compare(const Json& golden, const Json& ours, const std::string& path, bool exact,
             std::vector<std::string>& differences) {
  const auto differs = [&] {
    differences.push_back(fmt::format("{}: {} but {}", path, golden.dump(), ours.dump()));
  };
  if (golden.is_object()) {
    if (!ours.is_object() || golden.size() != ours.size()) return differs();
    for (const auto& [key, value] : golden.items()) {
      if (!ours.contains(key)) return differences.push_back(path + "/" + key + ": missing");
      Compare(value, ours[key], path + "/" + key, exact, differences);
    }
  } else if (golden.is_array()) {
    if (golden.size() != ours.size()) return differs();
    for (size_t i = 0; i < golden.size(); ++i) {
      Compare(golden[i], ours[i], fmt::format("{}/{}", path, i), exact, differences);
    }
  } else if (golden.is_number_float() && ours.is_number()) {
    const double a = golden, b = ours;
    // The golden files have ingresses with two decimals; everything else of Timeloop has 17 digits.
    const bool printed = path.find("/ingresses/") != std::string::npos;
    const bool same = exact     ? std::abs(a - b) <= 1e-9 * std::abs(a)
                      : printed ? std::abs(a - b) <= 0.00501
                                : std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
    if (!same) differs();
  } else if (golden.is_number() && ours.is_number()) {
    if (golden.get<double>() != ours.get<double>()) differs();
  } else if (golden != ours) {
    differs();
  }
}

void CheckFile(const std::string& name, size_t rows, std::optional<Semantics> semantics = {}) {
  size_t wrong = 0;
  Workspace workspace;
  const size_t checked = ForEachRow(name, [&](const Row& row, std::string_view row_text) {
    const Result<Setup> setup = Prepare(row.problem, *row.machine.hierarchy,
                                        semantics.value_or(row.semantics), row.extrapolate);
    ASSERT_TRUE(setup) << setup.error();
    Evaluate(*setup, row.mapping, workspace);
    const Json golden = Json::parse(row_text).at("result");
    std::vector<std::string> differences;
    Compare(golden, ToJson(*setup, row.mapping, workspace), "", semantics == Semantics::kExact,
            differences);
    wrong += differences.empty() ? 0 : 1;
    if (!differences.empty() && wrong <= 5) {
      ADD_FAILURE() << row.id << ": " << fmt::format("{}", fmt::join(differences, "\n  "));
    }
  });
  EXPECT_EQ(wrong, 0u) << "of " << checked;
  EXPECT_EQ(checked, rows);
}

TEST(LoopnestGolden, TimeloopRows) { CheckFile("timeloop/train.jsonl.gz", 3988); }
TEST(LoopnestGolden, TimeloopOnRandomMachines) { CheckFile("timeloop/fuzz_train.jsonl.gz", 1254); }
TEST(LoopnestGolden, TimeloopBeyondTheFanout) { CheckFile("timeloop/xfan_train.jsonl.gz", 314); }
TEST(LoopnestGolden, TimeloopWithoutExtrapolation) {
  CheckFile("timeloop/noextrap_train.jsonl.gz", 541);
}
TEST(LoopnestGolden, TimeloopWithTheRuleOfVersion4) {
  CheckFile("timeloop/v4rule_train.jsonl.gz", 835);
}
TEST(LoopnestGolden, ExactRows) { CheckFile("exact/train.jsonl.gz", 518, Semantics::kExact); }
TEST(LoopnestGolden, TimeloopWorkedExamples) { CheckFile("timeloop/examples.jsonl", 14); }

}  // namespace
}  // namespace tessera::loopnest
