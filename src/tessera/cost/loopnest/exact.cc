// Checks, cycles and energies of semantics `exact`.
#include "tessera/cost/loopnest/exact.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/cost/loopnest/exact_count.h"

namespace tessera::loopnest {
namespace {

using Status = ExactResult::Status;

bool Reject(ExactResult& result, Status status, int level, int64_t have, int64_t limit) {
  result.status = status;
  result.level = level;
  result.have = have;
  result.limit = limit;
  return false;
}

// Words of the first instance's first tile, which no other one exceeds.
int64_t FirstTileWords(const ExactInput& input, int level, int v, TouchedScratch& scratch) {
  const TensorData& tensor = input.data.tensors[v];
  int64_t words = 1;
  for (int r = 0; r < input.tensor(v).num_ranks; ++r) {
    const RankShape& rank = tensor.ranks[r];
    TouchedBox box;
    for (int k = 0; k < rank.num_terms; ++k) {
      box.widths[k] = std::min(input.nest.extent[level][rank.dims[k]], input.bound(rank.dims[k]));
    }
    words *= CountTouched(rank, box, scratch);
  }
  return words;
}

bool Accept(const ExactInput& input, ExactScratch& scratch, ExactResult& result) {
  const int num_tensors = input.data.problem.num_tensors;
  const int outermost = input.nest.num_levels - 1;
  for (int v = 0; v < num_tensors; ++v) {
    result.tensor = v;
    const int home = input.machine.homes[v];
    if (!input.Keeps(home, v)) return Reject(result, Status::kOutermostBypass, home, 0, 0);
    for (int i = home + 1; i <= outermost; ++i) {
      if (input.Keeps(i, v)) return Reject(result, Status::kOutermostBypass, i, 0, 0);
    }
  }
  for (int i = 0; i < input.nest.num_levels; ++i) {
    const MachineLevel& level = input.machine.levels[i];
    if (input.nest.fanout_x[i] > level.fan_x) {
      return Reject(result, Status::kFanoutX, i, input.nest.fanout_x[i], level.fan_x);
    }
    if (input.nest.fanout_y[i] > level.fan_y) {
      return Reject(result, Status::kFanoutY, i, input.nest.fanout_y[i], level.fan_y);
    }
    int64_t units = 0;
    for (int v = 0; v < num_tensors; ++v) {
      ExactTensor& tensor = result.levels[i].tensors[v];
      tensor = {};
      if (!input.Keeps(i, v)) continue;
      tensor.capacity = FirstTileWords(input, i, v, scratch.touched);
      if (!input.machine.Resident(i, v)) units += tensor.capacity * level.units(v);
    }
    if (level.limited && units > level.exact_entries) {
      return Reject(result, Status::kCapacity, i, units, level.exact_entries);
    }
  }
  return true;
}

void ClearNetworks(const ExactInput& input, ExactResult& result) {
  for (int i = 0; i < input.nest.num_levels; ++i) {
    for (int v = 0; v < input.data.problem.num_tensors; ++v) {
      ExactNetworkTensor& network = result.levels[i].network[v];
      network.ingresses.clear();  // keeps its memory
      network.half_hops = network.down_words = 0;
      network.link_transfers = network.spatial_reductions = 0;
    }
  }
}

// Cycles for so many units if that is more than `cycles`, else `cycles`. The product of doubles
// settles most cases; the exact quotient is needed only where it is near or above.
int64_t CyclesFor(int64_t units, const Bandwidth& rate, int64_t word_units, int64_t cycles) {
  constexpr double kRounding = 1e-12;  // more than four roundings of 1.1e-16 add up to
  if (!rate.limited) return cycles;
  if (static_cast<double>(units) < static_cast<double>(cycles) * rate.value *
                                       (static_cast<double>(word_units) * (1 - kRounding))) {
    return cycles;
  }
  return std::max(cycles, CyclesAt(rate, word_units, units));
}

// Words to vectors, the last of which may be partly empty. Blocks are powers of two nearly always,
// and an evaluation would divide dozens of times.
class Vectors {
 public:
  explicit Vectors(int64_t block)
      : block_(block),
        shift_(std::has_single_bit(static_cast<uint64_t>(block))
                   ? std::countr_zero(static_cast<uint64_t>(block))
                   : -1) {}

