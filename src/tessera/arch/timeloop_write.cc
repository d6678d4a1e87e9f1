// Writing of Timeloop architectures; arch/timeloop.cc reads them back.
#include "tessera/arch/timeloop_write.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/arch/area_table.h"
#include "tessera/arch/energy_table.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

bool OneAccessEnergy(const MemoryLevel& level) {
  return level.read_pj == level.fill_pj && level.fill_pj == level.update_pj;
}

bool IsWhole(const Decimal& value) { return value.exponent() >= 0; }

class Writer {
 public:
  Writer(const Hierarchy& hierarchy, TimeloopVersion version)
      : hierarchy_(hierarchy), v04_(version == TimeloopVersion::k04) {}

  Result<std::string> Run() const {
    if (!v04_) return Flat();
    const MemoryLevel& outermost = hierarchy_.levels.back();
    if (outermost.instances() > 1) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("{} has {} instances, but in files of version 0.4 the "
                                          "outermost level has one",
                                          outermost.name, outermost.instances()),
                   .hint = "write version 0.3, or add a level around it"};
    }
    return Nodes();
  }

 private:
  // "word-bits" before version 0.4, "word_bits" since.
  std::string Key(std::string_view name) const {
    std::string key(name);
    if (v04_) std::replace(key.begin(), key.end(), '-', '_');
    return key;
  }

  template <typename Value>
  void Add(std::vector<std::string>& list, std::string_view name, const Value& value) const {
    list.push_back(fmt::format("{}: {}", Key(name), value));
  }

  void AddMesh(std::vector<std::string>& list, int64_t x, int64_t y) const {
    if (v04_) return;  // nodes have their place in the tree
    Add(list, "instances", x * y);
    Add(list, "meshX", x);
    Add(list, "meshY", y);
  }

  void AddCapacity(std::vector<std::string>& list, const MemoryLevel& level) const {
    if (v04_) {
      Add(list, "datawidth", level.word_bits);
      Add(list, "width", level.word_bits * level.block_words * level.cluster_size);
      Add(list, "cluster-size", level.cluster_size);
      if (!level.entries) return;
      const bool whole = *level.entries % level.block_words == 0;
      Add(list, whole ? "depth" : "entries",
          whole ? *level.entries / level.block_words : *level.entries);
      return;
    }
    Add(list, "word-bits", level.word_bits);
    Add(list, "block-size", level.block_words);
    Add(list, "cluster-size", level.cluster_size);
    if (level.entries) Add(list, "entries", *level.entries);
  }

  std::vector<std::string> LevelAttributes(const MemoryLevel& level) const {
    std::vector<std::string> list;
    AddMesh(list, level.mesh_x, level.mesh_y);
    AddCapacity(list, level);
    Add(list, "multiple-buffering", level.multiple_buffering.ToString());
    const struct {
      std::string_view name;
      const std::optional<Decimal>& rate;
    } rates[] = {{"read_bandwidth", level.read_words_per_cycle},
                 {"write_bandwidth", level.write_words_per_cycle},
                 {"shared_bandwidth", level.shared_words_per_cycle}};
    for (const auto& [name, rate] : rates) {
      if (rate) Add(list, name, rate->ToString());
    }
    const bool dram = level.technology == "DRAM";
    if (dram && !v04_) Add(list, "technology", "DRAM");
    if (level.reduces_in_place == dram) Add(list, "reduction_supported", level.reduces_in_place);
    if (OneAccessEnergy(level)) Add(list, "vector-access-energy", level.read_pj.ToString());
    Add(list, "addr-gen-energy", level.address_pj.ToString());
    Add(list, "energy-per-hop", level.network.hop_pj.ToString());
    Add(list, "router-energy", level.network.router_pj.ToString());
    Add(list, "energy-per-ingress", level.network.ingress_pj.ToString());
    Add(list, "network_fill_latency", level.network.fill_latency_cycles);
    Add(list, "network_drain_latency", level.network.drain_latency_cycles);
    return list;
  }

  std::vector<std::string> MacAttributes() const {
    const Arithmetic& macs = hierarchy_.arithmetic;
    std::vector<std::string> list;
    AddMesh(list, macs.mesh_x, macs.mesh_y);
    Add(list, v04_ ? "datawidth" : "word-bits", macs.word_bits);
    if (IsWhole(macs.mac_pj)) Add(list, "energy", macs.mac_pj.ToString());
    return list;
  }

  std::string Flat() const {
    std::string text = "arch:\n  arithmetic:\n";
    text += fmt::format("    name: {}\n", YamlScalar(hierarchy_.arithmetic.name));
    for (const std::string& line : MacAttributes()) text += fmt::format("    {}\n", line);
    text += "  storage:\n";
    for (const MemoryLevel& level : hierarchy_.levels) {
      text += fmt::format("  - name: {}\n", YamlScalar(level.name));
      for (const std::string& line : LevelAttributes(level)) text += fmt::format("    {}\n", line);
    }
    return text;
  }

  std::string Nodes() const {
    std::string text = "architecture:\n  version: 0.4\n  nodes:\n";
    int64_t x = 1, y = 1;
    for (auto level = hierarchy_.levels.rbegin(); level != hierarchy_.levels.rend(); ++level) {
      text += Node(level->name, level->technology == "DRAM" ? "DRAM" : "SRAM", level->mesh_x / x,
                   level->mesh_y / y, LevelAttributes(*level));
      x = level->mesh_x;
      y = level->mesh_y;
    }
    const Arithmetic& macs = hierarchy_.arithmetic;
    return text + Node(macs.name, "intmac", macs.mesh_x / x, macs.mesh_y / y, MacAttributes());
  }

  static std::string Node(const std::string& name, std::string_view class_name, int64_t fan_x,
                          int64_t fan_y, const std::vector<std::string>& attributes) {
    std::string text =
        fmt::format("  - !Component\n    name: {}\n    class: {}\n", YamlScalar(name), class_name);
    if (fan_x * fan_y > 1) {
      text += fmt::format("    spatial: {{meshX: {}, meshY: {}}}\n", fan_x, fan_y);
    }
    return text + fmt::format("    attributes: {{{}}}\n", fmt::join(attributes, ", "));
  }

  const Hierarchy& hierarchy_;
  const bool v04_;
};

