// Bounds on traffic, cycles and energy; docs/bounds.md gives the reasons, in the same order.
#include "tessera/cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/cost/compute_cycles.h"
#include "tessera/cost/loopnest/machine.h"
#include "tessera/cost/loopnest/problem_data.h"

namespace tessera {
namespace {

using loopnest::Bandwidth;
using loopnest::Machine;
using loopnest::MachineLevel;
using loopnest::ProblemData;
using loopnest::RankShape;
using loopnest::Semantics;
using loopnest::TensorData;

// Elements of a tensor that some operation touches, or fewer: where ranks share dimensions, their
// coordinates depend on each other, and the largest rank alone is counted.
int64_t TouchedElements(const ProblemData& data, int v) {
  const TensorData& tensor = data.tensors[v];
  loopnest::TouchedScratch scratch;
  int64_t elements = 1;
  for (int c = 0; c < tensor.num_components; ++c) {
    int64_t most = 1;
    for (int r = 0; r < data.problem.tensors[static_cast<size_t>(v)].num_ranks; ++r) {
      if ((tensor.component_ranks[c] >> r & 1) == 0) continue;
      const RankShape& rank = tensor.ranks[r];
      loopnest::TouchedBox box;
      for (int t = 0; t < rank.num_terms; ++t) {
        box.widths[t] = data.problem.dimensions[static_cast<size_t>(rank.dims[t])].bound;
      }
      most = std::max(most, CountTouched(rank, box, scratch));
    }
    elements *= most;
  }
  return elements;
}

// In how many operations of one output, and one weight, an element of a window can take part: the
// number of index pairs that give the same coordinate, over all ranks of the tensor.
double WindowReuse(const ProblemData& data, int v) {
  double reuse = 1;
  for (int r = 0; r < data.problem.tensors[static_cast<size_t>(v)].num_ranks; ++r) {
    const RankShape& rank = data.tensors[v].ranks[r];
    if (rank.num_terms != 2) continue;
    const auto bound = [&](int t) {
      return data.problem.dimensions[static_cast<size_t>(rank.dims[t])].bound;
    };
    reuse *= static_cast<double>(
        std::min(CeilDiv(bound(0), rank.coefficients[1]), CeilDiv(bound(1), rank.coefficients[0])));
  }
  return reuse;
}

class Bounder {
 public:
  Bounder(const ProblemData& data, const Machine& machine, const BoundOptions& options)
      : data_(data),
        machine_(machine),
        options_(options),
        num_levels_(machine.num_levels),
        num_tensors_(data.problem.num_tensors) {
    int64_t bounds[loopnest::kMaxDims];
    for (int d = 0; d < data.problem.num_dimensions; ++d) {
      bounds[d] = data.problem.dimensions[static_cast<size_t>(d)].bound;
    }
    for (int v = 0; v < num_tensors_; ++v) {
      elements_[v] = TouchedElements(data, v);
      // Timeloop takes bounding boxes for tensors, and those are what it elides.
      const LoopTensor& tensor = data.problem.tensors[static_cast<size_t>(v)];
      first_sums_[v] = exact() ? elements_[v] : loopnest::BoxWords(tensor, bounds);
    }
    macs_ = Macs(data.problem);
  }

  LoopBounds Run() {
    LoopBounds bounds;
    bounds.levels.resize(static_cast<size_t>(num_levels_));
    for (int i = 0; i < num_levels_; ++i) {
      bounds.levels[static_cast<size_t>(i)].name = machine_.level_names[static_cast<size_t>(i)];
    }
    bounds.compute_cycles = ComputeCycles();
    for (int v = 0; v < num_tensors_; ++v) {
      if (options_.keep.empty()) {
        TensorOnAnyLevels(v, bounds);
      } else {
        Tensor(v, bounds);
      }
    }
    bounds.cycles = bounds.compute_cycles;
    bounds.cycles_from = "compute";
    bounds.energy_pj = static_cast<double>(macs_) * machine_.mac_pj;
    const double compulsory_pj = CompulsoryEnergy(num_levels_ - 1, bounds.levels.back());
    for (int i = 0; i < num_levels_; ++i) {
      LevelBound& level = bounds.levels[static_cast<size_t>(i)];
      Words(i, level);
      level.cycles = LevelCycles(i, level);
      if (level.cycles > bounds.cycles) {
        bounds.cycles = level.cycles;
        bounds.cycles_from = level.name;
      }
      level.energy_pj = LevelEnergy(i, level);
      level.network_pj = NetworkEnergy(i);
      bounds.energy_pj += level.energy_pj + level.network_pj;
    }
    if (options_.keep.empty()) {
      // Feeding the MACs from the outermost level is among what any_level_pj_ allows for, so it and
      // the words beyond the compulsory ones do not add up.
      const double more = compulsory_pj + any_level_pj_ - bounds.levels.back().energy_pj;
      bounds.energy_pj += std::max(0.0, more);
    }
    bounds.cycles += machine_.latency_cycles;
    bounds.energy_pj += machine_.leakage_pj * static_cast<double>(bounds.cycles);
    // Doubles may round up; a bound must not.
    bounds.energy_pj *= 1 - 1e-12;
    return bounds;
  }

