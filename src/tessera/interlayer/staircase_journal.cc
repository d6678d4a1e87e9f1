// Lines of the journal: {"layer":0,"rows":56,"homes":[2,2,1],"mapping":...} or ..."room":[...],...
#include "tessera/interlayer/staircase_journal.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"

namespace tessera::interlayer {
namespace {

// Of a room, at least so many numbers are written, whatever the machine has: those behind the last
// home are without a limit.
constexpr size_t kLeastRoom = 8;

// Evaluations of a line, more than a round can make: sums of all lines stay below 2^63.
constexpr int64_t kMostEvaluations = int64_t{1} << 36;

size_t RoomSize(const GraphProblem& problem) { return std::max(kLeastRoom, problem.homes.size()); }

std::optional<int64_t> WholeAt(const Json& line, const char* key) {
  if (!line.contains(key) || !line[key].is_number_integer()) return std::nullopt;
  return line[key].get<int64_t>();
}

std::optional<std::vector<int64_t>> WholesAt(const Json& line, const char* key) {
  if (!line.contains(key) || !line[key].is_array()) return std::nullopt;
  std::vector<int64_t> values;
  for (const Json& value : line[key]) {
    if (!value.is_number_integer()) return std::nullopt;
    values.push_back(value.get<int64_t>());
  }
  return values;
}

// Lines of older runs do not tell their evaluations; none: a number that cannot be.
std::optional<int64_t> EvaluationsOf(const Json& line) {
  if (!line.contains("evaluations")) return 0;
  const std::optional<int64_t> evaluations = WholeAt(line, "evaluations");
  if (evaluations && (*evaluations < 0 || *evaluations > kMostEvaluations)) return std::nullopt;
  return evaluations;
}

// The key of a line that fits the problem; none otherwise.
std::optional<NodeKey> KeyOf(const Json& line, const GraphProblem& problem) {
  const auto layer = WholeAt(line, "layer"), rows = WholeAt(line, "rows");
  const auto homes = WholesAt(line, "homes");
  if (!layer || !rows || !homes || *layer < 0 || *layer >= std::ssize(problem.layers)) {
    return std::nullopt;
  }
  const auto at = static_cast<size_t>(*layer);
  if (*rows < 0 || *rows > problem.layer_rows[at] || (problem.layer_rows[at] > 0 && *rows == 0) ||
      std::ssize(*homes) != problem.layers[at].num_tensors) {
    return std::nullopt;
  }
  NodeKey key{.layer = static_cast<int>(*layer), .rows = *rows};
  for (size_t v = 0; v < homes->size(); ++v) {
    const int64_t home = (*homes)[v];
    bool possible = home == problem.outermost();
    for (const int level : problem.homes) possible = possible || home == level;
    if (!possible) return std::nullopt;
    key.homes[v] = static_cast<int8_t>(home);
  }
  return key;
}

}  // namespace

JournalFile StaircaseFile(const RunDirectory& directory) { return directory.Journal("staircases"); }

std::optional<int64_t> EvaluationsOf(const JournalText& text) {
  int64_t evaluations = 0;
  for (const std::string& text_line : text.lines) {
    const Json line = FromText(text_line);
    if (line.contains("mapping")) continue;
    if (!line.contains("evaluations")) return std::nullopt;
    evaluations += EvaluationsOf(line).value_or(0);
  }
  return evaluations;
}

Result<std::unique_ptr<StaircaseJournal>> StaircaseJournal::Open(const JournalFile& file,
                                                                 bool restore, const MapJob& job,
                                                                 const GraphProblem& problem,
                                                                 NodeCosts& costs) {
  std::unique_ptr<StaircaseJournal> made(new StaircaseJournal(job, problem, costs));
  JournalText known;
  if (restore) {
    Result<JournalText> text = ReadJournalText(file);
    if (!text) return text.error();
    known = *std::move(text);
    if (Result<void> restored = made->Restore(known, file.path); !restored) {
      return restored.error();
    }
    costs.TakeChanges();
  }
  Result<std::unique_ptr<LineJournal>> journal = LineJournal::Open(file, known);
  if (!journal) return journal.error();
  made->journal_ = *std::move(journal);
  return made;
}

Result<void> StaircaseJournal::Restore(const JournalText& text, const std::string& path) {
  Where where{.file = path};
  for (const std::string& text_line : text.lines) {
    ++where.line;
    const Error bad{.kind = ErrorKind::kSyntax,
                    .message = "this is not a line of a journal of staircases",
                    .where = where};
    const Json line = FromText(text_line);
    if (!line.is_object()) return bad;
    const std::optional<NodeKey> key = KeyOf(line, problem_);
    if (!key) return bad;
    const int staircase = costs_.Find(*key);
    if (line.contains("mapping")) {
      const Layer& layer = job_.network.layers[static_cast<size_t>(key->layer)].layer;
      const Result<Mapping> mapping =
          ParseMappingJson(ToLine(line["mapping"]), path, layer, job_.accelerator);
      if (!mapping) return bad;
      costs_.Offer(staircase, std::get<LoopMapping>(*mapping));
      continue;
    }
    const auto room = WholesAt(line, "room");
    const auto rounds = WholeAt(line, "rounds"), evaluations = EvaluationsOf(line);
    if (!room || !rounds || !evaluations || room->size() != RoomSize(problem_) ||
        !line.contains("bound") || !line["bound"].is_number() || !line.contains("done") ||
        !line["done"].is_boolean() || !line.contains("infeasible") ||
        !line["infeasible"].is_boolean()) {
      return bad;
    }
    StepView step{.staircase = staircase,
                  .bound = line["bound"].get<double>(),
                  .done = line["done"].get<bool>(),
                  .infeasible = line["infeasible"].get<bool>(),
                  .rounds = *rounds};
    step.room.fill(kUnlimitedWords);
    std::ranges::copy(*room, step.room.begin());
    costs_.Bound(step);
    costs_.Count(*evaluations);
  }
  return {};
}

std::string StaircaseJournal::KeyText(int staircase) const {
  const NodeKey& key = costs_.KeyOf(staircase);
  const int tensors = problem_.layers[static_cast<size_t>(key.layer)].num_tensors;
  std::vector<int> homes(key.homes.begin(), key.homes.begin() + tensors);
  return fmt::format("{{\"layer\":{},\"rows\":{},\"homes\":[{}]", key.layer, key.rows,
                     fmt::join(homes, ","));
}

Result<void> StaircaseJournal::Write() {
  std::vector<std::string> lines;
  for (const Change& change : costs_.TakeChanges()) {
    if (change.found >= 0) {
      const NodeKey& key = costs_.KeyOf(change.staircase);
      const Layer& layer = job_.network.layers[static_cast<size_t>(key.layer)].layer;
      const Result<std::string> mapping = MappingJson(
          layer, job_.accelerator, costs_.found(change.staircase, change.found).mapping);
      if (!mapping) return mapping.error();
      lines.push_back(fmt::format("{},\"mapping\":{}}}", KeyText(change.staircase), *mapping));
      continue;
    }
    const std::span room = std::span(change.step.room).first(RoomSize(problem_));
    lines.push_back(
        fmt::format("{},\"room\":[{}],\"bound\":{},\"done\":{},\"infeasible\":{},\"rounds\":{},"
                    "\"evaluations\":{}}}",
                    KeyText(change.staircase), fmt::join(room, ","),
                    change.step.infeasible ? 0 : change.step.bound, change.step.done,
                    change.step.infeasible, change.step.rounds, change.evaluations));
  }
  return journal_->Append(lines);
}

}  // namespace tessera::interlayer
