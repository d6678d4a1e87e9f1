// Training logs: files that other programs read, and rows that a resumed run takes back.
#include "tessera/rl/training_log.h"

#include <filesystem>

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
  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(TrainingLogTest, WritesCsvAndJsonLines) {
  TrainingLog log(folder_);
  ASSERT_TRUE(log.Add(Row(100, -3.25)).ok());
  ASSERT_TRUE(log.Add(Row(200, 1.5)).ok());
  ASSERT_TRUE(log.Flush().ok());
  EXPECT_EQ(*ReadFile(folder_ + "/progress.csv"),
            "episodes,env_steps,updates,team_return,team_return_ci95,agent_return,q_loss,p_loss,"
            "entropy,seconds\n"
            "100,2500,0,-3.25,0,0,0,0,0,0.5\n"
            "200,5000,0,1.5,0,0,0,0,0,0.5\n");
  const std::string lines = *ReadFile(folder_ + "/progress.jsonl");
  EXPECT_EQ(Split(lines, '\n').size(), 3u);  // the last one is empty
  EXPECT_TRUE(lines.starts_with("{\"episodes\": 100, \"env_steps\": 2500"));
}

TEST_F(TrainingLogTest, ResumeForgetsRowsAfterTheCheckpoint) {
  TrainingLog log(folder_);
  for (const int64_t episodes : {100, 200, 300}) ASSERT_TRUE(log.Add(Row(episodes, 1)).ok());
  ASSERT_TRUE(log.Flush().ok());
  Result<TrainingLog> resumed = TrainingLog::Resume(folder_, 200);
  ASSERT_TRUE(resumed.ok()) << resumed.error();
  ASSERT_EQ(resumed->rows().size(), 2u);
  ASSERT_TRUE(resumed->Add(Row(300, 2)).ok());
  ASSERT_TRUE(resumed->Flush().ok());
  const std::string csv = *ReadFile(folder_ + "/progress.csv");
  EXPECT_EQ(Split(csv, '\n').size(), 5u) << csv;  // names, three rows, nothing after the last
  EXPECT_TRUE(csv.ends_with("300,7500,0,2,0,0,0,0,0,0.5\n")) << csv;
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