 private:
  bool exact() const { return options_.semantics == Semantics::kExact; }
  bool ReadWrite(int v) const { return data_.problem.tensors[static_cast<size_t>(v)].read_write; }
  bool Keeps(int i, int v) const { return (options_.keep[static_cast<size_t>(i)] >> v & 1) != 0; }

  int64_t ComputeCycles() const {
    // Timeloop checks only how far the mapping expands in all, exact semantics each fan-out.
    const MachineLevel& outermost = machine_.levels[num_levels_ - 1];
    const int64_t columns = exact() ? machine_.mac_mesh_x / outermost.mesh_x : machine_.mac_mesh_x;
    const int64_t rows = exact() ? machine_.mac_mesh_y / outermost.mesh_y : machine_.mac_mesh_y;
    return FewestComputeCycles(data_.problem, columns, rows, /*perfect=*/!exact());
  }

  // Operations that one word from level i can serve at most: the MACs below one instance. Under
  // Timeloop's rules a fan-out may be exceeded, but not made of nothing.
  int64_t MacsPerInstance(int i) const {
    if (exact()) return machine_.mac_instances / machine_.levels[i].instances;
    for (int k = 0; k <= i; ++k) {
      if (machine_.levels[k].fan_x * machine_.levels[k].fan_y > 1) return machine_.mac_instances;
    }
    return 1;
  }

  // Whether all elements of a tensor must pass, at each level that hands it to another level.
  // Timeloop counts windows too low where strides leave holes.
  bool MustPass(int v) const { return exact() || data_.tensors[v].simple; }

  // Words that a level hands to the MACs directly. Under Timeloop's rules MACs next to each other
  // pass operands on, so nothing can be said where level 0 has several.
  int64_t OperandWords(int i) const {
    const MachineLevel& innermost = machine_.levels[0];
    if (!exact() && innermost.fan_x * innermost.fan_y > 1) return 0;
    return CeilDiv(macs_, MacsPerInstance(i));
  }

  // First partial sums need no read: once per element and instance.
  int64_t MostElided(int i, int v) const {
    int64_t reductions = 1;  // operations per element, as far as they lie in other dimensions
    for (int d = 0; d < data_.problem.num_dimensions; ++d) {
      if ((data_.tensors[v].dims >> d & 1) == 0 || !data_.tensors[v].simple) {
        reductions *= data_.problem.dimensions[static_cast<size_t>(d)].bound;
      }
    }
    return first_sums_[v] * std::min(machine_.levels[i].instances, reductions);
  }

  void Tensor(int v, LoopBounds& bounds) const {
    int child = -1;
    int outermost = num_levels_ - 1;
    while (outermost > 0 && !Keeps(outermost, v)) --outermost;
    for (int i = 0; i <= outermost; ++i) {
      if (!Keeps(i, v)) continue;
      bounds.levels[static_cast<size_t>(i)].tensors[static_cast<size_t>(v)] =
          Between(v, child, i, i == outermost);
      child = i;
    }
  }

  // Traffic of level i, whose next inner level with the tensor is `child` (-1: the MACs).
  TrafficBound Between(int v, int child, int i, bool outermost) const {
    TrafficBound bound;
    int64_t words = MustPass(v) ? elements_[v] : 0;
    if (child < 0) words = exact() ? std::max(words, OperandWords(i)) : OperandWords(i);
    // Timeloop scales counts past levels that are passed by, and rounds the result.
    if (!exact() && i > child + 1)
      words = std::max<int64_t>(0, words - machine_.levels[i].instances);
    if (ReadWrite(v)) {
      bound.updates = words;
      bound.reads = std::max<int64_t>(0, words - MostElided(i, v));
      return bound;
    }
    bound.reads = words;
    if (outermost || !MustPass(v)) return bound;
    // Timeloop cuts fractions of words off, less than one per instance.
    bound.fills =
        exact() ? elements_[v] : std::max<int64_t>(0, elements_[v] - machine_.levels[i].instances);
    return bound;
  }

