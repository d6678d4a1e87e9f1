// Tables, JSON and the page of training runs.
#include "tessera/report/train_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/report/curves.h"
#include "tessera/report/page.h"
#include "tessera/report/table.h"
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

}  // namespace

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
  const Json kept = {{"config", config},
                     {"episodes", outcome.episodes},
                     {"interrupted", outcome.interrupted},
                     {"progress", ToJson(rows)}};
  view.files = {
      {"result.json", ToText(kept)},
      {"progress.csv", TrainingCsv(outcome.rows)},
      {"report.html", Page(fmt::format("Training of {} in {}", outcome.settings.config.algorithm,
                                       outcome.settings.config.env),
                           ToText(rows), Returns(outcome))}};
  view.own_files = {std::string(kCheckpoint)};
  return view;
}

}  // namespace tessera
