// Processes by posix_spawn, in groups of their own: Ctrl-C reaches them through Stop alone.
#include "tessera/serve/children.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/part.h"
#include "tessera/record/clock.h"

namespace tessera {
namespace {

constexpr off_t kMostOutput = 1 << 20;  // bytes of a child's output that are kept
constexpr size_t kLastWords = 2'000;    // of which people see these

std::string EndOf(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  const auto length = static_cast<size_t>(std::min<off_t>(std::max<off_t>(size, 0), kLastWords));
  std::string text(length, '\0');
  const ssize_t got = ::pread(file, text.data(), length, size - static_cast<off_t>(length));
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return PrintableLines(text);
}

Result<pid_t> Spawn(const std::string& program, const std::vector<std::string>& words, int output) {
  std::vector<std::string> all = {"tessera"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  // Connections of clients are not the run's: it would keep them open.
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t process = 0;
  const int failed =
      ::posix_spawn(&process, program.c_str(), &files, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("cannot start {}: {}", program, std::strerror(failed))};
  }
  return process;
}

std::string_view StateOf(bool ended, int exit_code) {
  if (!ended) return "running";
  if (exit_code == 0) return "done";
  return exit_code == kInterruptedExitCode ? "stopped" : "failed";
}

}  // namespace

Result<void> Children::Start(const std::string& name, const std::vector<std::string>& words) {
  if (running() >= kMostRunning) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} runs of this dashboard go on already", running()),
                 .hint = "wait for one, or stop one"};
  }
  // Written by appending, so that cutting it off makes the next words the first ones.
  const int output = ::memfd_create("tessera-run", MFD_CLOEXEC);
  if (output < 0 || ::fcntl(output, F_SETFL, O_APPEND) != 0) {
    if (output >= 0) ::close(output);
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("no room for output: {}", std::strerror(errno))};
  }
  const Result<pid_t> process = Spawn(program_, words, output);
  if (!process) {
    ::close(output);
    return process.error();
  }
  children_.push_back({.name = name, .words = words, .process = *process, .output = output});
  return {};
}

size_t Children::running() const {
  return static_cast<size_t>(
      std::ranges::count_if(children_, [](const Child& child) { return child.process != 0; }));
}

void Children::Reap() {
  for (Child& child : children_) {
    if (child.process == 0) continue;
    int status = 0;
    if (::waitpid(child.process, &status, WNOHANG) != child.process) {
      if (::lseek(child.output, 0, SEEK_END) > kMostOutput) {
        [[maybe_unused]] const int cut = ::ftruncate(child.output, 0);
      }
      continue;
    }
    child.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    child.said = EndOf(child.output);
    ::close(child.output);
    child.process = 0;
  }
  const auto ended = [](const Child& child) { return child.process == 0; };
  while (children_.size() > kMostRemembered) {
    const auto oldest = std::ranges::find_if(children_, ended);
    if (oldest == children_.end()) return;
    children_.erase(oldest);
  }
}

void Children::Stop(double seconds) {
  const double deadline = SteadySeconds() + seconds;
  const auto signal_all = [&](int signal) {
    for (const Child& child : children_) {
      if (child.process != 0) ::kill(child.process, signal);
    }
  };
  signal_all(SIGINT);
  for (Reap(); running() > 0; Reap()) {
    if (SteadySeconds() > deadline) signal_all(SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Json Children::ToJson() const {
  Json json = Json::array();
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    const bool ended = child->process == 0;
    json.push_back({{"name", child->name},
                    {"command", Printable(fmt::format("tessera {}", fmt::join(child->words, " ")))},
                    {"state", StateOf(ended, child->exit_code)},
                    {"exit_code", ended ? Json(child->exit_code) : Json(nullptr)},
                    {"said", child->said}});
  }
  return json;
}

}  // namespace tessera
