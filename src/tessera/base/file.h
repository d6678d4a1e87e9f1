// Files: whole-file reading with limits, and replacement that is all or nothing.
#ifndef TESSERA_BASE_FILE_H_
#define TESSERA_BASE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/part.h"  // IWYU pragma: export
#include "tessera/result.h"

namespace tessera {

// The most bytes that a text input may have.
inline constexpr int64_t kMaxTextBytes = int64_t{64} << 20;

// WriteFileAtomically for contents that come in parts and may be larger than memory. Without Commit
// nothing happens to `path`, and the temporary is removed. Who may read the file is up to the
// umask.
class AtomicFile {
 public:
  // The temporary is UnfinishedName(path, token), for folders with one writer, which then knows
  // what it left behind when it was killed; without a token it has a name that is free.
  static Result<AtomicFile> Create(const std::string& path, std::string_view token = {});
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  Result<void> Append(std::string_view bytes);
  // Everything is written: brings it to the disk. Only Commit may follow, which does it otherwise.
  Result<void> Finish();
  // Makes the file appear under its name; the last call.
  Result<void> Commit();

 private:
  struct State;
  explicit AtomicFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Brings the names of a folder to the disk: new, renamed and removed files. Without it a power cut
// may undo them. Folders that cannot be synced stay as they are.
void SyncFolder(const std::string& folder);

// What a file is called while an AtomicFile with a token writes it.
std::string UnfinishedName(const std::string& path, std::string_view token);

}  // namespace tessera

#endif  // TESSERA_BASE_FILE_H_
