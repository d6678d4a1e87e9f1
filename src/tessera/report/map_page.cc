// The page of a mapping run.
#include "tessera/report/map_page.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/base/text.h"
#include "tessera/base/xml.h"
#include "tessera/map.h"
#include "tessera/report/curves.h"

namespace tessera {
namespace {

constexpr std::string_view kStyle = R"(
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1080px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; margin-bottom: 0; } h2 { font-size: 1.2em; margin-top: 2em; }
.facts { color: #666; margin-top: .2em; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 1.2em 0; }
.card { border: 1px solid #ddd; border-radius: 8px; padding: .6em 1em; min-width: 120px; }
.card b { display: block; font-size: 1.3em; } .card span { color: #666; font-size: .85em; }
table { border-collapse: collapse; width: 100%; font-size: .92em; }
th, td { padding: .3em .6em; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.bar { display: inline-block; height: .7em; background: #1f77b4; border-radius: 2px; vertical-align: baseline; }
.OPTIMAL { color: #2a7d2a; } .BOUNDED { color: #555; } .HEURISTIC { color: #888; } .NOTHING { color: #c22; }
details { border-bottom: 1px solid #eee; padding: .4em 0; } summary { cursor: pointer; }
pre { background: #f7f7f7; padding: .8em; overflow-x: auto; font-size: .85em; }
svg { max-width: 100%; height: auto; }
)";

std::string Percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string Card(std::string_view value, std::string_view what) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", EscapedXml(value),
                     EscapedXml(what));
}

std::string Cards(const NetworkTotal& total) {
  std::string html = "<div class=\"cards\">\n";
  html += Card(WholeText(total.cycles), "cycles");
  html += Card(fmt::format("{:.4g} µJ", total.energy_pj * 1e-6), "energy");
  html += Card(fmt::format("{:.4g}", total.edp()), "EDP, pJ × cycles");
  html += Card(Percent(total.utilization), "of the MACs busy");
  if (total.gap()) html += Card(Percent(*total.gap()), "above the lower bound");
  html += Card(WithThousands(total.samples), "mappings evaluated");
  return html + "</div>\n";
}

// One row; the bar is the layer's part of the network's cycles.
std::string LayerRow(const LayerMapping& layer, double total_cycles) {
  const std::string name = EscapedXml(layer.name);
  const std::string_view status = ToString(layer.status);
  if (!layer.cost) {
    return fmt::format(
        "<tr><td>{}</td><td>{}</td><td colspan=\"7\">{}</td><td class=\"{}\">{}</td></tr>\n", name,
        layer.count, EscapedXml(WhyNothing(layer.search)), status, status);
  }
  const double cycles = static_cast<double>(layer.count * layer.cost->cycles);
  const double part = total_cycles > 0 ? cycles / total_cycles : 0;
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td>{}</td><td style=\"text-align:left\"><span class=\"bar\" "
      "style=\"width:{:.0f}px\"></span> {}</td><td>{:.4g}</td><td>{:.4g}</td><td>{}</td>"
      "<td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>\n",
      name, layer.count, WithThousands(layer.cost->cycles), 120 * part, Percent(part),
      layer.cost->energy_pj * 1e-6, layer.cost->edp(), Percent(layer.cost->utilization),
      layer.gap() ? Percent(*layer.gap()) : "-", WithThousands(layer.samples()), status, status);
}

std::string LayersTable(const NetworkMapping& mapping) {
  std::string html =
      "<table>\n<tr><th>layer</th><th>times</th><th>cycles</th><th style=\"text-align:left\">part "
      "of all</th><th>energy µJ</th><th>EDP</th><th>busy</th><th>gap</th><th>samples</th>"
      "<th>status</th></tr>\n";
  for (const LayerMapping& layer : mapping.layers) html += LayerRow(layer, mapping.total.cycles);
  return html + "</table>\n";
}

// All layers in one chart: the best value so far over the bound, or over the last best.
std::string Progress(const MapJob& job, const NetworkMapping& mapping) {
  Chart chart{.title = "",
              .x_label = "samples",
              .y_label = fmt::format("best {} so far / bound", ToString(job.settings.objective)),
              .steps = true};
  const bool bounded =
      std::all_of(mapping.layers.begin(), mapping.layers.end(),
                  [](const LayerMapping& layer) { return layer.bound.value_or(0) > 0; });
  if (!bounded)
    chart.y_label = fmt::format("best {} so far / last", ToString(job.settings.objective));
  for (const LayerMapping& layer : mapping.layers) {
    if (!layer.cost) continue;
    Curve curve{.name = layer.name};
    const double unit = bounded ? *layer.bound : layer.value;
    for (const Improvement& improvement : layer.search.curve) {
      curve.points.emplace_back(static_cast<double>(improvement.samples), improvement.value / unit);
    }
    // Proofs evaluate too; a mapping that came with a bound took one evaluation at least.
    const auto samples = static_cast<double>(std::max<int64_t>(1, layer.samples()));
    curve.points.emplace_back(samples, layer.value / unit);
    chart.curves.push_back(std::move(curve));
  }
  return chart.curves.empty() ? "" : "<h2>How the search went</h2>\n" + ToSvg(chart);
}

// Words per cycle that the outermost level can move in and out; none where something is unlimited.
std::optional<double> OuterWordsPerCycle(const Accelerator& accelerator) {
  if (!accelerator.hierarchy || accelerator.hierarchy->levels.empty()) return std::nullopt;
  const MemoryLevel& outer = accelerator.hierarchy->levels.back();
  const auto instances = static_cast<double>(outer.instances());
  std::optional<double> words;
  if (outer.shared_words_per_cycle) words = outer.shared_words_per_cycle->ToDouble();
  if (outer.read_words_per_cycle && outer.write_words_per_cycle) {
    const double apart =
        outer.read_words_per_cycle->ToDouble() + outer.write_words_per_cycle->ToDouble();
    words = std::min(words.value_or(apart), apart);
  }
  return words && *words > 0 ? std::optional(*words * instances) : std::nullopt;
}

// Every layer below what MACs and the outermost level allow; empty for models that explain nothing.
std::string Roofline(const MapJob& job, const NetworkMapping& mapping) {
  Chart chart{.x_label = "MACs per word of the outermost level", .y_label = "MACs per cycle"};
  double peak = 0, least = std::numeric_limits<double>::infinity(), most = 0;
  for (const LayerMapping& layer : mapping.layers) {
    if (!layer.mapping) continue;
    const Result<LayerExplanation> explained = ExplainMapping(
        job, {.name = layer.name, .layer = layer.layer, .count = layer.count}, *layer.mapping);
    if (!explained || explained->parts.levels.empty()) continue;
    const CostBreakdown& parts = explained->parts;
    const int64_t words = parts.levels.back().moved_words();
    if (words <= 0 || parts.cost.cycles <= 0 || parts.cost.macs <= 0) continue;
    const auto macs = static_cast<double>(parts.cost.macs);
    const double intensity = macs / static_cast<double>(words);
    chart.curves.push_back(
        {.name = layer.name,
         .points = {{intensity, macs / static_cast<double>(parts.cost.cycles)}}});
    peak = static_cast<double>(parts.mac_units);
    least = std::min(least, intensity);
    most = std::max(most, intensity);
  }
  if (chart.curves.empty()) return "";
  Curve roof{.name = fmt::format("{} MACs", WithThousands(static_cast<int64_t>(peak)))};
  if (const std::optional<double> words = OuterWordsPerCycle(job.accelerator)) {
    roof.name += fmt::format(", {:.4g} words per cycle", *words);
    const double knee = peak / *words;
    const double first = std::min(least, knee) / 2;
    roof.points = {{first, first * *words}, {knee, peak}, {std::max(most, knee) * 2, peak}};
  } else {
    roof.points = {{least / 2, peak}, {most * 2, peak}};
  }
  chart.curves.insert(chart.curves.begin(), std::move(roof));
  return "<h2>Roofline</h2>\n" + ToSvg(chart);
}

// The form of a mapping that people read best: a loop nest, or MAESTRO's directives.
Result<std::string> MappingText(const MapJob& job, const LayerMapping& layer) {
  const Result<std::vector<ExportedFile>> files =
      ExportMapping("mapping", layer.layer, job.accelerator, *layer.mapping);
  if (!files) return files.error();
  for (const ExportedFile& file : *files) {
    if (file.name.ends_with(".txt") || file.name.ends_with(".m")) return file.contents;
  }
  return files->front().contents;
}

Result<std::string> Mappings(const MapJob& job, const NetworkMapping& mapping) {
  std::string html = "<h2>Mappings</h2>\n";
  for (const LayerMapping& layer : mapping.layers) {
    if (!layer.mapping) continue;
    const Result<std::string> text = MappingText(job, layer);
    if (!text) return text.error();
    std::string notes;
    for (const Note& note : layer.search.notes) {
      notes += fmt::format("{} = {}\n", note.name, ToString(note.value));
    }
    html +=
        fmt::format("<details><summary>{}: {}</summary>\n<pre>{}</pre>\n<pre>{}</pre></details>\n",
                    EscapedXml(layer.name), EscapedXml(ToString(layer.layer)), EscapedXml(*text),
                    EscapedXml(notes));
  }
  return html;
}

}  // namespace

Result<std::string> MapPage(const MapJob& job, const NetworkMapping& mapping) {
  const Result<std::string> mappings = Mappings(job, mapping);
  if (!mappings) return mappings.error();
  const std::string title = fmt::format("{} on {}", job.network.name, job.accelerator.name);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p class=\"facts\">objective {2}, model "
      "{3}, method {4}, seed {5}{6}</p>\n",
      EscapedXml(title), kStyle, EscapedXml(ObjectivesText(job.settings)),
      EscapedXml(job.settings.model.ToString()), EscapedXml(job.settings.method.ToString()),
      job.settings.seed, mapping.interrupted ? "; interrupted before the end" : "");
  html += fmt::format("<p class=\"facts\">space: {}; stopped by: {}</p>\n",
                      EscapedXml(DescribeSpace(job)), NameOf(mapping.stopped_by, kMapStopNames));
  for (const SpaceGain& gain : GainsOf(job, mapping)) {
    html += fmt::format("<p class=\"facts\">{}</p>\n", EscapedXml(gain.text));
  }
  html += Cards(mapping.total);
  html += "<h2>Layers</h2>\n" + LayersTable(mapping);
  html += Progress(job, mapping);
  html += Roofline(job, mapping);
  return html + *mappings + "</body>\n</html>\n";
}

}  // namespace tessera
