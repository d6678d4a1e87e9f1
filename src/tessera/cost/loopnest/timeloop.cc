// Second half of the Timeloop semantics: checks, counts, cycles and energies. Sums of doubles are
// taken in timeloop-model's order; that is what makes them equal to the last bit.
#include "tessera/cost/loopnest/timeloop.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tessera/cost/loopnest/timeloop_tiles.h"

namespace tessera::loopnest {
namespace {

using Status = TimeloopResult::Status;

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

class Evaluator {
 public:
  Evaluator(const ProblemData& data, const Machine& machine, const LoopMapping& mapping,
            const Nest& nest, const WalkRules& rules, TimeloopScratch& scratch,
            TimeloopResult& result)
      : data_(data),
        machine_(machine),
        mapping_(mapping),
        nest_(nest),
        rules_(rules),
        scratch_(scratch),
        result_(result),
        num_tensors_(data.problem.num_tensors) {}

  void Run() {
    result_.status = Status::kOk;
    result_.ingresses.clear();
    if (!Accept()) return;
    for (int v = 0; v < num_tensors_; ++v) {
      AnalyseTiles(data_, machine_, mapping_, nest_, rules_, v, scratch_, result_.ingresses,
                   tiles_[v]);
      if (!Count(v)) return;
    }
    result_.computes = Temporal() * nest_.used_macs;
    result_.compute_cycles = static_cast<int64_t>(
        std::ceil(static_cast<double>(result_.computes) / static_cast<double>(nest_.used_macs)));
    result_.mac_energy = static_cast<double>(result_.computes) * machine_.mac_pj;
    result_.energy = result_.mac_energy;
    int64_t cycles = result_.compute_cycles;
    for (int i = 0; i < nest_.num_levels; ++i) {
      Level(i);
      result_.energy += result_.levels[i].energy;
      cycles = std::max(cycles, result_.levels[i].cycles);
      Network(i);
    }
    for (int k = 0; k < nest_.num_levels; ++k) {
      result_.energy += result_.levels[machine_.network_order[k]].network_energy;
    }
    result_.cycles = cycles + machine_.latency_cycles;
    result_.energy += machine_.leakage_pj * static_cast<double>(result_.cycles);
    result_.utilization = static_cast<double>(result_.computes) /
                          static_cast<double>(machine_.mac_instances) /
                          static_cast<double>(result_.cycles);
  }

 private:
  bool Keeps(int level, int tensor) const {
    return mapping_.levels[static_cast<size_t>(level)].Keeps(tensor);
  }
  bool ReadWrite(int tensor) const {
    return data_.problem.tensors[static_cast<size_t>(tensor)].read_write;
  }
  int64_t Temporal() const {
    int64_t product = 1;
    for (int j = 0; j < nest_.num_temporal(); ++j) product *= nest_.temporal[j].count;
    return product;
  }

  bool Reject(Status status, int64_t have, int64_t limit) {
    result_.status = status;
    result_.have = have;
    result_.limit = limit;
    return false;
  }

  bool Accept() {
    for (int v = 0; v < num_tensors_; ++v) {
      bool kept = false;
      for (int i = 0; i < nest_.num_levels; ++i) kept = kept || Keeps(i, v);
      result_.tensor = v;
      if (!kept) return Reject(Status::kBypassedEverywhere, 0, 0);
    }
    if (nest_.used_macs > machine_.mac_instances) {
      return Reject(Status::kTooManyMacs, nest_.used_macs, machine_.mac_instances);
    }
    if (nest_.used_macs_x > machine_.mac_mesh_x) {
      return Reject(Status::kTooManyMacsX, nest_.used_macs_x, machine_.mac_mesh_x);
    }
    if (nest_.used_macs_y > machine_.mac_mesh_y) {
      return Reject(Status::kTooManyMacsY, nest_.used_macs_y, machine_.mac_mesh_y);
    }
    for (int i = 0; i < nest_.num_levels; ++i) {
      if (!AcceptLevel(i)) return false;
    }
    return true;
  }

