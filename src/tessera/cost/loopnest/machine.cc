// Conversion of a hierarchy.
#include "tessera/cost/loopnest/machine.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tessera::loopnest {
namespace {

Bandwidth MakeBandwidth(const std::optional<Decimal>& value) {
  if (!value) return {};
  return {.limited = true, .value = value->ToDouble(), .exact = *value};
}

MachineLevel MakeLevel(const Hierarchy& hierarchy, const LoopProblem& problem, size_t index) {
  const MemoryLevel& level = hierarchy.levels[index];
  MachineLevel made{.limited = level.entries.has_value(),
                    .buffers = level.multiple_buffering,
                    .block_words = level.block_words,
                    .clusters = level.instances() / level.cluster_size,
                    .instances = level.instances(),
                    .mesh_x = level.mesh_x,
                    .mesh_y = level.mesh_y,
                    .fan_x = FanoutX(hierarchy, index),
                    .fan_y = FanoutY(hierarchy, index),
                    .read = MakeBandwidth(level.read_words_per_cycle),
                    .write = MakeBandwidth(level.write_words_per_cycle),
                    .shared = MakeBandwidth(level.shared_words_per_cycle),
                    .read_pj = level.read_pj.ToDouble(),
                    .fill_pj = level.fill_pj.ToDouble(),
                    .update_pj = level.update_pj.ToDouble(),
                    .address_pj = level.address_pj.ToDouble(),
                    .reduces = level.reduces_in_place,
                    .hop_pj = level.network.hop_pj.ToDouble(),
                    .router_pj = level.network.router_pj.ToDouble(),
                    .ingress_pj = level.network.ingress_pj.ToDouble(),
                    .widths = WidthsAt(problem, hierarchy, index)};
  for (int v = 0; v < problem.num_tensors; ++v) made.words[v] = made.widths.words(v);
  if (level.entries) {
    constexpr double kMostWords = 1e18;  // whatever is beyond is as good as unlimited
    made.entries =
        static_cast<int64_t>(std::min(kMostWords, std::floor(static_cast<double>(*level.entries) /
                                                             level.multiple_buffering.ToDouble())));
    made.exact_entries = UsableUnits(made.widths, level, *level.entries);
  }
  return made;
}

}  // namespace

Result<Machine> MakeMachine(const Hierarchy& hierarchy, const LoopProblem& problem,
                            Semantics semantics, double clock_ghz) {
  if (hierarchy.levels.size() > LoopMapping::kMaxLevels) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("the hierarchy has {} levels, but a mapping has at most {}",
                                        hierarchy.levels.size(), LoopMapping::kMaxLevels)};
  }
  for (const MemoryLevel& level : hierarchy.levels) {
    if (level.cluster_size <= level.instances()) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{}: cluster_size {} > {} instances", level.name,
                                        level.cluster_size, level.instances())};
  }
  Machine machine;
  machine.num_levels = static_cast<int>(hierarchy.levels.size());
  std::ranges::fill(machine.homes, machine.num_levels - 1);
  machine.mac_instances = hierarchy.arithmetic.instances();
  machine.mac_mesh_x = hierarchy.arithmetic.mesh_x;
  machine.mac_mesh_y = hierarchy.arithmetic.mesh_y;
  machine.mac_pj = hierarchy.arithmetic.mac_pj.ToDouble();
  machine.leakage_pj = LeakageMw(hierarchy) / clock_ghz;  // mW per GHz
  machine.links = hierarchy.links;
  machine.mac_name = hierarchy.arithmetic.name;
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    const MemoryLevel& level = hierarchy.levels[i];
    machine.levels[i] = MakeLevel(hierarchy, problem, i);
    machine.plain = machine.plain && machine.levels[i].widths.plain(problem.num_tensors);
    machine.latency_cycles +=
        level.network.fill_latency_cycles + level.network.drain_latency_cycles;
    machine.level_names.push_back(level.name);
    machine.network_names.push_back(fmt::format(
        "{} <==> {}", level.name, i == 0 ? machine.mac_name : machine.level_names[i - 1]));
    machine.network_order[i] = static_cast<int>(i);
  }
  std::stable_sort(machine.network_order, machine.network_order + machine.num_levels,
                   [&](int a, int b) {
                     return machine.network_names[static_cast<size_t>(a)] <
                            machine.network_names[static_cast<size_t>(b)];
                   });
  if (!machine.plain && semantics != Semantics::kExact) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "Timeloop counts words, so bits of tensors need semantics exact",
                 .hint = "use --semantics exact, or --bits machine for the words of the machine"};
  }
  return machine;
}

Result<void> CheckCycles(const Machine& machine, const LoopProblem& problem) {
  // Reads, fills and updates of all tensors for one MAC, and what uneven tiles add.
  constexpr double kWordsPerMac = 16;
  constexpr double kMostCycles = 0x1p62;  // with room for latencies
  const double words = kWordsPerMac * static_cast<double>(Macs(problem));
  for (int i = 0; i < machine.num_levels; ++i) {
    const MachineLevel& level = machine.levels[i];
    const auto most_units = static_cast<double>(std::ranges::max(level.widths.units));
    if (!machine.plain && words * most_units > kMostCycles) {
      return Error{.kind = ErrorKind::kOverflow,
                   .message = fmt::format(
                       "{}: bits moved for {} MACs, {} bits each, exceed 64 bits",
                       machine.level_names[static_cast<size_t>(i)], Macs(problem), most_units)};
    }
    for (const Bandwidth& rate : {level.read, level.write, level.shared}) {
      const double words_of_rate = rate.value * static_cast<double>(level.widths.word_units);
      if (!rate.limited || words * most_units <= words_of_rate * kMostCycles) continue;
      return Error{.kind = ErrorKind::kOverflow,
                   .message = fmt::format("{}: at {} words per cycle the cycles of {} MACs exceed "
                                          "64 bits",
                                          machine.level_names[static_cast<size_t>(i)],
                                          rate.exact.ToString(), Macs(problem))};
    }
  }
  return {};
}

}  // namespace tessera::loopnest
