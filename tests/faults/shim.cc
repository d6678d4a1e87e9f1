// A machine that fails on demand: preloaded into tessera, it counts the calls that change files and
// from the n-th on lets them fail, or kills the program before the n-th. TESSERA_FAULT says what:
//
//   kill:17     SIGKILL instead of call 17
//   ENOSPC:17   call 17 and all after it fail so; also EIO, EACCES, EMFILE
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

namespace {

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

struct Plan {
  int error = 0;  // 0: kill
  long from = 0;  // 0: never
};

Plan ReadPlan() {
  const char* const text = std::getenv("TESSERA_FAULT");
  if (text == nullptr || std::strchr(text, ':') == nullptr) return {};
  const struct {
    const char* name;
    int error;
  } kinds[] = {
      {"kill:", 0}, {"ENOSPC:", ENOSPC}, {"EIO:", EIO}, {"EACCES:", EACCES}, {"EMFILE:", EMFILE}};
  for (const auto& [name, error] : kinds) {
    const size_t length = std::strlen(name);
    if (std::strncmp(text, name, length) == 0) return {error, std::atol(text + length)};
  }
  return {};
}

const Plan& ThePlan() {
  static const Plan plan = ReadPlan();
  return plan;
}

std::atomic<long> g_calls = 0;

struct CountWriter {
  ~CountWriter() {
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
  if (plan.error == 0) ::kill(::getpid(), SIGKILL);
  errno = plan.error;
  return true;
}

bool FailsToOpen(const char* path, int flags) {
  const bool writes = (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
  const bool ours = std::strncmp(path, "/dev/", 5) != 0 && std::strncmp(path, "/proc/", 6) != 0;
  return ours && (writes || ThePlan().error == EMFILE) && Fails();
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
  if (FailsToOpen(path, flags)) return -1;
  return Next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  if (FailsToOpen(path, flags)) return -1;
  return Next<int (*)(const char*, int, ...)>("open64")(path, flags, mode);
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
  if (fd > 2 && Fails()) return -1;
  return Next<ssize_t (*)(int, const void*, size_t)>("write")(fd, bytes, count);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  if (fd > 2 && Fails()) return -1;
  return Next<ssize_t (*)(int, const iovec*, int)>("writev")(fd, parts, count);
}

int fsync(int fd) {
  if (Fails()) return -1;
  return Next<int (*)(int)>("fsync")(fd);
}

int fdatasync(int fd) {
  if (Fails()) return -1;
  return Next<int (*)(int)>("fdatasync")(fd);
}

int ftruncate(int fd, off_t length) {
  if (Fails()) return -1;
  return Next<int (*)(int, off_t)>("ftruncate")(fd, length);
}

int rename(const char* from, const char* to) {
  if (Fails()) return -1;
  return Next<int (*)(const char*, const char*)>("rename")(from, to);
}

int mkdir(const char* path, mode_t mode) {
  if (Fails()) return -1;
  return Next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}

}  // extern "C"
