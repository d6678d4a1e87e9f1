// Tessera's own accelerator files, `format: tessera-accelerator-1` (docs/accelerators.md). Reader
// and writer share one list of fields, so that what is written reads back the same.
#include <array>
#include <variant>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/arch/constraints.h"
#include "tessera/arch/level_component.h"
#include "tessera/arch/locate.h"
#include "tessera/arch/sizes.h"
#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/tensor_bits.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kFormatName = "tessera-accelerator-1";

// A key of a map, and the field that holds its value.
template <typename Struct>
struct Field {
  std::string_view key;
  std::variant<std::string Struct::*, int64_t Struct::*, bool Struct::*, Decimal Struct::*,
               std::optional<int64_t> Struct::*, std::optional<Decimal> Struct::*>
      member;
};

constexpr std::array<Field<PeArray>, 8> kPeArrayFields = {{
    {"num_pes", &PeArray::num_pes},
    {"simd_lanes", &PeArray::simd_lanes},
    {"l1_elements", &PeArray::l1_elements},
    {"l2_elements", &PeArray::l2_elements},
    {"noc_elements_per_cycle", &PeArray::noc_elements_per_cycle},
    {"noc_hops", &PeArray::noc_hops},
    {"noc_hop_latency_cycles", &PeArray::noc_hop_latency_cycles},
    {"offchip_elements_per_cycle", &PeArray::offchip_elements_per_cycle},
}};

constexpr std::array<Field<Arithmetic>, 9> kArithmeticFields = {{
    {"name", &Arithmetic::name},
    {"mesh_x", &Arithmetic::mesh_x},
    {"mesh_y", &Arithmetic::mesh_y},
    {"word_bits", &Arithmetic::word_bits},
    {"mac_pj", &Arithmetic::mac_pj},
    {"area_um2", &Arithmetic::area_um2},
    {"leakage_mw", &Arithmetic::leakage_mw},
    {"vector_op_pj", &Arithmetic::vector_op_pj},
    {"vector_lanes", &Arithmetic::vector_lanes},
}};

constexpr std::array<Field<MemoryLevel>, 19> kLevelFields = {{
    {"name", &MemoryLevel::name},
    {"technology", &MemoryLevel::technology},
    {"entries", &MemoryLevel::entries},
    {"word_bits", &MemoryLevel::word_bits},
    {"block_words", &MemoryLevel::block_words},
    {"cluster_size", &MemoryLevel::cluster_size},
    {"mesh_x", &MemoryLevel::mesh_x},
    {"mesh_y", &MemoryLevel::mesh_y},
    {"read_words_per_cycle", &MemoryLevel::read_words_per_cycle},
    {"write_words_per_cycle", &MemoryLevel::write_words_per_cycle},
    {"shared_words_per_cycle", &MemoryLevel::shared_words_per_cycle},
    {"multiple_buffering", &MemoryLevel::multiple_buffering},
    {"read_pj", &MemoryLevel::read_pj},
    {"fill_pj", &MemoryLevel::fill_pj},
    {"update_pj", &MemoryLevel::update_pj},
    {"address_pj", &MemoryLevel::address_pj},
    {"area_um2", &MemoryLevel::area_um2},
    {"leakage_mw", &MemoryLevel::leakage_mw},
    {"reduces_in_place", &MemoryLevel::reduces_in_place},
}};

constexpr std::array<Field<LevelNetwork>, 5> kNetworkFields = {{
    {"hop_pj", &LevelNetwork::hop_pj},
    {"router_pj", &LevelNetwork::router_pj},
    {"ingress_pj", &LevelNetwork::ingress_pj},
    {"fill_latency_cycles", &LevelNetwork::fill_latency_cycles},
    {"drain_latency_cycles", &LevelNetwork::drain_latency_cycles},
}};

template <typename T>
Result<void> Store(const Result<T>& from, auto& to) {
  if (!from) return from.error();
  to = *from;
  return {};
}

Result<void> ReadValue(const Node& node, std::string& value) {
  return Store(node.AsString(), value);
}
Result<void> ReadValue(const Node& node, int64_t& value) { return Store(node.AsInt(), value); }
Result<void> ReadValue(const Node& node, bool& value) { return Store(node.AsBool(), value); }
Result<void> ReadValue(const Node& node, Decimal& value) { return Store(node.AsDecimal(), value); }
Result<void> ReadValue(const Node& node, std::optional<int64_t>& value) {
  return Store(node.AsInt(), value);
}
Result<void> ReadValue(const Node& node, std::optional<Decimal>& value) {
  return Store(node.AsDecimal(), value);
}

