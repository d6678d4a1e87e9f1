// Journals: what was written is read back, a torn end is left out, anything else is reported.
#include "tessera/record/journal.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

std::vector<Trial> SomeTrials() {
  const int32_t a[] = {1, 2, 3}, b[] = {0, 0, 5039};
  return {{Point(a),
           {.kind = OutcomeKind::kFeasible,
            .value = 1.0 / 3,
            .cycles = 420'000,
            .energy_pj = 1e300,
            .power_mw = 0.1,
            .area_um2 = 5e-324}},
          {Point(b), Outcome::Infeasible("L1 600 <= 512 \"quoted\\\"", 0.1)},
          {Point(a), Outcome::Failed("line\nend and \xc3\xa4")}};
}

class JournalTest : public testing::Test {
 protected:
  void Write(std::string_view text) { std::ofstream(path_) << text; }
  std::string MessageOf(std::string_view text) {
    Write(text);
    const auto contents = ReadJournal(path_);
    std::string message = contents ? "no error" : ToString(contents.error());
    if (message.starts_with(path_)) message.replace(0, path_.size(), "j");
    return message;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.File("journal.jsonl");
};

TEST_F(JournalTest, GivesBackWhatWasAppended) {
  const std::vector<Trial> trials = SomeTrials();
  {
    const auto journal = Journal::Open(path_, 0);
    ASSERT_TRUE(journal) << journal.error();
    ASSERT_TRUE((*journal)->Append(std::span(trials).first(2)));
    ASSERT_TRUE((*journal)->Append(std::span(trials).last(1)));
  }
  const auto contents = ReadJournal(path_);
  ASSERT_TRUE(contents) << contents.error();
  ASSERT_EQ(contents->trials.size(), 3u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(contents->trials[i].point, trials[i].point);
    EXPECT_EQ(contents->trials[i].outcome, trials[i].outcome);
  }
  EXPECT_EQ(contents->trials[2].outcome.kind, OutcomeKind::kFailed);
  EXPECT_EQ(contents->torn_bytes, 0);
  EXPECT_EQ(contents->bytes, static_cast<int64_t>(ReadFile(path_)->size()));
}

TEST_F(JournalTest, LeavesOutATornEndWhereverItIsTorn) {
  std::string text;
  for (const Trial& trial : SomeTrials()) text += JournalLine(trial);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Write(text.substr(0, cut));
    const auto contents = ReadJournal(path_);
    ASSERT_TRUE(contents) << contents.error();
    const auto lines =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(cut), '\n');
    EXPECT_EQ(std::ssize(contents->trials), lines);
    EXPECT_EQ(contents->bytes + contents->torn_bytes, static_cast<int64_t>(cut));
  }
}

TEST_F(JournalTest, GoesOnAfterATornEnd) {
  const std::vector<Trial> trials = SomeTrials();
  Write(JournalLine(trials[0]) + "{\"point\":[1,");
  const auto contents = ReadJournal(path_);
  {
    const auto journal = Journal::Open(path_, contents->bytes);
    ASSERT_TRUE((*journal)->Append(std::span(trials).subspan(1, 1)));
  }
  EXPECT_EQ(*ReadFile(path_), JournalLine(trials[0]) + JournalLine(trials[1]));
}

TEST_F(JournalTest, AMissingFileIsEmpty) {
  const auto contents = ReadJournal(folder_.File("nothing"));
  ASSERT_TRUE(contents) << contents.error();
  EXPECT_TRUE(contents->trials.empty());
}

TEST_F(JournalTest, ReportsDamageInTheMiddle) {
  EXPECT_EQ(MessageOf("{\"point\":[1]}\n"), "j:1: journal line without 'value'");
  EXPECT_EQ(MessageOf("{\"point\":7,\"failed\":\"x\"}\n"), "j:1: point is not a list of indices");
  EXPECT_EQ(MessageOf("{\"point\":[-1],\"failed\":\"x\"}\n"), "j:1: -1 is outside 0..2147483647");
  EXPECT_EQ(MessageOf("garbage\n").substr(0, 4), "j:1:");
}

TEST_F(JournalTest, ReportsAFullDisk) {
  const auto journal = Journal::Open("/dev/full", 0);
  if (!journal) GTEST_SKIP() << "no /dev/full";
  const auto appended = (*journal)->Append(SomeTrials());
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().message, "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace tessera
