// The folder of a run: what was asked for, copies of its inputs, a journal per layer, the result.
//
//   RUN/run.json              settings, enough to do the same again
//   RUN/inputs/               network, accelerator, constraints as they were
//   RUN/journal/001.jsonl     every evaluated point of the first layer, and so on
//   RUN/journal/001.proof.jsonl  what was proved about it, round by round
//   RUN/result.json           written when the run ends
//   RUN/report.html           the same for people
//   RUN/mappings/             the best mapping of every layer in several formats
#ifndef TESSERA_RECORD_RUN_DIRECTORY_H_
#define TESSERA_RECORD_RUN_DIRECTORY_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/base/folder_lock.h"
#include "tessera/result.h"

namespace tessera {

// Holds the folder's lock while it lives, so that two programs cannot write to one run.
class RunDirectory {
 public:
  // Makes the folder for a new run. A folder that already holds a run is an error.
  static Result<RunDirectory> Create(const std::string& path);
  // Opens the folder of an earlier run.
  static Result<RunDirectory> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string JournalFile(size_t layer) const;  // layers count from 0, files from 001
  std::string ProofFile(size_t layer) const;

  // Replaces a file of the run, in a folder that is made if need be.
  Result<void> Write(std::string_view name, std::string_view contents) const;

 private:
  RunDirectory(std::string path, FolderLock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  static Result<RunDirectory> Locked(const std::string& path);

  std::string path_;
  FolderLock lock_;
};

}  // namespace tessera

#endif  // TESSERA_RECORD_RUN_DIRECTORY_H_
