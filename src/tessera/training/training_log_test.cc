// Training logs: files that other programs read, and rows that a resumed run takes back.
#include "tessera/training/training_log.h"

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

class TrainingLogTest : public testing::Test {
 protected:
  static TrainingRow Row(int64_t episodes, double team_return) {
    TrainingRow row;
    row.progress.episodes = episodes;
    row.progress.env_steps = 25 * episodes;
    row.progress.team_return = team_return;
    row.seconds = 0.5;
    return row;
  }
  const TemporaryFolder folder_;
  const Result<RunDirectory> run_ =
      RunDirectory::Create(folder_.File("run"), {.kind = "train", .settings = "{}"}, {});
};

TEST_F(TrainingLogTest, WritesCsvAndAJournal) {
  Result<TrainingLog> log = TrainingLog::Open(*run_, 0);
  ASSERT_TRUE(log) << log.error();
  ASSERT_TRUE(log->Add(Row(100, -3.25)));
  ASSERT_TRUE(log->Add(Row(200, 1.5)));
  ASSERT_TRUE(log->Flush());
  EXPECT_EQ(*ReadFile(run_->File("progress.csv")),
            "episodes,env_steps,updates,team_return,team_return_ci95,agent_return,q_loss,p_loss,"
            "entropy\n"
            "100,2500,0,-3.25,0,0,0,0,0\n"
            "200,5000,0,1.5,0,0,0,0,0\n");
  const Result<std::vector<TrainingRow>> rows = ReadTrainingRows(*run_);
  ASSERT_TRUE(rows) << rows.error();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(TrainingLine((*rows)[0]), TrainingLine(Row(100, -3.25)));
}

TEST_F(TrainingLogTest, ForgetsRowsAfterTheCheckpoint) {
  {
    Result<TrainingLog> log = TrainingLog::Open(*run_, 0);
    for (const int64_t episodes : {100, 200, 300}) ASSERT_TRUE(log->Add(Row(episodes, 1)));
  }
  Result<TrainingLog> resumed = TrainingLog::Open(*run_, 200);
  ASSERT_TRUE(resumed) << resumed.error();
  ASSERT_EQ(resumed->rows().size(), 2u);
  ASSERT_TRUE(resumed->Add(Row(300, 2)));
  ASSERT_TRUE(resumed->Flush());
  const std::string csv = *ReadFile(run_->File("progress.csv"));
  EXPECT_EQ(Split(csv, '\n').size(), 5u) << csv;  // names, three rows, nothing after the last
  EXPECT_TRUE(csv.ends_with("300,7500,0,2,0,0,0,0,0\n")) << csv;
}

TEST(TensorBoardEvent, IsAFramedRecord) {
  // The first twelve bytes of every event file that TensorFlow writes: a length of 24 and its
  // masked check sum.
  const std::string record = TensorBoardEvent(0, 0, {});
  EXPECT_EQ(record.substr(0, 12), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12));
  EXPECT_EQ(record.substr(12, 24), std::string("\x09\0\0\0\0\0\0\0\0\x1a\x0d"
                                               "brain.Event:2",
                                               24));
  EXPECT_EQ(record.size(), 40u);
  const std::string scalar = TensorBoardEvent(0, 300, {{"a", 1.0f}});
  EXPECT_EQ(scalar.substr(12 + 9, 3), "\x10\xac\x02") << "step 300 as a varint";
  EXPECT_EQ(scalar.substr(24, 12), std::string("\x2a\x0a\x0a\x08\x0a\x01"
                                               "a\x15\0\0\x80\x3f",
                                               12));
}

}  // namespace
}  // namespace tessera
