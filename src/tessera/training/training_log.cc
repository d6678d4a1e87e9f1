// Rows as lines and CSV, and TensorBoard's record format written by hand: two small protobuf
// messages in frames with CRC-32C, for which a dependency on TensorFlow would be out of proportion.
#include "tessera/training/training_log.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/file.h"
#include "tessera/base/json.h"

namespace tessera {
namespace {

constexpr double kSecondsBetweenWrites = 1;

// CRC-32C (Castagnoli), as TFRecord masks it.
uint32_t MaskedCrc(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
      t[i] = crc;
    }
    return t;
  }();
  uint32_t crc = 0xffffffffu;
  for (const char c : bytes) crc = table[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ crc >> 8;
  crc ^= 0xffffffffu;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

template <typename T>
std::string Raw(T value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::string Varint(uint64_t value) {
  std::string bytes;
  while (value >= 0x80) {
    bytes += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  return bytes += static_cast<char>(value);
}

// Protobuf fields: number and wire type, then the value.
std::string DoubleField(uint32_t number, double value) {
  return Varint(number << 3 | 1) + Raw(value);
}
std::string FloatField(uint32_t number, float value) {
  return Varint(number << 3 | 5) + Raw(value);
}
std::string IntField(uint32_t number, int64_t value) {
  return Varint(number << 3) + Varint(static_cast<uint64_t>(value));
}
std::string BytesField(uint32_t number, std::string_view bytes) {
  return Varint(number << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Shortest text that reads back as the same number; JSON has no NaN.
std::string Number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

}  // namespace

std::string TensorBoardEvent(double wall_time, int64_t step,
                             const std::vector<std::pair<std::string, float>>& scalars) {
  std::string event = DoubleField(1, wall_time);
  if (step != 0) event += IntField(2, step);
  if (scalars.empty()) event += BytesField(3, "brain.Event:2");
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    summary += BytesField(1, BytesField(1, tag) + FloatField(2, value));
  }
  if (!scalars.empty()) event += BytesField(5, summary);
  const std::string length = Raw(static_cast<uint64_t>(event.size()));
  return length + Raw(MaskedCrc(length)) + event + Raw(MaskedCrc(event));
}

std::vector<std::string_view> TrainingColumns() {
  return {"episodes",     "env_steps", "updates", "team_return", "team_return_ci95",
          "agent_return", "q_loss",    "p_loss",  "entropy"};
}

std::vector<double> TrainingValues(const TrainingRow& row) {
  const TrainProgress& p = row.progress;
  return {static_cast<double>(p.episodes),
          static_cast<double>(p.env_steps),
          static_cast<double>(p.updates),
          p.team_return,
          p.team_return_ci95,
          p.agent_return,
          p.losses.q_loss,
          p.losses.p_loss,
          p.losses.entropy};
}

std::string TrainingCsv(const std::vector<TrainingRow>& rows) {
  std::string csv = fmt::format("{}\n", fmt::join(TrainingColumns(), ","));
  for (const TrainingRow& row : rows) {
    csv += fmt::format("{}\n", fmt::join(TrainingValues(row), ","));
  }
  return csv;
}

std::string TrainingLine(const TrainingRow& row) {
  const std::vector<std::string_view> columns = TrainingColumns();
  const std::vector<double> values = TrainingValues(row);
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    line += fmt::format("{}\"{}\":{}", i == 0 ? "{" : ",", columns[i], Number(values[i]));
  }
  return line + "}";
}

namespace {

constexpr std::string_view kJournal = "progress";

Result<TrainingRow> ReadRow(const Node& node) {
  std::vector<double> values;
  for (const std::string_view column : TrainingColumns()) {
    const Node* const value = node.Find(column);
    const bool number = value != nullptr && value->kind == Node::Kind::kScalar;
    const Result<double> parsed = number ? value->AsDouble() : Result<double>(std::nan(""));
    if (!parsed) return parsed.error();
    values.push_back(*parsed);
  }
  for (size_t i = 0; i < 3; ++i) {
    if (values[i] >= 0 && values[i] < 9e15) continue;
    return node.ErrorHere(ErrorKind::kBadValue, "a row counts episodes, steps and updates");
  }
  TrainingRow row;
  row.progress.episodes = static_cast<int64_t>(values[0]);
  row.progress.env_steps = static_cast<int64_t>(values[1]);
  row.progress.updates = static_cast<int64_t>(values[2]);
  row.progress.team_return = values[3];
  row.progress.team_return_ci95 = values[4];
  row.progress.agent_return = values[5];
  row.progress.losses = {values[6], values[7], values[8]};
  return row;
}

Result<std::vector<TrainingRow>> RowsOf(const JournalText& text, const std::string& path) {
  std::vector<TrainingRow> rows;
  for (const std::string& line : text.lines) {
    const Result<Node> node = ParseJson(line, path, std::ssize(rows) + 1);
    if (!node) return node.error();
    Result<TrainingRow> row = ReadRow(*node);
    if (!row) return row.error();
    rows.push_back(*std::move(row));
  }
  return rows;
}

}  // namespace

Result<std::vector<TrainingRow>> ReadTrainingRows(const RunDirectory& directory) {
  const JournalFile file = directory.Journal(kJournal);
  const Result<JournalText> text = ReadJournalText(file);
  if (!text) return text.error();
  return RowsOf(*text, file.path);
}

TrainingLog::TrainingLog(const RunDirectory& directory, std::unique_ptr<LineJournal> journal)
    : directory_(&directory), journal_(std::move(journal)) {
  const double now = Now();
  events_ = TensorBoardEvent(now, 0, {});
  events_name_ = fmt::format("events.out.tfevents.{}.tessera", static_cast<int64_t>(now * 1000));
}

Result<TrainingLog> TrainingLog::Open(const RunDirectory& directory, int64_t episodes) {
  const JournalFile file = directory.Journal(kJournal);
  Result<JournalText> text = ReadJournalText(file);
  if (!text) return text.error();
  Result<std::vector<TrainingRow>> rows = RowsOf(*text, file.path);
  if (!rows) return rows.error();
  std::erase_if(*rows, [&](const TrainingRow& row) { return row.progress.episodes > episodes; });
  text->Keep(rows->size());
  Result<std::unique_ptr<LineJournal>> journal = LineJournal::Open(file, *text);
  if (!journal) return journal.error();
  TrainingLog log(directory, *std::move(journal));
  log.rows_ = *std::move(rows);
  return log;
}

Result<void> TrainingLog::Add(const TrainingRow& row) {
  rows_.push_back(row);
  if (Result<void> written = journal_->Append(std::vector{TrainingLine(row)}); !written) {
    return written;
  }
  const std::vector<std::string_view> columns = TrainingColumns();
  const std::vector<double> values = TrainingValues(row);
  std::vector<std::pair<std::string, float>> scalars;
  for (size_t i = 0; i < columns.size(); ++i) {
    scalars.emplace_back("train/" + std::string(columns[i]), static_cast<float>(values[i]));
  }
  scalars.emplace_back("train/" + std::string(kSecondsColumn),
                       static_cast<float>(row.seconds.value_or(0)));
  events_ += TensorBoardEvent(Now(), row.progress.env_steps, scalars);
  changed_ = true;
  return std::abs(Now() - written_) < kSecondsBetweenWrites ? Result<void>() : Flush();
}

Result<void> TrainingLog::Flush() {
  if (Result<void> synced = journal_->Sync(); !synced) return synced;
  if (!changed_) return {};
  for (const auto& [name, contents] :
       {std::pair(std::string("progress.csv"), TrainingCsv(rows_)), {events_name_, events_}}) {
    Result<void> written =
        WriteFileAtomically(directory_->File(name), contents, directory_->token());
    if (!written) return written;
  }
  written_ = Now();
  changed_ = false;
  return {};
}

}  // namespace tessera