std::vector<std::string> Losses(const Accelerator& accelerator) {
  const Hierarchy& hierarchy = *accelerator.hierarchy;
  std::vector<std::string> lost;
  if (!hierarchy.bypass) lost.emplace_back("bypass: false: a constraint of Timeloop's mapper");
  if (hierarchy.arithmetic.vector_op_pj || hierarchy.arithmetic.vector_lanes) {
    lost.emplace_back("vector_op_pj, vector_lanes: Timeloop knows MACs only");
  }
  if (hierarchy.bits.known()) lost.emplace_back("bits: an element is a word of each level");
  if (hierarchy.links) lost.emplace_back("links: Timeloop decides by itself where they are");
  for (const MemoryLevel& level : hierarchy.levels) {
    if (level.technology == "DRAM" || level.technology == "SRAM") continue;
    lost.push_back(fmt::format("technology of {}: it is read back as SRAM", level.name));
  }
  for (const Constraints::Demand& demand : accelerator.constraints.demands) {
    lost.push_back(fmt::format("constraint {}", ToString(demand)));
  }
  if (LeakageMw(hierarchy) > 0) lost.emplace_back("leakage_mw: Timeloop has no leakage");
  if (accelerator.pe_array) lost.emplace_back("pe_array: the file has hierarchies only");
  if (!accelerator.source.empty()) lost.emplace_back("source");
  return lost;
}

// What levels cannot hold, as constraints that are part of the architecture.
std::string Bypasses(const Hierarchy& hierarchy) {
  std::string text;
  for (size_t i = 0; i < hierarchy.keeps.size(); ++i) {
    std::vector<std::string> missing;
    for (const std::string_view tensor : kTensorNames) {
      if (std::ranges::count(hierarchy.keeps[i], tensor) == 0) missing.emplace_back(tensor);
    }
    if (missing.empty()) continue;
    if (text.empty()) text = "architecture_constraints:\n  targets:\n";
    text += fmt::format("  - {{target: {}, type: bypass, bypass: [{}]}}\n",
                        YamlScalar(hierarchy.levels[i].name), fmt::join(missing, ", "));
  }
  return text;
}

}  // namespace

std::optional<TimeloopVersion> FindTimeloopVersion(std::string_view name) {
  if (name == "0.3") return TimeloopVersion::k03;
  if (name == "0.4") return TimeloopVersion::k04;
  return std::nullopt;
}

Result<TimeloopArchitecture> WriteTimeloopArchitecture(const Accelerator& accelerator,
                                                       TimeloopVersion version) {
  const Hierarchy& hierarchy = accelerator.hierarchy.value();
  Result<std::string> text = Writer(hierarchy, version).Run();
  if (!text) return text.error();
  TimeloopArchitecture written{.text = std::move(*text), .lost = Losses(accelerator)};
  written.text += Bypasses(hierarchy);
  const bool needs_ert = !IsWhole(hierarchy.arithmetic.mac_pj) ||
                         !std::ranges::all_of(hierarchy.levels, OneAccessEnergy);
  if (needs_ert) written.ert = WriteErt(hierarchy);
  return written;
}

Result<AcceleratorExport> ExportTimeloop(const Accelerator& accelerator, TimeloopVersion version) {
  if (!accelerator.hierarchy) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("{} has no hierarchy, which is what Timeloop's files hold",
                                        Quoted(accelerator.name))};
  }
  Result<TimeloopArchitecture> written = WriteTimeloopArchitecture(accelerator, version);
  if (!written) return written.error();
  const std::string stem = SafeFileName(accelerator.name);
  AcceleratorExport exported{.lost = std::move(written->lost)};
  exported.files.push_back({stem + ".yaml", std::move(written->text)});
  if (!written->ert.empty()) exported.files.push_back({stem + ".ert.yaml", written->ert});
  if (const std::string art = WriteArt(*accelerator.hierarchy); !art.empty()) {
    exported.files.push_back({stem + ".art.yaml", art});
  }
  return exported;
}

}  // namespace tessera
