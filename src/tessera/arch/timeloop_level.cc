// Attributes of Timeloop components.
#include "tessera/arch/timeloop_level.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::timeloop {
namespace {

constexpr int64_t kMaxNumber = (int64_t{1} << 31) - 1;

// "word-bits" and "word_bits" are the same attribute.
std::string Normal(std::string_view name) {
  std::string normal(name);
  std::replace(normal.begin(), normal.end(), '-', '_');
  return normal;
}

const Node* FindNormal(const Node& map, std::string_view name) {
  for (const Node::Entry& entry : map.entries) {
    if (Normal(entry.key) == name && entry.value.kind != Node::Kind::kNull) return &entry.value;
  }
  return nullptr;
}

bool ContainsWord(std::string_view text, std::string_view word) {
  const auto lower_equal = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), lower_equal) != text.end();
}

Result<int64_t> Divide(const Node& node, std::string_view what, int64_t number, int64_t divisor,
                       std::string_view divisor_name) {
  if (divisor > 0 && number % divisor == 0) return number / divisor;
  return node.ErrorHere(ErrorKind::kBadValue, fmt::format("{} {} is no multiple of {} {}", what,
                                                          number, divisor_name, divisor));
}

// Timeloop's rule: any two of instances, meshX and meshY give the third; instances alone are a row.
struct Mesh {
  int64_t x, y;
};
Result<Mesh> ReadMesh(Attributes& attributes, const Placement& placement, const Node& node) {
  std::optional<int64_t> instances, x = placement.mesh_x, y = placement.mesh_y;
  if (Result<void> ok = attributes.Read({"instances"}, instances); !ok) return ok.error();
  if (!x && !y) {
    if (Result<void> ok = attributes.Read({"meshX"}, x); !ok) return ok.error();
    if (Result<void> ok = attributes.Read({"meshY"}, y); !ok) return ok.error();
  }
  if (x && y) {
    const Checked product = Checked(*x) * *y;
    if (instances && (!product.ok() || product.value() != *instances)) {
      return node.ErrorHere(
          ErrorKind::kBadValue,
          fmt::format("{} instances, but meshX {} * meshY {}", *instances, *x, *y));
    }
    return Mesh{*x, *y};
  }
  const int64_t count = instances.value_or(placement.instances);
  if (x) {
    const Result<int64_t> other = Divide(node, "instances", count, *x, "meshX");
    if (!other) return other.error();
    return Mesh{*x, *other};
  }
  if (y) {
    const Result<int64_t> other = Divide(node, "instances", count, *y, "meshY");
    if (!other) return other.error();
    return Mesh{*other, *y};
  }
  return Mesh{count, 1};
}

// Words per vector access and instances per address generator.
Result<void> ReadBlocks(Attributes& attributes, Dialect dialect, const Node& node,
                        MemoryLevel& level) {
  std::optional<int64_t> block, cluster, width;
  if (Result<void> ok = attributes.Read({"block_size", "n_words"}, block); !ok) return ok;
  if (Result<void> ok = attributes.Read({"cluster_size"}, cluster); !ok) return ok;
  if (Result<void> ok = attributes.Read({"width", "memory_width"}, width); !ok) return ok;
  level.block_words = block.value_or(1);
  level.cluster_size = cluster.value_or(1);
  if (!width || level.word_bits < 1) return {};
  if (!block && dialect == Dialect::k04) {
    const Checked bits = Checked(level.word_bits) * level.cluster_size;
    if (!bits.ok())
      return node.ErrorHere(ErrorKind::kOverflow, "the width does not fit in 64 bits");
    const Result<int64_t> words = Divide(node, "width", *width, bits.value(), "word bits");
    if (!words) return words.error();
    level.block_words = *words;
  } else if (!cluster) {
    const Checked bits = Checked(level.word_bits) * level.block_words;
    if (!bits.ok())
      return node.ErrorHere(ErrorKind::kOverflow, "the width does not fit in 64 bits");
    const Result<int64_t> clusters =
        Divide(node, "width", *width, bits.value(), "word bits * block size");
    if (!clusters) return clusters.error();
    level.cluster_size = *clusters;
  }
  return {};
}

