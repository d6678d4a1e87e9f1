// A disk that loses its power: what was not synced is gone. The shim tells it of every change
// before or after it is made; Cut turns the files into what a disk would still hold.
//
// The rules are those of POSIX at their strictest: bytes of a file last from its fsync on, and
// names (new, renamed, removed files and folders) from the fsync of their folder on.
#ifndef TESSERA_TESTS_FAULTS_DISK_H_
#define TESSERA_TESTS_FAULTS_DISK_H_

#include <sys/types.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace faults {

// What of unsynced changes a power cut takes.
enum class Loss {
  kAll,    // bytes and names
  kBytes,  // names had reached the disk; of the bytes half had, and zeros stand where the rest was
};

// Threads: any number may call.
class Disk {
 public:
  void BeforeWrite(int fd);  // bytes of an open file are about to change
  void AfterSync(int fd);    // of a file or a folder
  void AfterCreate(const std::string& path);
  void AfterMakeFolder(const std::string& path);
  void BeforeRename(const std::string& from, const std::string& to);
  void BeforeRemove(const std::string& path);
  void Cut(Loss loss);

 private:
  using Inode = std::pair<dev_t, ino_t>;
  struct Contents {
    int fd;             // a copy of the writer's, so that the file can be reached under any name
    std::string bytes;  // as they last
  };
  enum class Change { kCreated, kFolder, kRenamed, kRemoved };
  struct Name {
    Change change;
    std::string path, from;
    bool replaced = false;  // a file of that name went, with these bytes
    std::string bytes;
    Inode folder = {};
  };
  void Remember(Name name);
  static void Undo(const Name& name);

  std::mutex mutex_;
  std::map<Inode, Contents> contents_;
  std::vector<Name> names_;  // in the order in which they were made
};

}  // namespace faults

#endif  // TESSERA_TESTS_FAULTS_DISK_H_
