// Sanity of machines, and the fan-out that follows from the meshes.
#include "tessera/accelerator.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr int64_t kMaxCount = (int64_t{1} << 31) - 1;

Error BadMachine(std::string_view part, std::string message, std::string hint = "") {
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("{}: {}", part, message),
               .hint = std::move(hint)};
}

Result<void> CheckCount(std::string_view part, std::string_view name, int64_t value,
                        int64_t least = 1) {
  if (value >= least && value <= kMaxCount) return {};
  return BadMachine(part,
                    fmt::format("{} is {}, but must be in {}..{}", name, value, least, kMaxCount));
}

Result<void> CheckNotNegative(std::string_view part, std::string_view name, const Decimal& value) {
  if (value.mantissa() >= 0) return {};
  return BadMachine(part,
                    fmt::format("{} is {}, but must not be negative", name, value.ToString()));
}

Result<void> CheckPositive(std::string_view part, std::string_view name,
                           const std::optional<Decimal>& value) {
  if (!value || value->mantissa() > 0) return {};
  return BadMachine(part, fmt::format("{} is {}, but must be above 0", name, value->ToString()));
}

Result<void> CheckPeArray(const PeArray& array) {
  const struct {
    std::string_view name;
    int64_t value, least;
  } counts[] = {{"num_pes", array.num_pes, 1},
                {"simd_lanes", array.simd_lanes, 1},
                {"l1_elements", array.l1_elements, 1},
                {"l2_elements", array.l2_elements, 1},
                {"noc_elements_per_cycle", array.noc_elements_per_cycle, 1},
                {"noc_hops", array.noc_hops, 0},
                {"noc_hop_latency_cycles", array.noc_hop_latency_cycles, 0},
                {"offchip_elements_per_cycle", array.offchip_elements_per_cycle, 1}};
  for (const auto& [name, value, least] : counts) {
    if (Result<void> ok = CheckCount("pe_array", name, value, least); !ok) return ok;
  }
  return {};
}

Result<void> CheckLevel(const MemoryLevel& level) {
  if (level.name.empty()) return BadMachine("hierarchy", "a level has no name");
  const struct {
    std::string_view name;
    int64_t value;
  } counts[] = {{"word_bits", level.word_bits},
                {"block_words", level.block_words},
                {"cluster_size", level.cluster_size},
                {"mesh_x", level.mesh_x},
                {"mesh_y", level.mesh_y},
                {"instances", level.mesh_x > kMaxCount / std::max<int64_t>(1, level.mesh_y)
                                  ? kMaxCount + 1
                                  : level.instances()}};
  for (const auto& [name, value] : counts) {
    if (Result<void> ok = CheckCount(level.name, name, value); !ok) return ok;
  }
  // A level of no words only passes on what it is sent; it still has a network and a mesh.
  if (level.entries && *level.entries < 0) {
    return BadMachine(level.name,
                      fmt::format("entries is {}, but must not be negative", *level.entries));
  }
  const struct {
    std::string_view name;
    std::optional<Decimal> value;
  } rates[] = {{"read_words_per_cycle", level.read_words_per_cycle},
               {"write_words_per_cycle", level.write_words_per_cycle},
               {"shared_words_per_cycle", level.shared_words_per_cycle},
               {"multiple_buffering", level.multiple_buffering}};
  for (const auto& [name, value] : rates) {
    if (Result<void> ok = CheckPositive(level.name, name, value); !ok) return ok;
  }
  const struct {
    std::string_view name;
    Decimal value;
  } energies[] = {{"read_pj", level.read_pj},
                  {"fill_pj", level.fill_pj},
                  {"update_pj", level.update_pj},
                  {"address_pj", level.address_pj},
                  {"area_um2", level.area_um2.value_or(0)},
                  {"leakage_mw", level.leakage_mw},
                  {"hop_pj", level.network.hop_pj},
                  {"router_pj", level.network.router_pj},
                  {"ingress_pj", level.network.ingress_pj}};
  for (const auto& [name, value] : energies) {
    if (Result<void> ok = CheckNotNegative(level.name, name, value); !ok) return ok;
  }
  if (Result<void> ok =
          CheckCount(level.name, "fill_latency_cycles", level.network.fill_latency_cycles, 0);
      !ok) {
    return ok;
  }
  return CheckCount(level.name, "drain_latency_cycles", level.network.drain_latency_cycles, 0);
}