Result<void> ReadCapacity(Attributes& attributes, const Node& node, MemoryLevel& level) {
  std::optional<int64_t> depth, kilobytes;
  if (Result<void> ok = attributes.Read({"entries"}, level.entries); !ok) return ok;
  if (Result<void> ok = attributes.Read({"depth", "memory_depth"}, depth); !ok) return ok;
  if (Result<void> ok = attributes.Read({"sizeKB"}, kilobytes); !ok) return ok;
  if (level.entries.has_value() + depth.has_value() + kilobytes.has_value() > 1) {
    return node.ErrorHere(ErrorKind::kBadValue,
                          "only one of entries, depth and sizeKB can be given");
  }
  Checked words = 0;
  if (depth) {
    words = Checked(*depth) * level.block_words;
  } else if (kilobytes) {
    words = Checked(*kilobytes) * 1024 * 8;
    if (words.ok()) words = words.value() / std::max<int64_t>(1, level.word_bits);
  } else {
    return {};
  }
  if (!words.ok()) {
    return node.ErrorHere(ErrorKind::kOverflow, "the capacity does not fit in 64 bits");
  }
  level.entries = words.value();
  return {};
}

Result<void> ReadBandwidths(Attributes& attributes, MemoryLevel& level) {
  std::optional<Decimal> both;
  if (Result<void> ok = attributes.Read({"bandwidth"}, both); !ok) return ok;
  if (both) {  // the old attribute, which Timeloop shares out half and half
    level.read_words_per_cycle = Decimal::FromDouble(both->ToDouble() / 2);
    level.write_words_per_cycle = level.read_words_per_cycle;
  }
  if (Result<void> ok = attributes.Read({"read_bandwidth"}, level.read_words_per_cycle); !ok) {
    return ok;
  }
  if (Result<void> ok = attributes.Read({"write_bandwidth"}, level.write_words_per_cycle); !ok) {
    return ok;
  }
  return attributes.Read({"shared_bandwidth"}, level.shared_words_per_cycle);
}

Result<void> ReadEnergies(Attributes& attributes, MemoryLevel& level,
                          std::vector<std::string>& notes) {
  std::optional<Decimal> access;
  if (Result<void> ok = attributes.Read({"vector_access_energy"}, access); !ok) return ok;
  if (access) {
    level.read_pj = level.fill_pj = level.update_pj = *access;
  } else if (level.entries != 0) {
    notes.push_back(
        fmt::format("{}: no vector-access-energy: 0 pJ, unless an ERT has one", level.name));
  }
  if (Result<void> ok = attributes.Read({"addr_gen_energy"}, level.address_pj); !ok) return ok;
  LevelNetwork& network = level.network;
  if (Result<void> ok = attributes.Read({"energy_per_hop"}, network.hop_pj); !ok) return ok;
  if (Result<void> ok = attributes.Read({"router_energy"}, network.router_pj); !ok) return ok;
  if (Result<void> ok = attributes.Read({"energy_per_ingress"}, network.ingress_pj); !ok) return ok;
  if (Result<void> ok = attributes.Read({"network_fill_latency"}, network.fill_latency_cycles);
      !ok) {
    return ok;
  }
  return attributes.Read({"network_drain_latency"}, network.drain_latency_cycles);
}

}  // namespace

Attributes::Attributes(std::string what, const Node& own, const std::vector<const Node*>& inherited)
    : what_(std::move(what)), own_(own), inherited_(inherited) {}

const Node* Attributes::Find(std::initializer_list<std::string_view> names) {
  asked_.insert(asked_.end(), names.begin(), names.end());
  for (const std::string_view name : names) {
    if (const Node* value = FindNormal(own_, name)) return value;
  }
  for (auto container = inherited_.rbegin(); container != inherited_.rend(); ++container) {
    for (const std::string_view name : names) {
      if (const Node* value = FindNormal(**container, name)) return value;
    }
  }
  return nullptr;
}

Result<void> Attributes::Read(std::initializer_list<std::string_view> names, int64_t& value) {
  const Node* node = Find(names);
  if (node == nullptr) return {};
  const Result<int64_t> read = node->AsInt(0, kMaxNumber);
  if (!read) return read.error();
  value = *read;
  return {};
}

Result<void> Attributes::Read(std::initializer_list<std::string_view> names,
                              std::optional<int64_t>& value) {
  if (Find(names) == nullptr) return {};
  return Read(names, value.emplace());
}

