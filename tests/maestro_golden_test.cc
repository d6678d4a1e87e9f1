// Every golden row of the real MAESTRO program, through the batch format that scripts use.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/batch.h"
#include "tessera/cost/maestro/report.h"

namespace tessera::maestro {
namespace {

using Json = nlohmann::json;

std::string GoldenFile(const std::string& name) {
  const Result<std::string> bytes = ReadFile(TESSERA_SOURCE_DIR "/tests/golden/maestro/" + name);
  EXPECT_TRUE(bytes) << bytes.error();
  return bytes ? *bytes : "";
}

std::vector<std::string> GoldenLines(const std::string& name) {
  const std::string bytes = GoldenFile(name);
  std::vector<std::string> lines;
  for (const std::string_view line : Split(bytes, '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

// A column as MAESTRO prints it, from a number or one of the strings for what is not a number.
std::string Printed(const Json& value) {
  if (value.is_string()) return value == "-nan" ? "nan" : value.get<std::string>();
  if (value.is_number_integer()) return fmt::format("{}", value.get<int64_t>());
  return fmt::format("{:g}", value.get<double>());
}

double Number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return HUGE_VAL;
  if (value == "-inf") return -HUGE_VAL;
  return NAN;
}

bool Close(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

class MaestroGolden : public testing::Test {
 protected:
  MaestroGolden() {
    const Json columns = Json::parse(GoldenFile("columns.json"));
    for (const Json& column : columns["float_columns"]) float_columns_.push_back(column);
  }

  Json Answer(const std::string& line) {
    const Result<std::string> answer = AnswerRow(line, {}, analyser_);
    EXPECT_TRUE(answer) << answer.error();
    return answer ? Json::parse(*answer) : Json();
  }

  bool IsFloat(size_t column) const {
    return std::find(float_columns_.begin(), float_columns_.end(), column) != float_columns_.end();
  }

  // Integers equal, floats equal as printed.
  void ExpectColumns(const Json& out, const Json& golden, const std::string& id) {
    ASSERT_EQ(out.size(), kColumns) << id;
    for (size_t i = 0; i < kColumns; ++i) {
      EXPECT_EQ(out[i].is_number_integer(), !IsFloat(i)) << id << " column " << ColumnNames()[i];
      const std::string expected = IsFloat(i) && golden[i].is_number()
                                       ? fmt::format("{:g}", golden[i].get<double>())
                                       : Printed(golden[i]);
      EXPECT_EQ(Printed(out[i]), expected) << id << " column " << ColumnNames()[i];
    }
  }

  void ExpectRow(const Json& answer, const Json& golden) {
    const std::string id = golden["id"];
    EXPECT_EQ(answer["id"], golden["id"]);
    ASSERT_EQ(answer["status"], golden["status"]) << id << ": " << answer["msg"];
    EXPECT_EQ(answer["msg"] == "", golden["status"] == "ok") << id;
    if (golden["status"] != "ok") {
      const std::string signal = golden["msg"].get<std::string>().substr(0, 6);
      if (golden["status"] == "crash") {
        EXPECT_TRUE(answer["msg"].get<std::string>().starts_with(signal)) << id << answer["msg"];
      }
      return;
    }
    ExpectColumns(answer["out"], golden["out"], id);
    if (golden.contains("hp") && !golden["hp"].is_null()) {
      for (size_t i = 0; i < float_columns_.size(); ++i) {
        EXPECT_TRUE(Close(Number(answer["out"][float_columns_[i]]), Number(golden["hp"][i])))
            << id << " column " << ColumnNames()[float_columns_[i]] << ": "
            << answer["out"][float_columns_[i]] << " " << golden["hp"][i];
      }
    }
    EXPECT_EQ(answer["tens"], golden["tens"]) << id;
    std::set<std::string> flags = answer["flags"];
    flags.erase("tile>dim");  // ours alone
    EXPECT_EQ(flags, golden["flags"].get<std::set<std::string>>()) << id;
  }

  void ExpectAllRows(const std::string& file, size_t count) {
    const std::vector<std::string> lines = GoldenLines(file);
    EXPECT_EQ(lines.size(), count);
    for (const std::string& line : lines) ExpectRow(Answer(line), Json::parse(line));
  }

  Analyser analyser_;
  std::vector<size_t> float_columns_;
};

TEST_F(MaestroGolden, ColumnNames) {
  const Json columns = Json::parse(GoldenFile("columns.json"))["columns"];
  for (size_t i = 0; i < kColumns; ++i) EXPECT_EQ(columns[i], ColumnNames()[i]);
}

TEST_F(MaestroGolden, EveryRowOfVersionHead) { ExpectAllRows("train.jsonl.gz", 6364); }

TEST_F(MaestroGolden, EveryRowOfVersionPinned) { ExpectAllRows("pinned_e1d8efd.jsonl.gz", 900); }

TEST_F(MaestroGolden, EveryLayerOfWholeFilesWithEnergyCarryOver) {
  size_t layers = 0;
  for (const std::string& line : GoldenLines("networks.jsonl.gz")) {
    const Json golden = Json::parse(line), answer = Answer(line);
    ASSERT_EQ(answer["status"], "ok") << golden["id"] << answer["msg"];
    ASSERT_EQ(answer["outs"].size(), golden["outs"].size());
    for (size_t i = 0; i < golden["outs"].size(); ++i) {
      const std::string name = golden["layers"][i]["name"];
      ExpectColumns(answer["outs"][i], golden["outs"][i],
                    golden["id"].get<std::string>() + " " + name);
      ++layers;
    }
  }
  EXPECT_EQ(layers, 893u);
}

}  // namespace
}  // namespace tessera::maestro
