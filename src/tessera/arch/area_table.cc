// Reading, applying and writing of area tables.
#include "tessera/arch/area_table.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/arch/energy_table.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

Result<void> Add(const std::string& name, const Where& where, const Node& area, AreaTable& table) {
  // Before version 0.3 an area may stand in a map of its own.
  const Node* inner = area.kind == Node::Kind::kMap ? area.Find("area") : nullptr;
  const Node& number = inner != nullptr ? *inner : area;
  const Result<Decimal> um2 = number.AsDecimal();
  if (!um2) return um2.error();
  if (um2->mantissa() < 0) {
    return number.ErrorHere(ErrorKind::kBadValue, "an area must not be negative");
  }
  table.components.push_back({ComponentOfPath(name), where, *um2});
  return {};
}

bool Apply(const ComponentArea& component, Hierarchy& hierarchy) {
  if (component.name == hierarchy.arithmetic.name) {
    hierarchy.arithmetic.area_um2 = component.area_um2;
    return true;
  }
  for (MemoryLevel& level : hierarchy.levels) {
    if (level.name != component.name) continue;
    level.area_um2 = component.area_um2;
    return true;
  }
  return false;
}

}  // namespace

Result<AreaTable> ParseAreaTable(const Node& document) {
  const Node* art = document.Find("ART");
  if (art == nullptr) {
    return document.ErrorHere(ErrorKind::kBadValue, "the file has no 'ART'",
                              "write ART: {version: 0.3, tables: [{name: GLB, area: 1000}]}");
  }
  const Node* tables = art->Find("tables");
  if (tables == nullptr) return art->ErrorHere(ErrorKind::kBadValue, "an ART without 'tables'");
  AreaTable table;
  for (const Node& item : tables->items) {
    const Node *name = item.Find("name"), *area = item.Find("area");
    if (name == nullptr || area == nullptr) {
      return item.ErrorHere(ErrorKind::kBadValue, "a table of an ART needs 'name' and 'area'");
    }
    if (Result<void> ok = Add(name->scalar, item.where(), *area, table); !ok) return ok.error();
  }
  for (const Node::Entry& entry : tables->entries) {
    if (Result<void> ok = Add(entry.key, entry.key_where, entry.value, table); !ok) {
      return ok.error();
    }
  }
  return table;
}

Result<std::vector<std::string>> ApplyAreaTable(const AreaTable& table, Accelerator& accelerator) {
  if (!accelerator.hierarchy) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("{} has no memory hierarchy to give areas to",
                                        Quoted(accelerator.name))};
  }
  std::vector<std::string> notes;
  bool any = false;
  for (const ComponentArea& component : table.components) {
    if (Apply(component, *accelerator.hierarchy)) {
      any = true;
    } else {
      notes.push_back(fmt::format("area of {}: the machine has no such level", component.name));
    }
  }
  if (any) return notes;
  std::vector<std::string_view> names = {accelerator.hierarchy->arithmetic.name};
  for (const MemoryLevel& level : accelerator.hierarchy->levels) names.push_back(level.name);
  return Error{.kind = ErrorKind::kUnknownName,
               .message = "no component of the area table is a level of the machine",
               .where = table.components.empty() ? Where{} : table.components.front().where,
               .hint = fmt::format("known: {}", fmt::join(names, ", "))};
}

std::string WriteArt(const Hierarchy& hierarchy) {
  std::string text;
  const auto add = [&](const std::string& name, const std::optional<Decimal>& area) {
    if (!area) return;
    text += fmt::format("  - {{name: {}, area: {}}}\n", YamlScalar(name), area->ToString());
  };
  add(hierarchy.arithmetic.name, hierarchy.arithmetic.area_um2);
  for (const MemoryLevel& level : hierarchy.levels) add(level.name, level.area_um2);
  return text.empty() ? "" : "ART:\n  version: 0.3\n  tables:\n" + text;
}

Result<std::vector<std::string>> ApplyAreaFile(const std::string& path, Accelerator& accelerator) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  const Result<Node> document = ParseDocument(*text, path);
  if (!document) return document.error();
  const Result<AreaTable> table = ParseAreaTable(*document);
  if (!table) return table.error();
  return ApplyAreaTable(*table, accelerator);
}

}  // namespace tessera
