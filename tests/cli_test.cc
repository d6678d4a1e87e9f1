// Runs every transcript of tests/cli with the real binary (tests/cli/README.md).
#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/temporary_folder.h"
#include "tessera/base/text.h"
#include "transcript.h"
#include "transcript_run.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// One line of a `json` block: "/layers/0/name \"conv1\"", "/layers length 21", "/x absent".
void ExpectJson(const nlohmann::ordered_json& json, const std::string& line) {
  const size_t blank = line.find(' ');
  ASSERT_NE(blank, std::string::npos) << line;
  const nlohmann::ordered_json::json_pointer pointer(line.substr(0, blank));
  const std::string value = line.substr(blank + 1);
  if (value == "absent") {
    EXPECT_FALSE(json.contains(pointer)) << line;
    return;
  }
  ASSERT_TRUE(json.contains(pointer)) << line;
  if (value.starts_with("length ")) {
    EXPECT_EQ(std::to_string(json.at(pointer).size()), value.substr(7)) << line;
    return;
  }
  const auto expected = nlohmann::ordered_json::parse(value, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(expected.is_discarded()) << "not JSON: " << line;
  // As text, so that 64 and 64.0 differ.
  EXPECT_EQ(json.at(pointer).dump(), expected.dump()) << line;
}

void Compare(const Expectation& expectation, const std::string& actual) {
  switch (expectation.how) {
    case Expectation::How::kExactly: {
      std::string expected;
      for (const std::string& line : expectation.lines) expected += line + "\n";
      EXPECT_EQ(actual, expected);
      return;
    }
    case Expectation::How::kHas:
      for (const std::string& line : expectation.lines) {
        EXPECT_NE(actual.find(line), std::string::npos) << "no \"" << line << "\" in:\n" << actual;
      }
      return;
    case Expectation::How::kJson: {
      const auto json = nlohmann::ordered_json::parse(actual, nullptr, /*allow_exceptions=*/false);
      ASSERT_FALSE(json.is_discarded()) << "not JSON:\n" << actual;
      for (const std::string& line : expectation.lines) ExpectJson(json, line);
      return;
    }
    case Expectation::How::kAbsent: return;
  }
}

// Without the lines of progress, which commands print that take longer than a second: how many
// there are depends on the machine.
std::string WithoutProgress(const std::string& err) {
  static const std::regex kProgress(
      "[^\n]*: (started|improved|bound raised|so far|done)(, [^\n]*)?\n");
  return std::regex_replace(err, kProgress, "");
}

void Check(const TranscriptStep& step, const fs::path& folder, const std::string& out,
           const std::string& err) {
  bool tells_stderr = false;
  for (const Expectation& expectation : step.expected) {
    if (expectation.where == Expectation::Where::kFile) {
      const fs::path file = folder / expectation.name;
      SCOPED_TRACE(expectation.name);
      EXPECT_EQ(fs::exists(file), expectation.how != Expectation::How::kAbsent);
      Compare(expectation, Contents(file));
      continue;
    }
    const bool is_stderr = expectation.where == Expectation::Where::kStderr;
    SCOPED_TRACE(is_stderr ? "stderr" : "stdout");
    tells_stderr |= is_stderr;
    Compare(expectation, is_stderr ? err : out);
  }
  if (!tells_stderr) {
    EXPECT_EQ(WithoutProgress(err), "") << "stderr must be empty";
  }
}

class CliTest : public testing::TestWithParam<std::string> {};

TEST_P(CliTest, MatchesTranscript) {
  const Result<std::vector<TranscriptStep>> steps = ReadTranscript(GetParam());
  ASSERT_TRUE(steps) << steps.error();
  const TemporaryFolder folder, outputs;
  for (const TranscriptStep& step : *steps) {
    SCOPED_TRACE(ToString(step.where));
    for (const Prepared& prepared : step.prepared) Prepare(prepared, folder.path());
    const StepResult result = RunStep(step, folder.path(), outputs.path());
    EXPECT_EQ(result.code, step.exit) << "stdout:\n" << result.out << "stderr:\n" << result.err;
    Check(step, folder.path(), result.out, result.err);
  }
}

std::vector<std::string> Transcripts() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(TESSERA_SOURCE_DIR) / "tests/cli")) {
    if (entry.path().extension() == ".test") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

INSTANTIATE_TEST_SUITE_P(, CliTest, testing::ValuesIn(Transcripts()),
                         [](const auto& test) { return fs::path(test.param).stem().string(); });

}  // namespace
}  // namespace tessera