  int64_t operator()(int64_t words) const {
    return shift_ < 0 ? CeilDiv(words, block_) : (words + block_ - 1) >> shift_;
  }

 private:
  const int64_t block_;
  const int shift_;
};

void AddInstances(const ExactInput& input, const InstanceClass& instance,
                  const MachineLevel& machine, ExactLevel& level) {
  const Vectors vectors(machine.block_words);
  int64_t reads = 0, writes = 0;
  for (int v = 0; v < input.data.problem.num_tensors; ++v) {
    const InstanceCounts& counts = instance.tensors[v];
    ExactTensor& tensor = level.tensors[v];
    reads += counts.reads * machine.units(v);
    writes += (counts.fills + counts.updates) * machine.units(v);
    tensor.reads += instance.instances * counts.reads;
    tensor.fills += instance.instances * counts.fills;
    tensor.updates += instance.instances * counts.updates;
    tensor.read_vectors += instance.instances * vectors(counts.reads);
    tensor.fill_vectors += instance.instances * vectors(counts.fills);
    tensor.update_vectors += instance.instances * vectors(counts.updates);
  }
  level.busiest_reads = std::max(level.busiest_reads, reads);
  level.busiest_writes = std::max(level.busiest_writes, writes);
  level.busiest_both = std::max(level.busiest_both, reads + writes);
}

void PriceLevel(const ExactInput& input, const ExactScratch& scratch, int i, ExactResult& result) {
  const MachineLevel& machine = input.machine.levels[i];
  ExactLevel& level = result.levels[i];
  level.busiest_reads = level.busiest_writes = level.busiest_both = 0;
  for (const InstanceClass& instance : scratch.classes[i]) {
    AddInstances(input, instance, machine, level);
  }
  const int64_t word_units = machine.widths.word_units;
  level.cycles = CyclesFor(level.busiest_reads, machine.read, word_units, result.compute_cycles);
  level.cycles = CyclesFor(level.busiest_writes, machine.write, word_units, level.cycles);
  level.cycles = CyclesFor(level.busiest_both, machine.shared, word_units, level.cycles);
  level.clusters = std::min(input.nest.used[i], machine.clusters);
  const double clusters_per_instance =
      static_cast<double>(level.clusters) / static_cast<double>(input.nest.used[i]);
  level.energy = 0;
  for (int v = 0; v < input.data.problem.num_tensors; ++v) {
    ExactTensor& tensor = level.tensors[v];
    tensor.energy = (static_cast<double>(tensor.read_vectors) * machine.read_pj +
                     static_cast<double>(tensor.fill_vectors) * machine.fill_pj +
                     static_cast<double>(tensor.update_vectors) * machine.update_pj) *
                    clusters_per_instance * machine.words[v];
    const int64_t addresses =
        tensor.fills + (input.tensor(v).read_write ? tensor.updates : tensor.reads);
    tensor.address_energy =
        static_cast<double>(addresses) * machine.address_pj * clusters_per_instance;
    level.energy += tensor.energy + tensor.address_energy;
  }
}

void PriceNetwork(const ExactInput& input, int i, ExactResult& result) {
  const MachineLevel& machine = input.machine.levels[i];
  ExactLevel& level = result.levels[i];
  level.network_energy = 0;
  for (int v = 0; v < input.data.problem.num_tensors; ++v) {
    ExactNetworkTensor& network = level.network[v];
    int64_t words = network.down_words;
    for (const ExactIngress& ingress : network.ingresses) {
      words += ingress.words;
      if (!input.tensor(v).read_write) continue;
      network.spatial_reductions += (ingress.multicast - 1) * ingress.words;
    }
    const int64_t whole_hops = words == 0 ? 0 : network.half_hops / (2 * words);
    const double hops = static_cast<double>(network.half_hops) / 2;
    network.avg_hops = words == 0 ? 0 : hops / static_cast<double>(words);
    network.energy =
        (hops * machine.hop_pj + static_cast<double>((1 + whole_hops) * words) * machine.router_pj +
         static_cast<double>(words) * machine.ingress_pj) *
        machine.words[v];
    network.link_energy = static_cast<double>(network.link_transfers) *
                          (machine.hop_pj + 2 * machine.router_pj) * machine.words[v];
    level.network_energy += network.energy + network.link_energy;
  }
}

// Operations of the MAC whose indices are all 0, which works whenever any of them does.
int64_t ComputeCycles(const ExactInput& input, ExactScratch& scratch) {
  int64_t cycles = 1;
  if (input.nest.perfect) {
    for (int j = 0; j < input.nest.num_temporal(); ++j) cycles *= input.nest.temporal[j].count;
    return cycles;
  }
  for (int d = 0; d < input.nest.num_dims; ++d) {
    const DimWalk& walk = scratch.residual.walks[d];
    std::vector<VisitKind>& kinds = scratch.residual.some_kinds;
    ListKinds(walk, /*child=*/-1, kAnyVisit, kinds);
    int64_t indices = 0;
    for (const VisitKind& kind : kinds) indices += kind.left > 0 ? kind.times : 0;
    cycles *= indices;
  }
  return cycles;
}

}  // namespace

void Reserve(size_t children, size_t usual, ExactScratch& scratch) {
  Reserve(children, scratch.fan);
  for (std::vector<InstanceClass>& classes : scratch.classes) classes.reserve(usual);
  scratch.groups.reserve(usual);
  scratch.known_groups.Reserve();
  scratch.keys.reserve(children);
  scratch.places.reserve(children);
  Reserve(children, usual, scratch.residual);
}

void EvaluateExact(const ProblemData& data, const Machine& machine, const LoopMapping& mapping,
                   const Nest& nest, ExactScratch& scratch, ExactResult& result) {
  const ExactInput input{data, machine, mapping, nest};
  result.status = Status::kOk;
  if (!Accept(input, scratch, result)) return;
  ClearNetworks(input, result);
  if (!nest.perfect && IsTooLong(input, result)) return;
  if (nest.perfect) {
    CountPerfect(input, scratch, result);
  } else {
    CountResidual(input, scratch, result);
  }
  result.computes = Macs(data.problem);
  result.compute_cycles = ComputeCycles(input, scratch);
  result.mac_energy = static_cast<double>(result.computes) * machine.mac_pj;
  result.energy = result.mac_energy;
  int64_t cycles = result.compute_cycles;
  for (int i = 0; i < nest.num_levels; ++i) {
    PriceLevel(input, scratch, i, result);
    PriceNetwork(input, i, result);
    result.energy += result.levels[i].energy + result.levels[i].network_energy;
    cycles = std::max(cycles, result.levels[i].cycles);
  }
  result.cycles = cycles + machine.latency_cycles;
  result.energy += machine.leakage_pj * static_cast<double>(result.cycles);
  result.utilization = static_cast<double>(result.computes) /
                       static_cast<double>(machine.mac_instances) /
                       static_cast<double>(result.cycles);
}

std::string DescribeRejection(const ExactResult& result) {
  switch (result.status) {
    case Status::kOk: return "";
    case Status::kOutermostBypass: return "the outermost level does not hold every tensor";
    case Status::kFanoutX: return fmt::format("fan-out X {} > {}", result.have, result.limit);
    case Status::kFanoutY: return fmt::format("fan-out Y {} > {}", result.have, result.limit);
    case Status::kTooLong: return fmt::format("walk {} > {} visits", result.have, result.limit);
    case Status::kCapacity: return fmt::format("capacity {} > {}", result.have, result.limit);
  }
  return "";
}

}  // namespace tessera::loopnest