// A mesh must divide the mesh below it, or the children could not be shared out evenly.
Result<void> CheckMesh(const Hierarchy& hierarchy, size_t level) {
  const MemoryLevel& parent = hierarchy.levels[level];
  const Arithmetic& macs = hierarchy.arithmetic;
  const bool innermost = level == 0;
  const std::string_view child = innermost ? macs.name : hierarchy.levels[level - 1].name;
  const struct {
    char axis;
    int64_t children, parents;
  } axes[] = {{'X', innermost ? macs.mesh_x : hierarchy.levels[level - 1].mesh_x, parent.mesh_x},
              {'Y', innermost ? macs.mesh_y : hierarchy.levels[level - 1].mesh_y, parent.mesh_y}};
  for (const auto& [axis, children, parents] : axes) {
    if (children % parents == 0) continue;
    return BadMachine(parent.name, fmt::format("mesh{} {} does not divide mesh{} {} of {}", axis,
                                               parents, axis, children, child));
  }
  return {};
}

Result<void> CheckKeep(std::string_view level, const std::vector<std::string>& tensors) {
  for (const std::string& tensor : tensors) {
    if (std::find(kTensorNames.begin(), kTensorNames.end(), tensor) == kTensorNames.end()) {
      return Error{
          .kind = ErrorKind::kUnknownName,
          .message = fmt::format("{}: keep names {}, which is no tensor", level, Quoted(tensor)),
          .hint = DidYouMean(tensor, kTensorNames)};
    }
    if (std::count(tensors.begin(), tensors.end(), tensor) > 1) {
      return BadMachine(level, fmt::format("keep names {} twice", tensor));
    }
  }
  return {};
}

Result<void> CheckHierarchy(const Hierarchy& hierarchy) {
  const Arithmetic& macs = hierarchy.arithmetic;
  if (hierarchy.levels.empty()) return BadMachine("hierarchy", "there is no memory level");
  if (hierarchy.levels.size() > Hierarchy::kMaxLevels) {
    return BadMachine("hierarchy", fmt::format("{} memory levels, but at most {} are supported",
                                               hierarchy.levels.size(), Hierarchy::kMaxLevels));
  }
  if (Result<void> ok = Validate(hierarchy.bits); !ok) {
    return BadMachine("bits", ok.error().message);
  }
  if (Result<void> ok = CheckCount(macs.name, "mesh_x", macs.mesh_x); !ok) return ok;
  if (Result<void> ok = CheckCount(macs.name, "mesh_y", macs.mesh_y); !ok) return ok;
  if (macs.mesh_x > kMaxCount / macs.mesh_y) {
    return BadMachine(macs.name, fmt::format("more than {} instances", kMaxCount));
  }
  if (Result<void> ok = CheckCount(macs.name, "word_bits", macs.word_bits); !ok) return ok;
  for (const auto& [name, value] :
       {std::pair("mac_pj", macs.mac_pj), std::pair("area_um2", macs.area_um2.value_or(0)),
        std::pair("leakage_mw", macs.leakage_mw),
        std::pair("vector_op_pj", macs.vector_op_pj.value_or(0))}) {
    if (Result<void> ok = CheckNotNegative(macs.name, name, value); !ok) return ok;
  }
  if (Result<void> ok = CheckCount(macs.name, "vector_lanes", macs.vector_lanes.value_or(1)); !ok) {
    return ok;
  }
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    if (Result<void> ok = CheckLevel(hierarchy.levels[i]); !ok) return ok;
    if (Result<void> ok = CheckMesh(hierarchy, i); !ok) return ok;
    for (size_t j = 0; j < i; ++j) {
      if (hierarchy.levels[i].name != hierarchy.levels[j].name) continue;
      return BadMachine(hierarchy.levels[i].name, "two levels have this name");
    }
  }
  if (!hierarchy.keeps.empty() && hierarchy.keeps.size() != hierarchy.levels.size()) {
    return BadMachine("hierarchy", fmt::format("keep sets for {} levels, but there are {}",
                                               hierarchy.keeps.size(), hierarchy.levels.size()));
  }
  for (size_t i = 0; i < hierarchy.keeps.size(); ++i) {
    if (Result<void> ok = CheckKeep(hierarchy.levels[i].name, hierarchy.keeps[i]); !ok) return ok;
  }
  return {};
}

}  // namespace

