// Tables, JSON and curves of comparisons.
#include "tessera/report/compare_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/report/curves.h"
#include "tessera/report/note_json.h"
#include "tessera/report/page.h"

namespace tessera {
namespace {

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Cell OrNothing(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

Cell IfFinite(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

// Why there is nothing to compare: a run's own reason says more than an empty table.
Result<void> CheckFound(const Comparison& comparison) {
  for (const CompareRun& run : comparison.runs) {
    if (run.best() || run.result.stop == StopReason::kInterrupted) return {};
  }
  const CompareRun& first = comparison.runs.front();
  const bool broken = first.result.failed == first.result.samples;
  return Error{
      .kind = broken ? ErrorKind::kIo : ErrorKind::kBudget,
      .message = fmt::format("no run found a feasible mapping; {} seed {}: {} samples, {}; {}",
                             first.method, first.seed, first.result.samples,
                             broken ? "all failed" : "none feasible", WhyNothing(first.result))};
}

}  // namespace

Json ToJson(const MapJob& job, const Comparison& comparison, bool times) {
  Json json;
  json["network"] = job.network.name;
  json["layer"] = job.network.layers.front().name;
  json["accelerator"] = job.accelerator.name;
  json["model"] = job.settings.model.ToString();
  json["objective"] = ToString(job.settings.objective);
  json["budget"] = job.settings.budget.samples;
  json["log10_space"] = comparison.log10_size;
  json["results"] = Json::array();
  for (const CompareRun& run : comparison.runs) {
    Json curve = Json::array();
    for (const Improvement& improvement : run.result.curve) {
      curve.push_back({improvement.samples, improvement.value});
    }
    Json returns = Json::array();
    for (const MeanReturn& mean : run.result.returns) {
      returns.push_back({mean.samples, mean.reward});
    }
    json["results"].push_back({{"method", run.method},
                               {"seed", run.seed},
                               {"samples", run.result.samples},
                               {"best", OrNull(run.best())},
                               {"best_within_budget", OrNull(run.BestWithinBudget())},
                               {"curve", std::move(curve)},
                               {"return_curve", std::move(returns)},
                               {"infeasible_samples", run.result.infeasible},
                               {"failed_samples", run.result.failed},
                               {"last_problem", run.result.last_problem},
                               {"stopped_by", run.result.samples == 0  // not started
                                                  ? Json(nullptr)
                                                  : Json(ToString(run.result.stop))},
                               {"notes", ToJson(run.result.notes)}});
    if (times) json["results"].back()["seconds"] = run.result.seconds;
  }
  json["best_known"] = OrNull(comparison.best_known);
  json["bound"] = OrNull(comparison.bound);
  json["reward_reference"] = OrNull(comparison.reference);
  json["summary"] = ToJson(SummaryTable(comparison, times));
  return json;
}

Table SummaryTable(const Comparison& comparison, bool times) {
  std::vector<std::string> columns = {"method",          "median",           "lower_quartile",
                                      "upper_quartile",  "samples_to_10pct", "samples_to_5pct",
                                      "samples_to_1pct", "last_return"};
  if (times) columns.emplace_back("seconds");
  Table table(columns);
  for (const MethodSummary& summary : Summarize(comparison)) {
    std::vector<Cell> row = {summary.method,
                             IfFinite(summary.median),
                             IfFinite(summary.lower_quartile),
                             IfFinite(summary.upper_quartile),
                             OrNothing(summary.to_10),
                             OrNothing(summary.to_5),
                             OrNothing(summary.to_1),
                             OrNothing(summary.last_return)};
    if (times) row.emplace_back(summary.seconds);
    table.AddRow(std::move(row));
  }
  return table;
}

std::string CurvesSvg(const MapJob& job, const Comparison& comparison) {
  Chart chart{
      .title = fmt::format("{} {} on {}: {}", job.network.name, job.network.layers.front().name,
                           job.accelerator.name, ToString(job.settings.objective)),
      .x_label = "samples",
      .y_label = fmt::format("best {} so far", ToString(job.settings.objective)),
      .steps = true};
  for (const CompareRun& run : comparison.runs) {
    Curve curve{.name = run.method};
    for (const Improvement& improvement : run.result.curve) {
      curve.points.emplace_back(static_cast<double>(improvement.samples), improvement.value);
    }
    if (!curve.points.empty()) {
      curve.points.emplace_back(static_cast<double>(run.result.samples),
                                curve.points.back().second);
      chart.curves.push_back(std::move(curve));
    }
  }
  return ToSvg(chart);
}

std::string ReturnsSvg(const MapJob& job, const Comparison& comparison) {
  Chart chart{
      .title = fmt::format("{} {} on {}: {}", job.network.name, job.network.layers.front().name,
                           job.accelerator.name, ToString(job.settings.objective)),
      .x_label = "samples",
      .y_label = "mean reward of the last 1,000 samples",
      .linear_y = true};
  for (const CompareRun& run : comparison.runs) {
    Curve curve{.name = run.method};
    for (const MeanReturn& mean : run.result.returns) {
      curve.points.emplace_back(static_cast<double>(mean.samples), mean.reward);
    }
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
  }
  return ToSvg(chart);
}

Result<RunView> ViewOfCompare(const CompareRunResult& result) {
  const MapJob& job = result.job;
  const Comparison& comparison = result.comparison;
  RunView view{.json = ToJson(job, comparison, /*times=*/true),
               .text = ToText(SummaryTable(comparison, /*times=*/true)),
               .times = {{"runs", Json::array()}},
               .verdict = CheckFound(comparison)};
  std::string known;
  if (comparison.best_known) {
    known = fmt::format("best known: {:.6g}; space: 10^{:.1f} points\n", *comparison.best_known,
                        comparison.log10_size);
  }
  view.text += known;
  for (const CompareRun& run : comparison.runs) {
    view.interrupted |= run.result.stop == StopReason::kInterrupted;
    view.times["runs"].push_back(
        {{"method", run.method}, {"seed", run.seed}, {"seconds", run.result.seconds}});
  }
  const std::string curves = CurvesSvg(job, comparison), returns = ReturnsSvg(job, comparison);
  const std::string title =
      fmt::format("Methods on {} {}", job.network.name, job.network.layers.front().name);
  view.files = {
      {"result.json", ToText(ToJson(job, comparison, /*times=*/false))},
      {"curves.svg", curves},
      {"returns.svg", returns},
      {"report.html",
       Page(title, ToText(SummaryTable(comparison, /*times=*/false)) + known, curves + returns)}};
  return view;
}

}  // namespace tessera
