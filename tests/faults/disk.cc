// Every call goes to the kernel directly: the functions of libc are the shim's own here.
#include "disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace faults {
namespace {

int OpenRaw(const char* path, int flags) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0666));
}

std::string ReadAll(const std::string& path) {
  std::string bytes;
  const int fd = OpenRaw(path.c_str(), O_RDONLY);
  if (fd < 0) return bytes;
  char chunk[1 << 14];
  for (ssize_t got = 0; (got = ::read(fd, chunk, sizeof(chunk))) > 0;) {
    bytes.append(chunk, static_cast<size_t>(got));
  }
  ::close(fd);
  return bytes;
}

void Put(int fd, const std::string& bytes) {
  ::syscall(SYS_ftruncate, fd, 0);
  ::lseek(fd, 0, SEEK_SET);
  ::syscall(SYS_write, fd, bytes.data(), bytes.size());
}

void PutFile(const std::string& path, const std::string& bytes) {
  const int fd = OpenRaw(path.c_str(), O_WRONLY | O_CREAT);
  Put(fd, bytes);
  ::close(fd);
}

std::string OpenPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool Exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace

void Disk::BeforeWrite(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
  const std::lock_guard guard(mutex_);
  const Inode inode{info.st_dev, info.st_ino};
  if (contents_.contains(inode)) return;
  contents_[inode] = {.fd = ::dup(fd), .bytes = ReadAll(OpenPath(fd))};
}

void Disk::AfterSync(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return;
  const std::lock_guard guard(mutex_);
  const Inode inode{info.st_dev, info.st_ino};
  if (S_ISDIR(info.st_mode)) {
    std::erase_if(names_, [&](const Name& name) { return name.folder == inode; });
  } else if (const auto found = contents_.find(inode); found != contents_.end()) {
    ::close(found->second.fd);
    contents_.erase(found);
  }
}

void Disk::Remember(Name name) {
  struct stat info {};
  if (::stat(FolderOf(name.path).c_str(), &info) != 0) return;
  name.folder = {info.st_dev, info.st_ino};
  const std::lock_guard guard(mutex_);
  names_.push_back(std::move(name));
}

void Disk::AfterCreate(const std::string& path) {
  Remember({.change = Change::kCreated, .path = path, .from = {}, .bytes = {}});
}

void Disk::AfterMakeFolder(const std::string& path) {
  Remember({.change = Change::kFolder, .path = path, .from = {}, .bytes = {}});
}

void Disk::BeforeRename(const std::string& from, const std::string& to) {
  Remember({.change = Change::kRenamed,
            .path = to,
            .from = from,
            .replaced = Exists(to),
            .bytes = ReadAll(to)});
}

void Disk::BeforeRemove(const std::string& path) {
  Remember({.change = Change::kRemoved, .path = path, .from = {}, .bytes = ReadAll(path)});
}

void Disk::Undo(const Name& name) {
  switch (name.change) {
    case Change::kCreated: ::syscall(SYS_unlinkat, AT_FDCWD, name.path.c_str(), 0); break;
    case Change::kFolder: ::syscall(SYS_unlinkat, AT_FDCWD, name.path.c_str(), AT_REMOVEDIR); break;
    case Change::kRenamed:
      ::syscall(SYS_renameat2, AT_FDCWD, name.path.c_str(), AT_FDCWD, name.from.c_str(), 0);
      if (name.replaced) PutFile(name.path, name.bytes);
      break;
    case Change::kRemoved: PutFile(name.path, name.bytes); break;
  }
}

void Disk::Cut(Loss loss) {
  const std::lock_guard guard(mutex_);
  for (auto& [inode, contents] : contents_) {
    std::string left = contents.bytes;
    const std::string now = ReadAll(OpenPath(contents.fd));
    if (loss == Loss::kBytes && now.size() > left.size()) {
      left = now.substr(0, left.size() + (now.size() - left.size()) / 2);
      left.resize(now.size(), '\0');
    }
    Put(contents.fd, left);
  }
  if (loss == Loss::kBytes) return;
  for (auto name = names_.rbegin(); name != names_.rend(); ++name) Undo(*name);
}

}  // namespace faults
