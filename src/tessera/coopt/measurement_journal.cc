// Measurements to and from lines.
#include "tessera/coopt/measurement_journal.h"

#include <fmt/format.h>

#include "tessera/base/json.h"

namespace tessera::coopt {
namespace {

JournalFile FileOf(const RunDirectory& directory) { return directory.Journal("measurements"); }

// A number of the line, within bounds.
Result<int64_t> IntAt(MapReader& reader, std::string_view key, int64_t least, int64_t most) {
  const Result<const Node*> node = reader.Require(key);
  if (!node) return node.error();
  return (*node)->AsInt(least, most);
}

Result<Request> ReadRequest(MapReader& reader, const CooptProblem& problem) {
  const Result<int64_t> hardware =
      IntAt(reader, "hardware", 0, static_cast<int64_t>(problem.hardware().size()) - 1);
  if (!hardware) return hardware.error();
  const Result<int64_t> layer = IntAt(reader, "layer", 0, std::ssize(problem.layers()) - 1);
  if (!layer) return layer.error();
  Request request = {static_cast<uint32_t>(*hardware), static_cast<uint32_t>(*layer), {}};
  const Result<const Node*> point = reader.Require("point");
  if (!point) return point.error();
  const auto knobs = problem.task(request.hardware, request.layer).space.decisions();
  const std::vector<Node>& items = (*point)->items;
  if (items.size() < knobs.size() || items.size() > request.point.size()) {
    return (*point)->ErrorHere(ErrorKind::kBadValue, "point is not one of the space");
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const Result<int64_t> index =
        items[i].AsInt(0, i < knobs.size() ? int64_t{knobs[i].size()} - 1 : 0);
    if (!index) return index.error();
    request.point[i] = static_cast<uint8_t>(*index);
  }
  return request;
}

Result<Measured> ReadMeasured(const Node& node, const CooptProblem& problem) {
  MapReader reader(node, "journal line");
  if (Result<void> map = reader.Check(); !map) return map.error();
  const Result<Request> request = ReadRequest(reader, problem);
  if (!request) return request.error();
  Measured item = {*request, {}};
  if (const Node* refused = reader.Find("refused")) {
    item.outcome.why = refused->scalar;
  } else {
    const Result<int64_t> cycles = IntAt(reader, "cycles", 1, INT64_MAX);
    if (!cycles) return cycles.error();
    const Result<const Node*> energy = reader.Require("energy_pj");
    if (!energy) return energy.error();
    const Result<double> energy_pj = (*energy)->AsDouble();
    if (!energy_pj) return energy_pj.error();
    item.outcome = {.valid = true,
                    .cycles = *cycles,
                    .energy_pj = *energy_pj,
                    .value = problem.Value(request->hardware, request->layer, *cycles, *energy_pj)};
  }
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return item;
}

Result<std::vector<Measured>> MeasurementsOf(const JournalText& text, const std::string& path,
                                             const CooptProblem& problem) {
  std::vector<Measured> measured;
  for (const std::string& line : text.lines) {
    const Result<Node> node = ParseJson(line, path, std::ssize(measured) + 1);
    if (!node) return node.error();
    Result<Measured> item = ReadMeasured(*node, problem);
    if (!item) return item.error();
    measured.push_back(*std::move(item));
  }
  return measured;
}

}  // namespace

std::string MeasurementLine(const Measured& item) {
  const std::string request =
      fmt::format("{{\"hardware\":{},\"layer\":{},\"point\":[{}]", item.request.hardware,
                  item.request.layer, fmt::join(item.request.point, ","));
  return item.outcome.valid
             ? fmt::format("{},\"cycles\":{},\"energy_pj\":{}}}", request, item.outcome.cycles,
                           item.outcome.energy_pj)
             : fmt::format("{},\"refused\":{}}}", request, JournalString(item.outcome.why));
}

Result<std::vector<Measured>> ReadMeasurements(const RunDirectory& directory,
                                               const CooptProblem& problem) {
  const JournalFile file = FileOf(directory);
  const Result<JournalText> text = ReadJournalText(file);
  if (!text) return text.error();
  return MeasurementsOf(*text, file.path, problem);
}

Result<MeasurementJournal> MeasurementJournal::Open(const RunDirectory& directory,
                                                    const CooptProblem& problem) {
  const JournalFile file = FileOf(directory);
  const Result<JournalText> text = ReadJournalText(file);
  if (!text) return text.error();
  const Result<std::vector<Measured>> measured = MeasurementsOf(*text, file.path, problem);
  if (!measured) return measured.error();
  Outcomes recorded;
  for (const Measured& item : *measured) recorded.insert_or_assign(item.request, item.outcome);
  Result<std::unique_ptr<LineJournal>> lines = LineJournal::Open(file, *text);
  if (!lines) return lines.error();
  return MeasurementJournal(std::move(recorded), *std::move(lines));
}

Result<void> MeasurementJournal::Append(std::span<const Measured> measured) {
  std::vector<std::string> lines;
  for (const Measured& item : measured) lines.push_back(MeasurementLine(item));
  return lines_->Append(lines);
}

}  // namespace tessera::coopt
