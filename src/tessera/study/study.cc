// Units of studies to and from files.
#include "tessera/study/study.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/json_text.h"
#include "tessera/base/sha256.h"
#include "tessera/base/stop.h"
#include "tessera/base/text.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/record/run_inputs.h"

namespace tessera {
namespace {

// Fields of a unit that are plain values, by their keys.
constexpr std::pair<std::string_view, std::string StudyUnit::*> kTexts[] = {
    {"id", &StudyUnit::id},        {"network", &StudyUnit::network},
    {"layer", &StudyUnit::layer},  {"accelerator", &StudyUnit::accelerator},
    {"model", &StudyUnit::model},  {"objective", &StudyUnit::objective},
    {"method", &StudyUnit::method}};
constexpr std::pair<std::string_view, int64_t StudyUnit::*> kNumbers[] = {
    {"unit", &StudyUnit::number},
    {"seed", &StudyUnit::seed},
    {"cores", &StudyUnit::cores},
    {"memory_mib", &StudyUnit::memory_mib}};

struct ReadUnit {
  StudyUnit unit;
  std::string settings;
};

// The folder is data: every value is looked at before it is used.
Result<ReadUnit> ParseUnit(std::string_view line, const std::string& file, int64_t number) {
  const Result<Node> node = ParseJson(line, file, number);
  if (!node) return node.error();
  const Json json = FromText(line);
  ReadUnit read;
  bool whole = json.is_object() && json.contains("settings") && json["settings"].is_object();
  for (const auto& [key, field] : kTexts) {
    whole = whole && json.contains(key) && json[key].is_string();
    if (whole) read.unit.*field = json[key].get<std::string>();
  }
  for (const auto& [key, field] : kNumbers) {
    whole = whole && json.contains(key) && json[key].is_number_integer();
    if (whole) read.unit.*field = json[key].get<int64_t>();
  }
  // One model, not one to look at and another to run.
  whole =
      whole && json["settings"].contains("model") && json["settings"]["model"] == read.unit.model;
  if (!whole || read.unit.number != number) {
    return node->ErrorHere(ErrorKind::kBadValue, fmt::format("this is not unit {}", number));
  }
  read.settings = ToLine(json["settings"]);
  return read;
}

Result<void> ReadHeader(const RunHeader& header, const std::string& file, std::string& name,
                        StudyPart& part) {
  const Json json = FromText(header.settings);
  const bool whole = json.is_object() && json.contains("name") && json["name"].is_string() &&
                     json.contains("part") && json["part"].is_string();
  if (!whole) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = "these are not the settings of a study",
                 .where = {.file = file}};
  }
  name = json["name"].get<std::string>();
  const Result<StudyPart> read = ParseStudyPart(json["part"].get<std::string>());
  if (!read) return read.error();
  part = *read;
  return {};
}

}  // namespace

std::string StudyUnit::Name() const {
  return fmt::format("{}{}{}, {}, {}, {}, seed {}", network, layer.empty() ? "" : " ", layer,
                     accelerator, objective, method, seed);
}

Result<StudyPart> ParseStudyPart(std::string_view text) {
  const size_t slash = text.find('/');
  const Error bad{
      .kind = ErrorKind::kUsage,
      .message = fmt::format("a part is {}, but must be I/N with 1 <= I <= N", Quoted(text)),
      .hint = "write 2/3 for the second of three"};
  if (slash == std::string_view::npos) return bad;
  const Result<int64_t> index = ParseInt(text.substr(0, slash));
  const Result<int64_t> of = ParseInt(text.substr(slash + 1));
  if (!index || !of || *index < 1 || *index > *of) return bad;
  return StudyPart{*index, *of};
}

std::string UnitLine(const StudyUnit& unit, const std::string& settings) {
  Json json;
  json["unit"] = unit.number;
  for (const auto& [key, field] : kTexts) json[key] = unit.*field;
  for (const auto& [key, field] : kNumbers) json[key] = unit.*field;
  json["settings"] = FromText(settings);
  return ToLine(json);
}