  bool AcceptLevel(int i) {
    const MachineLevel& level = machine_.levels[i];
    int64_t words = 0;
    for (int v = 0; v < num_tensors_; ++v) {
      if (Keeps(i, v)) {
        words += BoxWords(data_.problem.tensors[static_cast<size_t>(v)], nest_.extent[i]);
      }
    }
    result_.over_capacity = level.limited && words > level.entries;
    const struct {
      int64_t have, limit;
    } meshes[] = {{nest_.used[i], level.instances},
                  {nest_.used_x[i], level.mesh_x},
                  {nest_.used_y[i], level.mesh_y}};
    result_.over_mesh = 0;
    for (int k = 0; k < 3 && result_.over_mesh == 0; ++k) {
      if (meshes[k].have <= meshes[k].limit) continue;
      result_.over_mesh = k + 1;
      result_.mesh_have = meshes[k].have;
      result_.mesh_limit = meshes[k].limit;
    }
    result_.level = i;
    if (!result_.over_capacity && result_.over_mesh == 0) return true;
    return Reject(Status::kLevel, words, level.entries);
  }

  // Reads, fills and updates of one tensor; false where timeloop-model would stop.
  bool Count(int v) {
    int outermost = nest_.num_levels - 1;
    while (!Keeps(outermost, v)) --outermost;
    for (int i = 0; i < nest_.num_levels; ++i) {
      const TimeloopTile& tile = tiles_[v][i];
      TimeloopTensor& counts = result_.levels[i].tensors[v];
      counts = {.partition_size = tile.partition, .utilized_capacity = tile.size};
      if (tile.size == 0) continue;
      const auto partition = static_cast<double>(tile.partition);
      if (!ReadWrite(v)) {
        counts.reads = static_cast<uint64_t>(std::round(tile.content + tile.peer));
        counts.fills = static_cast<uint64_t>(tile.share + tile.peer);
        counts.address_generations = counts.reads + counts.fills;
        continue;
      }
      if (tile.content + tile.peer < partition) {
        result_.level = i;
        result_.tensor = v;
        return Reject(Status::kAssertion, 0, 0);
      }
      counts.updates = static_cast<uint64_t>(std::round(tile.content));
      counts.reads = static_cast<uint64_t>(std::round(tile.content + tile.peer - partition));
      counts.temporal_reductions = counts.reads;
      const double fills = tile.share + tile.peer - (i == outermost ? 0 : partition);
      // Negative numbers wrap around, as they do there.
      counts.fills = static_cast<uint64_t>(static_cast<int64_t>(std::round(fills)));
      counts.address_generations = counts.updates + counts.fills;
    }
    return true;
  }

  void Level(int i) {
    const MachineLevel& level = machine_.levels[i];
    TimeloopLevel& out = result_.levels[i];
    out.clusters = std::min(nest_.used_x[i] * nest_.used_y[i], level.clusters);
    const double cluster_utilization =
        static_cast<double>(nest_.used_x[i] * nest_.used_y[i]) / static_cast<double>(out.clusters);
    const auto block = static_cast<uint64_t>(level.block_words);
    const auto compute_cycles = static_cast<double>(result_.compute_cycles);
    double reads_per_cycle = 0, writes_per_cycle = 0;
    out.energy = 0;
    for (int v = 0; v < num_tensors_; ++v) {
      TimeloopTensor& counts = out.tensors[v];
      const auto vectors = [&](uint64_t words) {
        return static_cast<double>(CeilDivide(words, block));
      };
      counts.energy_per_instance =
          (vectors(counts.reads) * level.read_pj + vectors(counts.fills) * level.fill_pj +
           vectors(counts.updates) * level.update_pj) /
          cluster_utilization;
      const auto addresses = static_cast<double>(counts.address_generations);
      counts.address_energy_per_cluster = addresses * level.address_pj;
      counts.reads_per_cycle = static_cast<double>(counts.reads) / compute_cycles;
      counts.writes_per_cycle = static_cast<double>(counts.fills + counts.updates) / compute_cycles;
      reads_per_cycle += counts.reads_per_cycle;
      writes_per_cycle += counts.writes_per_cycle;
      out.energy += counts.energy_per_instance * static_cast<double>(nest_.used[i]) +
                    counts.address_energy_per_cluster * static_cast<double>(out.clusters);
    }
    out.slowdown = 1;
    const struct {
      const Bandwidth& limit;
      double demand;
    } demands[] = {{level.read, reads_per_cycle},
                   {level.write, writes_per_cycle},
                   {level.shared, writes_per_cycle + reads_per_cycle}};
    for (const auto& [limit, demand] : demands) {
      if (limit.limited && limit.value < demand) {
        out.slowdown = std::min(out.slowdown, limit.value / demand);
      }
    }
    out.cycles = static_cast<int64_t>(std::ceil(compute_cycles / out.slowdown));
  }

