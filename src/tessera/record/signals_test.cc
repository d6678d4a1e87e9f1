// Ctrl-C asks once, then ends.
#include "tessera/run.h"

#include <csignal>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Signals, TheFirstAsksAndTheSecondEnds) {
  InstallStopSignals();
  ResetStop();
  EXPECT_FALSE(StopRequested());
  std::raise(SIGINT);
  EXPECT_TRUE(StopRequested());
  EXPECT_EXIT(std::raise(SIGINT), testing::ExitedWithCode(kInterruptedExitCode), "");
  ResetStop();
  EXPECT_FALSE(StopRequested());
  std::raise(SIGTERM);
  EXPECT_TRUE(StopRequested());
  ResetStop();
  RequestStop();
  EXPECT_TRUE(StopRequested());
  ResetStop();
}

TEST(Signals, AClosedTerminalAsksUnlessNohupWasThere) {
  std::signal(SIGHUP, SIG_IGN);
  InstallStopSignals();
  std::raise(SIGHUP);
  EXPECT_FALSE(StopRequested());
  std::signal(SIGHUP, SIG_DFL);
  InstallStopSignals();
  std::raise(SIGHUP);
  EXPECT_TRUE(StopRequested());
  ResetStop();
}

}  // namespace
}  // namespace tessera