std::string StudySettings(const std::string& name, const StudyPart& part) {
  return ToLine({{"name", name}, {"part", fmt::format("{}/{}", part.index, part.of)}});
}

std::string StudyId(std::string_view units) { return Sha256Hex(units).substr(0, kUnitIdDigits); }

Result<Study> Study::Load(const RunDirectory& directory) {
  Study study;
  study.folder_ = directory.path();
  if (Result<void> read =
          ReadHeader(directory.header(), directory.File("run.json"), study.name_, study.part_);
      !read) {
    return read.error();
  }
  const std::string file = directory.File(kUnitsFile);
  const Result<std::string> text = ReadFile(file);
  if (!text) return text.error();
  study.id_ = StudyId(*text);
  std::string_view rest = *text;
  while (!rest.empty()) {
    if (StopRequested()) return Interrupted("reading the units");
    const size_t end = std::min(rest.find('\n'), rest.size());
    Result<ReadUnit> read = ParseUnit(rest.substr(0, end), file, std::ssize(study.units_) + 1);
    if (!read) return read.error();
    study.units_.push_back(std::move(read->unit));
    study.settings_.push_back(std::move(read->settings));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return study;
}

Result<const StudyUnit*> Study::Find(int64_t number) const {
  if (number >= 1 && number <= std::ssize(units_)) return &units_[static_cast<size_t>(number - 1)];
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("there is no unit {}; the study has units 1 to {}", number,
                                      units_.size())};
}

Result<MapSettings> Study::Settings(const StudyUnit& unit) const {
  Result<MapSettings> settings = ParseMapSettings(settings_[static_cast<size_t>(unit.number - 1)],
                                                  folder_ + "/" + std::string(kUnitsFile));
  if (!settings) return settings;
  settings->seed = unit.seed;
  return settings;
}

Study Study::Whole() const {
  Study whole = *this;
  whole.part_ = {};
  return whole;
}

Result<bool> Study::DependsOnClock(const StudyUnit& unit) const {
  const Result<MapSettings> settings = Settings(unit);
  if (!settings) return settings.error();
  return settings->budget.seconds > 0 || settings->proof_seconds > 0;
}

Result<void> Study::CheckExec(bool allowed) const {
  if (allowed) return {};
  for (const StudyUnit& unit : units_) {
    // Models are few, and their names tell; settings take longer to read.
    if (unit.model.find(':') == std::string::npos) continue;
    const Result<MapSettings> settings = Settings(unit);
    if (!settings) return settings.error();
    if (Result<void> may = CheckMayExecute(*settings, allowed); !may) return may;
  }
  return {};
}

Result<MapJob> Study::Job(const StudyUnit& unit) const {
  const Result<MapSettings> settings = Settings(unit);
  if (!settings) return settings.error();
  Network network;
  Accelerator accelerator;
  {
    const std::lock_guard lock(inputs_->mutex);
    auto known = inputs_->networks.find(settings->network);
    if (known == inputs_->networks.end()) {
      const Result<std::string> file = InputFile(folder_, settings->network);
      if (!file) return file.error();
      Result<Network> loaded = LoadNetwork(*file);
      if (!loaded) return loaded.error();
      known = inputs_->networks.emplace(settings->network, *std::move(loaded)).first;
    }
    network = known->second;
    auto machine = inputs_->accelerators.find(settings->accelerator);
    if (machine == inputs_->accelerators.end()) {
      const Result<std::string> file = InputFile(folder_, settings->accelerator);
      if (!file) return file.error();
      Result<Accelerator> loaded = LoadAccelerator(*file);
      if (!loaded) return loaded.error();
      machine = inputs_->accelerators.emplace(settings->accelerator, *std::move(loaded)).first;
    }
    accelerator = machine->second;
  }
  if (!unit.layer.empty()) {
    const Result<const NetworkLayer*> layer = FindLayer(network, unit.layer);
    if (!layer) return layer.error();
    network = OnlyLayer(std::move(network), **layer);
  }
  return MakeMapJob(*settings, std::move(network), std::move(accelerator), folder_);
}

}  // namespace tessera
