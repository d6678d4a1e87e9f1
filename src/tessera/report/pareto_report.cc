// Tables, JSON and charts of fronts.
#include "tessera/report/pareto_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/map.h"
#include "tessera/report/curves.h"

namespace tessera {
namespace {

double GapPercent(const FrontPoint& point) {
  return std::round((point.cost.energy_pj / point.bound_pj - 1) * 1e4) / 1e2;
}

}  // namespace

Table FrontTable(const NetworkFronts& fronts) {
  Table table({"layer", "point", "cycles", "energy_pj", "edp", "gap_pct", "status"});
  for (const LayerFront& layer : fronts.layers) {
    int64_t number = 0;
    for (const FrontPoint& point : layer.points) {
      table.Add(layer.name, ++number, point.cost.cycles, point.cost.energy_pj, point.cost.edp(),
                point.bound_pj > 0 ? Cell(GapPercent(point)) : Cell(), ToString(point.status));
    }
  }
  return table;
}

Result<Json> ToJson(const MapJob& job, const NetworkFronts& fronts) {
  Json json;
  json["network"] = job.network.name;
  json["accelerator"] = job.accelerator.name;
  json["model"] = job.settings.model.ToString();
  json["objective"] = "pareto";
  json["method"] = job.settings.method.ToString();
  json["space"] = DescribeSpace(job);
  json["stopped_by"] = NameOf(fronts.stopped_by, kMapStopNames);
  json["layers"] = Json::array();
  for (const LayerFront& layer : fronts.layers) {
    Json points = Json::array();
    for (const FrontPoint& point : layer.points) {
      const Result<std::string> mapping = MappingJson(layer.layer, job.accelerator, point.mapping);
      if (!mapping) return mapping.error();
      points.push_back({{"cycles", point.cost.cycles},
                        {"energy_pj", point.cost.energy_pj},
                        {"edp", point.cost.edp()},
                        {"bound_pj", point.bound_pj},
                        {"status", ToString(point.status)},
                        {"mapping", FromText(*mapping)}});
    }
    json["layers"].push_back(
        {{"name", layer.name},
         {"count", layer.count},
         {"complete", layer.complete},
         {"gap", layer.gap ? Json(*layer.gap) : Json(nullptr)},
         {"cycles_gap", layer.cycles_gap ? Json(*layer.cycles_gap) : Json(nullptr)},
         {"samples", layer.evaluations},
         {"points", points}});
  }
  json["interrupted"] = fronts.interrupted;
  return json;
}

std::string Summary(const MapJob& job, const NetworkFronts& fronts) {
  const auto complete = std::count_if(fronts.layers.begin(), fronts.layers.end(),
                                      [](const LayerFront& layer) { return layer.complete; });
  double gap = 0, cycles_gap = 0;
  bool known = true;
  for (const LayerFront& layer : fronts.layers) {
    known = known && layer.gap && layer.cycles_gap;
    gap = std::max(gap, layer.gap.value_or(0));
    cycles_gap = std::max(cycles_gap, layer.cycles_gap.value_or(0));
  }
  std::string text = fmt::format(
      "{} on {}: fronts of cycles and energy; {} of {} fronts are complete, with a proof of every "
      "point; OPTIMAL points need the least energy for their cycles, BOUNDED ones at most the gap "
      "more; {:.1f} s\n",
      job.network.name, job.accelerator.name, complete, fronts.layers.size(), fronts.seconds);
  text += known ? fmt::format(
                      "gap of the fronts: at most {:.2f} % of energy at any cycles, and "
                      "{:.2f} % above the fewest cycles",
                      100 * gap, 100 * cycles_gap)
                : std::string("gap of the fronts: not known");
  text += fmt::format("; stopped by: {}\nspace: {}\n", NameOf(fronts.stopped_by, kMapStopNames),
                      DescribeSpace(job));
  return text;
}

std::string FrontsSvg(const MapJob& job, const NetworkFronts& fronts) {
  Chart chart{
      .title = fmt::format("{} on {}: cycles and energy", job.network.name, job.accelerator.name),
      .x_label = "cycles",
      .y_label = "energy (pJ)",
      .dots = true};
  for (const LayerFront& layer : fronts.layers) {
    Curve curve{.name = layer.name};
    // From the fewest cycles, since a chart's x ascends.
    for (auto point = layer.points.rbegin(); point != layer.points.rend(); ++point) {
      curve.points.emplace_back(static_cast<double>(point->cost.cycles), point->cost.energy_pj);
    }
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
  }
  return ToSvg(chart);
}

}  // namespace tessera
