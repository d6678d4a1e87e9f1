#include "tessera/cost/external/external.h"

#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/stop.h"
#include "tessera/base/text.h"
#include "tessera/cost/external/process.h"
#include "tessera/cost/maestro/report.h"

namespace tessera {
namespace {

using Kind = ExternalAnswer::Kind;

struct Row {
  std::string_view text;
  std::string id;  // as JSON text, so that 1 and "1" differ
};

Result<std::vector<Row>> ReadRows(std::span<const std::string> texts) {
  std::vector<Row> rows;
  std::unordered_set<std::string> ids;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto fail = [i](std::string message) {
      return Error{.kind = ErrorKind::kSyntax,
                   .message = fmt::format("row {}: {}", i + 1, message)};
    };
    const Json json = FromText(texts[i]);
    if (!json.is_object()) return fail("not a JSON object");
    if (!json.contains("id")) return fail("no 'id'");
    Row row{.text = texts[i], .id = ToLine(json["id"])};
    if (!ids.insert(row.id).second) return fail(fmt::format("id {} is given twice", row.id));
    rows.push_back(std::move(row));
  }
  return rows;
}

// The signal that killed the program, or 0. A shell reports that of its command as exit status
// 128 + signal.
int SignalOf(const ProcessEnd& end) {
  constexpr int kLastSignal = 64;
  if (end.kind == ProcessEnd::Kind::kSignalled) return end.code;
  const bool of_command =
      end.kind == ProcessEnd::Kind::kExited && end.code > 128 && end.code <= 128 + kLastSignal;
  return of_command ? end.code - 128 : 0;
}

std::string EndText(const ProcessEnd& end, const ExternalOptions& options) {
  std::string text;
  switch (end.kind) {
    case ProcessEnd::Kind::kExited:
    case ProcessEnd::Kind::kSignalled:
      if (const int signal = SignalOf(end); signal != 0) {
        text = fmt::format("the program died of signal {} ({})", signal, strsignal(signal));
      } else {
        text = fmt::format("the program ended with exit status {} and no answer", end.code);
      }
      break;
    case ProcessEnd::Kind::kTimedOut:
      text = fmt::format("no answer within {} s", options.timeout_seconds);
      break;
    case ProcessEnd::Kind::kEndlessLine:
      text = fmt::format("the program wrote {} MiB without ending the line", kMaxLineMib);
      break;
    case ProcessEnd::Kind::kNotStarted:
      text = fmt::format("the program cannot be started: {}", strerror(end.code));
      break;
    case ProcessEnd::Kind::kInterrupted: return "interrupted";
  }
  if (options.memory_mib > 0 &&
      (end.kind == ProcessEnd::Kind::kExited || end.kind == ProcessEnd::Kind::kSignalled)) {
    text += fmt::format(" (memory limit {} MiB)", options.memory_mib);
  }
  const std::string_view words = Trim(end.last_words);
  if (!words.empty()) text += fmt::format("; its last words: {}", Quoted(words, 400));
  return text;
}

Kind KindOf(const ProcessEnd& end) {
  if (end.kind == ProcessEnd::Kind::kTimedOut) return Kind::kTimeout;
  return SignalOf(end) != 0 ? Kind::kCrash : Kind::kFailed;
}

std::string_view StatusName(Kind kind) {
  switch (kind) {
    case Kind::kAnswered: return "ok";
    case Kind::kCrash: return "crash";
    case Kind::kTimeout: return "timeout";
    case Kind::kFailed: return "error";
  }
  return "";
}

ExternalAnswer Unanswered(const Row& row, Kind kind, std::string message) {
  Json line = {{"id", FromText(row.id)}, {"status", StatusName(kind)}, {"msg", message}};
  return {.kind = kind, .line = ToLine(line), .message = std::move(message)};
}

// One run of the program over some rows.
class Run {
 public:
  Run(const ExternalOptions& options, std::span<const Row> rows, std::span<ExternalAnswer> answers)
      : options_(options), rows_(rows), answers_(answers) {
    for (size_t i = 0; i < rows.size(); ++i) open_.emplace(rows[i].id, i);
  }

  void Go() {
    std::string input;
    for (const Row& row : rows_) {
      input += row.text;
      input += '\n';
    }
    const ProcessEnd end =
        RunProcess(options_.command, input,
                   {.silence_seconds = options_.timeout_seconds, .memory_mib = options_.memory_mib},
                   [this](std::string_view line) {
                     if (!Take(line)) return Heard::kNonsense;
                     return open_.empty() ? Heard::kLastAnswer : Heard::kAnswer;
                   });
    if (open_.empty() || end.kind == ProcessEnd::Kind::kInterrupted) return;
    if (open_.size() == 1 || end.kind == ProcessEnd::Kind::kNotStarted) {
      for (const auto& [id, i] : open_) Blame(i, end);
      return;
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!open_.contains(rows_[i].id) || StopRequested()) continue;
      Run(options_, rows_.subspan(i, 1), answers_.subspan(i, 1)).Go();
    }
  }

 private:
  // Whether the line answers a row that is open.
  bool Take(std::string_view line) {
    if (Trim(line).empty()) return false;
    const Json json = FromText(line);
    const bool formed = json.is_object() && json.contains("id") && json.contains("status") &&
                        json["status"].is_string();
    const auto found = formed ? open_.find(ToLine(json["id"])) : open_.end();
    if (found == open_.end()) {
      if (stray_.empty()) stray_ = Quoted(line, 120);
      return false;
    }
    answers_[found->second] = {.kind = Kind::kAnswered, .line = std::string(Trim(line))};
    open_.erase(found);
    return true;
  }

