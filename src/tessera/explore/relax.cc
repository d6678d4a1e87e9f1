// Why each number may be relaxed (docs/explore.md): a mapping that fits a machine fits one with
// larger memories and fan-outs, and costs no more there if accesses cost no more and bandwidths are
// no less. Fan-outs are left alone where their size has a price of its own: distances to children
// are counted from the middle of a fan-out, and clusters are counted in instances.
#include "tessera/explore/relax.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/arch/constraints.h"

namespace tessera {
namespace {

bool Less(const Decimal& a, const Decimal& b) { return a.ToDouble() < b.ToDouble(); }

void TakeLess(const Decimal& other, Decimal& value) {
  if (Less(other, value)) value = other;
}

void TakeMore(const std::optional<Decimal>& other, std::optional<Decimal>& value) {
  if (!value) return;  // unlimited
  if (!other || Less(*value, *other)) value = other;
}

void RelaxLevel(const MemoryLevel& other, MemoryLevel& level) {
  if (!other.entries || (level.entries && *level.entries < *other.entries)) {
    level.entries = other.entries;
  }
  for (const auto rate : {&MemoryLevel::read_words_per_cycle, &MemoryLevel::write_words_per_cycle,
                          &MemoryLevel::shared_words_per_cycle}) {
    TakeMore(other.*rate, level.*rate);
  }
  for (const auto energy : {&MemoryLevel::read_pj, &MemoryLevel::fill_pj, &MemoryLevel::update_pj,
                            &MemoryLevel::address_pj}) {
    TakeLess(other.*energy, level.*energy);
  }
  for (const auto energy :
       {&LevelNetwork::hop_pj, &LevelNetwork::router_pj, &LevelNetwork::ingress_pj}) {
    TakeLess(other.network.*energy, level.network.*energy);
  }
  for (const auto latency :
       {&LevelNetwork::fill_latency_cycles, &LevelNetwork::drain_latency_cycles}) {
    level.network.*latency = std::min(level.network.*latency, other.network.*latency);
  }
}

}  // namespace

std::string StructureKey(const Accelerator& accelerator, loopnest::Semantics semantics,
                         bool constrained) {
  const Hierarchy& hierarchy = *accelerator.hierarchy;
  const bool exact = semantics == loopnest::Semantics::kExact;
  const bool demands = constrained || !accelerator.constraints.demands.empty();
  bool rigid = !exact || demands || hierarchy.links;
  std::string key = fmt::format("{} {} {} {};", hierarchy.links, hierarchy.bypass,
                                ToString(hierarchy.bits), WriteDemands(accelerator.constraints));
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    const MemoryLevel& level = hierarchy.levels[i];
    rigid |= level.cluster_size > 1 || level.network.hop_pj.mantissa() != 0 ||
             level.network.router_pj.mantissa() != 0;
    key += fmt::format("{} {} {} {} {} {} {};", level.name, level.word_bits, level.block_words,
                       level.cluster_size, level.multiple_buffering.ToString(),
                       level.reduces_in_place, level.entries == 0);
    if (!hierarchy.keeps.empty()) key += fmt::format("{};", fmt::join(hierarchy.keeps[i], " "));
  }
  const MemoryLevel& outermost = hierarchy.levels.back();
  key += fmt::format("{} {};", outermost.mesh_x, outermost.mesh_y);
  // Timeloop's rules round and share in ways that grow with nothing in particular.
  if (!exact) {
    Accelerator unnamed = accelerator;
    unnamed.name = "";
    return key + AcceleratorText(unnamed);
  }
  if (!rigid) return key;
  key += fmt::format("{} {};", hierarchy.arithmetic.mesh_x, hierarchy.arithmetic.mesh_y);
  for (const MemoryLevel& level : hierarchy.levels) {
    key += fmt::format("{} {};", level.mesh_x, level.mesh_y);
  }
  return key;
}

Accelerator Relaxed(std::span<const Accelerator* const> machines) {
  Accelerator relaxed = *machines.front();
  Hierarchy& hierarchy = *relaxed.hierarchy;
  const size_t levels = hierarchy.levels.size();
  std::vector<int64_t> fan_x(levels, 1), fan_y(levels, 1);
  double leakage_mw = LeakageMw(hierarchy);
  for (const Accelerator* const machine : machines) {
    const Hierarchy& other = *machine->hierarchy;
    TakeLess(other.arithmetic.mac_pj, hierarchy.arithmetic.mac_pj);
    leakage_mw = std::min(leakage_mw, LeakageMw(other));
    for (size_t i = 0; i < levels; ++i) {
      RelaxLevel(other.levels[i], hierarchy.levels[i]);
      fan_x[i] = std::max(fan_x[i], FanoutX(other, i));
      fan_y[i] = std::max(fan_y[i], FanoutY(other, i));
    }
  }
  int64_t mesh_x = hierarchy.levels.back().mesh_x, mesh_y = hierarchy.levels.back().mesh_y;
  for (size_t i = levels; i-- > 0;) {
    hierarchy.levels[i].mesh_x = mesh_x;
    hierarchy.levels[i].mesh_y = mesh_y;
    hierarchy.levels[i].leakage_mw = 0;
    mesh_x *= fan_x[i];
    mesh_y *= fan_y[i];
  }
  hierarchy.arithmetic.mesh_x = mesh_x;
  hierarchy.arithmetic.mesh_y = mesh_y;
  // Of the whole machine, whatever it has more of here; rounded down.
  constexpr double kDown = 1 - 1e-12;
  hierarchy.arithmetic.leakage_mw = Decimal::FromDouble(
      kDown * leakage_mw / static_cast<double>(hierarchy.arithmetic.instances()));
  return relaxed;
}

}  // namespace tessera
