#include "tessera/cost/loopnest/breakdown.h"

#include <algorithm>
#include <cmath>

namespace tessera::loopnest {
namespace {

// A bandwidth of a level, and the words that its busiest instance moves through it (semantics
// exact: units).
struct Demand {
  std::string_view name;
  const Bandwidth& limit;
  double words;
  int64_t word_units = 1;
};

class Breaker {
 public:
  Breaker(const Setup& setup, const LoopMapping& mapping, const Workspace& workspace)
      : setup_(setup),
        mapping_(mapping),
        workspace_(workspace),
        exact_(setup.semantics == Semantics::kExact) {}

  LevelShare Level(int i) const {
    const MachineLevel& machine = setup_.machine.levels[i];
    LevelShare level{.name = setup_.machine.level_names[static_cast<size_t>(i)],
                     .instances = machine.instances,
                     .used_instances = workspace_.nest.used[i]};
    if (machine.limited) {
      level.entries = exact_ ? machine.exact_entries / machine.widths.word_units : machine.entries;
    }
    for (int v = 0; v < setup_.data.problem.num_tensors; ++v) {
      TensorShare share = exact_ ? ExactShare(i, v) : TimeloopShare(i, v);
      share.name = setup_.data.problem.tensors[static_cast<size_t>(v)].name.view();
      share.element_words = machine.words[v];
      share.kept = mapping_.levels[static_cast<size_t>(i)].Keeps(v);
      share.energy_pj += share.network_pj;
      level.tensors.push_back(std::move(share));
    }
    for (const Demand& demand : exact_ ? ExactDemands(i) : TimeloopDemands(i)) {
      AddDemand(demand, level);
    }
    return level;
  }

  int64_t compute_cycles() const {
    return exact_ ? workspace_.exact.compute_cycles : workspace_.timeloop.compute_cycles;
  }
  double mac_pj() const {
    return exact_ ? workspace_.exact.mac_energy : workspace_.timeloop.mac_energy;
  }

 private:
  TensorShare ExactShare(int i, int v) const {
    const ExactTensor& tensor = workspace_.exact.levels[i].tensors[v];
    const ExactNetworkTensor& network = workspace_.exact.levels[i].network[v];
    return {.tile_words = tensor.capacity,
            .reads = tensor.reads,
            .fills = tensor.fills,
            .updates = tensor.updates,
            .energy_pj = tensor.energy + tensor.address_energy,
            .network_pj = network.energy + network.link_energy};
  }

  TensorShare TimeloopShare(int i, int v) const {
    const TimeloopLevel& level = workspace_.timeloop.levels[i];
    const TimeloopTensor& tensor = level.tensors[v];
    const TimeloopNetworkTensor& network = level.network[v];
    const int64_t used = workspace_.nest.used[i];
    const auto all = [&](uint64_t words) { return static_cast<int64_t>(words) * used; };
    const auto instances = static_cast<double>(used);
    return {
        .tile_words = tensor.utilized_capacity,
        .reads = all(tensor.reads),
        .fills = all(tensor.fills),
        .updates = all(tensor.updates),
        .energy_pj = tensor.energy_per_instance * instances +
                     tensor.address_energy_per_cluster * static_cast<double>(level.clusters),
        .network_pj = (network.link_energy_per_instance + network.energy_per_instance) * instances};
  }

  std::vector<Demand> ExactDemands(int i) const {
    const MachineLevel& machine = setup_.machine.levels[i];
    const ExactLevel& level = workspace_.exact.levels[i];
    const int64_t word_units = machine.widths.word_units;
    return {{"read", machine.read, static_cast<double>(level.busiest_reads), word_units},
            {"write", machine.write, static_cast<double>(level.busiest_writes), word_units},
            {"shared", machine.shared, static_cast<double>(level.busiest_both), word_units}};
  }

  // As timeloop-model does, from words per cycle.
  std::vector<Demand> TimeloopDemands(int i) const {
    const MachineLevel& machine = setup_.machine.levels[i];
    const TimeloopLevel& level = workspace_.timeloop.levels[i];
    double reads = 0, writes = 0;
    for (int v = 0; v < setup_.data.problem.num_tensors; ++v) {
      reads += level.tensors[v].reads_per_cycle;
      writes += level.tensors[v].writes_per_cycle;
    }
    return {{"read", machine.read, reads},
            {"write", machine.write, writes},
            {"shared", machine.shared, writes + reads}};
  }

  // Exactly as the evaluation has it wherever the level is slower than the MACs.
  int64_t CyclesOf(const Demand& demand) const {
    if (exact_) {
      return CyclesAt(demand.limit, demand.word_units, static_cast<int64_t>(demand.words));
    }
    if (demand.words <= 0) return 0;
    const auto cycles = static_cast<double>(compute_cycles());
    return static_cast<int64_t>(std::ceil(cycles / (demand.limit.value / demand.words)));
  }

  void AddDemand(const Demand& demand, LevelShare& level) const {
    if (!demand.limit.limited) return;
    const int64_t cycles = CyclesOf(demand);
    if (!level.bandwidth.empty() && cycles <= level.cycles) return;
    level.cycles = cycles;
    level.bandwidth = demand.name;
    level.words_per_cycle = demand.limit.value * static_cast<double>(level.used_instances);
  }

  const Setup& setup_;
  const LoopMapping& mapping_;
  const Workspace& workspace_;
  const bool exact_;
};

// The slowest resource, and the second slowest: that is what remains when it is lifted.
void FindLimit(CostBreakdown& breakdown) {
  int64_t most = breakdown.compute_cycles, next = 0;
  for (const LevelShare& level : breakdown.levels) {
    if (level.cycles > most) {
      next = most;
      most = level.cycles;
      breakdown.limited_by = level.name;
    } else {
      next = std::max(next, level.cycles);
    }
  }
  breakdown.cycles_if_lifted = next + breakdown.latency_cycles;
}

}  // namespace

CostBreakdown BreakDown(const Setup& setup, const LoopMapping& mapping, const Workspace& workspace,
                        const Cost& cost, const LoopBounds& bounds) {
  const Breaker breaker(setup, mapping, workspace);
  CostBreakdown breakdown{.cost = cost,
                          .mac_pj = breaker.mac_pj(),
                          .leakage_pj = setup.machine.leakage_pj * static_cast<double>(cost.cycles),
                          .mac_units = setup.machine.mac_instances,
                          .used_mac_units = workspace.nest.used_macs,
                          .compute_cycles = breaker.compute_cycles(),
                          .latency_cycles = setup.machine.latency_cycles};
  for (int i = 0; i < setup.machine.num_levels; ++i) {
    LevelShare level = breaker.Level(i);
    const LevelBound& bound = bounds.levels[static_cast<size_t>(i)];
    level.bound_pj = bound.energy_pj + bound.network_pj;
    breakdown.levels.push_back(std::move(level));
  }
  FindLimit(breakdown);
  breakdown.bounds = {.cycles = static_cast<double>(bounds.cycles), .energy_pj = bounds.energy_pj};
  breakdown.bound_cycles_from = bounds.cycles_from;
  SettleParts(breakdown);
  return breakdown;
}

}  // namespace tessera::loopnest
