// Locks by flock(2).
#include "tessera/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tessera {

Result<FolderLock> FolderLock::Take(const std::string& folder) {
  const std::string file = folder + "/lock";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("cannot open {}: {}", file, std::strerror(errno))};
  }
  FolderLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    // Some network file systems have no locks.
    if (errno != EWOULDBLOCK) {
      return Error{.kind = ErrorKind::kIo,
                   .message = fmt::format("cannot lock {}: {}", file, std::strerror(errno))};
    }
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("{} is in use by another program", folder),
                 .hint = "wait for it, or choose another folder"};
  }
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tessera
