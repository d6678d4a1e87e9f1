#include "tessera/report/diff_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/report/explain_report.h"

namespace tessera {
namespace {

double Percent(double part) { return std::round(part * 1e4) / 1e2; }

std::string LevelNames(const LayerDiff& layer, const RunDiff& diff) {
  const auto of = [](const std::optional<size_t>& index, const RunExplanation& run) {
    if (!index || !run.layers[*index].mapping) return std::string("-");
    return run.layers[*index].parts.limited_by;
  };
  const std::string a = of(layer.a, diff.a), b = of(layer.b, diff.b);
  return a == b ? a : a + " > " + b;
}

// By level and tensor; MACs and leakage have keys of their own.
void SetDelta(const std::vector<PartDelta>& parts, Json& json) {
  Json delta = Json::object();
  double energy = 0;
  for (const PartDelta& part : parts) {
    energy += part.delta_pj();
    if (part.tensor.empty()) {
      json["delta_" + part.level + "_pj"] = part.delta_pj();
    } else {
      delta[part.level][part.tensor] = part.delta_pj();
    }
  }
  json["delta_energy_pj"] = energy;
  json["delta"] = std::move(delta);
}

std::string LargestDelta(const LayerDiff& layer) {
  const PartDelta* most = nullptr;
  for (const PartDelta& part : layer.parts) {
    if (most == nullptr || std::abs(part.delta_pj()) > std::abs(most->delta_pj())) most = &part;
  }
  if (most == nullptr || most->delta_pj() == 0) return "none";
  return fmt::format("{}{}{} {:+.4g} pJ", most->level, most->tensor.empty() ? "" : " ",
                     most->tensor, most->delta_pj());
}

const LayerExplanation* LayerAt(const RunExplanation& run, const std::optional<size_t>& index) {
  return index && run.layers[*index].mapping ? &run.layers[*index] : nullptr;
}

// Sums over the layers that both runs have mapped.
struct Sums {
  double cycles = 0, energy_pj = 0;

  void Add(const LayerExplanation& layer) {
    cycles += static_cast<double>(layer.count) * static_cast<double>(layer.parts.cost.cycles);
    energy_pj += static_cast<double>(layer.count) * layer.parts.cost.energy_pj;
  }
  Json ToJson() const {
    return {{"cycles", cycles}, {"energy_pj", energy_pj}, {"edp", cycles * energy_pj}};
  }
};

std::pair<Sums, Sums> SumsOf(const RunDiff& diff) {
  std::pair<Sums, Sums> sums;
  for (const LayerDiff& layer : diff.layers) {
    const LayerExplanation *a = LayerAt(diff.a, layer.a), *b = LayerAt(diff.b, layer.b);
    if (a == nullptr || b == nullptr) continue;
    sums.first.Add(*a);
    sums.second.Add(*b);
  }
  return sums;
}

Cell RatioOf(double a, double b) { return a > 0 ? Cell(b / a) : Cell(); }

}  // namespace

Json ToJson(const RunDiff& diff) {
  Json json = {
      {"a",
       {{"run", diff.a.folder}, {"network", diff.a.network}, {"accelerator", diff.a.accelerator}}},
      {"b",
       {{"run", diff.b.folder}, {"network", diff.b.network}, {"accelerator", diff.b.accelerator}}},
      {"layers", Json::array()}};
  for (const LayerDiff& layer : diff.layers) {
    const LayerExplanation *a = LayerAt(diff.a, layer.a), *b = LayerAt(diff.b, layer.b);
    Json row = {{"name", layer.name},
                {"a", a != nullptr ? ToJson(*a) : Json(nullptr)},
                {"b", b != nullptr ? ToJson(*b) : Json(nullptr)}};
    if (a != nullptr && b != nullptr) {
      row["same_mapping"] = *a->mapping == *b->mapping;
      row["delta_cycles"] = b->parts.cost.cycles - a->parts.cost.cycles;
    }
    SetDelta(layer.parts, row);
    json["layers"].push_back(std::move(row));
  }
  const auto [a, b] = SumsOf(diff);
  json["total"] = {{"a", a.ToJson()}, {"b", b.ToJson()}, {"delta_cycles", b.cycles - a.cycles}};
  SetDelta(diff.parts, json["total"]);
  return json;
}

Table DiffTable(const RunDiff& diff) {
  Table table({"layer", "count", "a_cycles", "b_cycles", "ratio", "a_energy_pj", "b_energy_pj",
               "energy_ratio", "limited_by", "largest_difference"});
  for (const LayerDiff& layer : diff.layers) {
    const LayerExplanation *a = LayerAt(diff.a, layer.a), *b = LayerAt(diff.b, layer.b);
    std::vector<Cell> row(table.columns().size());
    row[0] = layer.name;
    for (const auto& [side, first] : {std::pair(a, size_t{2}), std::pair(b, size_t{3})}) {
      if (side == nullptr) continue;
      row[1] = side->count;
      row[first] = side->parts.cost.cycles;
      row[first + 3] = side->parts.cost.energy_pj;
    }
    row[8] = LevelNames(layer, diff);
    if (a != nullptr && b != nullptr) {
      row[4] = RatioOf(static_cast<double>(a->parts.cost.cycles),
                       static_cast<double>(b->parts.cost.cycles));
      row[7] = RatioOf(a->parts.cost.energy_pj, b->parts.cost.energy_pj);
      row[9] = *a->mapping == *b->mapping && LargestDelta(layer) == "none" ? "same mapping"
                                                                           : LargestDelta(layer);
    } else {
      row[9] = a != nullptr ? "only in a" : b != nullptr ? "only in b" : "no mapping";
    }
    table.AddRow(std::move(row));
  }
  const auto [a, b] = SumsOf(diff);
  table.Add("total", Cell(), a.cycles, b.cycles, RatioOf(a.cycles, b.cycles), a.energy_pj,
            b.energy_pj, RatioOf(a.energy_pj, b.energy_pj), Cell(), Cell());
  return table;
}

Table PartTable(const std::vector<PartDelta>& parts) {
  std::vector<PartDelta> sorted;
  for (const PartDelta& part : parts) {
    if (part.a_pj != 0 || part.b_pj != 0) sorted.push_back(part);
  }
  std::ranges::stable_sort(sorted, std::greater(),
                           [](const PartDelta& part) { return std::abs(part.delta_pj()); });
  double all = 0;
  for (const PartDelta& part : sorted) all += std::abs(part.delta_pj());
  Table table({"level", "tensor", "a_pj", "b_pj", "delta_pj", "share_pct"});
  for (const PartDelta& part : sorted) {
    table.Add(part.level, part.tensor.empty() ? Cell() : Cell(part.tensor), part.a_pj, part.b_pj,
              part.delta_pj(), all > 0 ? Cell(Percent(std::abs(part.delta_pj()) / all)) : Cell());
  }
  return table;
}

}  // namespace tessera
