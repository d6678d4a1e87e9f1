#include "transcript_run.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace fs = std::filesystem;

namespace {

// In the child: runs the step in `folder` with its output in files; never returns.
[[noreturn]] void Execute(const TranscriptStep& step, const fs::path& folder, const fs::path& out,
                          const fs::path& err) {
  constexpr int kCannotRun = 127;
  const int in_fd = ::open("/dev/null", O_RDONLY);
  const int out_fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int err_fd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (::chdir(folder.c_str()) != 0 || ::dup2(in_fd, 0) < 0 || ::dup2(out_fd, 1) < 0 ||
      ::dup2(err_fd, 2) < 0) {
    ::_exit(kCannotRun);
  }
  const std::string own_folder = fs::path(TESSERA_BINARY).parent_path().string();
  ::setenv("PATH", fmt::format("{}:{}", own_folder, std::getenv("PATH")).c_str(), 1);
  std::signal(SIGHUP, SIG_DFL);  // what a test under nohup ignores, the program would, too
  std::vector<std::string> words = {"/bin/sh", "-c", step.shell};
  if (step.shell.empty()) {
    words = {TESSERA_BINARY};
    words.insert(words.end(), step.words.begin(), step.words.end());
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(kCannotRun);
}

}  // namespace

std::string Contents(const fs::path& path) {
  if (fs::is_regular_file(path) && fs::file_size(path) == 0) return "";
  const Result<std::string> bytes = ReadFile(path.string());
  return bytes ? *bytes : ToString(bytes.error());
}

void Prepare(const Prepared& prepared, const fs::path& folder) {
  const fs::path target = folder / prepared.name;
  fs::create_directories(target.parent_path());
  switch (prepared.kind) {
    case Prepared::Kind::kFolder: fs::create_directories(target); break;
    case Prepared::Kind::kCopy:
      fs::copy_file(fs::path(TESSERA_SOURCE_DIR) / prepared.contents, target);
      break;
    case Prepared::Kind::kFile: {
      const Result<void> written = WriteFileAtomically(target.string(), prepared.contents);
      ASSERT_TRUE(written) << written.error();
      break;
    }
  }
}

StepResult RunStep(const TranscriptStep& step, const fs::path& folder, const fs::path& outputs) {
  const fs::path out = outputs / "stdout", err = outputs / "stderr";
  const pid_t child = ::fork();
  if (child == 0) Execute(step, folder, out, err);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return {.code = -1};
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = Contents(out),
          .err = Contents(err)};
}

}  // namespace tessera
