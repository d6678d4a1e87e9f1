// The flag that everything that waits looks at, and processes that must not outlive us.
#include "tessera/base/stop.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

TEST(Stop, IsRememberedUntilItIsForgotten) {
  ResetStop();
  EXPECT_FALSE(StopRequested());
  EXPECT_FALSE(RequestStop());
  EXPECT_TRUE(StopRequested());
  EXPECT_TRUE(RequestStop());
  ResetStop();
  EXPECT_FALSE(StopRequested());
}

TEST(Stop, EndsAReadThatWaitsForAWriter) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.File("pipe").c_str(), 0600), 0);
  std::jthread asker([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    RequestStop();
  });
  const Result<std::string> read = ReadFile(folder.File("pipe"));
  ResetStop();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kInterrupted);
}

TEST(Stop, LeavesAPipeThatIsFedAlone) {
  const TemporaryFolder folder;
  const std::string pipe = folder.File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&] {
    const int fd = ::open(pipe.c_str(), O_WRONLY);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(::write(fd, "abc", 3), 3);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ::close(fd);
  });
  EXPECT_EQ(*ReadFile(pipe), "abcabc");
}

TEST(Stop, WorkIsLeftOnlyInsideAScope) {
  EXPECT_FALSE(Abandoned());
  int asked = 0;
  const AbandonScope outer([&] { return ++asked > 1; });
  EXPECT_FALSE(Abandoned());
  EXPECT_FALSE(WasAbandoned());
  {
    const AbandonScope inner([] { return true; });
    EXPECT_FALSE(WasAbandoned());  // Nobody asked.
    EXPECT_TRUE(Abandoned());
    EXPECT_TRUE(WasAbandoned());
  }
  EXPECT_FALSE(WasAbandoned());  // What an inner one does not want is nothing to the outer one.
  {
    const AbandonScope inner([] { return false; });
    EXPECT_TRUE(Abandoned());  // What the outer one does not want is not wanted inside either.
  }
  EXPECT_TRUE(Abandoned());
  EXPECT_EQ(asked, 2);  // A yes is remembered.
  std::thread([] { EXPECT_FALSE(Abandoned()); }).join();
}

TEST(Stop, AtOnceKillsTheGroupsThatAreKnown) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::pause();
    ::_exit(0);
  }
  ::setpgid(child, child);
  const ProcessGroup group(child);
  EXPECT_EXIT(StopAtOnce(), testing::ExitedWithCode(kInterruptedExitCode), "");
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace tessera
