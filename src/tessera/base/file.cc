// POSIX files and zlib behind the functions of base/file.h.
#include "tessera/base/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/stop.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

// In the names of files that AtomicFile has not committed yet.
constexpr std::string_view kUnfinished = ".unfinished-";

// Closes a descriptor on every way out of a function.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Close() {
    const int status = fd_ >= 0 ? ::close(fd_) : 0;
    fd_ = -1;
    return status;
  }

 private:
  int fd_;
};

Error IoError(const std::string& path, std::string message, std::string hint = "") {
  return Error{.kind = ErrorKind::kIo,
               .message = std::move(message),
               .where = {.file = path},
               .hint = std::move(hint)};
}

Error SystemError(const std::string& path, std::string_view action) {
  return IoError(path, fmt::format("cannot {}: {}", action, std::strerror(errno)));
}

Error TooLarge(const std::string& path, int64_t max_bytes) {
  return IoError(path, fmt::format("larger than the limit of {} bytes", max_bytes));
}

// Returns once there is something to read, at the end of the stream, or when somebody asks to stop.
void WaitForBytes(int fd) {
  pollfd polled{fd, POLLIN, 0};
  while (!StopRequested() && ::poll(&polled, 1, kStopPollMilliseconds) == 0) {
  }
}

Error InterruptedAt(const std::string& path) {
  Error error = Interrupted("reading");
  error.where.file = path;
  return error;
}

Result<std::string> Unpack(const std::string& packed, const std::string& path, int64_t max_bytes) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return IoError(path, "cannot start zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  std::string chunk(size_t{1} << 16, '\0');
  int status = Z_OK;
  while (status == Z_OK && std::ssize(text) <= max_bytes) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk.data(), chunk.size() - stream.avail_out);
    // A gzip file may hold several members one after another (`cat a.gz b.gz`).
    if (status == Z_STREAM_END && stream.avail_in > 0) status = inflateReset(&stream);
  }
  inflateEnd(&stream);
  if (std::ssize(text) > max_bytes) return TooLarge(path, max_bytes);
  if (status != Z_STREAM_END) return IoError(path, "damaged or truncated gzip data");
  return text;
}

Error NotText(const std::string& path, int64_t line, std::string message) {
  return Error{.kind = ErrorKind::kSyntax,
               .message = std::move(message),
               .where = {.file = path, .line = line}};
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, const ReadLimits& limits) {
  // Without O_NONBLOCK a pipe that nobody writes to could not be left.
  Descriptor fd(path == "-" ? ::dup(STDIN_FILENO)
                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    if (errno == ENOENT) return IoError(path, "no such file");
    return SystemError(path, "open");
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return SystemError(path, "inspect");
  if (S_ISDIR(info.st_mode)) return IoError(path, "is a directory, not a file");
  if (info.st_size > limits.max_bytes) return TooLarge(path, limits.max_bytes);
  std::string bytes;
  bytes.reserve(static_cast<size_t>(info.st_size));
  std::string chunk(size_t{1} << 16, '\0');
  while (true) {
    if (!S_ISREG(info.st_mode)) WaitForBytes(fd.get());
    if (StopRequested() && !S_ISREG(info.st_mode)) return InterruptedAt(path);
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return SystemError(path, "read");
    if (got == 0) break;
    bytes.append(chunk.data(), static_cast<size_t>(got));
    if (std::ssize(bytes) > limits.max_bytes) return TooLarge(path, limits.max_bytes);
  }
  const bool packed = bytes.size() > 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
  if (packed) return Unpack(bytes, path, limits.max_bytes);
  return bytes;
}

Result<std::string> ToText(std::string bytes, const std::string& path) {
  if (bytes.empty()) return NotText(path, 0, "the file is empty");
  if (std::ssize(bytes) > kMaxTextBytes) return TooLarge(path, kMaxTextBytes);
  const std::string_view head(bytes);
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) {
    Error error = NotText(path, 1, "the file is UTF-16, not UTF-8");
    error.hint = "convert it: iconv -f UTF-16 -t UTF-8";
    return error;
  }
  if (head.starts_with("\xef\xbb\xbf")) bytes.erase(0, 3);
  std::string text;
  text.reserve(bytes.size());
  int64_t line = 1;
  for (size_t i = 0; i < bytes.size();) {
    const size_t length = Utf8Length(bytes, i);
    if (bytes[i] == '\0' || length == 0) {
      return NotText(path, line, "binary data: this is not a text file in UTF-8");
    }
    if (bytes[i] == '\n') ++line;
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') {
      ++i;
      continue;
    }
    text.append(bytes, i, length);
    i += length;
  }
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return NotText(path, 0, "the file is empty");
  }
  return text;
}