  void Network(int i) {
    TimeloopLevel& out = result_.levels[i];
    out.network_energy = 0;
    for (int v = 0; v < num_tensors_; ++v) {
      TimeloopNetworkTensor& network = out.network[v];
      NetworkTensor(i, v, network);
      out.network_energy += (network.link_energy_per_instance + network.energy_per_instance) *
                            static_cast<double>(nest_.used[i]);
    }
  }

  void NetworkTensor(int i, int v, TimeloopNetworkTensor& network) {
    const MachineLevel& level = machine_.levels[i];
    const TimeloopTile& tile = tiles_[v][i];
    network = {.fanout = tile.fanout,
               .first_ingress = tile.first_ingress,
               .num_ingresses = tile.num_ingresses,
               .link_transfers = static_cast<int64_t>(tile.links)};
    // Where sums cannot be added in place, partial sums travel up and down; the partition is taken
    // off every key (quirk Q11).
    const bool both_ways = ReadWrite(v) && !level.reduces;
    double hops = 0, words = 0;
    uint64_t routers = 0;
    for (int k = 0; k < tile.num_ingresses; ++k) {
      Ingress& ingress = result_.ingresses[static_cast<size_t>(tile.first_ingress + k)];
      if (both_ways) ingress.words = 2 * ingress.words - static_cast<double>(tile.partition);
      if (ReadWrite(v)) {
        network.spatial_reductions =
            static_cast<int64_t>(static_cast<double>(network.spatial_reductions) +
                                 static_cast<double>(ingress.multicast - 1) * ingress.words);
      }
      words += ingress.words;
      if (ingress.words <= 0) continue;
      const double mean_hops = ingress.hops / ingress.words;
      routers = static_cast<uint64_t>(static_cast<double>(routers) +
                                      (1 + std::floor(mean_hops)) * ingress.words);
      hops += mean_hops * ingress.words;
    }
    network.avg_hops = words > 0 ? hops / words : 0;
    network.energy_per_instance = hops * level.hop_pj +
                                  static_cast<double>(routers) * level.router_pj +
                                  level.ingress_pj * words;
    network.link_energy_per_instance =
        static_cast<double>(network.link_transfers) * (level.hop_pj + 2 * level.router_pj);
  }

  const ProblemData& data_;
  const Machine& machine_;
  const LoopMapping& mapping_;
  const Nest& nest_;
  const WalkRules rules_;
  TimeloopScratch& scratch_;
  TimeloopResult& result_;
  const int num_tensors_;
  TimeloopTile tiles_[kMaxTensors][kMaxLevels];
};

}  // namespace

void EvaluateTimeloop(const ProblemData& data, const Machine& machine, const LoopMapping& mapping,
                      const Nest& nest, const WalkRules& rules, TimeloopScratch& scratch,
                      TimeloopResult& result) {
  Evaluator(data, machine, mapping, nest, rules, scratch, result).Run();
}

TimeloopRejection Describe(const TimeloopResult& result, const Machine& machine) {
  const auto macs = [&](std::string_view what) {
    return TimeloopRejection{
        machine.mac_name, fmt::format("mapped max Arithmetic {} {} exceeds hardware instances {}",
                                      what, result.have, result.limit)};
  };
  switch (result.status) {
    case Status::kOk: return {};
    case Status::kBypassedEverywhere:
      return {machine.mac_name, "one of the tensors is bypassed in all storage levels"};
    case Status::kTooManyMacs: return macs("instances");
    case Status::kTooManyMacsX: return macs("X expansion");
    case Status::kTooManyMacsY: return macs("Y expansion");
    case Status::kAssertion:
      return {machine.level_names[static_cast<size_t>(result.level)],
              "assert content_accesses + peer_accesses >= partition_size"};
    case Status::kLevel: break;
  }
  TimeloopRejection rejection{.level = machine.level_names[static_cast<size_t>(result.level)]};
  if (result.over_capacity) {
    rejection.reason =
        fmt::format("mapped tile size {} exceeds buffer capacity {}", result.have, result.limit);
  }
  constexpr std::string_view kMeshes[] = {"", "instances", "X expansion", "Y expansion"};
  if (result.over_mesh == 1) {
    rejection.reason += fmt::format("mapped instances {:g} exceeds available hardware instances {}",
                                    static_cast<double>(result.mesh_have), result.mesh_limit);
  } else if (result.over_mesh != 0) {
    rejection.reason += fmt::format("mapped {} {} exceeds available hardware instances {}",
                                    kMeshes[result.over_mesh], result.mesh_have, result.mesh_limit);
  }
  return rejection;
}

}  // namespace tessera::loopnest
