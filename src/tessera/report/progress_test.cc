// Progress with a clock and a terminal of our own, so that every character is known.
#include "tessera/report/progress.h"

#include <sstream>

#include <gtest/gtest.h>

namespace tessera {
namespace {

class ProgressTest : public testing::Test {
 protected:
  ProgressReporter Make(ProgressOptions options = {}) {
    return ProgressReporter(
        stream_, std::move(options), [this] { return now_; }, [this] { return terminal_; });
  }
  // What was written since the last call.
  std::string Written() {
    const std::string text = stream_.str();
    stream_.str("");
    return text;
  }

  std::ostringstream stream_;
  double now_ = 100;
  Terminal terminal_ = {.live = true, .columns = 60, .lines = 24};
};

TEST_F(ProgressTest, RedrawsATableInPlace) {
  ProgressReporter progress = Make({.name_heading = "layer", .quiet_seconds = 0});
  progress.OnProgress(ProgressEvent::kStarted, {.name = "conv1", .budget = 20'000});
  EXPECT_EQ(Written(),
            "\r\x1b[2Klayer   samples  samples/s  ETA\n"
            "\r\x1b[2Kconv1  0/20,000          -    -\n");
  now_ += 1;
  progress.OnProgress(
      ProgressEvent::kImproved,
      {.name = "conv1", .best = 1234567.0, .gap = 0.032, .samples = 5'000, .budget = 20'000});
  EXPECT_EQ(Written(),
            "\x1b[2A"
            "\r\x1b[2Klayer         best   gap       samples  samples/s   ETA\n"
            "\r\x1b[2Kconv1  1.23457e+06  3.2%  5,000/20,000      5,000  0:03\n");
  now_ += 3;
  progress.OnProgress(
      ProgressEvent::kDone,
      {.name = "conv1", .best = 5.0, .gap = 0.0, .samples = 20'000, .budget = 20'000});
  now_ += 10;
  progress.OnProgress(ProgressEvent::kStarted, {.name = "fc"});
  Written();
  now_ += 2;
  progress.OnProgress(ProgressEvent::kAdvanced, {.name = "fc", .samples = 7});
  EXPECT_EQ(Written(),
            "\x1b[3A"
            "\r\x1b[2Klayer  best   gap  trend        samples  samples/s   ETA\n"
            "\r\x1b[2Kconv1     5  0.0%     █▁  20,000/20,000      5,000  done\n"
            "\r\x1b[2Kfc        -     -      -              7        3.5     -\n");
}

TEST_F(ProgressTest, DrawsAtMostTenTimesASecondAndTheLastStateAlways) {
  {
    ProgressReporter progress = Make({.quiet_seconds = 0});
    progress.OnProgress(ProgressEvent::kStarted, {.name = "a"});
    EXPECT_NE(Written(), "");
    now_ += 0.05;
    progress.OnProgress(ProgressEvent::kAdvanced, {.name = "a", .samples = 1});
    EXPECT_EQ(Written(), "");
    now_ += 0.06;
    progress.OnProgress(ProgressEvent::kAdvanced, {.name = "a", .samples = 2});
    EXPECT_NE(Written(), "");
    progress.OnProgress(ProgressEvent::kDone, {.name = "a", .samples = 3});
    EXPECT_EQ(Written(), "");
  }
  EXPECT_NE(Written().find("done"), std::string::npos);  // by the destructor
}

TEST_F(ProgressTest, MakesRoomForOtherText) {
  ProgressReporter progress = Make({.quiet_seconds = 0});
  progress.MakeRoom();
  EXPECT_EQ(Written(), "");
  progress.OnProgress(ProgressEvent::kStarted, {.name = "a"});
  Written();
  progress.MakeRoom();
  EXPECT_EQ(Written(), "\x1b[2A\r\x1b[J");
  progress.OnProgress(ProgressEvent::kAdvanced, {.name = "a", .samples = 1});
  EXPECT_TRUE(Written().starts_with("\r\x1b[2Kname"));
}

TEST_F(ProgressTest, ShortWorkShowsNothing) {
  {
    ProgressReporter progress = Make();
    progress.OnProgress(ProgressEvent::kStarted, {.name = "a"});
    now_ += 0.4;
    progress.OnProgress(ProgressEvent::kDone, {.name = "a"});
  }
  EXPECT_EQ(Written(), "");
}

TEST_F(ProgressTest, StaysWithinTheWindow) {
  terminal_.columns = 20;
  terminal_.lines = 5;
  ProgressReporter progress = Make({.quiet_seconds = 0, .redraw_seconds = 0});
  for (int i = 1; i <= 4; ++i) {
    progress.OnProgress(ProgressEvent::kStarted, {.name = "row " + std::to_string(i)});
  }
  Written();
  progress.OnProgress(ProgressEvent::kAdvanced, {.name = "row 4"});
  EXPECT_EQ(Written(),
            "\x1b[4A"
            "\r\x1b[2Kname   samples  sam\n"
            "\r\x1b[2Krow 3        0     \n"
            "\r\x1b[2Krow 4        0     \n"
            "\r\x1b[2K... and 2 more\n");
}

TEST_F(ProgressTest, WithoutATerminalEveryEventIsALine) {
  terminal_.live = false;
  {
    ProgressReporter progress = Make({.quiet_seconds = 0});
    progress.OnProgress(ProgressEvent::kStarted, {.name = "conv1", .budget = 200});
    now_ += 2;
    progress.OnProgress(ProgressEvent::kAdvanced, {.name = "conv1", .samples = 50, .budget = 200});
    progress.OnProgress(ProgressEvent::kImproved,
                        {.name = "conv1", .best = 1.5, .gap = 0.25, .samples = 100, .budget = 200});
    progress.OnProgress(ProgressEvent::kMilestone, {.name = "conv1", .samples = 150});
    progress.OnProgress(ProgressEvent::kDone, {.name = "conv1", .best = 1.5, .samples = 200});
  }
  EXPECT_EQ(Written(),
            "conv1: started\n"
            "conv1: improved, best 1.5, gap 25.0%, 100/200 samples, 50/s\n"
            "conv1: so far, 150 samples, 75/s\n"
            "conv1: done, best 1.5, 200 samples, 100/s\n");
}

// A proof that raises its bound reports progress, too; the best value is not better for that.
TEST_F(ProgressTest, ImprovedLinesSayWhatImproved) {
  terminal_.live = false;
  {
    ProgressReporter progress = Make({.quiet_seconds = 0});
    now_ += 1;
    progress.OnProgress(ProgressEvent::kImproved, {.name = "conv1", .best = 4, .bound = 1});
    progress.OnProgress(ProgressEvent::kImproved, {.name = "conv1", .best = 4, .bound = 1});
    progress.OnProgress(ProgressEvent::kImproved, {.name = "conv1", .best = 4, .bound = 2});
    progress.OnProgress(ProgressEvent::kImproved, {.name = "conv1", .best = 3, .bound = 2});
  }
  EXPECT_EQ(Written(),
            "conv1: improved, best 4, bound 1\n"
            "conv1: bound raised, best 4, bound 2\n"
            "conv1: improved, best 3, bound 2\n");
}

TEST(ProgressText, RatesAndDurations) {
  EXPECT_EQ(RateText(0, 1), "-");
  EXPECT_EQ(RateText(10, 0), "-");
  EXPECT_EQ(RateText(96'200, 2), "48,100");
  EXPECT_EQ(RateText(7, 2), "3.5");
  EXPECT_EQ(DurationText(1.2), "0:02");
  EXPECT_EQ(DurationText(725), "12:05");
  EXPECT_EQ(DurationText(3723), "1:02:03");
  EXPECT_EQ(DurationText(-3), "0:00");
  EXPECT_EQ(DurationText(1e300), "99:59:59");
}

TEST(ProgressText, ATrendIsDrawnBetweenItsLowestAndItsHighestValue) {
  EXPECT_EQ(Sparkline({}, 10), "");
  EXPECT_EQ(Sparkline({5}, 10), "");
  EXPECT_EQ(Sparkline({100, 10, 1}, 10), "█▅▁");  // logarithmic
  EXPECT_EQ(Sparkline({-1, 0, 1}, 10), "▁▅█");
  EXPECT_EQ(Sparkline({7, 7, 7}, 10), "▁▁▁");
  std::vector<double> many;
  for (int i = 100; i > 0; --i) many.push_back(i);
  EXPECT_EQ(Sparkline(many, 4), "█▇▆▁");
}

}  // namespace
}  // namespace tessera