// All fields but `except`, which the caller reads.
template <typename Struct, size_t kCount>
Result<void> ReadFields(MapReader& map, const std::array<Field<Struct>, kCount>& fields,
                        Struct& values, std::string_view except = "") {
  for (const Field<Struct>& field : fields) {
    if (field.key == except) continue;
    const Node* node = map.Find(field.key);
    if (node == nullptr) continue;
    Result<void> read =
        std::visit([&](auto member) { return ReadValue(*node, values.*member); }, field.member);
    if (!read) return read;
  }
  return {};
}

// A map that has the given fields and no other keys.
template <typename Struct, size_t kCount>
Result<void> ReadMap(const Node& node, std::string what,
                     const std::array<Field<Struct>, kCount>& fields, Struct& values) {
  MapReader map(node, std::move(what));
  if (Result<void> ok = map.Check(); !ok) return ok;
  if (Result<void> ok = ReadFields(map, fields, values); !ok) return ok;
  return map.Finish();
}

std::string Text(const std::string& value) { return YamlScalar(value); }
std::string Text(int64_t value) { return fmt::format("{}", value); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(const Decimal& value) { return value.ToString(); }
template <typename T>
std::string Text(const std::optional<T>& value) {
  return Text(*value);  // differs from the default, which is none
}

// "name: GLB, entries: 65536": the fields that differ from their defaults.
template <typename Struct, size_t kCount>
std::string WriteFields(const std::array<Field<Struct>, kCount>& fields, const Struct& values) {
  const Struct defaults;
  std::string text;
  for (const Field<Struct>& field : fields) {
    std::visit(
        [&](auto member) {
          if (values.*member == defaults.*member) return;
          text +=
              fmt::format("{}{}: {}", text.empty() ? "" : ", ", field.key, Text(values.*member));
        },
        field.member);
  }
  return text;
}

std::string WriteList(const auto& texts) {
  std::string list;
  for (const auto& text : texts) list += (list.empty() ? "" : ", ") + YamlScalar(text);
  return "[" + list + "]";
}

Result<std::vector<std::string>> ReadTexts(const Node& node, std::string_view what) {
  if (node.kind != Node::Kind::kSequence) {
    return node.ErrorHere(ErrorKind::kBadValue, fmt::format("expected a list of {}", what));
  }
  std::vector<std::string> texts;
  for (const Node& item : node.items) {
    Result<std::string> text = item.AsString();
    if (!text) return text.error();
    texts.push_back(std::move(*text));
  }
  return texts;
}

class Reader {
 public:
  // Notes where numbers are from.
  Reader(const Node& root, std::vector<NumberSource>& sources) : root_(root), sources_(sources) {}

  Result<Accelerator> Read() {
    MapReader top(root_, "accelerator");
    if (Result<void> ok = top.Check(); !ok) return ok.error();
    if (Result<void> ok = top.RequireFormat(kFormatName); !ok) return ok.error();
    Accelerator accelerator;
    const Result<const Node*> name = top.Require("name");
    if (!name) return name.error();
    if (Result<void> ok = ReadValue(**name, accelerator.name); !ok) return ok.error();
    if (const Node* source = top.Find("source")) {
      if (Result<void> ok = ReadValue(*source, accelerator.source); !ok) return ok.error();
    }
    if (const Node* notes = top.Find("notes")) {
      if (Result<void> ok = Store(ReadTexts(*notes, "notes"), accelerator.notes); !ok) {
        return ok.error();
      }
    }
    if (const Node* node = top.Find("pe_array")) {
      parts_.push_back({"pe_array", node});
      Result<void> ok = ReadMap(*node, "pe_array", kPeArrayFields, accelerator.pe_array.emplace());
      if (!ok) return ok.error();
    }
    if (const Node* node = top.Find("hierarchy")) {
      if (Result<void> ok = ReadHierarchy(*node, accelerator.hierarchy.emplace()); !ok) {
        return ok.error();
      }
    }
    if (const Node* node = top.Find("bits")) {
      if (Result<void> ok = ReadBits(*node, accelerator); !ok) return ok.error();
    }
    if (const Node* node = top.Find("constraints")) {
      MapReader map(*node, "constraints");
      if (Result<void> ok = map.Check(); !ok) return ok.error();
      if (Result<void> ok = ReadConstraintSections(map, accelerator.constraints); !ok) {
        return ok.error();
      }
      if (Result<void> ok = map.Finish(); !ok) return ok.error();
    }
    if (Result<void> ok = top.Finish(); !ok) return ok.error();
    if (Result<void> ok = Validate(accelerator); !ok) return Locate(ok.error(), root_, parts_);
    return accelerator;
  }

 private:
  // Beside the hierarchy instead of in it.
  static Result<void> ReadBits(const Node& node, Accelerator& accelerator) {
    if (!accelerator.hierarchy) {
      return node.ErrorHere(ErrorKind::kBadValue, "bits are of tensors in a hierarchy");
    }
    if (accelerator.hierarchy->bits.known()) {
      return node.ErrorHere(ErrorKind::kBadValue, "the hierarchy has bits already");
    }
    return Store(ReadTensorBits(node), accelerator.hierarchy->bits);
  }

  Result<void> ReadHierarchy(const Node& node, Hierarchy& hierarchy) {
    parts_.push_back({"hierarchy", &node});
    MapReader map(node, "hierarchy");
    if (Result<void> ok = map.Check(); !ok) return ok;
    if (const Node* links = map.Find("links")) {
      if (Result<void> ok = ReadValue(*links, hierarchy.links); !ok) return ok;
    }
    if (const Node* bypass = map.Find("bypass")) {
      if (Result<void> ok = ReadValue(*bypass, hierarchy.bypass); !ok) return ok;
    }
    if (const Node* bits = map.Find("bits")) {
      if (Result<void> ok = Store(ReadTensorBits(*bits), hierarchy.bits); !ok) return ok;
    }
    if (const Node* nm = map.Find("node_nm")) {
      if (Result<void> ok = Store(nm->AsDouble(), node_nm_); !ok) return ok;
    }
    const Result<const Node*> arithmetic = map.Require("arithmetic");
    if (!arithmetic) return arithmetic.error();
    if (Result<void> ok = ReadArithmetic(**arithmetic, hierarchy.arithmetic); !ok) return ok;
    parts_.push_back({hierarchy.arithmetic.name, *arithmetic});
    const Result<const Node*> levels = map.Require("levels");
    if (!levels) return levels.error();
    if ((*levels)->kind != Node::Kind::kSequence) {
      return (*levels)->ErrorHere(ErrorKind::kBadValue,
                                  "expected a list of levels, from the MACs outwards");
    }
    for (const Node& level : (*levels)->items) {
      if (Result<void> read = ReadLevel(level, hierarchy); !read) return read;
    }
    return map.Finish();
  }

  Result<void> ReadArithmetic(const Node& node, Arithmetic& arithmetic) {
    MapReader map(node, "arithmetic");
    if (Result<void> ok = map.Check(); !ok) return ok;
    if (Result<void> ok = ReadFields(map, kArithmeticFields, arithmetic); !ok) return ok;
    if (Result<void> ok = ApplyComponent(map, node, node_nm_, arithmetic, sources_); !ok) return ok;
    return map.Finish();
  }

  Result<void> ReadLevel(const Node& node, Hierarchy& hierarchy) {
    MapReader map(node, "level");
    if (Result<void> ok = map.Check(); !ok) return ok;
    if (const Result<const Node*> name = map.Require("name"); !name) return name.error();
    MemoryLevel level;
    if (Result<void> ok = ReadFields(map, kLevelFields, level, "entries"); !ok) return ok;
    // A size in bytes is so many words of this level.
    if (const Node* entries = map.Find("entries")) {
      if (Result<void> ok = Store(ReadWords(*entries, level.word_bits), level.entries); !ok) {
        return ok;
      }
    }
    parts_.push_back({level.name, &node});
    if (Result<void> ok = ApplyComponent(map, node, node_nm_, level, sources_); !ok) return ok;
    if (const Node* network = map.Find("network")) {
      if (Result<void> ok = ReadMap(*network, "network", kNetworkFields, level.network); !ok) {
        return ok;
      }
    }
    if (Result<void> ok = ReadKeep(map.Find("keep"), hierarchy); !ok) return ok;
    hierarchy.levels.push_back(std::move(level));
    return map.Finish();
  }

  // `keeps` stays empty as long as no level has a key 'keep'.
  Result<void> ReadKeep(const Node* node, Hierarchy& hierarchy) {
    const std::vector<std::string> all(kTensorNames.begin(), kTensorNames.end());
    if (node == nullptr) {
      if (!hierarchy.keeps.empty()) hierarchy.keeps.push_back(all);
      return {};
    }
    Result<std::vector<std::string>> tensors = ReadTexts(*node, "tensors");
    if (!tensors) return tensors.error();
    hierarchy.keeps.resize(hierarchy.levels.size(), all);
    hierarchy.keeps.push_back(std::move(*tensors));
    return {};
  }

  const Node& root_;
  std::vector<NumberSource>& sources_;
  std::optional<double> node_nm_;  // of components that name none
  std::vector<NamedPart> parts_;
};

Result<Accelerator> ReadWithSources(std::string_view bytes, const std::string& file,
                                    std::vector<NumberSource>& sources) {
  const Result<std::string> text = ToText(std::string(bytes), file);
  if (!text) return text.error();
  const Result<Node> root = ParseDocument(*text, file);
  if (!root) return root.error();
  return Reader(*root, sources).Read();
}

Result<Accelerator> ReadNative(std::string_view bytes, const std::string& file) {
  std::vector<NumberSource> sources;
  return ReadWithSources(bytes, file, sources);
}

std::string WriteLevel(const Hierarchy& hierarchy, size_t index) {
  const MemoryLevel& level = hierarchy.levels[index];
  std::string line = fmt::format("  - {{{}", WriteFields(kLevelFields, level));
  if (level.network != LevelNetwork{}) {
    line += fmt::format(", network: {{{}}}", WriteFields(kNetworkFields, level.network));
  }
  if (!hierarchy.keeps.empty()) line += ", keep: " + WriteList(hierarchy.keeps[index]);
  return line + "}\n";
}

}  // namespace

