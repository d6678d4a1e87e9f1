// Tables from what pages show: rows of JSON by the names of their columns.
#include "tessera/report/run_tables.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/map.h"
#include "tessera/report/explain_report.h"
#include "tessera/report/json.h"
#include "tessera/report/run_data.h"

namespace tessera {
namespace {

Cell CellOf(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return {};
}

const Json& At(const Json& row, std::string_view key) {
  static const Json nothing;
  const auto found = row.find(key);
  return found == row.end() ? nothing : *found;
}

// One column per name; `expanded` is an object of every row whose fields are columns, before them.
Table TableOf(const Json& rows, std::vector<std::string> names, std::string_view expanded = "") {
  std::vector<std::string> fields;
  if (!expanded.empty() && !rows.empty()) {
    for (const auto& [field, value] : At(rows.front(), expanded).items()) fields.push_back(field);
  }
  std::vector<std::string> columns = fields;
  columns.insert(columns.end(), names.begin(), names.end());
  Table table(columns);
  for (const Json& row : rows) {
    std::vector<Cell> cells;
    for (const std::string& field : fields) cells.push_back(CellOf(At(At(row, expanded), field)));
    for (const std::string& name : names) cells.push_back(CellOf(At(row, name)));
    table.AddRow(std::move(cells));
  }
  return table;
}

std::string Text(const Json& result, std::string_view key) {
  const Json& value = At(result, key);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<TitledTable> OfCompare(const Json& result) {
  return {
      {fmt::format("methods on {} of {} on {} (model {}, objective {}, {} samples)",
                   Text(result, "layer"), Text(result, "network"), Text(result, "accelerator"),
                   Text(result, "model"), Text(result, "objective"), Text(result, "budget")),
       TableOf(At(result, "summary"), {"method", "median", "lower_quartile", "upper_quartile",
                                       "samples_to_10pct", "samples_to_5pct", "samples_to_1pct"})}};
}

std::vector<TitledTable> OfCooptimize(const Json& result) {
  const Json& hardware = At(result, "hardware");
  Table machine({"hardware", "macs", "sram_bytes", "area_um2", "cycles", "inferences_per_second",
                 "measurements"});
  machine.AddRow({CellOf(At(hardware, "name")), CellOf(At(hardware, "macs")),
                  CellOf(At(hardware, "sram_bytes")), CellOf(At(hardware, "area")),
                  CellOf(At(result, "cycles")), CellOf(At(result, "throughput")),
                  CellOf(At(result, "measurements"))});
  std::vector<TitledTable> tables = {
      {fmt::format("{} for target {} by {}", Text(result, "network"), Text(result, "target"),
                   Text(result, "method")),
       machine},
      {"layers", TableOf(At(result, "layers"), {"name", "count", "cycles", "floor_cycles",
                                                "energy_pj", "measurements", "schedule"})}};
  if (const Json& left_out = At(result, "left_out"); !left_out.empty()) {
    tables.push_back({"not included", TableOf(left_out, {"name", "count", "why"})});
  }
  return tables;
}

std::vector<TitledTable> OfTrain(const Json& result) {
  const Json& progress = At(result, "progress");
  Json rows = Json::array();
  const size_t step = std::max<size_t>(1, progress.size() / kMostTrainingRows);
  for (size_t i = 0; i < progress.size(); ++i) {
    if ((progress.size() - 1 - i) % step == 0) rows.push_back(progress[i]);
  }
  const Json& config = At(result, "config");
  return {{fmt::format("{} on {}{}", Text(config, "algorithm"), Text(config, "env"),
                       rows.size() < progress.size()
                           ? fmt::format(" ({} of {} points)", rows.size(), progress.size())
                           : ""),
           TableOf(rows, {"episodes", "env_steps", "updates", "team_return", "team_return_ci95",
                          "q_loss", "p_loss", "entropy"})}};
}

std::vector<TitledTable> OfStudy(const Json& result) {
  return {{fmt::format("study {}: {} of {} units done", Text(result, "study"), Text(result, "done"),
                       At(result, "units").size()),
           TableOf(At(result, "units"),
                   {"unit", "network", "layer", "accelerator", "objective", "method", "seed",
                    "state", "cycles", "energy_pj", "edp", "gap", "status", "samples"})}};
}

std::vector<TitledTable> OfExplore(const Json& result) {
  return {{fmt::format("machines for {} (objective {}): {}", Text(result, "networks"),
                       Text(result, "objective"), Text(result, "certificate")),
           TableOf(At(result, "front"),
                   {"cycles", "energy_pj", "edp", "area_um2", "gap", "status", "limited_by"},
                   "machine")}};
}

std::vector<TitledTable> OfSweep(const Json& result) {
  return {{fmt::format("what if: {} (objective {})", Text(result, "network"),
                       Text(result, "objective")),
           TableOf(At(result, "points"),
                   {"cycles", "energy_pj", "edp", "area_um2", "relative", "gap", "status",
                    "limited_by"},
                   "values")}};
}

Result<std::vector<TitledTable>> OfMap(const RunDirectory& run) {
  const Result<RunExplanation> explained = ExplainRun(run);
  if (!explained) return explained.error();
  return std::vector<TitledTable>{
      {fmt::format("{} on {} (model {}, objective {})", explained->network, explained->accelerator,
                   explained->model, explained->objective),
       ExplainTable(*explained)}};
}

using Maker = std::vector<TitledTable> (*)(const Json& result);
constexpr std::pair<std::string_view, Maker> kMakers[] = {
    {"compare", OfCompare}, {"cooptimize", OfCooptimize}, {"train", OfTrain},
    {"study", OfStudy},     {"explore", OfExplore},       {"sweep", OfSweep}};

}  // namespace

Result<std::vector<TitledTable>> TablesOfRun(const RunDirectory& run) {
  for (const auto& [kind, make] : kMakers) {
    if (run.header().kind != kind) continue;
    const Result<Json> result = ResultOf(run);
    if (!result) return result.error();
    return make(*result);
  }
  return OfMap(run);
}

}  // namespace tessera
