// Temporaries first, names last: what can fail for lack of space is over before anything shows.
#include "tessera/base/file_set.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// "out" of "out/", whose neighbours are beside it and not in it.
std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

FileSet::Unfinished::~Unfinished() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

Result<FileSet> FileSet::Open(const std::string& folder) {
  FileSet set(WithoutSlash(folder));
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(set.folder_, ignored))) {
    const std::string beside = UnfinishedName(set.folder_, fmt::format("{}-set", ::getpid()));
    if (Result<void> made = MakeFolder(beside); !made) return made.error();
    set.unfinished_.reset(new Unfinished{beside});
    return set;
  }
  if (Result<void> made = MakeFolder(folder); !made) return made.error();
  if (!fs::exists(fs::path(folder) / "lock", ignored)) return set;
  Result<FolderLock> lock = FolderLock::Take(folder);
  if (!lock) return lock.error();
  set.lock_.emplace(std::move(*lock));
  return set;
}

Result<void> FileSet::Add(const std::string& name, std::string_view contents) {
  const std::string path = (fs::path(unfinished_ ? unfinished_->path : folder_) / name).string();
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
  if (!unfinished_) return {};
  std::error_code failure;
  fs::rename(unfinished_->path, folder_, failure);
  if (failure) {
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("cannot make the folder: {}", failure.message()),
                 .where = {.file = folder_}};
  }
  SyncFolder(FolderOf(folder_));
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