std::string AcceleratorText(const Accelerator& accelerator) {
  std::string text = fmt::format("format: {}\n", kFormatName);
  text += fmt::format("name: {}\n", YamlScalar(accelerator.name));
  if (!accelerator.source.empty()) {
    text += fmt::format("source: {}\n", YamlScalar(accelerator.source));
  }
  if (!accelerator.notes.empty()) text += fmt::format("notes: {}\n", WriteList(accelerator.notes));
  if (accelerator.pe_array) {
    text += fmt::format("pe_array: {{{}}}\n", WriteFields(kPeArrayFields, *accelerator.pe_array));
  }
  if (accelerator.hierarchy) {
    const Hierarchy& hierarchy = *accelerator.hierarchy;
    text += "hierarchy:\n";
    if (hierarchy.links) text += "  links: true\n";
    if (!hierarchy.bypass) text += "  bypass: false\n";
    if (hierarchy.bits.known()) text += fmt::format("  bits: {}\n", TensorBitsYaml(hierarchy.bits));
    text +=
        fmt::format("  arithmetic: {{{}}}\n", WriteFields(kArithmeticFields, hierarchy.arithmetic));
    text += "  levels:\n";
    for (size_t i = 0; i < hierarchy.levels.size(); ++i) text += WriteLevel(hierarchy, i);
  }
  if (!accelerator.constraints.demands.empty()) {
    text += fmt::format("constraints: {{demands: {}}}\n", WriteDemands(accelerator.constraints));
  }
  return text;
}

