// Records of units.
#include "tessera/study/unit_record.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/search.h"

namespace tessera {
namespace {

constexpr std::array kUnitColumns = {
    RecordColumn{"state", ColumnType::kText},       RecordColumn{"status", ColumnType::kText},
    RecordColumn{"cycles", ColumnType::kInteger},   RecordColumn{"energy_pj", ColumnType::kReal},
    RecordColumn{"edp", ColumnType::kReal},         RecordColumn{"value", ColumnType::kReal},
    RecordColumn{"bound", ColumnType::kReal},       RecordColumn{"gap", ColumnType::kReal},
    RecordColumn{"power_mw", ColumnType::kReal},    RecordColumn{"area_um2", ColumnType::kReal},
    RecordColumn{"utilization", ColumnType::kReal}, RecordColumn{"samples", ColumnType::kInteger},
    RecordColumn{"error", ColumnType::kText}};

constexpr std::array kLayerColumns = {
    RecordColumn{"name", ColumnType::kText},       RecordColumn{"count", ColumnType::kInteger},
    RecordColumn{"status", ColumnType::kText},     RecordColumn{"cycles", ColumnType::kInteger},
    RecordColumn{"energy_pj", ColumnType::kReal},  RecordColumn{"edp", ColumnType::kReal},
    RecordColumn{"value", ColumnType::kReal},      RecordColumn{"bound", ColumnType::kReal},
    RecordColumn{"gap", ColumnType::kReal},        RecordColumn{"power_mw", ColumnType::kReal},
    RecordColumn{"area_um2", ColumnType::kReal},   RecordColumn{"utilization", ColumnType::kReal},
    RecordColumn{"samples", ColumnType::kInteger}, RecordColumn{"mapping", ColumnType::kJson}};

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

// Sums over networks may exceed 64 bits.
Json Whole(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return value < kExact ? Json(static_cast<int64_t>(value)) : Json(value);
}

// A record with every key, in order.
Json EmptyRecord(const StudyUnit& unit) {
  Json json = {{"unit", unit.number}, {"id", unit.id}};
  for (const RecordColumn& column : kUnitColumns) json[column.name] = nullptr;
  json["layers"] = Json::array();
  return json;
}

Result<Json> LayerJson(const MapJob& job, const LayerMapping& layer) {
  Json json;
  for (const RecordColumn& column : kLayerColumns) json[column.name] = nullptr;
  json["name"] = layer.name;
  json["count"] = layer.count;
  json["status"] = ToString(layer.status);
  json["bound"] = OrNull(layer.bound);
  json["samples"] = layer.samples();
  if (!layer.cost || !layer.mapping) return json;
  json["cycles"] = layer.cost->cycles;
  json["energy_pj"] = layer.cost->energy_pj;
  json["edp"] = layer.cost->edp();
  json["value"] = layer.value;
  json["gap"] = OrNull(layer.gap());
  json["power_mw"] = layer.cost->power_mw;
  json["area_um2"] = layer.cost->area_um2;
  json["utilization"] = layer.cost->utilization;
  const Result<std::string> text = MappingJson(layer.layer, job.accelerator, *layer.mapping);
  if (!text) return text.error();
  json["mapping"] = FromText(*text);
  return json;
}

void SetTotal(const NetworkMapping& mapping, Json& json) {
  const NetworkTotal& total = mapping.total;
  json["cycles"] = Whole(total.cycles);
  json["energy_pj"] = total.energy_pj;
  json["edp"] = total.edp();
  json["value"] = total.value;
  json["bound"] = OrNull(total.bound);
  json["gap"] = OrNull(total.gap());
  json["power_mw"] = total.power_mw;
  json["area_um2"] = total.area_um2;
  json["utilization"] = total.utilization;
}

bool Fits(const Json& value, ColumnType type) {
  if (value.is_null()) return true;
  switch (type) {
    case ColumnType::kInteger:
    case ColumnType::kReal: return value.is_number();
    case ColumnType::kText: return value.is_string();
    case ColumnType::kJson: return value.is_structured();
  }
  return false;
}

bool FitsAll(const Json& json, std::span<const RecordColumn> columns, size_t more) {
  return json.is_object() && json.size() == columns.size() + more &&
         std::all_of(columns.begin(), columns.end(), [&](const RecordColumn& column) {
           return json.contains(column.name) && Fits(json[column.name], column.type);
         });
}

}  // namespace

std::span<const RecordColumn> UnitColumns() { return kUnitColumns; }
std::span<const RecordColumn> LayerColumns() { return kLayerColumns; }

Result<std::string> RecordOf(const StudyUnit& unit, const MapJob& job,
                             const NetworkMapping& mapping) {
  Json json = EmptyRecord(unit);
  json["state"] = kDone;
  MapStatus worst = MapStatus::kOptimal;
  for (const LayerMapping& layer : mapping.layers) {
    Result<Json> made = LayerJson(job, layer);
    if (!made) return made.error();
    json["layers"].push_back(*std::move(made));
    worst = std::max(worst, layer.status);
    if (layer.cost || json["state"] == kFailed) continue;
    json["state"] = kFailed;
    json["error"] = layer.search.samples > 0
                        ? fmt::format("layer '{}': no feasible mapping among {} samples; {}",
                                      layer.name, layer.search.samples, WhyNothing(layer.search))
                        : fmt::format("layer '{}': exact search found no mapping", layer.name);
  }
  json["status"] = ToString(worst);
  json["samples"] = mapping.total.samples;
  if (json["state"] == kDone) SetTotal(mapping, json);
  return ToLine(json);
}

std::string FailedRecord(const StudyUnit& unit, const Error& error) {
  Json json = EmptyRecord(unit);
  json["state"] = kFailed;
  // Without the place, which is a file of one folder among many.
  json["error"] = ToString(Error{error.kind, error.message, {}, error.hint});
  return ToLine(json);
}

bool IsAboutUnit(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kIo:
    case ErrorKind::kInterrupted:
    case ErrorKind::kInternal: return false;
    default: return true;
  }
}

Result<RecordHead> CheckRecord(std::string_view line, const Where& where) {
  const Error bad{.kind = ErrorKind::kBadValue,
                  .message = fmt::format("{} is not the record of a unit", Quoted(line, 60)),
                  .where = where,
                  .hint = "records are made by 'tessera study DIR --unit N'"};
  if (const Result<Node> node = ParseJson(line, where.file, where.line); !node) return bad;
  const Json json = FromText(line);
  // "unit", "id" and "layers" beside the columns.
  if (!FitsAll(json, kUnitColumns, 3) || !json.contains("unit") ||
      !json["unit"].is_number_integer() || !json.contains("id") || !json["id"].is_string() ||
      !json.contains("layers") || !json["layers"].is_array()) {
    return bad;
  }
  for (const Json& layer : json["layers"]) {
    if (!FitsAll(layer, kLayerColumns, 0)) return bad;
  }
  if (json["state"] != kDone && json["state"] != kFailed) return bad;
  return RecordHead{.unit = json["unit"].get<int64_t>(),
                    .id = json["id"].get<std::string>(),
                    .failed = json["state"] == kFailed};
}

}  // namespace tessera
