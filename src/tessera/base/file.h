// Files: whole-file reading with limits, and replacement that is all or nothing.
#ifndef TESSERA_BASE_FILE_H_
#define TESSERA_BASE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera {

struct ReadLimits {
  // Larger files are refused before anything is read; also the limit on what a .gz may unpack to.
  // Default: 2 GiB - 1, the most that a protobuf message can hold.
  int64_t max_bytes = (int64_t{1} << 31) - 1;
};

// The bytes of a regular file; a gzip file (by its first two bytes) is unpacked. A missing file, a
// directory or a file over the limit is an error of kind kIo that names the path. "-" and pipes
// such as /dev/stdin are read to their end.
Result<std::string> ReadFile(const std::string& path, const ReadLimits& limits = {});

// The most bytes that a text input may have.
inline constexpr int64_t kMaxTextBytes = int64_t{64} << 20;

// Checks that `bytes` can be text: not empty, at most kMaxTextBytes, no UTF-16 or UTF-32 byte order
// mark, no NUL, valid UTF-8. Returns it without a UTF-8 byte order mark and with CRLF turned into
// LF.
Result<std::string> ToText(std::string bytes, const std::string& path);

// ReadFile followed by ToText; larger files are refused before they are read.
Result<std::string> ReadTextFile(const std::string& path);

// Replaces `path` by `contents`: readers see the old file or the new one, never a part, even after
// a crash. The folder must exist. On failure the old file is untouched and no temporary remains.
// `token` as in AtomicFile.
Result<void> WriteFileAtomically(const std::string& path, std::string_view contents,
                                 std::string_view token = {});

// The same for contents that come in parts and may be larger than memory. Without Commit nothing
// happens to `path`, and the temporary is removed. Who may read the file is up to the umask.
class AtomicFile {
 public:
  // The temporary is UnfinishedName(path, token), for folders with one writer, which then knows
  // what it left behind when it was killed; without a token it has a name that is free.
  static Result<AtomicFile> Create(const std::string& path, std::string_view token = {});
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  Result<void> Append(std::string_view bytes);
  // Makes the file appear under its name; the last call.
  Result<void> Commit();

 private:
  struct State;
  explicit AtomicFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What a file is called while an AtomicFile with a token writes it.
std::string UnfinishedName(const std::string& path, std::string_view token);

// "net" of "folder/net.yaml" and of "net.yaml.gz".
std::string FileStem(const std::string& path);

// Makes a folder and its parents; an existing one is fine.
Result<void> MakeFolder(const std::string& path);

}  // namespace tessera

#endif  // TESSERA_BASE_FILE_H_
