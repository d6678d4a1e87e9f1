// Components in accelerator files.
#include "tessera/arch/level_component.h"

#include <utility>

#include <fmt/format.h>

#include "tessera/arch/components/component.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kGiven = "given in the file";

// A component as a map names it.
struct Named {
  const ComponentInfo* info = nullptr;  // none: the map names none
  ComponentQuery query = {};
  const Node* key = nullptr;
};

Result<void> ReadText(MapReader& map, std::string_view key, std::string& text) {
  const Node* node = map.Find(key);
  if (node == nullptr) return {};
  Result<std::string> value = node->AsString();
  if (!value) return value.error();
  text = *std::move(value);
  return {};
}

Result<Named> NamedIn(MapReader& map, std::optional<double> node_nm) {
  Named named;
  named.query.node_nm = node_nm.value_or(0);
  if (const Node* node = map.Find("node_nm")) {
    const Result<double> value = node->AsDouble();
    if (!value) return value.error();
    named.query.node_nm = *value;
  }
  if (Result<void> read = ReadText(map, "type", named.query.type); !read) return read.error();
  if (Result<void> read = ReadText(map, "kind", named.query.kind); !read) return read.error();
  named.key = map.Find("component");
  if (named.key == nullptr) return named;
  const Result<std::string> name = named.key->AsString();
  if (!name) return name.error();
  const Result<const ComponentInfo*> info = FindComponent(*name);
  if (!info) {
    return named.key->ErrorHere(ErrorKind::kUnknownName, info.error().message, info.error().hint);
  }
  named.info = *info;
  return named;
}

Result<ComponentCost> CostOf(const Named& named) {
  Result<ComponentCost> cost = named.info->estimate(named.query);
  if (cost) return cost;
  return named.key->ErrorHere(
      cost.error().kind, fmt::format("component {}: {}", named.info->name, cost.error().message),
      cost.error().hint);
}

// Sets a number that the map does not give, and notes where it is from.
void Set(const Node& node, const std::string& part, std::string_view key, const ComponentCost& cost,
         const std::optional<double>& value, Decimal& number, std::vector<NumberSource>& sources) {
  const bool given = node.Find(key) != nullptr;
  if (!given && value) number = Decimal::FromDouble(*value);
  NumberSource source{.part = part, .number = std::string(key), .value = number.ToDouble()};
  if (given) {
    source.source = kGiven;
  } else if (value) {
    source.source = cost.source;
    source.scaling = cost.scaling;
  } else {
    source.source = "not given: 0";
  }
  sources.push_back(std::move(source));
}

// Area and leakage of a level or of a MAC, where they are known, and what models do not use.
template <typename Part>
void SetMore(const Node& node, const ComponentCost& cost, Part& part,
             std::vector<NumberSource>& sources) {
  if (cost.area_um2 || node.Find("area_um2") != nullptr) {
    Decimal area = part.area_um2.value_or(0);
    Set(node, part.name, "area_um2", cost, cost.area_um2, area, sources);
    part.area_um2 = area;
  }
  if (cost.leakage_mw || node.Find("leakage_mw") != nullptr) {
    Set(node, part.name, "leakage_mw", cost, cost.leakage_mw, part.leakage_mw, sources);
  }
  if (!cost.access_ns) return;
  sources.push_back({part.name, "access_ns", *cost.access_ns, cost.source, cost.scaling});
}

}  // namespace

Result<void> ApplyComponent(MapReader& map, const Node& node, std::optional<double> node_nm,
                            MemoryLevel& level, std::vector<NumberSource>& sources) {
  Result<Named> named = NamedIn(map, node_nm);
  if (!named) return named.error();
  ComponentCost cost;
  if (named->info != nullptr) {
    named->query.width_bits = level.word_bits * level.block_words;
    named->query.bytes = (level.entries.value_or(0) * level.word_bits + 7) / 8;
    Result<ComponentCost> estimated = CostOf(*named);
    if (!estimated) return estimated.error();
    cost = *std::move(estimated);
    if (!cost.read_pj) {
      return named->key->ErrorHere(ErrorKind::kBadValue,
                                   fmt::format("component {} is no memory", named->info->name),
                                   "use sram, regfile or dram");
    }
  }
  Set(node, level.name, "read_pj", cost, cost.read_pj, level.read_pj, sources);
  Set(node, level.name, "fill_pj", cost, cost.write_pj, level.fill_pj, sources);
  Set(node, level.name, "update_pj", cost, cost.write_pj, level.update_pj, sources);
  SetMore(node, cost, level, sources);
  return {};
}

Result<void> ApplyComponent(MapReader& map, const Node& node, std::optional<double> node_nm,
                            Arithmetic& arithmetic, std::vector<NumberSource>& sources) {
  Result<Named> named = NamedIn(map, node_nm);
  if (!named) return named.error();
  ComponentCost cost;
  if (named->info != nullptr) {
    named->query.width_bits = arithmetic.word_bits;
    Result<ComponentCost> estimated = CostOf(*named);
    if (!estimated) return estimated.error();
    cost = *std::move(estimated);
    if (named->info->name != "mac") {
      return named->key->ErrorHere(
          ErrorKind::kBadValue,
          fmt::format("component {} does not multiply and accumulate", named->info->name),
          "use mac");
    }
  }
  Set(node, arithmetic.name, "mac_pj", cost, cost.op_pj, arithmetic.mac_pj, sources);
  SetMore(node, cost, arithmetic, sources);
  return {};
}

void AddTotals(const Hierarchy& hierarchy, std::vector<NumberSource>& sources) {
  const auto instances_of = [&](const std::string& part) {
    for (const MemoryLevel& level : hierarchy.levels) {
      if (level.name == part) return level.instances();
    }
    return hierarchy.arithmetic.instances();
  };
  std::vector<NumberSource> totals;
  for (const std::string_view number : {"area_um2", "leakage_mw"}) {
    NumberSource total{.part = "machine", .number = std::string(number)};
    std::vector<std::string> parts;
    for (const NumberSource& source : sources) {
      if (source.number != number) continue;
      total.value += source.value * static_cast<double>(instances_of(source.part));
      parts.push_back(fmt::format("{} x {}", instances_of(source.part), source.part));
    }
    if (parts.empty()) continue;
    total.source = fmt::format("{}", fmt::join(parts, " + "));
    totals.push_back(std::move(total));
  }
  sources.insert(sources.end(), totals.begin(), totals.end());
}

}  // namespace tessera
