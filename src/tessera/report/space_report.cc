#include "tessera/report/space_report.h"

#include <cmath>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/part.h"
#include "tessera/report/map_report.h"
#include "tessera/report/table.h"

namespace tessera {
namespace {

constexpr int32_t kListedOrders = 720;  // in JSON
constexpr int32_t kListedNumbers = 64;  // in text

std::vector<std::string> LabelsOf(const Decision& decision) {
  std::vector<std::string> labels;
  for (int32_t i = 0; i < decision.size(); ++i) labels.push_back(decision.Label(i));
  return labels;
}

// "1 2 4 8", "1 to 512: 512 values", "60 of 120 orders of K C P Q R".
std::string ValuesText(const Decision& decision) {
  if (decision.kind() == DecisionKind::kPermutation) {
    if (decision.size() == 1) return decision.Label(0);
    const int64_t all = Factorial(decision.labels().size());
    return fmt::format("{}{} orders of {}", WithThousands(decision.size()),
                       decision.size() == all ? "" : " of " + WithThousands(all),
                       fmt::join(decision.labels(), " "));
  }
  if (decision.size() > kListedNumbers) {
    return fmt::format("{} to {}: {} values", decision.Label(0),
                       decision.Label(decision.size() - 1), WithThousands(decision.size()));
  }
  return fmt::format("{}", fmt::join(LabelsOf(decision), " "));
}

std::string LimitsText(const Relation& relation) {
  if (relation.min == relation.max) return fmt::format("{}", relation.min);
  if (std::isinf(relation.max)) return fmt::format("at least {}", relation.min);
  return fmt::format("{} to {}", relation.min, relation.max);
}

Json ChoiceJson(const Decision& decision, bool rest) {
  Json json = {{"name", decision.name()}, {"kind", nullptr}, {"count", decision.size()}};
  switch (decision.kind()) {
    case DecisionKind::kOrdinal: {
      json["kind"] = rest ? "rest" : "number";
      Json values = Json::array();
      for (int32_t i = 0; i < decision.size(); ++i) values.push_back(decision.value(i));
      json["values"] = std::move(values);
      return json;
    }
    case DecisionKind::kCategorical:
      json["kind"] = "choice";
      json["values"] = LabelsOf(decision);
      return json;
    case DecisionKind::kPermutation: break;
  }
  json["kind"] = "order";
  json["items"] = decision.labels();
  json["values"] = decision.size() <= kListedOrders ? Json(LabelsOf(decision)) : Json(nullptr);
  return json;
}

}  // namespace

Result<void> ShowSpaces(const MapJob& job, const std::vector<SpaceSize>& spaces, Output& output) {
  const Table sizes = SpaceTable(job, spaces);
  if (Result<void> shown = output.Show(sizes, "layers"); !shown) return shown;
  Table choices({"layer", "decision", "values"});
  Json layers = ToJson(sizes);
  for (size_t i = 0; i < spaces.size(); ++i) {
    const std::string& layer = job.network.layers[i].name;
    Json list = Json::array();
    for (const Decision& decision : spaces[i].all) {
      choices.Add(layer, decision.name(), ValuesText(decision));
      list.push_back(ChoiceJson(decision, /*rest=*/false));
    }
    for (const Decision& leftover : spaces[i].leftovers) {
      choices.Add(layer, leftover.name(), "what is left, of " + ValuesText(leftover));
      list.push_back(ChoiceJson(leftover, /*rest=*/true));
    }
    Json relations = Json::array();
    for (const Relation& relation : spaces[i].relations) {
      const std::string name = fmt::format("{} / {}", relation.over, relation.under);
      choices.Add(layer, name, LimitsText(relation));
      relations.push_back({{"over", relation.over},
                           {"under", relation.under},
                           {"min", relation.min},
                           {"max", std::isinf(relation.max) ? Json(nullptr) : Json(relation.max)}});
    }
    layers[i]["choices"] = std::move(list);
    layers[i]["ratios"] = std::move(relations);
  }
  output.Set("layers", std::move(layers));
  return output.ShowText("\n" + ToText(choices));
}

}  // namespace tessera
