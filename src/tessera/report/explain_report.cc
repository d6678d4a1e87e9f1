#include "tessera/report/explain_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"

namespace tessera {
namespace {

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
double Percent(double part) { return std::round(part * 1e4) / 1e2; }

// By how much a value lies above its bound.
std::optional<double> Gap(double value, const std::optional<double>& bound) {
  return bound && *bound > 0 ? std::optional(value / *bound - 1) : std::nullopt;
}

bool IsTight(double value, const std::optional<double>& bound) {
  constexpr double kRounding = 1e-9;  // as in the status OPTIMAL
  return bound && value <= *bound * (1 + kRounding);
}

// Operations per word that the level moves; none if it moves none.
std::optional<double> Intensity(const CostBreakdown& parts, const LevelShare& level) {
  const int64_t words = level.moved_words();
  if (words <= 0) return std::nullopt;
  return static_cast<double>(parts.cost.macs) / static_cast<double>(words);
}

// MACs per cycle that a number of cycles allows.
std::optional<double> Rate(const CostBreakdown& parts, int64_t cycles) {
  if (cycles <= 0) return std::nullopt;
  return static_cast<double>(parts.cost.macs) / static_cast<double>(cycles);
}

Json EnergyJson(const CostBreakdown& parts) {
  Json levels = Json::object();
  for (const LevelShare& level : parts.levels) {
    Json tensors = Json::object();
    for (const TensorShare& tensor : level.tensors) tensors[tensor.name] = tensor.energy_pj;
    levels[level.name] = std::move(tensors);
  }
  return levels;
}

Json LevelJson(const LevelShare& level) {
  Json tensors = Json::object();
  for (const TensorShare& tensor : level.tensors) {
    tensors[tensor.name] = {{"kept", tensor.kept},
                            {"tile_words", tensor.tile_words},
                            {"reads", tensor.reads},
                            {"fills", tensor.fills},
                            {"updates", tensor.updates},
                            {"energy_pj", tensor.energy_pj},
                            {"network_pj", tensor.network_pj}};
  }
  const double energy = level.energy_pj();
  return {{"name", level.name},
          {"instances", level.instances},
          {"used_instances", level.used_instances},
          {"words", level.entries ? Json(*level.entries) : Json(nullptr)},
          {"used_words", level.used_words()},
          {"moved_words", level.moved_words()},
          {"cycles", level.cycles},
          {"bandwidth", level.bandwidth},
          {"words_per_cycle", OrNull(level.words_per_cycle)},
          {"energy_pj", energy},
          {"bound_pj", OrNull(level.bound_pj)},
          {"tensors", std::move(tensors)}};
}

Json RooflineJson(const CostBreakdown& parts) {
  Json ceilings = Json::array();
  for (const LevelShare& level : parts.levels) {
    if (level.cycles <= 0) continue;
    ceilings.push_back({{"level", level.name},
                        {"words_per_cycle", OrNull(level.words_per_cycle)},
                        {"macs_per_word", OrNull(Intensity(parts, level))},
                        {"macs_per_cycle", OrNull(Rate(parts, level.cycles))}});
  }
  Json json = {{"macs_per_cycle", OrNull(Rate(parts, parts.cost.cycles))},
               {"peak_macs_per_cycle", parts.mac_units},
               {"mapped_macs_per_cycle", OrNull(Rate(parts, parts.compute_cycles))},
               {"macs_per_word",
                parts.levels.empty() ? Json() : OrNull(Intensity(parts, parts.levels.back()))}};
  json["ceilings"] = std::move(ceilings);
  return json;
}

Json BoundsJson(const LayerExplanation& layer) {
  const CostBreakdown& parts = layer.parts;
  const auto cycles = static_cast<double>(parts.cost.cycles);
  Json tight = Json::array();
  if (IsTight(cycles, parts.bounds.cycles)) tight.push_back("cycles");
  if (IsTight(parts.cost.energy_pj, parts.bounds.energy_pj)) tight.push_back("energy");
  for (const LevelShare& level : parts.levels) {
    if (IsTight(level.energy_pj(), level.bound_pj)) tight.push_back(level.name);
  }
  return {{"cycles", OrNull(parts.bounds.cycles)},
          {"cycles_from", parts.bound_cycles_from},
          {"cycles_gap", OrNull(Gap(cycles, parts.bounds.cycles))},
          {"energy_pj", OrNull(parts.bounds.energy_pj)},
          {"energy_gap", OrNull(Gap(parts.cost.energy_pj, parts.bounds.energy_pj))},
          {"objective", OrNull(layer.bound)},
          {"objective_gap", OrNull(Gap(layer.value, layer.bound))},
          {"tight", std::move(tight)}};
}

// The part that needs most energy: "DRAM Weights 61 %".
std::string LargestPart(const CostBreakdown& parts) {
  std::string name = "MACs";
  double most = parts.mac_pj;
  for (const LevelShare& level : parts.levels) {
    for (const TensorShare& tensor : level.tensors) {
      if (tensor.energy_pj <= most) continue;
      most = tensor.energy_pj;
      name = level.name + " " + tensor.name;
    }
  }
  return fmt::format("{} {:.0f} %", name, 100 * most / parts.cost.energy_pj);
}

// What most MAC cycles that are not useful are lost to: "waiting 45 %".
std::string LargestLoss(const MacCycles& macs) {
  const std::pair<double, std::string_view> losses[] = {{macs.padding, "padding"},
                                                        {macs.ragged, "ragged"},
                                                        {macs.unused, "unused"},
                                                        {macs.waiting, "waiting"}};
  const auto& [part, name] = *std::ranges::max_element(losses);
  return part > 0 ? fmt::format("{} {:.0f} %", name, 100 * part) : "nothing";
}

Cell PercentOf(double part, double whole) {
  return whole > 0 ? Cell(Percent(part / whole)) : Cell();
}

// Rows of parts, outermost level first, then the MACs.
Table EnergyTable(const CostBreakdown& parts) {
  const double total = parts.cost.energy_pj;
  Table table({"level", "tensor", "energy_pj", "energy_pct", "network_pj", "tile_words", "reads",
               "fills", "updates"});
  for (auto level = parts.levels.rbegin(); level != parts.levels.rend(); ++level) {
    for (const TensorShare& tensor : level->tensors) {
      if (!tensor.kept && tensor.energy_pj == 0) continue;
      table.Add(level->name, tensor.name, tensor.energy_pj, PercentOf(tensor.energy_pj, total),
                tensor.network_pj, tensor.tile_words, tensor.reads, tensor.fills, tensor.updates);
    }
  }
  table.Add("MACs", Cell(), parts.mac_pj, PercentOf(parts.mac_pj, total), Cell(), Cell(), Cell(),
            Cell(), Cell());
  return table;
}

Table OccupancyTable(const CostBreakdown& parts) {
  Table table({"level", "used", "instances", "words_used", "words", "full_pct", "cycles",
               "words_per_cycle", "macs_per_word", "bound_pj", "gap_pct"});
  for (auto level = parts.levels.rbegin(); level != parts.levels.rend(); ++level) {
    const std::optional<double> gap = Gap(level->energy_pj(), level->bound_pj);
    const std::optional<double> intensity = Intensity(parts, *level);
    const auto used = static_cast<double>(level->used_words());
    const std::string bandwidth =
        level->words_per_cycle ? fmt::format("{:.6g} {}", *level->words_per_cycle, level->bandwidth)
                               : "unlimited";
    table.AddRow({level->name, level->used_instances, level->instances, level->used_words(),
                  level->entries ? Cell(*level->entries) : Cell(),
                  level->entries ? PercentOf(used, static_cast<double>(*level->entries)) : Cell(),
                  level->cycles > 0 ? Cell(level->cycles) : Cell(), bandwidth,
                  intensity ? Cell(*intensity) : Cell(),
                  level->bound_pj ? Cell(*level->bound_pj) : Cell(),
                  gap ? Cell(Percent(*gap)) : Cell()});
  }
  return table;
}

std::string BoundsText(const LayerExplanation& layer) {
  const CostBreakdown& parts = layer.parts;
  std::string text;
  if (parts.bounds.cycles) {
    const double gap = *Gap(static_cast<double>(parts.cost.cycles), parts.bounds.cycles);
    text += fmt::format("  cycles are {:.2f} % above the bound {} ({})\n", 100 * gap,
                        WholeText(*parts.bounds.cycles), parts.bound_cycles_from);
  }
  if (const auto gap = Gap(parts.cost.energy_pj, parts.bounds.energy_pj)) {
    text += fmt::format("  energy is {:.2f} % above the bound {:.6g} pJ\n", 100 * *gap,
                        *parts.bounds.energy_pj);
  }
  if (const auto gap = Gap(layer.value, layer.bound)) {
    text += fmt::format("  of the objective: {}, {:.2f} % above {:.6g}\n", layer.status, 100 * *gap,
                        *layer.bound);
  }
  return text;
}

}  // namespace

Json ToJson(const LayerExplanation& layer) {
  Json json = {{"name", layer.name},
               {"count", layer.count},
               {"layer", ToString(layer.layer)},
               {"status", layer.status}};
  if (!layer.mapping) return json;
  const CostBreakdown& parts = layer.parts;
  json["cycles"] = parts.cost.cycles;
  json["macs"] = parts.cost.macs;
  json["total_pj"] = parts.cost.energy_pj;
  json["value"] = layer.value;
  json["energy_pj"] = EnergyJson(parts);
  json["mac_pj"] = parts.mac_pj;
  json["leakage_pj"] = parts.leakage_pj;
  json["limited_by"] = parts.limited_by;
  json["cycles_if_lifted"] = parts.cycles_if_lifted;
  json["compute_cycles"] = parts.compute_cycles;
  json["latency_cycles"] = parts.latency_cycles;
  json["limit"] = LimitSentence(layer);
  json["mac_units"] = parts.mac_units;
  json["used_mac_units"] = parts.used_mac_units;
  const MacCycles& macs = layer.mac_cycles;
  json["mac_cycles"] = {{"useful", macs.useful},
                        {"padding", macs.padding},
                        {"ragged", macs.ragged},
                        {"unused", macs.unused},
                        {"waiting", macs.waiting}};
  json["roofline"] = RooflineJson(parts);
  json["bounds"] = BoundsJson(layer);
  json["levels"] = Json::array();
  for (const LevelShare& level : parts.levels) json["levels"].push_back(LevelJson(level));
  return json;
}

Json ToJson(const RunExplanation& run) {
  Json json = {{"run", run.folder},  {"network", run.network},     {"accelerator", run.accelerator},
               {"model", run.model}, {"objective", run.objective}, {"layers", Json::array()}};
  for (const LayerExplanation& layer : run.layers) json["layers"].push_back(ToJson(layer));
  return json;
}

Table ExplainTable(const RunExplanation& run) {
  Table table({"layer", "count", "cycles", "limited_by", "cycles_if_lifted", "energy_pj",
               "most_energy", "useful_pct", "most_lost"});
  for (const LayerExplanation& layer : run.layers) {
    if (!layer.mapping) {
      std::vector<Cell> row(table.columns().size());
      row[0] = layer.name;
      row[1] = layer.count;
      table.AddRow(std::move(row));
      continue;
    }
    const CostBreakdown& parts = layer.parts;
    table.Add(layer.name, layer.count, parts.cost.cycles, parts.limited_by, parts.cycles_if_lifted,
              parts.cost.energy_pj, LargestPart(parts), Percent(layer.mac_cycles.useful),
              LargestLoss(layer.mac_cycles));
  }
  return table;
}

std::string LayerText(const LayerExplanation& layer) {
  std::string text = fmt::format("{}: {}\n", layer.name, ToString(layer.layer));
  if (!layer.mapping) return text + "no mapping was found\n";
  const CostBreakdown& parts = layer.parts;
  text += MappingText(layer) + "\n" + ToText(EnergyTable(parts)) + "\n" +
          ToText(OccupancyTable(parts)) + "\n";
  text += fmt::format("  {} cycles, {:.6g} pJ\n  {}\n", WithThousands(parts.cost.cycles),
                      parts.cost.energy_pj, LimitSentence(layer));
  const MacCycles& macs = layer.mac_cycles;
  text += fmt::format(
      "  MAC cycles: {:.2f} % useful, {:.2f} % on padding, {:.2f} % lost at ragged edges, {:.2f} % "
      "in units not used, {:.2f} % waiting\n",
      100 * macs.useful, 100 * macs.padding, 100 * macs.ragged, 100 * macs.unused,
      100 * macs.waiting);
  text += fmt::format("  roofline: {:.6g} of {} MACs per cycle", *Rate(parts, parts.cost.cycles),
                      WithThousands(parts.mac_units));
  if (const auto intensity = Intensity(parts, parts.levels.back())) {
    text += fmt::format(" at {:.6g} MACs per word of {}", *intensity, parts.levels.back().name);
  }
  for (const LevelShare& level : parts.levels) {
    if (level.cycles <= 0) continue;
    text += fmt::format("; {} allows {:.6g}", level.name, *Rate(parts, level.cycles));
  }
  return text + "\n" + BoundsText(layer);
}

}  // namespace tessera
