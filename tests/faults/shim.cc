// A machine that fails on demand: preloaded into tessera, it counts the calls that change files and
// from the n-th on lets them fail, or kills the program before the n-th. TESSERA_FAULT says what:
//
//   kill:17     SIGKILL instead of call 17
//   ENOSPC:17   call 17 and all after it fail so; also EIO, EACCES, EMFILE
//   cut:17      a power cut instead of call 17, or at the end of a program that makes fewer: what
//   was
//               not synced is lost (disk.h)
//   tear:17     the same, but names and half of the bytes had reached the disk
//   count       nothing fails
//
// With TESSERA_FAULT_COUNT the number of calls is written to that file at the end. Only files are
// concerned: descriptors 0 to 2 and what is opened for reading stay as they are (but for EMFILE).
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "disk.h"

namespace {

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

enum class Fault { kError, kKill, kCut, kTear };

struct Plan {
  Fault fault = Fault::kError;
  int error = 0;
  long from = 0;  // 0: never
  bool power() const { return from > 0 && (fault == Fault::kCut || fault == Fault::kTear); }
};

Plan ReadPlan() {
  const char* const text = std::getenv("TESSERA_FAULT");
  if (text == nullptr || std::strchr(text, ':') == nullptr) return {};
  const struct {
    const char* name;
    Fault fault;
    int error;
  } kinds[] = {{"kill:", Fault::kKill, 0},        {"cut:", Fault::kCut, 0},
               {"tear:", Fault::kTear, 0},        {"ENOSPC:", Fault::kError, ENOSPC},
               {"EIO:", Fault::kError, EIO},      {"EACCES:", Fault::kError, EACCES},
               {"EMFILE:", Fault::kError, EMFILE}};
  for (const auto& [name, fault, error] : kinds) {
    const size_t length = std::strlen(name);
    if (std::strncmp(text, name, length) == 0) return {fault, error, std::atol(text + length)};
  }
  return {};
}

const Plan& ThePlan() {
  static const Plan plan = ReadPlan();
  return plan;
}

std::atomic<long> g_calls = 0;

// Never destroyed: other threads may write until the very end.
faults::Disk& TheDisk() {
  static faults::Disk* const disk = new faults::Disk;
  return *disk;
}

void CutPower() {
  TheDisk().Cut(ThePlan().fault == Fault::kCut ? faults::Loss::kAll : faults::Loss::kBytes);
}

struct CountWriter {
  ~CountWriter() {
    if (ThePlan().power()) CutPower();
    const char* const path = std::getenv("TESSERA_FAULT_COUNT");
    if (path == nullptr) return;
    const int fd = Next<int (*)(const char*, int, ...)>("open")(path, O_WRONLY | O_CREAT, 0644);
    char text[32];
    const int length = std::snprintf(text, sizeof(text), "%ld\n", g_calls.load());
    [[maybe_unused]] const ssize_t put =
        Next<ssize_t (*)(int, const void*, size_t)>("write")(fd, text, static_cast<size_t>(length));
  }
} g_count_writer;

// Whether this call is to fail; errno is set.
bool Fails() {
  const long call = ++g_calls;
  const Plan& plan = ThePlan();
  if (plan.from == 0 || call < plan.from) return false;
  if (plan.power()) CutPower();
  if (plan.fault != Fault::kError) ::kill(::getpid(), SIGKILL);
  errno = plan.error;
  return true;
}

bool FailsToOpen(const char* path, int flags) {
  const bool writes = (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
  const bool ours = std::strncmp(path, "/dev/", 5) != 0 && std::strncmp(path, "/proc/", 6) != 0;
  return ours && (writes || ThePlan().error == EMFILE) && Fails();
}

bool Exists(const char* path) {
  struct stat info {};
  return ::lstat(path, &info) == 0;
}

// Opens a file by `call`; a new one is a change of its folder, a cut one of its bytes.
template <typename Call>
int Opened(const char* path, int flags, const Call& call) {
  if (FailsToOpen(path, flags)) return -1;
  if (!ThePlan().power() || (flags & (O_CREAT | O_TRUNC)) == 0) return call(flags);
  const bool creates = !Exists(path);
  const int fd = call(flags & ~O_TRUNC);
  if (fd < 0) return fd;
  if (creates) TheDisk().AfterCreate(path);
  if ((flags & O_TRUNC) != 0 && !creates) {
    TheDisk().BeforeWrite(fd);
    Next<int (*)(int, off_t)>("ftruncate")(fd, 0);
  }
  return fd;
}

// A call that changes the bytes of an open file.
template <typename Call>
auto Changed(int fd, const Call& call) -> decltype(call()) {
  if (fd > 2 && Fails()) return -1;
  if (fd > 2 && ThePlan().power()) TheDisk().BeforeWrite(fd);
  return call();
}

template <typename Call>
int Synced(int fd, const Call& call) {
  if (Fails()) return -1;
  const int status = call();
  if (status == 0 && ThePlan().power()) TheDisk().AfterSync(fd);
  return status;
}

// A call that takes a name away, which no full disk keeps from happening.
template <typename Call>
int Removed(const char* path, const Call& call) {
  if (ThePlan().fault != Fault::kError && Fails()) return -1;
  if (ThePlan().power() && Exists(path)) TheDisk().BeforeRemove(path);
  return call();
}

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Opened(path, flags, [&](int how) {
    return Next<int (*)(const char*, int, ...)>("open")(path, how, mode);
  });
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Opened(path, flags, [&](int how) {
    return Next<int (*)(const char*, int, ...)>("open64")(path, how, mode);
  });
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  if (FailsToOpen(path, flags)) return -1;
  return Next<int (*)(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}

ssize_t write(int fd, const void* bytes, size_t count) {
  return Changed(
      fd, [&] { return Next<ssize_t (*)(int, const void*, size_t)>("write")(fd, bytes, count); });
}

ssize_t writev(int fd, const iovec* parts, int count) {
  return Changed(
      fd, [&] { return Next<ssize_t (*)(int, const iovec*, int)>("writev")(fd, parts, count); });
}

int ftruncate(int fd, off_t length) {
  return Changed(fd, [&] { return Next<int (*)(int, off_t)>("ftruncate")(fd, length); });
}

int fsync(int fd) {
  return Synced(fd, [&] { return Next<int (*)(int)>("fsync")(fd); });
}

int fdatasync(int fd) {
  return Synced(fd, [&] { return Next<int (*)(int)>("fdatasync")(fd); });
}

int rename(const char* from, const char* to) {
  if (Fails()) return -1;
  if (ThePlan().power()) TheDisk().BeforeRename(from, to);
  return Next<int (*)(const char*, const char*)>("rename")(from, to);
}

int mkdir(const char* path, mode_t mode) {
  if (Fails()) return -1;
  const int status = Next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
  if (status == 0 && ThePlan().power()) TheDisk().AfterMakeFolder(path);
  return status;
}

int unlink(const char* path) {
  return Removed(path, [&] { return Next<int (*)(const char*)>("unlink")(path); });
}

int remove(const char* path) {
  return Removed(path, [&] { return Next<int (*)(const char*)>("remove")(path); });
}

}  // extern "C"
