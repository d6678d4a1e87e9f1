// Decision spaces in words and as JSON.
#include "tessera/report/space_report.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/network.h"
#include "tessera/report/table.h"
#include "tessera/space.h"
#include "tessera/space/maestro_space.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 3> kKindNames = {"number", "choice", "order"};

// More values than these are shown by the first and the last; a table has less room.
constexpr int32_t kMostValues = 64, kMostInTable = 16;

std::string_view KindOf(const Decision& decision) {
  return kKindNames[static_cast<size_t>(decision.kind())];
}

// Formula 1 of the paper: d dimensions with as many tile sizes as the largest has, one of them
// parallel at each of two levels.
double PaperSize(const Layer& layer) {
  int64_t dimensions = 0;
  double sizes = 1;
  for (const NamedSize& dimension : Dimensions(layer)) {
    if (dimension.name == "P" || dimension.name == "Q") continue;
    ++dimensions;
    sizes = std::max(sizes, static_cast<double>(dimension.size));
  }
  return PaperLog10Size(sizes, static_cast<int>(dimensions), 1, 2);
}

Json ValueJson(const Decision& decision, int32_t index) {
  if (decision.kind() == DecisionKind::kOrdinal) return decision.value(index);
  return decision.Label(index);
}

std::vector<std::string> Rules(const Decision& order) {
  std::vector<std::string> rules;
  for (const auto& [first, second] : order.before()) {
    rules.push_back(fmt::format("{} before {}", order.labels()[first], order.labels()[second]));
  }
  return rules;
}

// {"values": [...]}, or of many {"range": [first, last], "count": n}.
Json ValuesJson(const Decision& decision) {
  Json json;
  if (decision.size() > kMostValues) {
    json["range"] = {ValueJson(decision, 0), ValueJson(decision, decision.size() - 1)};
    json["count"] = decision.size();
    return json;
  }
  json["values"] = Json::array();
  for (int32_t i = 0; i < decision.size(); ++i) {
    json["values"].push_back(ValueJson(decision, i));
  }
  return json;
}

Json ChoicesJson(const DecisionChoices& choices) {
  Json json = {{"name", choices.all.name()}, {"kind", KindOf(choices.all)}};
  if (choices.all.kind() == DecisionKind::kPermutation) {
    json["items"] = Json::array();
    for (const std::string& item : choices.all.labels()) json["items"].push_back(item);
  }
  json.update(ValuesJson(choices.all));
  json["left"] = ValuesJson(choices.left);
  if (choices.left.kind() == DecisionKind::kPermutation) {
    json["left"]["rules"] = Rules(choices.left);
  }
  if (choices.follows) json["follows"] = true;
  return json;
}

std::string ValuesText(const Decision& decision) {
  if (decision.kind() == DecisionKind::kPermutation && decision.size() > 2) {
    std::string text =
        fmt::format("{} orders of {}", decision.size(), fmt::join(decision.labels(), " "));
    const std::vector<std::string> rules = Rules(decision);
    if (!rules.empty()) text += fmt::format(": {}", fmt::join(rules, ", "));
    return text;
  }
  if (decision.size() > kMostInTable) {
    return fmt::format("{} .. {} ({} values)", decision.Label(0),
                       decision.Label(decision.size() - 1), decision.size());
  }
  std::vector<std::string> labels;
  for (int32_t i = 0; i < decision.size(); ++i) labels.push_back(decision.Label(i));
  return fmt::format("{}", fmt::join(labels, ", "));
}

std::string RelationText(const Relation& relation) {
  if (relation.over == kUtilization) {
    return ToString({.rule = Constraints::Rule::kParallel, .min = relation.min});
  }
  return ToString({.decision = relation.over,
                   .rule = Constraints::Rule::kRatio,
                   .values = {relation.under},
                   .min = relation.min,
                   .max = relation.max});
}

Table DecisionTable(const SpaceSize& space) {
  Table table({"decision", "kind", "values", "left_by_constraints"});
  for (const DecisionChoices& choices : space.choices) {
    const bool narrowed = choices.left.size() < choices.all.size();
    table.Add(choices.all.name(), choices.follows ? "follows" : KindOf(choices.all),
              ValuesText(choices.all), narrowed ? Cell(ValuesText(choices.left)) : Cell());
  }
  return table;
}

}  // namespace

std::string SpacesText(const MapJob& job, const std::vector<SpaceSize>& spaces) {
  Table table({"layer", "count", "type", "decisions", "log10_size", "log10_paper"});
  std::string details;
  for (size_t i = 0; i < spaces.size(); ++i) {
    const NetworkLayer& entry = job.network.layers[i];
    table.Add(entry.name, entry.count, TypeName(entry.layer), spaces[i].decisions,
              spaces[i].log10_size, PaperSize(entry.layer));
    details += fmt::format("\n{}: {}\n{}", entry.name, ToString(entry.layer),
                           ToText(DecisionTable(spaces[i])));
    for (const Relation& relation : spaces[i].relations) {
      details += fmt::format("constraint: {}\n", RelationText(relation));
    }
  }
  return fmt::format("{}space: {}\n{}", ToText(table), DescribeSpace(job), details);
}

Json SpacesJson(const MapJob& job, const std::vector<SpaceSize>& spaces) {
  Json list = Json::array();
  for (size_t i = 0; i < spaces.size(); ++i) {
    const NetworkLayer& entry = job.network.layers[i];
    Json json = {{"layer", entry.name},
                 {"count", entry.count},
                 {"type", TypeName(entry.layer)},
                 {"open_decisions", spaces[i].decisions},
                 {"log10_size", spaces[i].log10_size},
                 {"log10_paper", PaperSize(entry.layer)}};
    json["decisions"] = Json::array();
    for (const DecisionChoices& choices : spaces[i].choices) {
      json["decisions"].push_back(ChoicesJson(choices));
    }
    json["relations"] = Json::array();
    for (const Relation& relation : spaces[i].relations) {
      json["relations"].push_back(RelationText(relation));
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace tessera
