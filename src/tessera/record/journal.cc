// Journals on disk.
#include "tessera/record/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

Error IoError(const std::string& path, std::string_view what) {
  return Error{.kind = ErrorKind::kIo,
               .message = fmt::format("cannot {} {}: {}", what, path, std::strerror(errno))};
}

// The text as a JSON string. What is not printable ASCII goes out as \u escapes of its bytes, so
// that a line stays one line whatever a message holds.
std::string JsonString(std::string_view text) {
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

Result<Point> ReadPoint(const Node& node) {
  if (node.kind != Node::Kind::kSequence || node.items.size() > Point::kCapacity) {
    return node.ErrorHere(ErrorKind::kBadValue, "point is not a list of indices");
  }
  Point point(node.items.size());
  for (size_t i = 0; i < node.items.size(); ++i) {
    const Result<int64_t> index = node.items[i].AsInt(0, INT32_MAX);
    if (!index) return index.error();
    point[i] = static_cast<int32_t>(*index);
  }
  return point;
}

Result<Trial> ReadTrial(const Node& node) {
  MapReader reader(node, "journal line");
  if (Result<void> map = reader.Check(); !map) return map.error();
  const Result<const Node*> point_node = reader.Require("point");
  if (!point_node) return point_node.error();
  Result<Point> point = ReadPoint(**point_node);
  if (!point) return point.error();
  Trial trial{.point = *point};
  const std::pair<std::string_view, OutcomeKind> reasons[] = {
      {"infeasible", OutcomeKind::kInfeasible}, {"failed", OutcomeKind::kFailed}};
  for (const auto& [key, kind] : reasons) {
    const Node* why = reader.Find(key);
    if (why == nullptr) continue;
    trial.outcome = {.kind = kind, .why = why->scalar};
    if (const Node* excess = reader.Find("excess")) {
      const Result<double> value = excess->AsDouble();
      if (!value) return value.error();
      trial.outcome.excess = *value;
    }
    if (Result<void> done = reader.Finish(); !done) return done.error();
    return trial;
  }
  trial.outcome.kind = OutcomeKind::kFeasible;
  const std::pair<std::string_view, double*> numbers[] = {{"value", &trial.outcome.value},
                                                          {"cycles", &trial.outcome.cycles},
                                                          {"energy_pj", &trial.outcome.energy_pj},
                                                          {"power_mw", &trial.outcome.power_mw},
                                                          {"area_um2", &trial.outcome.area_um2}};
  for (const auto& [key, target] : numbers) {
    const Result<const Node*> number = reader.Require(key);
    if (!number) return number.error();
    const Result<double> value = (*number)->AsDouble();
    if (!value) return value.error();
    *target = *value;
  }
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return trial;
}

}  // namespace

std::string JournalLine(const Trial& trial) {
  const Outcome& outcome = trial.outcome;
  const std::string point = fmt::format("{}", fmt::join(trial.point.indices(), ","));
  switch (outcome.kind) {
    case OutcomeKind::kFeasible: break;
    case OutcomeKind::kInfeasible:
      return fmt::format("{{\"point\":[{}],\"infeasible\":{}{}}}\n", point, JsonString(outcome.why),
                         outcome.excess > 0 ? fmt::format(",\"excess\":{}", outcome.excess) : "");
    case OutcomeKind::kFailed:
      return fmt::format("{{\"point\":[{}],\"failed\":{}}}\n", point, JsonString(outcome.why));
  }
  // The shortest digits that read back as the same double.
  return fmt::format(
      "{{\"point\":[{}],\"value\":{},\"cycles\":{},\"energy_pj\":{},\"power_mw\":{},"
      "\"area_um2\":{}}}\n",
      point, outcome.value, outcome.cycles, outcome.energy_pj, outcome.power_mw, outcome.area_um2);
}

std::vector<std::string_view> JournalText::lines() const {
  std::vector<std::string_view> all;
  for (size_t begin = 0; begin < whole.size();) {
    const size_t end = whole.find('\n', begin);
    all.push_back(std::string_view(whole).substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

Result<JournalText> ReadJournalText(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) || std::filesystem::file_size(path, ignored) == 0) {
    return JournalText{};
  }
  Result<std::string> text = ReadFile(path);
  if (!text) return text.error();
  const size_t end = text->rfind('\n');
  const size_t whole = end == std::string::npos ? 0 : end + 1;
  const auto torn_bytes = static_cast<int64_t>(text->size() - whole);
  text->resize(whole);
  return JournalText{.whole = *std::move(text), .torn_bytes = torn_bytes};
}

Result<JournalContents> ReadJournal(const std::string& path) {
  const Result<JournalText> text = ReadJournalText(path);
  if (!text) return text.error();
  JournalContents contents{.bytes = static_cast<int64_t>(text->whole.size()),
                           .torn_bytes = text->torn_bytes};
  int64_t number = 0;
  for (const std::string_view line : text->lines()) {
    const Result<Node> node = ParseJson(line, path, ++number);
    if (!node) return node.error();
    Result<Trial> trial = ReadTrial(*node);
    if (!trial) return trial.error();
    contents.trials.push_back(*std::move(trial));
  }
  return contents;
}

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& path, int64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return IoError(path, "open");
  if (::ftruncate(descriptor, bytes) != 0) {
    const Error error = IoError(path, "cut");
    ::close(descriptor);
    return error;
  }
  return std::unique_ptr<Journal>(new Journal(path, descriptor));
}

Journal::~Journal() { ::close(descriptor_); }

Result<void> Journal::Append(std::span<const Trial> trials) {
  std::string lines;
  for (const Trial& trial : trials) lines += JournalLine(trial);
  return Append(lines);
}

Result<void> Journal::Append(std::string_view lines) {
  std::string_view rest = lines;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return IoError(path_, "write");
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace tessera
