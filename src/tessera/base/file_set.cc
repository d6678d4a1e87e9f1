// Temporaries first, names last: what can fail for lack of space is over before anything shows.
#include "tessera/base/file_set.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace tessera {

namespace fs = std::filesystem;

Result<FileSet> FileSet::Open(const std::string& folder) {
  if (Result<void> made = MakeFolder(folder); !made) return made.error();
  FileSet set(folder);
  std::error_code ignored;
  if (!fs::exists(fs::path(folder) / "lock", ignored)) return set;
  Result<FolderLock> lock = FolderLock::Take(folder);
  if (!lock) return lock.error();
  set.lock_.emplace(std::move(*lock));
  return set;
}

Result<void> FileSet::Add(const std::string& name, std::string_view contents) {
  const std::string path = (fs::path(folder_) / name).string();
  Result<AtomicFile> file = AtomicFile::Create(path);
  if (!file) return file.error();
  if (Result<void> written = file->Append(contents); !written) return written;
  if (Result<void> finished = file->Finish(); !finished) return finished;
  entries_.push_back({path, std::move(*file)});
  return {};
}

Result<void> FileSet::Commit() {
  std::vector<std::string> created;
  std::error_code ignored;
  for (Entry& entry : entries_) {
    const bool existed = fs::exists(entry.path, ignored);
    if (Result<void> named = entry.file.Commit(); !named) {
      for (const std::string& path : created) fs::remove(path, ignored);
      return named;
    }
    if (!existed) created.push_back(entry.path);
  }
  return {};
}

Result<void> WriteTogether(const std::string& folder, std::span<const ExportedFile> files) {
  Result<FileSet> set = FileSet::Open(folder);
  if (!set) return set.error();
  for (const ExportedFile& file : files) {
    if (Result<void> added = set->Add(file.name, file.contents); !added) return added;
  }
  return set->Commit();
}

}  // namespace tessera
