#include "tessera/cost/external/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "tessera/base/stop.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLastWords = 2000;
constexpr auto kGrace = std::chrono::milliseconds(200);
constexpr size_t kMaxLine = kMaxLineMib << 20;

// A file descriptor that is closed once.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Fd() { Close(); }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct Pipe {
  Fd read, write;
};

bool MakePipe(Pipe& made) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  made = {Fd(ends[0]), Fd(ends[1])};
  return true;
}

// Writing to a program that has ended raises SIGPIPE. It is kept from this thread and thrown away,
// so that the rest of the process, which may want it, never notices.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set_, &old_);
  }
  ~SigpipeGuard() {
    const timespec now{};
    while (sigtimedwait(&set_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }

 private:
  sigset_t set_, old_;
};

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void BecomeProgram(const char* command, const std::array<int, 3>& fds, rlim_t memory,
                                const sigset_t& signals, int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // whatever ends us ends the program
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  bool ok = true;
  for (int i = 0; i < 3; ++i) ok = ok && dup2(fds[static_cast<size_t>(i)], i) == i;
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (memory != RLIM_INFINITY) {
    const rlimit limit{memory, memory};
    ok = ok && setrlimit(RLIMIT_AS, &limit) == 0;
  }
  if (ok) execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(report, &error, sizeof error);
  _exit(127);
}

// The running program and the three streams between it and us.
class Process {
 public:
  // Returns 0 or errno.
  int Start(const std::string& command, int64_t memory_mib) {
    Pipe in, out, err, report;
    if (!MakePipe(in) || !MakePipe(out) || !MakePipe(err) || !MakePipe(report)) return errno;
    const rlim_t memory =
        memory_mib > 0 ? static_cast<rlim_t>(memory_mib) << 20 : rlim_t{RLIM_INFINITY};
    sigset_t none;
    sigemptyset(&none);
    pid_ = fork();
    if (pid_ < 0) return errno;
    if (pid_ == 0) {
      BecomeProgram(command.c_str(), {in.read.get(), out.write.get(), err.write.get()}, memory,
                    none, report.write.get());
    }
    setpgid(pid_, pid_);  // also here: whoever comes first
    group_.emplace(pid_);
    report.write.Close();
    int error = 0;
    if (read(report.read.get(), &error, sizeof error) == sizeof error) {
      waitpid(pid_, nullptr, 0);
      group_.reset();
      return error;
    }
    stdin_ = std::move(in.write);
    stdout_ = std::move(out.read);
    stderr_ = std::move(err.read);
    for (const Fd* fd : {&stdin_, &stdout_, &stderr_}) {
      fcntl(fd->get(), F_SETFL, fcntl(fd->get(), F_GETFL) | O_NONBLOCK);
    }
    return 0;
  }

  // Feeds and listens until stdout ends or no more lines are wanted, and then waits a little for
  // the program to end by itself. Returns how far that went: kExited if there was nothing to object
  // to.
  ProcessEnd::Kind Talk(std::string_view input, double silence_seconds, const LineTaker& line) {
    const auto silence =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(silence_seconds));
    Clock::time_point deadline = Clock::now() + silence;
    if (input.empty()) stdin_.Close();
    while (stdout_.open() && !satisfied_) {
      if (StopRequested()) return ProcessEnd::Kind::kInterrupted;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return ProcessEnd::Kind::kTimedOut;
      // poll() skips negative descriptors, which closed streams have.
      std::array<pollfd, 3> polled = {
          {{stdout_.get(), POLLIN, 0}, {stderr_.get(), POLLIN, 0}, {stdin_.get(), POLLOUT, 0}}};
      const auto wait = static_cast<int>(std::min<int64_t>(left.count(), kStopPollMilliseconds));
      if (poll(polled.data(), polled.size(), wait) < 0) continue;
      if (polled[2].revents != 0) Feed(input);
      if (polled[1].revents != 0) HearLastWords();
      if (polled[0].revents != 0 && HearLines(line)) deadline = Clock::now() + silence;
      if (heard_.size() > kMaxLine) return ProcessEnd::Kind::kEndlessLine;
    }
    const bool ended = WaitUntil(satisfied_ ? Clock::now() + kGrace : deadline);
    return ended || satisfied_ ? ProcessEnd::Kind::kExited : ProcessEnd::Kind::kTimedOut;
  }

  // Ends the program, if it still runs, and everything in its group.
  ProcessEnd End(ProcessEnd::Kind talk) {
    kill(-pid_, SIGKILL);
    while (!ended_ && waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    group_.reset();
    ProcessEnd end{.kind = talk, .last_words = last_words_};
    if (talk != ProcessEnd::Kind::kExited) return end;
    if (WIFSIGNALED(status_)) {
      end.kind = ProcessEnd::Kind::kSignalled;
      end.code = WTERMSIG(status_);
    } else {
      end.code = WEXITSTATUS(status_);
    }
    return end;
  }

 private:
  void Feed(std::string_view& input) {
    const ssize_t written = write(stdin_.get(), input.data(), input.size());
    if (written > 0) input.remove_prefix(static_cast<size_t>(written));
    const bool gone = written < 0 && errno != EAGAIN && errno != EINTR;
    if (gone || input.empty()) stdin_.Close();
  }

  static void Listen(Fd& stream, std::string& heard) {
    char buffer[1 << 16];
    const ssize_t count = read(stream.get(), buffer, sizeof buffer);
    if (count > 0) heard.append(buffer, static_cast<size_t>(count));
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) stream.Close();
  }

  void HearLastWords() {
    Listen(stderr_, last_words_);
    if (last_words_.size() > kLastWords) last_words_.erase(0, last_words_.size() - kLastWords);
  }

  // Whether there was an answer.
  bool HearLines(const LineTaker& line) {
    size_t look_from = heard_.size();  // what was heard before has no line end
    Listen(stdout_, heard_);
    if (!stdout_.open() && !heard_.empty()) heard_ += '\n';
    size_t begin = 0;
    bool answered = false;
    for (size_t end; (end = heard_.find('\n', look_from)) != std::string::npos;) {
      const Heard heard = line(std::string_view(heard_).substr(begin, end - begin));
      answered |= heard != Heard::kNonsense;
      satisfied_ |= heard == Heard::kLastAnswer;
      begin = look_from = end + 1;
    }
    heard_.erase(0, begin);
    return answered;
  }

  // A program that has closed its stdout may take its time to end, but not for ever.
  bool WaitUntil(Clock::time_point deadline) {
    while (Clock::now() < deadline && !StopRequested()) {
      siginfo_t info{};
      if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_) {
        waitpid(pid_, &status_, 0);
        ended_ = true;
        return true;
      }
      pollfd err{stderr_.get(), POLLIN, 0};
      poll(&err, 1, 5);
      if (err.revents != 0) HearLastWords();
    }
    return false;
  }

  pid_t pid_ = -1;
  std::optional<ProcessGroup> group_;  // while it runs
  Fd stdin_, stdout_, stderr_;
  std::string heard_, last_words_;
  int status_ = 0;
  bool ended_ = false, satisfied_ = false;
};

}  // namespace

ProcessEnd RunProcess(const std::string& command, std::string_view input,
                      const ProcessLimits& limits, const LineTaker& line) {
  const SigpipeGuard guard;
  Process process;
  if (const int error = process.Start(command, limits.memory_mib); error != 0) {
    return {.kind = ProcessEnd::Kind::kNotStarted, .code = error};
  }
  return process.End(process.Talk(input, limits.silence_seconds, line));
}

}  // namespace tessera