  // The same where the mapping chooses the levels: the outermost level hands out all elements, and
  // whichever level feeds the MACs pays for their operands.
  void TensorOnAnyLevels(int v, LoopBounds& bounds) {
    if (!exact()) return;  // Timeloop even lets the outermost level be passed by
    bounds.levels.back().tensors[static_cast<size_t>(v)] =
        Between(v, num_levels_ > 1 ? 0 : -1, num_levels_ - 1, /*outermost=*/true);
    double least = -1;
    for (int i = 0; i + 1 < num_levels_; ++i) {
      const TrafficBound fed = Between(v, -1, i, /*outermost=*/false);
      const double energy = Energy(i, fed);
      least = least < 0 ? energy : std::min(least, energy);
    }
    // Feeding the MACs from the outermost level directly costs that level more.
    if (num_levels_ > 1) {
      const TrafficBound from_outside = Between(v, -1, num_levels_ - 1, /*outermost=*/true);
      const TrafficBound& already = bounds.levels.back().tensors[static_cast<size_t>(v)];
      least =
          std::min(least, Energy(num_levels_ - 1, from_outside) - Energy(num_levels_ - 1, already));
      any_level_pj_ += std::max(0.0, least);
    }
  }

  // Words between a level that holds all tensors and what lies below it, where that is small: the
  // sum of the single bounds, or more.
  void Words(int i, LevelBound& level) const {
    for (const TrafficBound& tensor : level.tensors) level.words += tensor.reads + tensor.updates;
    const std::optional<double> room = RoomBelow(i);
    if (!room || !HasReuseBound(i)) return;
    double reuse = 1;
    for (int v = 0; v < num_tensors_; ++v) reuse *= WindowReuse(data_, v);
    const double words = 2 * static_cast<double>(macs_) / std::sqrt(reuse * *room) - 2 * *room;
    if (words > static_cast<double>(level.words)) {
      level.words = static_cast<int64_t>(words * (1 - 1e-12));
    }
  }

  // Words that all memories below level i hold together, and the operands of all MACs.
  std::optional<double> RoomBelow(int i) const {
    double words = static_cast<double>(num_tensors_) * static_cast<double>(machine_.mac_instances);
    for (int k = 0; k < i; ++k) {
      const MachineLevel& below = machine_.levels[k];
      if (!below.limited) return std::nullopt;
      words += static_cast<double>(std::max(below.exact_entries, below.entries)) *
               static_cast<double>(below.instances);
    }
    return words;
  }

  // The argument needs three tensors that all pass this level, every dimension in two of them at
  // least, and windows of two terms in one tensor at most.
  bool HasReuseBound(int i) const {
    if (options_.keep.empty() && i + 1 < num_levels_) return false;
    if (num_tensors_ != 3) return false;
    int windows = 0, outputs = 0;
    for (int v = 0; v < num_tensors_; ++v) {
      if (!options_.keep.empty() && !Keeps(i, v)) return false;
      if (data_.tensors[v].shares) return false;
      windows += data_.tensors[v].simple ? 0 : 1;
      outputs += ReadWrite(v) ? 1 : 0;
      for (int r = 0; r < data_.problem.tensors[static_cast<size_t>(v)].num_ranks; ++r) {
        if (data_.tensors[v].ranks[r].num_terms > 2) return false;
      }
    }
    if (windows > 1 || outputs != 1) return false;
    const MachineLevel& innermost = machine_.levels[0];
    if (!exact() && (windows > 0 || innermost.fan_x * innermost.fan_y > 1)) return false;
    for (int d = 0; d < data_.problem.num_dimensions; ++d) {
      int uses = 0;
      for (int v = 0; v < num_tensors_; ++v) uses += data_.tensors[v].dims >> d & 1;
      if (uses < 2) return false;
    }
    return true;
  }

