#include "tessera/coopt/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera::coopt {
namespace {

constexpr std::string_view kHead = "tessera cooptimize journal 1: ";

Error Failure(std::string_view what, const std::string& path) {
  return {.kind = ErrorKind::kIo,
          .message = fmt::format("cannot {} {}: {}", what, path, std::strerror(errno))};
}

// "12 3 0.4.1.0.1.1.0.0 492776 1.5e9" or "12 3 0.4.1.0.1.1.0.0 refused REASON".
std::string LineOf(const Measured& item) {
  std::string line = fmt::format("{} {} ", item.request.hardware, item.request.layer);
  for (size_t i = 0; i < item.request.point.size(); ++i) {
    line += fmt::format("{}{}", i == 0 ? "" : ".", item.request.point[i]);
  }
  return item.outcome.valid
             ? fmt::format("{} {} {}\n", line, item.outcome.cycles, item.outcome.energy_pj)
             : fmt::format("{} refused {}\n", line, item.outcome.why);
}

Result<Measured> ParseLine(std::string_view line, const CooptProblem& problem, const Where& where) {
  const Error bad = {.kind = ErrorKind::kSyntax,
                     .message = fmt::format("not a measurement: {}", Quoted(line)),
                     .where = where};
  const std::vector<std::string_view> cells = Split(line, ' ');
  if (cells.size() < 5) return bad;
  const Result<int64_t> hardware = ParseInt(cells[0]), layer = ParseInt(cells[1]);
  if (!hardware || !layer || *hardware < 0 || *layer < 0 ||
      *hardware >= static_cast<int64_t>(problem.hardware().size()) ||
      *layer >= std::ssize(problem.layers())) {
    return bad;
  }
  Measured item = {{static_cast<uint32_t>(*hardware), static_cast<uint32_t>(*layer), {}}, {}};
  const std::vector<std::string_view> indices = Split(cells[2], '.');
  const auto knobs = problem.task(item.request.hardware, item.request.layer).space.decisions();
  if (indices.size() < knobs.size() || indices.size() > item.request.point.size()) return bad;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Result<int64_t> index = ParseInt(indices[i]);
    const int64_t size = i < knobs.size() ? int64_t{knobs[i].size()} : 1;
    if (!index || *index < 0 || *index >= size) return bad;
    item.request.point[i] = static_cast<uint8_t>(*index);
  }
  if (cells[3] == "refused") {
    item.outcome.why = line.substr(static_cast<size_t>(cells[4].data() - line.data()));
    return item;
  }
  const Result<int64_t> cycles = ParseInt(cells[3]);
  const Result<double> energy_pj = ParseDouble(cells[4]);
  if (!cycles || !energy_pj || *cycles < 1) return bad;
  item.outcome = {
      .valid = true,
      .cycles = *cycles,
      .energy_pj = *energy_pj,
      .value = problem.Value(item.request.hardware, item.request.layer, *cycles, *energy_pj)};
  return item;
}

}  // namespace

Result<JournalContents> ReadJournal(const std::string& path, std::string_view settings,
                                    const CooptProblem& problem) {
  const Result<std::string> text = ReadFile(path);
  if (!text) return text.error();
  JournalContents contents;
  std::string_view rest = *text;
  for (int64_t number = 1;; ++number) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    contents.bytes += static_cast<int64_t>(end) + 1;
    if (number == 1) {
      if (line == std::string(kHead) + std::string(settings)) continue;
      return Error{.kind = ErrorKind::kUsage,
                   .message = "the run in the folder has other settings",
                   .where = {path, 1, 0},
                   .hint = "restore the network or hardware file that it was started with"};
    }
    Result<Measured> item = ParseLine(line, problem, {path, number, 0});
    if (!item) return item.error();
    contents.outcomes.insert_or_assign(item->request, item->outcome);
  }
  if (contents.bytes == 0) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = "the journal has no first line",
                 .where = {path, 1, 0}};
  }
  return contents;
}

Result<std::unique_ptr<Journal>> Journal::Create(const std::string& path,
                                                 std::string_view settings) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return Failure("create", path);
  std::unique_ptr<Journal> journal(new Journal(path, descriptor));
  const std::string head = fmt::format("{}{}\n", kHead, settings);
  if (Result<void> written = journal->Write(head); !written) return written.error();
  return journal;
}

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& path, int64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return Failure("open", path);
  std::unique_ptr<Journal> journal(new Journal(path, descriptor));
  // A torn last line is cut off.
  if (::ftruncate(descriptor, bytes) != 0 || ::lseek(descriptor, 0, SEEK_END) < 0) {
    return Failure("cut", path);
  }
  return journal;
}

Journal::~Journal() { ::close(descriptor_); }

Result<void> Journal::Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return Failure("write", path_);
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<void> Journal::Append(std::span<const Measured> measured) {
  std::string text;
  for (const Measured& item : measured) text += LineOf(item);
  return Write(text);
}

}  // namespace tessera::coopt
