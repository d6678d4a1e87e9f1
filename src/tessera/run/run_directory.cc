// Folders of runs.
#include "tessera/run/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/file.h"

namespace tessera {

Result<RunDirectory> RunDirectory::Locked(const std::string& path) {
  const std::string file = path + "/lock";
  const int lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0) {
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("cannot open {}: {}", file, std::strerror(errno))};
  }
  // The system drops the lock when the program ends, however it ends.
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("{} is in use by another program", path),
                 .hint = "wait for it, or choose another folder"};
  }
  RemoveUnfinishedFiles(path);
  return RunDirectory(path, lock);
}

Result<RunDirectory> RunDirectory::Create(const std::string& path) {
  if (Result<void> made = MakeFolder(path + "/journal"); !made) return made.error();
  Result<RunDirectory> directory = Locked(path);
  if (!directory) return directory;
  std::error_code ignored;
  if (std::filesystem::exists(directory->File("run.json"), ignored)) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} already holds a run", path),
                 .hint = fmt::format("continue it with 'tessera resume {}', or choose another "
                                     "folder",
                                     path)};
  }
  return directory;
}

Result<RunDirectory> RunDirectory::Open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path + "/run.json", ignored)) {
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("{} is not the folder of a run: it has no run.json", path),
                 .hint = "runs are made with --out"};
  }
  return Locked(path);
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

std::string RunDirectory::JournalFile(size_t layer) const {
  return File(fmt::format("journal/{:03}.jsonl", layer + 1));
}

std::string RunDirectory::ProofFile(size_t layer) const {
  return File(fmt::format("journal/{:03}.proof.jsonl", layer + 1));
}

Result<void> RunDirectory::Write(std::string_view name, std::string_view contents) const {
  const std::string file = File(name);
  const std::string folder = std::filesystem::path(file).parent_path().string();
  if (Result<void> made = MakeFolder(folder); !made) return made;
  return WriteFileAtomically(file, contents);
}

}  // namespace tessera
