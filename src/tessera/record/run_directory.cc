// Folders of runs.
#include "tessera/record/run_directory.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/file.h"

namespace tessera {

Result<RunDirectory> RunDirectory::Locked(const std::string& path) {
  Result<FolderLock> lock = FolderLock::Take(path);
  if (!lock) return lock.error();
  return RunDirectory(path, *std::move(lock));
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
