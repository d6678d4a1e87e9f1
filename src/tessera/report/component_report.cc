// Answers about components.
#include "tessera/report/component_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/arch/components/component.h"
#include "tessera/arch/level_component.h"

namespace tessera {
namespace {

// "width_bits" as a flag: "--width-bits".
std::string FlagOf(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// Everything that a component takes has to be said, except what has a default.
Result<void> CheckGiven(const ComponentInfo& info, const ComponentQuestion& question) {
  struct Item {
    std::string_view name;
    bool given, needed;
  };
  const Item items[] = {{"bytes", question.bytes.has_value(), true},
                        {"width_bits", question.width_bits.has_value(), true},
                        {"node_nm", question.node_nm.has_value(), true},
                        {"type", question.type.has_value(), true},
                        {"kind", question.kind.has_value(), false},
                        {"length_mm", question.length_mm.has_value(), false}};
  for (const Item& item : items) {
    const bool takes =
        std::find(info.takes.begin(), info.takes.end(), item.name) != info.takes.end();
    if (item.given && !takes) {
      return Error{
          .kind = ErrorKind::kUsage,
          .message = fmt::format("component {} does not take {}", info.name, FlagOf(item.name)),
          .hint = "see 'tessera component --list'"};
    }
    if (takes && item.needed && !item.given) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("component {} needs {}", info.name, FlagOf(item.name)),
                   .hint = "see 'tessera component --list'"};
    }
  }
  return {};
}

}  // namespace

Result<ComponentAnswer> AnswerComponent(const ComponentQuestion& question) {
  const Result<const ComponentInfo*> info = FindComponent(question.name);
  if (!info) return info.error();
  if (Result<void> given = CheckGiven(**info, question); !given) return given.error();
  ComponentQuery query{.bytes = question.bytes.value_or(0),
                       .width_bits = question.width_bits.value_or(0),
                       .node_nm = question.node_nm.value_or(0),
                       .type = question.type.value_or("")};
  query.kind = question.kind.value_or(query.kind);
  query.length_mm = question.length_mm.value_or(query.length_mm);
  const Result<ComponentCost> cost = (*info)->estimate(query);
  if (!cost) return cost.error();
  const std::pair<const char*, const std::optional<double>*> numbers[] = {
      {"read_pj", &cost->read_pj},   {"write_pj", &cost->write_pj},
      {"op_pj", &cost->op_pj},       {"leakage_mw", &cost->leakage_mw},
      {"area_um2", &cost->area_um2}, {"access_ns", &cost->access_ns}};
  ComponentAnswer answer{.table = Table({"number", "value"}), .source = cost->source};
  answer.json["component"] = question.name;
  for (const auto& [name, value] : numbers) {
    answer.json[name] = *value ? Json(**value) : Json(nullptr);
    if (*value) answer.table.Add(name, **value);
  }
  answer.json["source"] = cost->source;
  answer.json["scaling"] = cost->scaling;
  if (!cost->scaling.empty()) answer.source += fmt::format(" ({})", cost->scaling);
  return answer;
}

Table ComponentTable() {
  Table table({"component", "takes", "summary"});
  for (const ComponentInfo* info : Components()) {
    std::vector<std::string> flags;
    for (const std::string_view name : info->takes) flags.push_back(FlagOf(name));
    table.Add(info->name, fmt::format("{}", fmt::join(flags, " ")), info->summary);
  }
  return table;
}

Result<Table> SourceTable(std::string_view bytes, const std::string& file) {
  const Result<std::vector<NumberSource>> sources = ExplainAccelerator(bytes, file);
  if (!sources) return sources.error();
  Table table({"part", "number", "value", "source", "scaling"});
  for (const NumberSource& source : *sources) {
    table.Add(source.part, source.number, source.value, source.source,
              source.scaling.empty() ? Cell() : Cell(source.scaling));
  }
  return table;
}

}  // namespace tessera
