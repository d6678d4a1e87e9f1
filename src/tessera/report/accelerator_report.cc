// Accelerators in words, tables and JSON.
#include "tessera/report/accelerator_report.h"

#include <optional>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"

namespace tessera {
namespace {

template <typename T>
Json OrNull(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_same_v<T, Decimal>) {
    return ToJson(*value);
  } else {
    return *value;
  }
}

Json NumberOrUnlimited(int64_t value) {
  return value == PeArray::kUnlimited ? Json(nullptr) : Json(value);
}

Json ArrayJson(const PeArray& array) {
  return {{"num_pes", array.num_pes},
          {"simd_lanes", array.simd_lanes},
          {"l1_elements", NumberOrUnlimited(array.l1_elements)},
          {"l2_elements", NumberOrUnlimited(array.l2_elements)},
          {"noc_elements_per_cycle", NumberOrUnlimited(array.noc_elements_per_cycle)},
          {"noc_hops", array.noc_hops},
          {"noc_hop_latency_cycles", array.noc_hop_latency_cycles},
          {"offchip_elements_per_cycle", NumberOrUnlimited(array.offchip_elements_per_cycle)}};
}

Json LevelJson(const MemoryLevel& level) {
  const LevelNetwork& network = level.network;
  return {{"name", level.name},
          {"technology", level.technology},
          {"entries", OrNull(level.entries)},
          {"word_bits", level.word_bits},
          {"block_words", level.block_words},
          {"cluster_size", level.cluster_size},
          {"instances", level.instances()},
          {"mesh_x", level.mesh_x},
          {"mesh_y", level.mesh_y},
          {"read_words_per_cycle", OrNull(level.read_words_per_cycle)},
          {"write_words_per_cycle", OrNull(level.write_words_per_cycle)},
          {"shared_words_per_cycle", OrNull(level.shared_words_per_cycle)},
          {"multiple_buffering", ToJson(level.multiple_buffering)},
          {"read_pj", ToJson(level.read_pj)},
          {"fill_pj", ToJson(level.fill_pj)},
          {"update_pj", ToJson(level.update_pj)},
          {"address_pj", ToJson(level.address_pj)},
          {"area_um2", OrNull(level.area_um2)},
          {"reduces_in_place", level.reduces_in_place},
          {"network",
           {{"hop_pj", ToJson(network.hop_pj)},
            {"router_pj", ToJson(network.router_pj)},
            {"ingress_pj", ToJson(network.ingress_pj)},
            {"fill_latency_cycles", network.fill_latency_cycles},
            {"drain_latency_cycles", network.drain_latency_cycles}}}};
}

Json HierarchyJson(const Hierarchy& hierarchy) {
  Json levels = Json::array();
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    Json level = LevelJson(hierarchy.levels[i]);
    if (hierarchy.keeps.empty()) {
      level["keep"] = kTensorNames;
    } else {
      level["keep"] = hierarchy.keeps[i];
    }
    levels.push_back(std::move(level));
  }
  const Arithmetic& macs = hierarchy.arithmetic;
  Json json = {{"links", hierarchy.links},
               {"bypass", hierarchy.bypass},
               {"arithmetic",
                {{"name", macs.name},
                 {"instances", macs.instances()},
                 {"mesh_x", macs.mesh_x},
                 {"mesh_y", macs.mesh_y},
                 {"word_bits", macs.word_bits},
                 {"mac_pj", ToJson(macs.mac_pj)},
                 {"area_um2", OrNull(macs.area_um2)}}},
               {"area_um2", OrNull(AreaUm2(hierarchy))},
               {"levels", std::move(levels)}};
  for (const TensorBitsField& field : kTensorBitsFields) {
    if (const int32_t width = hierarchy.bits.*field.field; width != 0) {
      json["bits"][std::string(field.name)] = width;
    }
  }
  return json;
}

std::string MeshText(int64_t x, int64_t y) { return fmt::format("{}x{}", x, y); }

Cell NumberCell(const std::optional<Decimal>& value) {
  return value ? Cell(value->ToDouble()) : Cell("unlimited");
}