  // Cycles that the busiest instance needs at least, if all share the words evenly.
  int64_t LevelCycles(int i, const LevelBound& level) const {
    const MachineLevel& machine = machine_.levels[i];
    int64_t reads = 0, writes = 0;
    for (const TrafficBound& tensor : level.tensors) {
      reads += tensor.reads;
      writes += tensor.fills + tensor.updates;
    }
    const auto cycles = [&](int64_t words, const Bandwidth& rate) -> int64_t {
      if (!rate.limited) return 0;
      const int64_t needed = rate.exact.CeilQuotient(CeilDiv(words, machine.instances));
      return exact() ? needed : std::max<int64_t>(0, needed - 1);  // theirs are rounded doubles
    };
    int64_t most = std::max({cycles(reads, machine.read), cycles(writes, machine.write),
                             cycles(std::max(reads + writes, level.words), machine.shared)});
    if (machine.read.limited && machine.write.limited && level.words > reads + writes) {
      const double rate = machine.read.value + machine.write.value;
      const double words =
          static_cast<double>(level.words) / static_cast<double>(machine.instances);
      most = std::max(most, static_cast<int64_t>(words / rate * (1 - 1e-12)));
    }
    return most;
  }

  // Energy of the words alone; vectors may be full, and clusters may share what they spend.
  double Energy(int i, const TrafficBound& tensor) const {
    const MachineLevel& machine = machine_.levels[i];
    return (static_cast<double>(tensor.reads) * machine.read_pj +
            static_cast<double>(tensor.fills) * machine.fill_pj +
            static_cast<double>(tensor.updates) * machine.update_pj) *
           Share(i);
  }
  double Share(int i) const {
    const MachineLevel& machine = machine_.levels[i];
    return static_cast<double>(machine.clusters) / static_cast<double>(machine.instances) /
           static_cast<double>(machine.block_words);
  }

  double CompulsoryEnergy(int i, const LevelBound& level) const {
    double energy = 0;
    for (const TrafficBound& tensor : level.tensors) energy += Energy(i, tensor);
    return energy;
  }

  double LevelEnergy(int i, const LevelBound& level) const {
    const MachineLevel& machine = machine_.levels[i];
    double energy = CompulsoryEnergy(i, level), words = 0;
    for (const TrafficBound& tensor : level.tensors) {
      words += static_cast<double>(tensor.reads + tensor.updates);
    }
    // Words beyond the single bounds are reads or updates.
    const double more = static_cast<double>(level.words) - words;
    if (more > 0) energy += more * std::min(machine.read_pj, machine.update_pj) * Share(i);
    return energy;
  }

  // Every word that enters the network below level i pays for that and for one router; hops may be
  // none.
  double NetworkEnergy(int i) const {
    if (!exact() || options_.keep.empty()) return 0;
    int64_t words = 0;
    for (int v = 0; v < num_tensors_; ++v) {
      bool held_below = false;
      for (int k = 0; k < i; ++k) held_below = held_below || Keeps(k, v);
      words +=
          held_below ? elements_[v] : std::max(elements_[v], CeilDiv(macs_, MacsPerInstance(i)));
    }
    return static_cast<double>(words) *
           (machine_.levels[i].router_pj + machine_.levels[i].ingress_pj);
  }

  const ProblemData& data_;
  const Machine& machine_;
  const BoundOptions& options_;
  const int num_levels_, num_tensors_;
  int64_t elements_[loopnest::kMaxTensors] = {};
  int64_t first_sums_[loopnest::kMaxTensors] = {};  // of one copy of a tensor
  int64_t macs_ = 0;
  double any_level_pj_ = 0;
};

}  // namespace

Result<LoopBounds> LowerBounds(const LoopProblem& problem, const Hierarchy& hierarchy,
                               const BoundOptions& options) {
  const Result<Machine> machine = loopnest::MakeMachine(hierarchy, options.clock_ghz);
  if (!machine) return machine.error();
  if (Result<void> fit = CheckCycles(*machine, problem); !fit) return fit.error();
  if (!options.keep.empty() && options.keep.size() != hierarchy.levels.size()) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("keep sets for {} levels, but the hierarchy has {}",
                                        options.keep.size(), hierarchy.levels.size())};
  }
  const ProblemData data = loopnest::MakeProblemData(problem);
  return Bounder(data, *machine, options).Run();
}

std::vector<uint8_t> KeepSets(const LoopMapping& mapping) {
  std::vector<uint8_t> keep;
  for (const LoopLevel& level : mapping.view()) keep.push_back(level.keep);
  return keep;
}

std::vector<uint8_t> KeepSets(const LoopProblem& problem, const Hierarchy& hierarchy) {
  std::vector<uint8_t> keep;
  for (const std::vector<std::string>& names : hierarchy.keeps) {
    uint8_t bits = 0;
    for (const std::string& name : names) {
      const std::optional<int> tensor = FindTensorOrRole(problem, name);
      if (tensor) bits = static_cast<uint8_t>(bits | 1u << *tensor);
    }
    keep.push_back(bits);
  }
  return keep;
}

}  // namespace tessera
