// Files of a folder that belong together, such as programs and their manifest: all of them appear,
// or none does, so that a full disk never leaves half a result that looks like a whole one. A
// folder that does not exist yet appears with all of its files in it, whatever ends the program; in
// one that does, a kill between two names may leave some.
#ifndef TESSERA_BASE_FILE_SET_H_
#define TESSERA_BASE_FILE_SET_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/base/folder_lock.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// Without Commit nothing changes in the folder.
class FileSet {
 public:
  // A folder that cannot be made, or that a run is writing to, is an error.
  static Result<FileSet> Open(const std::string& folder);

  // Writes a file under a temporary name; `name` may be in a folder of the folder that exists.
  Result<void> Add(const std::string& name, std::string_view contents);

  // Gives all files their names; the last call. If one cannot have its name, those that are new
  // are taken back.
  Result<void> Commit();

 private:
  struct Entry {
    std::string path;
    AtomicFile file;
  };
  // A folder under a temporary name, removed with all that is in it.
  struct Unfinished {
    std::string path;
    ~Unfinished();
  };
  explicit FileSet(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::unique_ptr<Unfinished> unfinished_;  // null: the folder exists
  std::optional<FolderLock> lock_;
  std::vector<Entry> entries_;
};

}  // namespace tessera

#endif  // TESSERA_BASE_FILE_SET_H_