namespace {

Result<AcceleratorExport> Write(const Accelerator& accelerator) {
  return AcceleratorExport{.files = {{.name = SafeFileName(accelerator.name) + ".yaml",
                                      .contents = AcceleratorText(accelerator)}}};
}

bool Recognises(std::string_view bytes) {
  return bytes.find("tessera-accelerator-") != std::string_view::npos;
}

}  // namespace

Result<Accelerator> AcceleratorOf(const Node& root) {
  std::vector<NumberSource> sources;
  return Reader(root, sources).Read();
}

Result<std::vector<NumberSource>> ExplainAccelerator(std::string_view bytes,
                                                     const std::string& file) {
  std::vector<NumberSource> sources;
  if (!Recognises(bytes)) return sources;
  const Result<Accelerator> accelerator = ReadWithSources(bytes, file, sources);
  if (!accelerator) return accelerator.error();
  if (accelerator->hierarchy) AddTotals(*accelerator->hierarchy, sources);
  return sources;
}

extern const AcceleratorFormat kNativeAcceleratorFormat = {
    .name = "yaml",
    .summary = "Tessera's own format (tessera-accelerator-1), YAML or JSON; holds everything",
    .extensions = {".yaml", ".yml", ".json"},
    .recognises = Recognises,
    .read = ReadNative,
    .write = Write};

}  // namespace tessera
