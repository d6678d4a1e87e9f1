// Runs every command of the docs and compares what it prints (document.h).
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "document.h"
#include "tessera/base/temporary_folder.h"
#include "thorough.h"
#include "transcript_run.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class DocsTest : public testing::TestWithParam<std::string> {};

TEST_P(DocsTest, CommandsDoWhatThePageShows) {
  const Result<std::vector<DocumentStep>> steps = ReadDocument(GetParam());
  ASSERT_TRUE(steps) << steps.error();
  const TemporaryFolder folder, outputs;
  for (const DocumentStep& document : *steps) {
    SCOPED_TRACE(ToString(document.step.where) + ": " + document.step.shell);
    for (const Prepared& prepared : document.step.prepared) Prepare(prepared, folder.path());
    if (document.is_long && Thorough(1, 0) == 0) continue;
    const StepResult result = RunStep(document.step, folder.path(), outputs.path());
    // Progress is for people who wait: it is no part of what a page shows.
    const std::string printed = result.code == 0 ? result.out : result.out + result.err;
    if (document.printed) {
      EXPECT_TRUE(Matches(*document.printed, printed)) << "the page shows:\n"
                                                       << *document.printed << "\nprinted was:\n"
                                                       << printed;
    } else {
      EXPECT_EQ(result.code, 0) << printed;
    }
  }
}

std::vector<std::string> Pages() {
  const fs::path source = TESSERA_SOURCE_DIR;
  std::vector<std::string> pages;
  for (const fs::path& folder : {source, source / "docs", source / "docs/results"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".md") continue;
      const Result<std::vector<DocumentStep>> steps = ReadDocument(entry.path().string());
      if (!steps || !steps->empty()) pages.push_back(entry.path().string());
    }
  }
  std::ranges::sort(pages);
  return pages;
}

INSTANTIATE_TEST_SUITE_P(, DocsTest, testing::ValuesIn(Pages()), [](const auto& test) {
  std::string name = fs::path(test.param).stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(DocumentMatches, ComparesWordsAndLeavesOutTimes) {
  EXPECT_TRUE(Matches("a b\nc", "a  b c\n"));
  EXPECT_FALSE(Matches("a b", "a b c"));
  EXPECT_FALSE(Matches("a b c", "a b"));
  EXPECT_TRUE(Matches("a ... c", "a x y c"));
  EXPECT_TRUE(Matches("a\n...", "a"));
  EXPECT_FALSE(Matches("a ... c", "a x y"));
  EXPECT_TRUE(Matches("done in 1.9 s, 50/s", "done in 12 s, 1,250/s"));
  EXPECT_FALSE(Matches("1.9 pJ", "2.9 pJ"));
}

}  // namespace
}  // namespace tessera
