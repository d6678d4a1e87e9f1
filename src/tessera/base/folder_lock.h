// A folder that one program at a time writes to.
#ifndef TESSERA_BASE_FOLDER_LOCK_H_
#define TESSERA_BASE_FOLDER_LOCK_H_

#include <string>

#include "tessera/result.h"

namespace tessera {

// Holds the lock of a folder, its file `lock`, while it lives. The system drops the lock when the
// program ends, however it ends.
class FolderLock {
 public:
  // Takes the lock of an existing folder. A folder that another program holds is an error.
  static Result<FolderLock> Take(const std::string& folder);

  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace tessera

#endif  // TESSERA_BASE_FOLDER_LOCK_H_