double KnownAreaUm2(const Hierarchy& hierarchy) {
  const auto area = [](const auto& part) {
    return part.area_um2.value_or(0).ToDouble() * static_cast<double>(part.instances());
  };
  double sum = area(hierarchy.arithmetic);
  for (const MemoryLevel& level : hierarchy.levels) sum += area(level);
  return sum;
}

double LeakageMw(const Hierarchy& hierarchy) {
  const auto leakage = [](const auto& part) {
    return part.leakage_mw.ToDouble() * static_cast<double>(part.instances());
  };
  double sum = leakage(hierarchy.arithmetic);
  for (const MemoryLevel& level : hierarchy.levels) sum += leakage(level);
  return sum;
}

bool HasEnergies(const Hierarchy& hierarchy) {
  const auto some = [](const Decimal& pj) { return pj.mantissa() != 0; };
  const auto has = [&](const MemoryLevel& level) {
    const LevelNetwork& network = level.network;
    return some(level.read_pj) || some(level.fill_pj) || some(level.update_pj) ||
           some(level.address_pj) || some(network.hop_pj) || some(network.router_pj) ||
           some(network.ingress_pj);
  };
  return some(hierarchy.arithmetic.mac_pj) ||
         std::any_of(hierarchy.levels.begin(), hierarchy.levels.end(), has);
}

std::optional<double> AreaUm2(const Hierarchy& hierarchy) {
  if (!hierarchy.arithmetic.area_um2) return std::nullopt;
  double sum = hierarchy.arithmetic.area_um2->ToDouble() *
               static_cast<double>(hierarchy.arithmetic.instances());
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    const MemoryLevel& level = hierarchy.levels[i];
    const bool holds_nothing = level.entries == 0;
    if (!level.area_um2 && i + 1 < hierarchy.levels.size() && !holds_nothing) return std::nullopt;
    const double one = level.area_um2 ? level.area_um2->ToDouble() : 0;
    sum += one * static_cast<double>(level.instances());
  }
  return sum;
}

Result<void> Validate(const Accelerator& accelerator) {
  if (!accelerator.pe_array && !accelerator.hierarchy) {
    return BadMachine(accelerator.name, "neither a pe_array nor a hierarchy is given");
  }
  if (accelerator.pe_array) {
    if (Result<void> ok = CheckPeArray(*accelerator.pe_array); !ok) return ok;
  }
  if (accelerator.hierarchy) return CheckHierarchy(*accelerator.hierarchy);
  return {};
}

int64_t FanoutX(const Hierarchy& hierarchy, size_t level) {
  const int64_t below =
      level == 0 ? hierarchy.arithmetic.mesh_x : hierarchy.levels[level - 1].mesh_x;
  return below / hierarchy.levels[level].mesh_x;
}

int64_t FanoutY(const Hierarchy& hierarchy, size_t level) {
  const int64_t below =
      level == 0 ? hierarchy.arithmetic.mesh_y : hierarchy.levels[level - 1].mesh_y;
  return below / hierarchy.levels[level].mesh_y;
}

}  // namespace tessera
