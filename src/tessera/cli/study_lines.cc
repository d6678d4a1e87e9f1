// Reading of standard input with poll, so that Ctrl-C is noticed at once.
#include "tessera/cli/study_lines.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace tessera {
namespace {

constexpr int kPollMilliseconds = 100;

Error ReadError() {
  return Error{.kind = ErrorKind::kIo,
               .message = std::string("cannot read standard input: ") + std::strerror(errno)};
}

}  // namespace

Result<bool> InputLines::ReadMore() {
  while (true) {
    if (stopped_ && stopped_()) return false;
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&input, 1, kPollMilliseconds);
    if (ready < 0 && errno != EINTR) return ReadError();
    if (ready <= 0) continue;
    std::array<char, 65536> bytes;
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ReadError();
    text_.append(bytes.data(), static_cast<size_t>(count));
    return count > 0;
  }
}

Result<std::optional<std::string>> InputLines::Next() {
  size_t searched = begin_;
  while (true) {
    const size_t end = text_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = text_.substr(begin_, end - begin_);
      begin_ = end + 1;
      return std::optional(std::move(line));
    }
    text_.erase(0, begin_);
    begin_ = 0;
    searched = text_.size();
    const Result<bool> more = ReadMore();
    if (!more) return more.error();
    if (!*more) return std::optional<std::string>();
  }
}

}  // namespace tessera