std::string KeepText(const Hierarchy& hierarchy, size_t level) {
  if (hierarchy.keeps.empty()) return "all";
  const std::vector<std::string>& keep = hierarchy.keeps[level];
  if (keep.size() == kTensorNames.size()) return "all";
  return keep.empty() ? "nothing" : fmt::format("{}", fmt::join(keep, " "));
}

}  // namespace

Json ToJson(const Accelerator& accelerator) {
  return {
      {"name", accelerator.name},
      {"source", accelerator.source},
      {"pe_array", accelerator.pe_array ? ArrayJson(*accelerator.pe_array) : Json(nullptr)},
      {"hierarchy", accelerator.hierarchy ? HierarchyJson(*accelerator.hierarchy) : Json(nullptr)},
      {"notes", accelerator.notes}};
}

Table LevelTable(const Hierarchy& hierarchy) {
  Table table({"level", "mesh", "words", "bits", "read/cycle", "write/cycle", "read_pj", "fill_pj",
               "update_pj", "holds"});
  const Arithmetic& macs = hierarchy.arithmetic;
  table.Add(macs.name, MeshText(macs.mesh_x, macs.mesh_y), Cell(), macs.word_bits, Cell(), Cell(),
            macs.mac_pj.ToDouble(), Cell(), Cell(), Cell());
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    const MemoryLevel& level = hierarchy.levels[i];
    const bool shared = level.shared_words_per_cycle.has_value();
    table.Add(level.name, MeshText(level.mesh_x, level.mesh_y),
              level.entries ? Cell(*level.entries) : Cell("unlimited"), level.word_bits,
              shared && !level.read_words_per_cycle
                  ? Cell(fmt::format("{} shared", level.shared_words_per_cycle->ToString()))
                  : NumberCell(level.read_words_per_cycle),
              shared && !level.write_words_per_cycle ? Cell("shared")
                                                     : NumberCell(level.write_words_per_cycle),
              level.read_pj.ToDouble(), level.fill_pj.ToDouble(), level.update_pj.ToDouble(),
              KeepText(hierarchy, i));
  }
  return table;
}

Table PeArrayTable(const PeArray& array) {
  Table table({"number", "value"});
  const auto add = [&](std::string_view name, int64_t value) {
    table.Add(name, value == PeArray::kUnlimited ? Cell("unlimited") : Cell(value));
  };
  add("num_pes", array.num_pes);
  add("simd_lanes", array.simd_lanes);
  add("l1_elements", array.l1_elements);
  add("l2_elements", array.l2_elements);
  add("noc_elements_per_cycle", array.noc_elements_per_cycle);
  add("noc_hops", array.noc_hops);
  add("noc_hop_latency_cycles", array.noc_hop_latency_cycles);
  add("offchip_elements_per_cycle", array.offchip_elements_per_cycle);
  return table;
}

std::string SizeText(const Accelerator& accelerator) {
  std::vector<std::string> parts;
  if (accelerator.hierarchy) {
    const Arithmetic& macs = accelerator.hierarchy->arithmetic;
    parts.push_back(fmt::format("{} MACs ({}), {} levels", WithThousands(macs.instances()),
                                MeshText(macs.mesh_x, macs.mesh_y),
                                accelerator.hierarchy->levels.size()));
  }
  if (accelerator.pe_array) {
    parts.push_back(fmt::format("{} PEs", WithThousands(accelerator.pe_array->num_pes)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string Summary(const Accelerator& accelerator) {
  std::string text = fmt::format("{}: {}\n", accelerator.name, SizeText(accelerator));
  if (!accelerator.source.empty()) text += fmt::format("source: {}\n", accelerator.source);
  for (const std::string& note : accelerator.notes) text += fmt::format("note: {}\n", note);
  if (const auto area = accelerator.hierarchy ? AreaUm2(*accelerator.hierarchy) : std::nullopt) {
    text += fmt::format("area: {:.6g} um2\n", *area);
  }
  for (const Constraints::Demand& demand : accelerator.constraints.demands) {
    text += fmt::format("constraint: {}\n", ToString(demand));
  }
  return text;
}

}  // namespace tessera
