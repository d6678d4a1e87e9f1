// Tables from what pages show: rows of JSON by the names of their columns.
#include "tessera/report/run_tables.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
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

// One column per name; `expanded` is an object of every row whose fields are columns, before them.
Table TableOf(const Json& rows, std::vector<std::string> names, std::string_view expanded = "") {
  std::vector<std::string> fields;
  if (!expanded.empty() && !rows.empty()) {
    for (const auto& [field, value] : ValueAt(rows.front(), expanded).items())
      fields.push_back(field);
  }
  std::vector<std::string> columns = fields;
  columns.insert(columns.end(), names.begin(), names.end());
  Table table(columns);
  for (const Json& row : rows) {
    std::vector<Cell> cells;
    for (const std::string& field : fields)
      cells.push_back(CellOf(ValueAt(ValueAt(row, expanded), field)));
    for (const std::string& name : names) cells.push_back(CellOf(ValueAt(row, name)));
    table.AddRow(std::move(cells));
  }
  return table;
}

std::string Text(const Json& result, std::string_view key) {
  const Json& value = ValueAt(result, key);
  return value.is_string() ? value.get<std::string>() : ToLine(value);
}

std::vector<TitledTable> OfCompare(const Json& result) {
  return {{fmt::format("methods on {} of {} on {} (model {}, objective {}, {} samples)",
                       Text(result, "layer"), Text(result, "network"), Text(result, "accelerator"),
                       Text(result, "model"), Text(result, "objective"), Text(result, "budget")),
           TableOf(ValueAt(result, "summary"),
                   {"method", "median", "lower_quartile", "upper_quartile", "samples_to_10pct",
                    "samples_to_5pct", "samples_to_1pct"})}};
}

std::vector<TitledTable> OfCooptimize(const Json& result) {
  const Json& hardware = ValueAt(result, "hardware");
  Table machine({"hardware", "macs", "sram_bytes", "area_um2", "cycles", "inferences_per_second",
                 "measurements"});
  machine.AddRow({CellOf(ValueAt(hardware, "name")), CellOf(ValueAt(hardware, "macs")),
                  CellOf(ValueAt(hardware, "sram_bytes")), CellOf(ValueAt(hardware, "area")),
                  CellOf(ValueAt(result, "cycles")), CellOf(ValueAt(result, "throughput")),
                  CellOf(ValueAt(result, "measurements"))});
  std::vector<TitledTable> tables = {
      {fmt::format("{} for target {} by {}", Text(result, "network"), Text(result, "target"),
                   Text(result, "method")),
       machine},
      {"layers", TableOf(ValueAt(result, "layers"), {"name", "count", "cycles", "floor_cycles",
                                                     "energy_pj", "measurements", "schedule"})}};
  if (const Json& left_out = ValueAt(result, "left_out"); !left_out.empty()) {
    tables.push_back({"not included", TableOf(left_out, {"name", "count", "why"})});
  }
  return tables;
}

// About kMostTrainingRows of them, the last one included.
Json SomeRowsOf(const Json& progress) {
  Json rows = Json::array();
  if (!progress.is_array()) return rows;
  const size_t step = std::max<size_t>(1, progress.size() / kMostTrainingRows);
  for (size_t i = 0; i < progress.size(); ++i) {
    if ((progress.size() - 1 - i) % step == 0) rows.push_back(progress[i]);
  }
  return rows;
}

std::vector<TitledTable> OfTrain(const Json& result) {
  const Json& progress = ValueAt(result, "progress");
  const Json rows = SomeRowsOf(progress);
  const Json& config = ValueAt(result, "config");
  return {{fmt::format("{} on {}{}", Text(config, "algorithm"), Text(config, "env"),
                       rows.size() < progress.size()
                           ? fmt::format(" ({} of {} points)", rows.size(), progress.size())
                           : ""),
           TableOf(rows, {"episodes", "env_steps", "updates", "team_return", "team_return_ci95",
                          "q_loss", "p_loss", "entropy"})}};
}

std::vector<TitledTable> OfStudy(const Json& result) {
  return {{fmt::format("study {}: {} of {} units done", Text(result, "study"), Text(result, "done"),
                       ValueAt(result, "units").size()),
           TableOf(ValueAt(result, "units"),
                   {"unit", "network", "layer", "accelerator", "objective", "method", "seed",
                    "state", "cycles", "energy_pj", "edp", "gap", "status", "samples"})}};
}

std::vector<TitledTable> OfExplore(const Json& result) {
  return {{fmt::format("machines for {} (objective {}): {}", Text(result, "networks"),
                       Text(result, "objective"), Text(result, "certificate")),
           TableOf(ValueAt(result, "front"),
                   {"cycles", "energy_pj", "edp", "area_um2", "gap", "status", "limited_by"},
                   "machine")}};
}

std::vector<TitledTable> OfSweep(const Json& result) {
  return {{fmt::format("what if: {} (objective {})", Text(result, "network"),
                       Text(result, "objective")),
           TableOf(ValueAt(result, "points"),
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
