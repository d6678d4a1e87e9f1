// JSON, tables and a chart of plans.
#include "tessera/report/plan_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/report/curves.h"

namespace tessera {
namespace {

// By Tensor, as the model calls them.
constexpr std::array<std::string_view, kTensors> kRoles = {"Inputs", "Weights", "Outputs"};

// Cycles and words are whole numbers that may exceed 64 bits in a sum over a network.
Json Whole(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return std::abs(value) < kExact ? Json(static_cast<int64_t>(value)) : Json(value);
}

Json HomesJson(const std::array<std::string, kTensors>& homes) {
  Json json = Json::object();
  for (size_t t = 0; t < kTensors; ++t) {
    if (!homes[t].empty()) json[std::string(kRoles[t])] = homes[t];
  }
  return json;
}

// Mappings of a plan, each once: thousands of nodes share one.
class MappingList {
 public:
  explicit MappingList(const MapJob& job) : job_(job) {}

  // Its place in the list.
  Result<int64_t> Find(const PlanPart& part) {
    std::vector<std::pair<LoopMapping, int64_t>>& known = known_[part.layer];
    for (const auto& [mapping, place] : known) {
      if (mapping == part.mapping) return place;
    }
    const Result<std::string> text =
        MappingJson(job_.network.layers[part.layer].layer, job_.accelerator, part.mapping);
    if (!text) return text.error();
    known.emplace_back(part.mapping, std::ssize(json_));
    json_.push_back(FromText(*text));
    return known.back().second;
  }

  std::vector<Json> Take() { return std::move(json_); }

