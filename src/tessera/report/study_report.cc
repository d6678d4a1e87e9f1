// Tables and JSON of studies.
#include "tessera/report/study_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/report/page.h"

namespace tessera {
namespace {

// Longer tables are for queries.
constexpr size_t kMostRowsShown = 50;

constexpr std::string_view kFailed = "failed";

Json UnitJson(const StudyUnit& unit) {
  return {{"unit", unit.number},
          {"id", unit.id},
          {"network", unit.network},
          {"layer", unit.layer.empty() ? Json(nullptr) : Json(unit.layer)},
          {"accelerator", unit.accelerator},
          {"model", unit.model},
          {"objective", unit.objective},
          {"method", unit.method},
          {"seed", unit.seed}};
}

Cell CellOf(const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return {};
}

Cell PercentOf(const Json& part) {
  return part.is_number() ? Cell(std::round(part.get<double>() * 1e4) / 1e2) : Cell();
}

std::string Summary(const StudyRunResult& result, int64_t failed) {
  std::string text =
      fmt::format("study {}: {} of {} units done", result.name, WithThousands(result.done()),
                  WithThousands(std::ssize(result.units)));
  if (result.part.of > 1) {
    text += fmt::format(" of part {}/{}", result.part.index, result.part.of);
  }
  if (failed > 0) text += fmt::format(", {} of them failed", WithThousands(failed));
  return text;
}

}  // namespace

Json ToJson(const StudyRunResult& result) {
  int64_t failed = 0;
  Json units = Json::array();
  for (size_t i = 0; i < result.units.size(); ++i) {
    Json unit = UnitJson(result.units[i]);
    if (result.records[i].empty()) {
      unit["state"] = "open";
    } else {
      const Json record = FromText(result.records[i]);
      unit.update(record);
      failed += record["state"] == kFailed ? 1 : 0;
    }
    units.push_back(std::move(unit));
  }
  const int64_t done = result.done();
  return {{"study", result.name},
          {"id", result.id},
          {"part", fmt::format("{}/{}", result.part.index, result.part.of)},
          {"done", done},
          {"failed", failed},
          {"open", std::ssize(result.units) - done},
          {"units", std::move(units)}};
}

Table UnitTable(const StudyRunResult& result) {
  Table table({"unit", "network", "layer", "accelerator", "objective", "method", "seed", "state",
               "cycles", "energy_pj", "edp", "gap_pct", "status", "samples"});
  for (size_t i = 0; i < result.units.size(); ++i) {
    const StudyUnit& unit = result.units[i];
    Json record = {{"state", "open"}};
    if (!result.records[i].empty()) record = FromText(result.records[i]);
    const auto cell = [&](const char* key) { return CellOf(record.value(key, Json())); };
    table.Add(unit.number, unit.network, unit.layer.empty() ? Cell() : Cell(unit.layer),
              unit.accelerator, unit.objective, unit.method, unit.seed, cell("state"),
              cell("cycles"), cell("energy_pj"), cell("edp"),
              PercentOf(record.value("gap", Json())), cell("status"), cell("samples"));
  }
  return table;
}

Result<RunView> ViewOfStudy(const StudyRunResult& result) {
  const Json json = ToJson(result);
  const int64_t failed = json["failed"].get<int64_t>();
  const std::string summary = Summary(result, failed);
  const bool few = result.units.size() <= kMostRowsShown;
  RunView view{.json = json,
               .text = few ? ToText(UnitTable(result)) : "",
               .times = {{"seconds", result.seconds}},
               .interrupted = !result.complete()};
  view.text += fmt::format("{} in {:.1f} s\n", summary, result.seconds);
  if (!few) view.remarks.push_back("units: tessera study --query 'SELECT * FROM units' DIR");
  for (const Json& unit : json["units"]) {
    if (unit["state"] != kFailed) continue;
    view.remarks.push_back(
        fmt::format("unit {} failed: {}{}", unit["unit"].get<int64_t>(),
                    unit["error"].is_string() ? unit["error"].get<std::string>() : "",
                    failed > 1 ? fmt::format("; {} more failed", failed - 1) : ""));
    break;
  }
  if (!result.complete()) return view;
  Result<std::string> store = StudyStoreBytes(result);
  if (!store) return store.error();
  view.files = {{"result.json", ToText(json)},
                {"study.sqlite", *std::move(store)},
                {"report.html", Page(fmt::format("Study {}", result.name),
                                     ToText(UnitTable(result)) + summary + "\n", "")}};
  return view;
}

}  // namespace tessera
