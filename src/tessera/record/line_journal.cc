// Chained lines by POSIX calls.
#include "tessera/record/line_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/sha256.h"
#include "tessera/record/clock.h"

namespace tessera {
namespace {

constexpr double kSecondsBetweenSyncs = 1;
constexpr size_t kSumDigits = 16;
constexpr std::string_view kBeforeSum = ",\"sum\":\"", kAfterSum = "\"}";

Error IoError(const std::string& path, std::string_view what) {
  return Error{.kind = ErrorKind::kIo,
               .message = fmt::format("cannot {} {}: {}", what, path, std::strerror(errno))};
}

std::string SumOf(std::string_view previous, std::string_view object) {
  return Sha256().Add(previous).Add(object).Hex().substr(0, kSumDigits);
}

// The object of a line whose sum follows from the previous one; nothing if it does not.
std::string Checked(std::string_view line, std::string_view previous) {
  constexpr size_t kTail = kBeforeSum.size() + kSumDigits + kAfterSum.size();
  if (line.size() <= kTail) return {};
  const std::string_view tail = line.substr(line.size() - kTail);
  if (!tail.starts_with(kBeforeSum) || !tail.ends_with(kAfterSum)) return {};
  std::string object(line.substr(0, line.size() - kTail));
  object += '}';
  return tail.substr(kBeforeSum.size(), kSumDigits) == SumOf(previous, object) ? object : "";
}

bool IsPacked(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file.get() == 0x1f && file.get() == 0x8b;
}

}  // namespace

void JournalText::Keep(size_t count) {
  lines.resize(count);
  sums.resize(count);
  ends.resize(count);
}

Result<JournalText> ReadJournalText(const JournalFile& file) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(file.path, ignored);
  if (!std::filesystem::exists(status)) return JournalText{};
  if (!std::filesystem::is_regular_file(status)) {
    return Error{.kind = ErrorKind::kIo,
                 .message = "this is not a regular file",
                 .where = {.file = file.path}};
  }
  // It could be read, but what is appended to it would destroy it.
  if (IsPacked(file.path)) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = "the journal was compressed",
                 .where = {.file = file.path},
                 .hint = "unpack it: gzip -d"};
  }
  const Result<std::string> text = ReadFile(file.path);
  if (!text) return text.error();
  const std::string_view whole = std::string_view(*text).substr(0, text->find('\0'));
  JournalText journal;
  std::string_view previous = file.start;
  size_t begin = 0;
  for (size_t end = 0; (end = whole.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    std::string object = Checked(whole.substr(begin, end - begin), previous);
    if (object.empty()) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = "the line is not what was written: its checksum does not fit",
                   .where = {.file = file.path, .line = std::ssize(journal.lines) + 1}};
    }
    journal.sums.push_back(SumOf(previous, object));
    journal.lines.push_back(std::move(object));
    journal.ends.push_back(static_cast<int64_t>(end) + 1);
    previous = journal.sums.back();
  }
  journal.torn_bytes = static_cast<int64_t>(text->size() - begin);
  return journal;
}

LineJournal::LineJournal(std::string path, int descriptor, std::string sum)
    : path_(std::move(path)),
      descriptor_(descriptor),
      sum_(std::move(sum)),
      synced_(SteadySeconds()) {}

Result<std::unique_ptr<LineJournal>> LineJournal::Open(const JournalFile& file,
                                                       const JournalText& known) {
  const int descriptor =
      ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return IoError(file.path, "open");
  if (::ftruncate(descriptor, known.bytes()) != 0) {
    const Error error = IoError(file.path, "cut");
    ::close(descriptor);
    return error;
  }
  // Its lines are synced every second, which is worth nothing if its name is lost.
  SyncFolder(std::filesystem::path(file.path).parent_path().string());
  return std::unique_ptr<LineJournal>(
      new LineJournal(file.path, descriptor, known.sums.empty() ? file.start : known.sums.back()));
}

LineJournal::~LineJournal() {
  if (unsynced_) ::fdatasync(descriptor_);
  ::close(descriptor_);
}

Result<void> LineJournal::Append(std::span<const std::string> objects) {
  std::string text;
  for (const std::string& object : objects) {
    sum_ = SumOf(sum_, object);
    text.append(object, 0, object.size() - 1).append(kBeforeSum).append(sum_).append(kAfterSum);
    text += '\n';
  }
  if (Result<void> written = Write(text); !written) return written;
  unsynced_ = true;
  return SteadySeconds() - synced_ < kSecondsBetweenSyncs ? Result<void>() : Sync();
}

Result<void> LineJournal::Sync() {
  if (!unsynced_) return {};
  // EINVAL: a pipe or a device, which has no disk to be on.
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL) return IoError(path_, "write");
  synced_ = SteadySeconds();
  unsynced_ = false;
  return {};
}

Result<void> LineJournal::Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return IoError(path_, "write");
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

std::string JournalString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte > 0x7e) {
      quoted += fmt::format("\\u{:04x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace tessera