  void Blame(size_t i, const ProcessEnd& end) {
    std::string message = EndText(end, options_);
    if (!stray_.empty()) message += fmt::format("; it wrote {}, which answers no row", stray_);
    answers_[i] = Unanswered(rows_[i], KindOf(end), std::move(message));
  }

  const ExternalOptions& options_;
  std::span<const Row> rows_;
  std::span<ExternalAnswer> answers_;
  std::unordered_map<std::string, size_t> open_;  // by id: not answered yet
  std::string stray_;                             // the first line that answers nothing
};

// A text of the program's for a message: printable, and not longer than people read.
std::string Told(const Json& text) {
  constexpr size_t kLongest = 400;
  return Printable(Shortened(text.get<std::string>(), kLongest));
}

Result<double> Number(const Json& json, std::string_view key, bool required) {
  if (!json.contains(key)) {
    if (!required) return 0.0;
    return Error{.kind = ErrorKind::kSyntax, .message = fmt::format("the answer has no '{}'", key)};
  }
  const Json& value = json[std::string(key)];
  if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("'{}' of the answer is {}, not a finite number", key,
                                      Shortened(ToLine(value), 80))};
}

// MAESTRO's columns by name, so that one way of reading numbers serves both forms.
Json FromColumns(const Json& out) {
  Json json;
  for (size_t i = 0; i < std::min(out.size(), maestro::kColumns); ++i) {
    json[std::string(maestro::ColumnNames()[i])] = out[i];
  }
  const auto copy = [&json](std::string_view from, std::string_view to, double scale) {
    const auto found = json.find(from);
    if (found == json.end()) return;
    json[std::string(to)] =
        found->is_number() && scale != 1 ? Json(found->get<double>() * scale) : Json(*found);
  };
  copy("Runtime (Cycles)", "cycles", 1);
  copy("Activity count-based Energy (nJ)", "energy_pj", 1000);
  copy("Power", "power_mw", 1);
  copy("Area", "area_um2", 1);
  copy("Num MACs", "macs", 1);
  return json;
}

}  // namespace

Result<std::vector<ExternalAnswer>> RunExternal(const ExternalOptions& options,
                                                std::span<const std::string> texts,
                                                ThreadPool& pool) {
  const Result<std::vector<Row>> rows = ReadRows(texts);
  if (!rows) return rows.error();
  std::vector<ExternalAnswer> answers(rows->size());
  pool.ParallelFor(static_cast<int64_t>(rows->size()), std::max<int64_t>(options.batch_rows, 1),
                   [&](int64_t begin, int64_t end, int /*worker*/) {
                     if (StopRequested()) return;
                     const auto first = static_cast<size_t>(begin);
                     const auto count = static_cast<size_t>(end - begin);
                     Run(options, std::span(*rows).subspan(first, count),
                         std::span(answers).subspan(first, count))
                         .Go();
                   });
  // What is open was not the program's fault.
  for (const ExternalAnswer& answer : answers) {
    if (answer.line.empty()) return Interrupted("waiting for an evaluator");
  }
  return answers;
}

Result<Cost> CostOfAnswer(std::string_view line) {
  const Json json = FromText(line);
  if (!json.is_object() || !json.contains("status") || !json["status"].is_string()) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = "the answer is not a JSON object with 'status'"};
  }
  if (json["status"] != "ok") {
    const bool has_message = json.contains("msg") && json["msg"].is_string();
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format("{}: {}", Told(json["status"]),
                                        has_message ? Told(json["msg"]) : "")};
  }
  const Json numbers =
      json.contains("cycles") || !json.contains("out") ? json : FromColumns(json["out"]);
  constexpr double kMost = 1e300, kMostCycles = 0x1p62;  // products and sums stay finite
  Cost cost;
  double cycles = 0, macs = 0;
  const struct {
    std::string_view key;
    double* target;
    bool required;
  } fields[] = {{"cycles", &cycles, true},
                {"energy_pj", &cost.energy_pj, true},
                {"power_mw", &cost.power_mw, false},
                {"area_um2", &cost.area_um2, false},
                {"macs", &macs, false},
                {"utilization", &cost.utilization, false}};
  for (const auto& [key, target, required] : fields) {
    const Result<double> value = Number(numbers, key, required);
    if (!value) return value.error();
    *target = *value;
  }
  const struct {
    std::string_view key;
    double value, least, most;
    bool whole;
  } ranges[] = {
      {"cycles", cycles, 1, kMostCycles, true},     {"energy_pj", cost.energy_pj, 0, kMost, false},
      {"power_mw", cost.power_mw, 0, kMost, false}, {"area_um2", cost.area_um2, 0, kMost, false},
      {"macs", macs, 0, kMostCycles, true},         {"utilization", cost.utilization, 0, 1, false}};
  for (const auto& [key, value, least, most, whole] : ranges) {
    if (value >= least && value <= most && (!whole || value == std::floor(value))) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("'{}' of the answer is {}, but must be {} in {}..{}", key,
                                        value, whole ? "whole and" : "a number", least, most)};
  }
  cost.cycles = static_cast<int64_t>(cycles);
  cost.macs = static_cast<int64_t>(macs);
  return cost;
}

}  // namespace tessera
