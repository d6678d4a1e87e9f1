// Tables, JSON and curves of comparisons.
#include "tessera/report/compare_report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/report/curves.h"
#include "tessera/report/note_json.h"

namespace tessera {
namespace {

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Cell OrNothing(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

Cell IfFinite(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

}  // namespace

Json ToJson(const MapJob& job, const Comparison& comparison) {
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
    json["results"].push_back({{"method", run.method},
                               {"seed", run.seed},
                               {"samples", run.result.samples},
                               {"best", OrNull(run.best())},
                               {"best_within_budget", OrNull(run.BestWithinBudget())},
                               {"seconds", run.result.seconds},
                               {"curve", std::move(curve)},
                               {"infeasible_samples", run.result.infeasible},
                               {"failed_samples", run.result.failed},
                               {"last_problem", run.result.last_problem},
                               {"stopped_by", run.result.samples == 0  // not started
                                                  ? Json(nullptr)
                                                  : Json(ToString(run.result.stop))},
                               {"notes", ToJson(run.result.notes)}});
  }
  json["best_known"] = OrNull(comparison.best_known);
  json["bound"] = OrNull(comparison.bound);
  json["summary"] = ToJson(SummaryTable(comparison));
  return json;
}

Table SummaryTable(const Comparison& comparison) {
  Table table({"method", "median", "lower_quartile", "upper_quartile", "samples_to_10pct",
               "samples_to_5pct", "samples_to_1pct", "seconds"});
  for (const MethodSummary& summary : Summarize(comparison)) {
    table.Add(summary.method, IfFinite(summary.median), IfFinite(summary.lower_quartile),
              IfFinite(summary.upper_quartile), OrNothing(summary.to_10), OrNothing(summary.to_5),
              OrNothing(summary.to_1), summary.seconds);
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

}  // namespace tessera
