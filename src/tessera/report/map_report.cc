// Tables and JSON of mapped networks.
#include "tessera/report/map_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/map.h"
#include "tessera/report/llm_report.h"
#include "tessera/report/map_page.h"
#include "tessera/report/note_json.h"
#include "tessera/report/plan_report.h"

namespace tessera {
namespace {

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Cell OrNothing(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

// For people: two decimals are what a percentage is good for.
double Percent(double part) { return std::round(part * 1e4) / 1e2; }

// Cycles are whole numbers that may exceed 64 bits in a sum over a network.
Json Whole(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return value < kExact ? Json(static_cast<int64_t>(value)) : Json(value);
}

// What no model has said: an area is never 0.
Json AreaJson(double area_um2) { return area_um2 > 0 ? Json(area_um2) : Json(nullptr); }

Json SubspaceJson(const SubspaceResult& part) {
  return {{"value", OrNull(part.value)},
          {"bound", std::isinf(part.bound) ? Json(nullptr) : Json(part.bound)}};
}

Result<Json> LayerJson(const MapJob& job, const LayerMapping& layer) {
  Json json;
  json["name"] = layer.name;
  json["count"] = layer.count;
  json["cycles"] = layer.cost ? Json(layer.cost->cycles) : Json(nullptr);
  json["energy_pj"] = layer.cost ? Json(layer.cost->energy_pj) : Json(nullptr);
  json["edp"] = layer.cost ? Json(layer.cost->edp()) : Json(nullptr);
  json["value"] = layer.cost ? Json(layer.value) : Json(nullptr);
  json["bound"] = OrNull(layer.bound);
  json["gap"] = OrNull(layer.gap());
  json["status"] = ToString(layer.status);
  json["samples"] = layer.samples();
  json["mapping"] = nullptr;
  if (layer.mapping) {
    const Result<std::string> text = MappingJson(layer.layer, job.accelerator, *layer.mapping);
    if (!text) return text.error();
    json["mapping"] = FromText(*text);
  }
  json["power_mw"] = layer.cost ? Json(layer.cost->power_mw) : Json(nullptr);
  json["area_um2"] = layer.cost ? AreaJson(layer.cost->area_um2) : Json(nullptr);
  json["utilization"] = layer.cost ? Json(layer.cost->utilization) : Json(nullptr);
  json["infeasible_samples"] = layer.search.infeasible;
  json["failed_samples"] = layer.search.failed;
  json["stopped_by"] = NameOf(layer.stopped_by, kMapStopNames);
  if (layer.proof) {
    json["proof"] = {{"rounds", layer.proof->rounds},
                     {"evaluations", layer.proof->evaluations},
                     {"complete", layer.proof->complete}};
  }
  if (layer.without_bypass) json["without_bypass"] = SubspaceJson(*layer.without_bypass);
  if (layer.perfect_factors) json["perfect_factors"] = SubspaceJson(*layer.perfect_factors);
  if (!layer.then.empty()) {
    json["then"] = Json::array();
    for (const NextObjective& next : layer.then) {
      json["then"].push_back({{"objective", ToString(next.objective)},
                              {"value", next.value},
                              {"proved", next.proved}});
    }
  }
  if (!layer.unproved.empty()) json["unproved"] = layer.unproved;
  if (!layer.search.agents.empty()) json["agents"] = layer.search.agents;
  json["notes"] = ToJson(layer.search.notes);
  return json;
}

// What was proved, and what it was limited by.
std::string ProofSummary(const MapJob& job, const NetworkMapping& mapping) {
  const MapSettings& settings = job.settings;
  const auto layers = std::ssize(mapping.layers);
  const auto optimal =
      std::count_if(mapping.layers.begin(), mapping.layers.end(),
                    [](const LayerMapping& layer) { return layer.status == MapStatus::kOptimal; });
  std::string text =
      fmt::format("{} of {} distinct layers OPTIMAL (relative tolerance 1e-9)", optimal, layers);
  std::vector<std::string> limits;
  if (settings.budget.seconds > 0) limits.push_back(fmt::format("{} s", settings.budget.seconds));
  if (settings.proof_seconds > 0) {
    limits.push_back(fmt::format("{} s of proofs", settings.proof_seconds));
  }
  const bool clock = !limits.empty();
  if (settings.proof_rounds > 0) {
    limits.push_back(fmt::format("{} rounds per layer", WithThousands(settings.proof_rounds)));
  }
  text += fmt::format("; stopped by: {}", NameOf(mapping.stopped_by, kMapStopNames));
  const bool limited =
      mapping.stopped_by == MapStop::kTime || mapping.stopped_by == MapStop::kRounds;
  if (limited && !limits.empty()) {
    text += fmt::format(", limited to {}", fmt::join(limits, " and "));
    if (clock) {
      text += ", so the result depends on the machine; --samples N gives one that does not";
    }
  }
  if (mapping.stopped_by == MapStop::kMemory) {
    text += fmt::format(", limited to {} MiB (--proof-memory)", settings.proof_memory_mib);
  }
  text += "\n";
  for (const LayerMapping& layer : mapping.layers) {
    if (layer.unproved.empty()) continue;
    text += fmt::format("not proved: layer '{}': {}\n", layer.name, layer.unproved);
  }
  return text;
}

Json BudgetJson(const MapSettings& settings, bool prove) {
  Json json = {{"samples", settings.budget.samples}, {"seconds", settings.budget.seconds}};
  if (prove) {
    json["proof_seconds"] = settings.proof_seconds;
    json["proof_rounds"] = settings.proof_rounds;
    json["proof_memory_mib"] = settings.proof_memory_mib;
  }
  json["reproducible"] = settings.budget.seconds == 0 && settings.proof_seconds == 0;
  return json;
}

// What lies outside the space.
Json GainsJson(const MapJob& job, const NetworkMapping& mapping) {
  Json json = Json::array();
  if (mapping.inter_layer) return json;  // They are about single layers.
  for (const SpaceGain& gain : GainsOf(job, mapping)) {
    json.push_back({{"restriction", gain.restriction},
                    {"gained", OrNull(gain.gained)},
                    {"could_gain", OrNull(gain.could_gain)},
                    {"text", gain.text}});
  }
  return json;
}

// Layers without a mapping: the reason of the first is the reason of the command.
Result<void> CheckFound(const MapJob& job, const NetworkMapping& mapping) {
  for (const LayerMapping& layer : mapping.layers) {
    if (layer.cost || layer.search.stop == StopReason::kInterrupted) continue;
    if (layer.search.samples == 0) {
      if (layer.proof && layer.proof->complete) {
        return Error{.kind = ErrorKind::kInfeasible,
                     .message = fmt::format("layer '{}': the space was searched to its end and "
                                            "holds no mapping that the machine can run",
                                            layer.name),
                     .hint = job.problem.space.decide_keep
                                 ? "loosen the constraints or the limits"
                                 : "loosen the constraints, or let levels pass tensors by "
                                   "(without --no-bypass)"};
      }
      return Error{.kind = ErrorKind::kBudget,
                   .message = fmt::format("layer '{}': no mapping was found in {} rounds of exact "
                                          "search",
                                          layer.name, layer.proof ? layer.proof->rounds : 0),
                   .hint = "give it more time, or use --method auto"};
    }
    if (layer.search.failed == layer.search.samples) {
      return Error{
          .kind = ErrorKind::kIo,
          .message = fmt::format("layer '{}': all {} evaluations failed; the last one: {}",
                                 layer.name, layer.search.samples, layer.search.last_problem)};
    }
    return Error{.kind = ErrorKind::kBudget,
                 .message = fmt::format("layer '{}': no feasible mapping among {} samples; {}",
                                        layer.name, layer.search.samples, WhyNothing(layer.search)),
                 .hint = "try more samples, another method or a larger machine"};
  }
  return {};
}

// Of a network that is mapped, with its result as JSON.
Result<std::vector<ExportedFile>> ResultFiles(const MapJob& job, const NetworkMapping& mapping,
                                              const Json& json) {
  std::vector<ExportedFile> all;
  for (size_t i = 0; i < mapping.layers.size(); ++i) {
    const LayerMapping& layer = mapping.layers[i];
    if (!layer.mapping) continue;
    Result<std::vector<ExportedFile>> files =
        ExportMapping(MappingStem(i, layer.name), layer.layer, job.accelerator, *layer.mapping);
    if (!files) return files.error();
    std::move(files->begin(), files->end(), std::back_inserter(all));
  }
  if (mapping.inter_layer) {
    all.push_back({"staircases.svg", StaircaseChart(job, *mapping.inter_layer)});
    all.push_back({"staircases.csv", ToCsv(StaircaseTable(job, *mapping.inter_layer))});
  }
  all.push_back({"result.json", ToText(json)});
  Result<std::string> page = MapPage(job, mapping);
  if (!page) return page.error();
  all.push_back({"report.html", *std::move(page)});
  return all;
}

// A verdict in a line, and the loop nest of the layer that matters most, with what limits it.
std::string Closer(const MapJob& job, const NetworkMapping& mapping) {
  const auto all_cycles = [](const LayerMapping& layer) {
    return layer.cost ? static_cast<double>(layer.cost->cycles) * static_cast<double>(layer.count)
                      : 0;
  };
  const auto most = std::ranges::max_element(mapping.layers, {}, all_cycles);
  if (most == mapping.layers.end() || !most->mapping) return "";
  const Result<LayerExplanation> explained = ExplainMapping(
      job, {.name = most->name, .layer = most->layer, .count = most->count}, *most->mapping);
  if (!explained) return "";
  std::map<std::string, int64_t> statuses;
  for (const LayerMapping& layer : mapping.layers) ++statuses[std::string(ToString(layer.status))];
  std::vector<std::string> counts;
  for (const auto& [name, count] : statuses) counts.push_back(fmt::format("{} {}", count, name));
  const std::optional<double> gap = mapping.total.gap();
  return fmt::format("\nverdict: {}{}\n{} matters most, {:.1f} % of the cycles: {}\n\n{}",
                     fmt::join(counts, ", "),
                     gap ? fmt::format("; at most {:.2f} % above the optimum", 100 * *gap) : "",
                     Printable(most->name), 100 * all_cycles(*most) / mapping.total.cycles,
                     LimitSentence(*explained), MappingText(*explained));
}

}  // namespace

Result<Json> ToJson(const MapJob& job, const NetworkMapping& mapping) {
  Json json;
  json["network"] = job.network.name;
  json["accelerator"] = job.accelerator.name;
  json["model"] = job.settings.model.ToString();
  json["objective"] = ObjectivesText(job.settings);
  json["method"] = job.settings.method.ToString();
  json["seed"] = job.settings.seed;
  json["space"] = DescribeSpace(job);
  json["stopped_by"] = NameOf(mapping.stopped_by, kMapStopNames);
  json["gains"] = GainsJson(job, mapping);
  json["layers"] = Json::array();
  for (const LayerMapping& layer : mapping.layers) {
    Result<Json> made = LayerJson(job, layer);
    if (!made) return made.error();
    json["layers"].push_back(*std::move(made));
  }
  const NetworkTotal& total = mapping.total;
  json["total"] = {{"layers", total.layers},
                   {"cycles", Whole(total.cycles)},
                   {"energy_pj", total.energy_pj},
                   {"edp", total.edp()},
                   {"value", total.value},
                   {"bound", OrNull(total.bound)},
                   {"gap", OrNull(total.gap())},
                   {"power_mw", total.power_mw},
                   {"area_um2", AreaJson(total.area_um2)},
                   {"utilization", total.utilization},
                   {"samples", total.samples}};
  if (mapping.inter_layer) {
    json["total"]["status"] = ToString(mapping.inter_layer->status);
    Result<Json> plan = PlanJson(job, *mapping.inter_layer);
    if (!plan) return plan.error();
    json["inter_layer"] = *std::move(plan);
  }
  if (const std::optional<LlmFigures> figures = FiguresOf(job, mapping)) {
    json["language_model"] = ToJson(*figures);
  }
  if (const std::string note = job.settings.model->PowerNote(); !note.empty()) {
    json["power_note"] = note;
  }
  json["budget"] = BudgetJson(job.settings, job.prove);
  json["interrupted"] = mapping.interrupted;
  return json;
}

Table LayerTable(const NetworkMapping& mapping) {
  Table table({"layer", "count", "cycles", "energy_pj", "edp", "utilization_pct", "bound",
               "gap_pct", "status", "samples"});
  for (const LayerMapping& layer : mapping.layers) {
    if (!layer.cost) {
      table.Add(layer.name, layer.count, Cell(), Cell(), Cell(), Cell(), OrNothing(layer.bound),
                Cell(), ToString(layer.status), layer.samples());
      continue;
    }
    table.Add(layer.name, layer.count, layer.cost->cycles, layer.cost->energy_pj, layer.cost->edp(),
              Percent(layer.cost->utilization), OrNothing(layer.bound),
              layer.gap() ? Cell(Percent(*layer.gap())) : Cell(), ToString(layer.status),
              layer.samples());
  }
  return table;
}

std::string Summary(const MapJob& job, const NetworkMapping& mapping) {
  const NetworkTotal& total = mapping.total;
  std::string text = fmt::format(
      "{} on {} (model {}, objective {}, method {}): {} layer{}, {} cycles, {:.6g} uJ, EDP {:.6g} "
      "pJ*cycles, utilization {:.1f} %",
      job.network.name, job.accelerator.name, job.settings.model.ToString(),
      ObjectivesText(job.settings), job.settings.method.ToString(), total.layers,
      total.layers == 1 ? "" : "s", WholeText(total.cycles), total.energy_pj * 1e-6, total.edp(),
      100 * total.utilization);
  if (total.gap()) text += fmt::format(", gap to bound {:.2f} %", 100 * *total.gap());
  text += fmt::format("; {} samples in {:.1f} s\n", WithThousands(total.samples), mapping.seconds);
  if (mapping.inter_layer) text += PlanSummary(job, mapping);
  if (const std::optional<LlmFigures> figures = FiguresOf(job, mapping)) text += ToText(*figures);
  if (job.prove) text += ProofSummary(job, mapping);
  text += fmt::format("space: {}\n", DescribeSpace(job));
  if (mapping.inter_layer) return text;  // What follows is about single layers.
  for (const SpaceGain& gain : GainsOf(job, mapping)) text += gain.text + "\n";
  return text;
}

Result<RunView> ViewOfMap(const MapRunResult& result) {
  const MapJob& job = result.job;
  const NetworkMapping& mapping = result.mapping;
  Result<Json> json = ToJson(job, mapping);
  if (!json) return json.error();
  Result<std::vector<ExportedFile>> files = ResultFiles(job, mapping, *json);
  if (!files) return files.error();
  RunView view{.json = *std::move(json),
               .text = ToText(LayerTable(mapping)) +
                       (mapping.inter_layer ? ToText(PlanTable(*mapping.inter_layer)) : "") +
                       Summary(job, mapping),
               .closer = Closer(job, mapping),
               .files = *std::move(files),
               .times = {{"seconds", mapping.seconds}},
               .interrupted = mapping.interrupted,
               .verdict = CheckFound(job, mapping)};
  return view;
}

}  // namespace tessera
