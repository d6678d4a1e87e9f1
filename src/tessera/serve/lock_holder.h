// Who is writing to the folder of a run now. Looks at the system's list of locks and never takes
// one: a run that starts at that moment must find its lock free.
#ifndef TESSERA_SERVE_LOCK_HOLDER_H_
#define TESSERA_SERVE_LOCK_HOLDER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/result.h"

namespace tessera {

// All locks of the system at one moment.
class LockList {
 public:
  static LockList Now();

  // The process that holds the lock of a folder (base/folder_lock.h); 0: one that cannot be seen
  // from here. None: nobody.
  std::optional<pid_t> HolderOf(const std::string& folder) const;

 private:
  struct Lock {
    pid_t holder;
    uint64_t device, inode;
  };
  std::vector<Lock> locks_;
};

// Asks the program that writes to a folder to stop, as Ctrl-C does. Errors: nobody writes to it;
// the one who does is no `tessera` of this user.
Result<void> InterruptHolder(const std::string& folder);

}  // namespace tessera

#endif  // TESSERA_SERVE_LOCK_HOLDER_H_