Result<void> Attributes::Read(std::initializer_list<std::string_view> names, Decimal& value) {
  const Node* node = Find(names);
  if (node == nullptr) return {};
  const Result<Decimal> read = node->AsDecimal();
  if (!read) return read.error();
  value = *read;
  return {};
}

Result<void> Attributes::Read(std::initializer_list<std::string_view> names,
                              std::optional<Decimal>& value) {
  if (Find(names) == nullptr) return {};
  return Read(names, value.emplace());
}

void Attributes::ListUnused(std::vector<std::string>& notes) const {
  for (const Node::Entry& entry : own_.entries) {
    const std::string name = Normal(entry.key);
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    std::string hint = DidYouMean(name, asked_);
    if (!hint.starts_with("did you")) hint.clear();
    notes.push_back(fmt::format("{}: '{}' on line {} is not used{}{}", what_, entry.key,
                                entry.key_where.line, hint.empty() ? "" : "; ", hint));
  }
}

ComponentKind KindOfClass(std::string_view class_name) {
  constexpr std::array<std::string_view, 6> kStorage = {"DRAM",        "SRAM",    "regfile",
                                                        "smartbuffer", "storage", "reg_storage"};
  constexpr std::array<std::string_view, 2> kCompute = {"mac", "compute"};
  const auto contains = [&](std::string_view word) { return ContainsWord(class_name, word); };
  if (std::any_of(kStorage.begin(), kStorage.end(), contains)) return ComponentKind::kStorage;
  if (std::any_of(kCompute.begin(), kCompute.end(), contains)) return ComponentKind::kCompute;
  return ComponentKind::kOther;
}

Result<MemoryLevel> ReadLevel(const std::string& name, const std::string& class_name,
                              Attributes& attributes, const Placement& placement, Dialect dialect,
                              const Node& node, std::vector<std::string>& notes) {
  MemoryLevel level{.name = name};
  const Result<Mesh> mesh = ReadMesh(attributes, placement, node);
  if (!mesh) return mesh.error();
  level.mesh_x = mesh->x;
  level.mesh_y = mesh->y;
  Result<void> ok = attributes.Read({"word_bits", "word_width", "datawidth"}, level.word_bits);
  if (!ok) return ok.error();
  if (ok = ReadBlocks(attributes, dialect, node, level); !ok) return ok.error();
  if (ok = ReadCapacity(attributes, node, level); !ok) return ok.error();
  if (ok = ReadBandwidths(attributes, level); !ok) return ok.error();
  ok = attributes.Read({"multiple_buffering"}, level.multiple_buffering);
  if (!ok) return ok.error();

  // `technology` is a node such as 45nm in newer files, and DRAM or SRAM in flat ones.
  const Node* technology = attributes.Find({"technology"});
  const bool dram =
      ContainsWord(class_name, "DRAM") || (technology != nullptr && technology->scalar == "DRAM");
  level.technology = dram ? "DRAM" : "SRAM";
  level.reduces_in_place = !dram;
  if (const Node* reduction = attributes.Find({"reduction_supported"})) {
    const Result<bool> value = reduction->AsBool();
    if (!value) return value.error();
    level.reduces_in_place = *value;
  }
  if (ok = ReadEnergies(attributes, level, notes); !ok) return ok.error();
  attributes.ListUnused(notes);
  return level;
}

Result<Arithmetic> ReadArithmetic(const std::string& name, Attributes& attributes,
                                  const Placement& placement, const Node& node,
                                  std::vector<std::string>& notes) {
  Arithmetic macs{.name = name};
  const Result<Mesh> mesh = ReadMesh(attributes, placement, node);
  if (!mesh) return mesh.error();
  macs.mesh_x = mesh->x;
  macs.mesh_y = mesh->y;
  Result<void> ok =
      attributes.Read({"word_bits", "word_width", "datawidth", "multiplier_width"}, macs.word_bits);
  if (!ok) return ok.error();
  std::optional<Decimal> energy;
  if (ok = attributes.Read({"energy", "compute_energy"}, energy); !ok) return ok.error();
  if (!energy) {
    notes.push_back(fmt::format("{}: no energy: 0 pJ, unless an ERT has one", name));
  }
  macs.mac_pj = energy.value_or(0);
  attributes.ListUnused(notes);
  return macs;
}

}  // namespace tessera::timeloop