Result<std::string> ReadTextFile(const std::string& path) {
  Result<std::string> bytes = ReadFile(path, {.max_bytes = kMaxTextBytes});
  if (!bytes) return bytes;
  return ToText(std::move(*bytes), path);
}

struct AtomicFile::State {
  std::string path, temporary;
  Descriptor fd;

  ~State() {
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }
};

AtomicFile::AtomicFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;
AtomicFile::~AtomicFile() = default;

std::string UnfinishedName(const std::string& path, std::string_view token) {
  return path + std::string(kUnfinished) + std::string(token);
}

Result<AtomicFile> AtomicFile::Create(const std::string& path, std::string_view token) {
  constexpr mode_t kAll = 0666;  // less what the umask takes away
  constexpr int kFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
  std::string temporary = UnfinishedName(path, token);
  int fd = -1;
  if (!token.empty()) {
    fd = ::open(temporary.c_str(), kFlags | O_TRUNC, kAll);
  } else {
    static std::atomic<int64_t> names = 0;
    do {
      temporary = UnfinishedName(path, fmt::format("{}-{}", ::getpid(), names++));
      fd = ::open(temporary.c_str(), kFlags | O_EXCL, kAll);
    } while (fd < 0 && errno == EEXIST);
  }
  if (fd < 0) return SystemError(path, "write");
  return AtomicFile(std::unique_ptr<State>(new State{path, temporary, Descriptor(fd)}));
}

Result<void> AtomicFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(state_->fd.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return SystemError(state_->path, "write");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::Finish() {
  const bool open = state_->fd.get() >= 0;
  if (open && (::fsync(state_->fd.get()) != 0 || state_->fd.Close() != 0)) {
    return SystemError(state_->path, "write");
  }
  return {};
}

Result<void> AtomicFile::Commit() {
  const std::string& path = state_->path;
  if (Result<void> finished = Finish(); !finished) return finished;
  if (::rename(state_->temporary.c_str(), path.c_str()) != 0) return SystemError(path, "replace");
  state_->temporary.clear();
  SyncFolder(std::filesystem::path(path).parent_path().string());
  return {};
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view contents,
                                 std::string_view token) {
  Result<AtomicFile> file = AtomicFile::Create(path, token);
  if (!file) return file.error();
  if (Result<void> written = file->Append(contents); !written) return written;
  return file->Commit();
}

std::string FileStem(const std::string& path) {
  std::filesystem::path file = std::filesystem::path(path).filename();
  if (file.extension() == ".gz") file = file.stem();
  return file.stem().string();
}

void SyncFolder(const std::string& folder) {
  const Descriptor fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

Result<void> MakeFolder(const std::string& path) {
  std::error_code code;
  // What there is not yet, from the inside out, is what has to be brought to the disk.
  std::vector<std::string> parents;
  for (std::filesystem::path at(path); !at.empty() && !std::filesystem::exists(at, code);
       at = at.parent_path()) {
    parents.push_back(at.parent_path().string());
  }
  code.clear();
  std::filesystem::create_directories(path, code);
  for (const std::string& parent : parents) SyncFolder(parent);
  if (!code && std::filesystem::is_directory(path, code)) return {};
  return IoError(path, fmt::format("cannot make the folder: {}",
                                   code ? code.message() : "a file of that name exists"));
}

}  // namespace tessera