 private:
  const MapJob& job_;
  std::map<size_t, std::vector<std::pair<LoopMapping, int64_t>>> known_;  // by layer
  std::vector<Json> json_;
};

Result<Json> StageJson(const MapJob& job, const PlanStage& stage, MappingList& mappings) {
  Json json;
  json["nodes"] = stage.nodes;
  json["level"] = stage.level.empty() ? Json(nullptr) : Json(stage.level);
  json["slices"] = stage.slices;
  json["pinned"] = stage.pinned;
  json["view"] = stage.view;
  json["homes"] = Json::object();
  for (const auto& [tensor, level] : stage.homes) json["homes"][tensor] = level;
  json["cycles"] = Whole(stage.cycles);
  json["energy_pj"] = stage.energy_pj;
  json["outer_words"] = Whole(stage.outer_words);
  json["saves"] = {{"cycles", Whole(stage.none_cycles - stage.cycles)},
                   {"energy_pj", stage.none_energy_pj - stage.energy_pj},
                   {"outer_words", Whole(stage.none_outer_words - stage.outer_words)}};
  json["parts"] = Json::array();
  for (const PlanPart& part : stage.parts) {
    const Result<int64_t> mapping = mappings.Find(part);
    if (!mapping) return mapping.error();
    json["parts"].push_back({{"node", part.node},
                             {"layer", job.network.layers[part.layer].name},
                             {"rows", part.rows},
                             {"times", part.times},
                             {"homes", HomesJson(part.homes)},
                             {"cycles", Whole(part.cycles)},
                             {"energy_pj", part.energy_pj},
                             {"mapping", *mapping}});
  }
  return json;
}

std::string HomesText(const std::array<std::string, kTensors>& homes) {
  return fmt::format("{}", fmt::join(homes, " "));
}

}  // namespace

Result<Json> PlanJson(const MapJob& job, const InterLayerPlan& plan) {
  Json json;
  json["homes"] = Json::object();
  // Each tensor comes once, and looking for its name among a hundred thousand takes long.
  auto& homes = json["homes"].get_ref<Json::object_t&>();
  for (const auto& [tensor, level] : plan.homes) homes.emplace_back(tensor, level);
  json["groups"] = Json::array();
  for (const PlanStage& stage : plan.stages) {
    if (stage.level.empty()) continue;
    json["groups"].push_back({{"layers", stage.nodes},
                              {"level", stage.level},
                              {"slices", stage.slices},
                              {"pinned", stage.pinned}});
  }
  json["none"] = {{"cycles", Whole(plan.none_cycles)},
                  {"energy_pj", plan.none_energy_pj},
                  {"edp", plan.none_cycles * plan.none_energy_pj}};
  json["without_slices"] = {{"cycles", Whole(plan.homes_cycles)},
                            {"energy_pj", plan.homes_energy_pj},
                            {"edp", plan.homes_cycles * plan.homes_energy_pj}};
  MappingList mappings(job);
  json["stages"] = Json::array();
  for (const PlanStage& stage : plan.stages) {
    Result<Json> made = StageJson(job, stage, mappings);
    if (!made) return made.error();
    json["stages"].push_back(*std::move(made));
  }
  json["mappings"] = mappings.Take();
  json["staircases"] = Json::array();
  for (const StaircaseStep& step : plan.staircases) {
    Json room = Json::object();
    for (const auto& [level, words] : step.room) room[level] = words;
    json["staircases"].push_back({{"layer", job.network.layers[step.layer].name},
                                  {"rows", step.rows},
                                  {"homes", HomesJson(step.homes)},
                                  {"room", std::move(room)},
                                  {"value", step.value ? Json(*step.value) : Json(nullptr)},
                                  {"bound", step.bound},
                                  {"proved", step.proved}});
  }
  return json;
}

Table PlanTable(const InterLayerPlan& plan) {
  Table table({"nodes", "group_level", "slices", "pinned", "stays", "cycles", "energy_pj",
               "saved_cycles", "saved_pj", "saved_words"});
  for (const PlanStage& stage : plan.stages) {
    const double saved = stage.none_energy_pj - stage.energy_pj;
    const bool decides = !stage.level.empty() || !stage.homes.empty() || saved != 0 ||
                         stage.none_cycles != stage.cycles;
    if (!decides) continue;
    std::vector<std::string> stays;
    for (const auto& [tensor, level] : stage.homes) stays.push_back(level + ":" + tensor);
    table.Add(fmt::format("{}", fmt::join(stage.nodes, "+")),
              stage.level.empty() ? Cell() : Cell(stage.level), stage.slices,
              stage.pinned.empty() ? Cell() : Cell(fmt::format("{}", fmt::join(stage.pinned, " "))),
              stays.empty() ? Cell() : Cell(fmt::format("{}", fmt::join(stays, " "))),
              static_cast<int64_t>(stage.cycles), stage.energy_pj,
              static_cast<int64_t>(stage.none_cycles - stage.cycles), saved,
              static_cast<int64_t>(stage.none_outer_words - stage.outer_words));
  }
  return table;
}

std::string PlanSummary(const MapJob& job, const NetworkMapping& mapping) {
  const InterLayerPlan& plan = *mapping.inter_layer;
  const auto groups = std::ranges::count_if(
      plan.stages, [](const PlanStage& stage) { return !stage.level.empty(); });
  const auto part = [](double with, double without) {
    return without > 0 ? 100 * (1 - with / without) : 0;
  };
  return fmt::format(
      "inter-layer {}: {} tensors stay on chip, {} groups; with every tensor outside {} cycles and "
      "{:.6g} uJ, so {:.2f} % fewer cycles and {:.2f} % less energy; {} steps of staircases; {}\n",
      NameOf(job.settings.inter_layer, kInterLayerNames), plan.homes.size(), groups,
      WholeText(plan.none_cycles), plan.none_energy_pj * 1e-6,
      part(mapping.total.cycles, plan.none_cycles),
      part(mapping.total.energy_pj, plan.none_energy_pj), plan.staircases.size(),
      ToString(plan.status));
}

Table StaircaseTable(const MapJob& job, const InterLayerPlan& plan) {
  std::vector<std::string> columns = {"layer", "rows", "homes"};
  if (!plan.staircases.empty()) {
    for (const auto& [level, words] : plan.staircases.front().room) {
      columns.push_back("room_" + level);
    }
  }
  for (const char* column : {"value", "bound", "proved"}) columns.emplace_back(column);
  Table table(std::move(columns));
  for (const StaircaseStep& step : plan.staircases) {
    std::vector<Cell> row = {job.network.layers[step.layer].name, step.rows, HomesText(step.homes)};
    for (const auto& [level, words] : step.room) row.emplace_back(words);
    row.push_back(step.value ? Cell(*step.value) : Cell());
    row.emplace_back(step.bound);
    row.emplace_back(step.proved);
    table.AddRow(std::move(row));
  }
  return table;
}

std::string StaircaseChart(const MapJob& job, const InterLayerPlan& plan) {
  Chart chart{.title = fmt::format("{} on {}: optimum against room", job.network.name,
                                   job.accelerator.name),
              .x_label = "words that other tensors leave",
              .y_label = std::string(kObjectiveKeys[static_cast<size_t>(job.settings.objective)]),
              .steps = true,
              .dots = true};
  std::map<std::string, std::vector<std::pair<double, double>>> curves;
  for (const StaircaseStep& step : plan.staircases) {
    if (!step.value || step.room.empty() || step.rows != 0) {
      const Layer& layer = job.network.layers[step.layer].layer;
      if (!step.value || step.room.empty() || step.rows != OutputSize(layer).y) continue;
    }
    const double room = static_cast<double>(std::max<int64_t>(1, step.room.back().second));
    curves[fmt::format("{} ({})", job.network.layers[step.layer].name, HomesText(step.homes))]
        .emplace_back(room, *step.value);
  }
  for (auto& [name, points] : curves) {
    std::ranges::sort(points);
    chart.curves.push_back({name, points});
  }
  return ToSvg(chart);
}

}  // namespace tessera
