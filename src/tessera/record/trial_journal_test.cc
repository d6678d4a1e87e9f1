// Trials in journals: what was written is read back, and what is no trial is reported.
#include "tessera/record/trial_journal.h"

#include <gtest/gtest.h>

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

class TrialJournalTest : public testing::Test {
 protected:
  // What a journal with this one line is told to be.
  std::string MessageOf(const std::string& object) {
    const JournalFile file = {.path = folder_.File("one.jsonl"), .start = "s"};
    {
      const auto journal = LineJournal::Open(file, {});
      EXPECT_TRUE((*journal)->Append(std::vector<std::string>{object}));
    }
    const auto trials = ReadTrials(file);
    std::string message = trials ? "no error" : ToString(trials.error());
    if (message.starts_with(file.path)) message.replace(0, file.path.size(), "j");
    return message;
  }

  TemporaryFolder folder_;
  const JournalFile file_ = {.path = folder_.File("journal.jsonl"), .start = "run/001"};
};

TEST_F(TrialJournalTest, GivesBackWhatWasAppended) {
  const std::vector<Trial> trials = SomeTrials();
  for (const size_t first : {0u, 2u}) {
    auto journal = TrialJournal::Open(file_);
    ASSERT_TRUE(journal) << journal.error();
    EXPECT_EQ(journal->recorded().size(), first);
    ASSERT_TRUE(journal->Append(std::span(trials).subspan(first, first == 0 ? 2 : 1)));
  }
  const auto read = ReadTrials(file_);
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->size(), 3u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*read)[i].point, trials[i].point);
    EXPECT_EQ((*read)[i].outcome, trials[i].outcome);
  }
  EXPECT_EQ((*read)[2].outcome.kind, OutcomeKind::kFailed);
}

TEST_F(TrialJournalTest, ReportsWhatIsNoTrial) {
  EXPECT_EQ(MessageOf("{\"point\":[1]}"), "j:1: journal line without 'value'");
  EXPECT_EQ(MessageOf("{\"point\":7,\"failed\":\"x\"}"), "j:1: point is not a list of indices");
  EXPECT_EQ(MessageOf("{\"point\":[-1],\"failed\":\"x\"}"), "j:1: -1 is outside 0..2147483647");
}

}  // namespace
}  // namespace tessera
