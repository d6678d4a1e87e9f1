// Trials to and from lines.
#include "tessera/record/trial_journal.h"

#include <fmt/format.h>

#include "tessera/base/json.h"

namespace tessera {
namespace {

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

Result<std::vector<Trial>> TrialsOf(const JournalText& text, const std::string& path) {
  std::vector<Trial> trials;
  for (const std::string& line : text.lines) {
    const Result<Node> node = ParseJson(line, path, std::ssize(trials) + 1);
    if (!node) return node.error();
    Result<Trial> trial = ReadTrial(*node);
    if (!trial) return trial.error();
    trials.push_back(*std::move(trial));
  }
  return trials;
}

}  // namespace

std::string TrialLine(const Trial& trial) {
  const Outcome& outcome = trial.outcome;
  const std::string point = fmt::format("{}", fmt::join(trial.point.indices(), ","));
  switch (outcome.kind) {
    case OutcomeKind::kFeasible: break;
    case OutcomeKind::kInfeasible:
      return fmt::format("{{\"point\":[{}],\"infeasible\":{}{}}}", point,
                         JournalString(outcome.why),
                         outcome.excess > 0 ? fmt::format(",\"excess\":{}", outcome.excess) : "");
    case OutcomeKind::kFailed:
      return fmt::format("{{\"point\":[{}],\"failed\":{}}}", point, JournalString(outcome.why));
  }
  // The shortest digits that read back as the same double.
  return fmt::format(
      "{{\"point\":[{}],\"value\":{},\"cycles\":{},\"energy_pj\":{},\"power_mw\":{},"
      "\"area_um2\":{}}}",
      point, outcome.value, outcome.cycles, outcome.energy_pj, outcome.power_mw, outcome.area_um2);
}

Result<std::vector<Trial>> ReadTrials(const JournalFile& file) {
  const Result<JournalText> text = ReadJournalText(file);
  if (!text) return text.error();
  return TrialsOf(*text, file.path);
}

Result<TrialJournal> TrialJournal::Open(const JournalFile& file) {
  const Result<JournalText> text = ReadJournalText(file);
  if (!text) return text.error();
  Result<std::vector<Trial>> trials = TrialsOf(*text, file.path);
  if (!trials) return trials.error();
  Result<std::unique_ptr<LineJournal>> lines = LineJournal::Open(file, *text);
  if (!lines) return lines.error();
  return TrialJournal(*std::move(trials), *std::move(lines));
}

Result<void> TrialJournal::Append(std::span<const Trial> trials) {
  std::vector<std::string> objects;
  for (const Trial& trial : trials) objects.push_back(TrialLine(trial));
  return lines_->Append(objects);
}

}  // namespace tessera
