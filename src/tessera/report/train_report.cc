// Tables, JSON and the page of training runs.
#include "tessera/report/train_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/env/found_mapping.h"
#include "tessera/map.h"
#include "tessera/report/curves.h"
#include "tessera/report/page.h"
#include "tessera/report/table.h"
#include "tessera/rl/profiler.h"
#include "tessera/training/config.h"
#include "tessera/training/training_log.h"

namespace tessera {
namespace {

Table RowsTable(const std::vector<TrainingRow>& rows, bool seconds) {
  std::vector<std::string> columns;
  for (const std::string_view column : TrainingColumns()) columns.emplace_back(column);
  if (seconds) columns.emplace_back(kSecondsColumn);
  Table table(columns);
  for (const TrainingRow& row : rows) {
    std::vector<Cell> cells;
    for (const double value : TrainingValues(row)) {
      const bool whole = std::abs(value) < 9e15 && value == std::floor(value);
      cells.push_back(whole ? Cell(static_cast<int64_t>(value)) : Cell(value));
    }
    if (seconds) cells.push_back(row.seconds ? Cell(*row.seconds) : Cell());
    table.AddRow(std::move(cells));
  }
  return table;
}

std::string Returns(const TrainOutcome& outcome) {
  Curve curve{.name = outcome.settings.config.algorithm};
  for (const TrainingRow& row : outcome.rows) {
    curve.points.emplace_back(static_cast<double>(row.progress.episodes), row.progress.team_return);
  }
  return ToSvg({.title = "Team return",
                .x_label = "episodes",
                .y_label = "mean of the last episodes",
                .steps = false,
                .curves = {std::move(curve)}});
}

// As `tessera map` shows a layer.
Result<Json> FoundJson(const FoundMapping& found) {
  const Result<std::string> mapping = MappingJson(found.layer, found.accelerator, found.mapping);
  if (!mapping) return mapping.error();
  return Json{{"layer", found.name},
              {"objective", ToString(found.objective)},
              {"value", found.value},
              {"step", found.step},
              {"cycles", found.cost.cycles},
              {"energy_pj", found.cost.energy_pj},
              {"power_mw", found.cost.power_mw},
              {"area_um2", found.cost.area_um2},
              {"utilization", found.cost.utilization},
              {"agents", found.agents},
              {"mapping", FromText(*mapping)}};
}

std::string FoundText(const FoundMapping& found) {
  return fmt::format("best mapping of {}: {} {:.6g}, {} cycles, {:.6g} pJ, at step {}\n",
                     found.name, ToString(found.objective), found.value, found.cost.cycles,
                     found.cost.energy_pj, found.step);
}

}  // namespace

Result<void> ShowFound(const Env& env, Output& output) {
  const std::shared_ptr<const FoundMapping> found = env.Found();
  if (found == nullptr) return {};
  Result<Json> json = FoundJson(*found);
  if (!json) return json.error();
  output.Set("best_mapping", *std::move(json));
  const Result<std::vector<ExportedFile>> files =
      ExportMapping("mapping", found->layer, found->accelerator, found->mapping);
  if (!files) return files.error();
  // The first is the one for people.
  return output.ShowText(FoundText(*found) + files->front().contents + "\n");
}

Result<RunView> ViewOfTrain(const TrainRunResult& result) {
  const TrainOutcome& outcome = result.outcome;
  const Table rows = RowsTable(outcome.rows, /*seconds=*/false),
              timed = RowsTable(outcome.rows, /*seconds=*/true);
  RunView view{.interrupted = outcome.interrupted};
  const Json config = FromText(ToJsonText(outcome.settings.config));
  view.json = {{"config", config}, {"progress", ToJson(timed)}};
  view.text = ToText(timed);
  view.times = {{"rows", Json::array()}};
  for (const TrainingRow& row : outcome.rows) {
    if (!row.seconds) continue;
    view.times["rows"].push_back({{"episodes", row.progress.episodes}, {"seconds", *row.seconds}});
  }
  if (outcome.profiler != nullptr) {
    for (size_t phase = 0; phase < kNumPhases; ++phase) {
      view.times["phases"][std::string(kPhaseNames[phase])] =
          outcome.profiler->all()[phase].seconds;
    }
  }
  Json kept = {{"config", config},
               {"episodes", outcome.episodes},
               {"interrupted", outcome.interrupted},
               {"progress", ToJson(rows)}};
  std::vector<ExportedFile> mappings;
  std::string found_text;
  if (const std::shared_ptr<const FoundMapping> found = outcome.training.env->Found()) {
    const Result<Json> json = FoundJson(*found);
    if (!json) return json.error();
    view.json["best_mapping"] = kept["best_mapping"] = *json;
    view.text += found_text = FoundText(*found);
    Result<std::vector<ExportedFile>> files = ExportMapping(
        MappingStem(0, found->name), found->layer, found->accelerator, found->mapping);
    if (!files) return files.error();
    mappings = *std::move(files);
  }
  view.files = {
      {"result.json", ToText(kept)},
      {"progress.csv", TrainingCsv(outcome.rows)},
      {"report.html", Page(fmt::format("Training of {} in {}", outcome.settings.config.algorithm,
                                       outcome.settings.config.env),
                           ToText(rows) + found_text, Returns(outcome))}};
  for (ExportedFile& file : mappings) {
    view.files.push_back({std::move(file.name), std::move(file.contents)});
  }
  view.own_files = {std::string(kCheckpoint)};
  return view;
}

}  // namespace tessera
