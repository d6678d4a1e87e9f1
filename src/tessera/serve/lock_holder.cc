// Locks by /proc/locks, signals by file descriptors of processes.
#include "tessera/serve/lock_holder.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// What a link of /proc points to; without the mark of a program that was replaced since.
std::string TargetOf(const std::string& link) {
  std::error_code code;
  std::string target = fs::read_symlink(link, code).string();
  constexpr std::string_view kDeleted = " (deleted)";
  if (target.ends_with(kDeleted)) target.resize(target.size() - kDeleted.size());
  return target;
}

bool HasOpen(pid_t process, const std::string& file) {
  std::error_code code;
  const std::string wanted = fs::canonical(file, code).string();
  if (code) return false;
  fs::directory_iterator at(fmt::format("/proc/{}/fd", process), code);
  for (; !code && at != fs::directory_iterator(); at.increment(code)) {
    if (TargetOf(at->path().string()) == wanted) return true;
  }
  return false;
}

}  // namespace

LockList LockList::Now() {
  LockList list;
  std::ifstream file("/proc/locks");
  // "1: FLOCK  ADVISORY  WRITE 18610 fe:00:9978004 0 EOF"; one that waits has "->" first.
  for (std::string line; std::getline(file, line);) {
    long long holder = 0;
    unsigned major_number = 0, minor_number = 0;
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str(), "%*d: FLOCK %*s WRITE %lld %x:%x:%llu", &holder, &major_number,
                    &minor_number, &inode) != 4) {
      continue;
    }
    list.locks_.push_back({static_cast<pid_t>(holder), makedev(major_number, minor_number), inode});
  }
  return list;
}

std::optional<pid_t> LockList::HolderOf(const std::string& folder) const {
  const std::string file = folder + "/lock";
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  for (const Lock& lock : locks_) {
    if (lock.inode != status.st_ino) continue;
    // File systems on top of others give other numbers for the device than the list has.
    if (lock.device == status.st_dev || HasOpen(lock.holder, file)) return lock.holder;
  }
  return std::nullopt;
}

Result<void> InterruptHolder(const std::string& folder) {
  const std::optional<pid_t> holder = LockList::Now().HolderOf(folder);
  if (!holder) return Error{.kind = ErrorKind::kBadValue, .message = "the run is not going on"};
  // From here on the number cannot become another process's.
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, *holder, 0));
  const bool ours = process >= 0 && HasOpen(*holder, folder + "/lock") &&
                    TargetOf(fmt::format("/proc/{}/exe", *holder)) == TargetOf("/proc/self/exe");
  Result<void> done;
  if (!ours) {
    done = Error{.kind = ErrorKind::kBadValue,
                 .message = "the run goes on in a program that this one may not stop",
                 .hint = "press Ctrl-C where it was started"};
  } else if (::syscall(SYS_pidfd_send_signal, process, SIGINT, nullptr, 0) != 0) {
    done = Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("cannot stop the run: {}", std::strerror(errno))};
  }
  if (process >= 0) ::close(process);
  return done;
}

}  // namespace tessera
