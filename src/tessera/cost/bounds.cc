// Bounds on traffic, cycles and energy; docs/bounds.md gives the reasons, in the same order.
#include "tessera/cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/cost/array_bound.h"
#include "tessera/cost/compute_cycles.h"
#include "tessera/cost/keep_bounds.h"
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

  // `compute_cycles`: of ComputeCycles, where it is known already. `joint`: with what tensors cost
  // that share the parallel loops between them.
  LoopBounds Run(std::optional<int64_t> compute_cycles = {}, bool joint = false) {
    LoopBounds bounds;
    bounds.levels.resize(static_cast<size_t>(num_levels_));
    for (int i = 0; i < num_levels_; ++i) {
      bounds.levels[static_cast<size_t>(i)].name = machine_.level_names[static_cast<size_t>(i)];
    }
    bounds.compute_cycles = compute_cycles ? *compute_cycles : ComputeCycles();
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
    if (joint && exact() && !options_.keep.empty()) bounds.energy_pj += JointEnergy(bounds);
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
      const double energy = Energy(i, v, fed);
      least = least < 0 ? energy : std::min(least, energy);
    }
    // Feeding the MACs from the outermost level directly costs that level more.
    if (num_levels_ > 1) {
      const TrafficBound from_outside = Between(v, -1, num_levels_ - 1, /*outermost=*/true);
      const TrafficBound& already = bounds.levels.back().tensors[static_cast<size_t>(v)];
      least = std::min(
          least, Energy(num_levels_ - 1, v, from_outside) - Energy(num_levels_ - 1, v, already));
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
      // If widths differ, as many elements as there are if all are of the narrowest tensor.
      const double elements =
          machine_.plain
              ? static_cast<double>(std::max(below.exact_entries, below.entries))
              : static_cast<double>(below.exact_entries) / static_cast<double>(LeastUnits(k));
      words += elements * static_cast<double>(below.instances);
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
    const int64_t word_units = machine.widths.word_units;
    int64_t reads = 0, writes = 0;  // units
    for (int v = 0; v < num_tensors_; ++v) {
      const TrafficBound& tensor = level.tensors[static_cast<size_t>(v)];
      reads += tensor.reads * machine.units(v);
      writes += (tensor.fills + tensor.updates) * machine.units(v);
    }
    const int64_t all = level.words * LeastUnits(i);
    const auto cycles = [&](int64_t units, const Bandwidth& rate) -> int64_t {
      if (!rate.limited) return 0;
      const int64_t needed = CyclesAt(rate, word_units, CeilDiv(units, machine.instances));
      return exact() ? needed : std::max<int64_t>(0, needed - 1);  // theirs are rounded doubles
    };
    int64_t most = std::max({cycles(reads, machine.read), cycles(writes, machine.write),
                             cycles(std::max(reads + writes, all), machine.shared)});
    if (machine.read.limited && machine.write.limited && all > reads + writes) {
      const double rate =
          (machine.read.value + machine.write.value) * static_cast<double>(word_units);
      const double words = static_cast<double>(all) / static_cast<double>(machine.instances);
      most = std::max(most, static_cast<int64_t>(words / rate * (1 - 1e-12)));
    }
    return most;
  }

  // Energy of the words alone; vectors may be full, and clusters may share what they spend.
  double Energy(int i, int v, const TrafficBound& tensor) const {
    const MachineLevel& machine = machine_.levels[i];
    return (static_cast<double>(tensor.reads) * machine.read_pj +
            static_cast<double>(tensor.fills) * machine.fill_pj +
            static_cast<double>(tensor.updates) * machine.update_pj) *
           Share(i) * machine.words[v];
  }
  // Of the narrowest tensor at a level.
  int64_t LeastUnits(int i) const { return machine_.levels[i].widths.least_units(num_tensors_); }
  double Share(int i) const {
    const MachineLevel& machine = machine_.levels[i];
    return static_cast<double>(machine.clusters) / static_cast<double>(machine.instances) /
           static_cast<double>(machine.block_words);
  }

  double CompulsoryEnergy(int i, const LevelBound& level) const {
    double energy = 0;
    for (int v = 0; v < num_tensors_; ++v) {
      energy += Energy(i, v, level.tensors[static_cast<size_t>(v)]);
    }
    return energy;
  }

  double LevelEnergy(int i, const LevelBound& level) const {
    const MachineLevel& machine = machine_.levels[i];
    double energy = CompulsoryEnergy(i, level), words = 0;
    for (const TrafficBound& tensor : level.tensors) {
      words += static_cast<double>(tensor.reads + tensor.updates);
    }
    // Words beyond the single bounds are reads or updates, perhaps of the narrowest tensor.
    const double more = static_cast<double>(level.words) - words;
    const double least =
        static_cast<double>(LeastUnits(i)) / static_cast<double>(machine.widths.word_units);
    if (more > 0) energy += more * std::min(machine.read_pj, machine.update_pj) * Share(i) * least;
    return energy;
  }

  // Every word that enters the network below level i pays for that and for one router; hops may be
  // none.
  double NetworkEnergy(int i) const {
    if (!exact() || options_.keep.empty()) return 0;
    double words = 0;
    for (int v = 0; v < num_tensors_; ++v) {
      bool held_below = false, passes = false;
      for (int k = i; k < num_levels_; ++k) passes = passes || Keeps(k, v);
      if (!passes) continue;
      for (int k = 0; k < i; ++k) held_below = held_below || Keeps(k, v);
      const int64_t entering =
          held_below ? elements_[v] : std::max(elements_[v], CeilDiv(macs_, MacsPerInstance(i)));
      words += static_cast<double>(entering) * machine_.levels[i].words[v];
    }
    return words * (machine_.levels[i].router_pj + machine_.levels[i].ingress_pj);
  }

  // ---- Operands that share parallel loops ----
  //
  // A word that a level hands to the MACs below it serves at most m of them in a step, m being the
  // product of the parallel factors of dimensions that leave its tensor alone; for a window such as
  // p + r also those pairs of p and r that add up alike, at most as many as factors of p, and of r.
  // Each dimension leaves at most one tensor alone, so the m of two tensors multiply to no more
  // than the MACs there are, and without windows those of all three do (docs/bounds.md).

  struct Fed {
    int tensor = 0, level = 0;
    double word_pj = 0;  // for all MACs' operations, if a word serves one
    double most = 1;     // m at most
    double macs = 1;     // below one instance
  };

  // The tensors that the MACs have from a level with several of them below; none where the argument
  // does not hold.
  std::vector<Fed> FedTensors() const {
    std::vector<Fed> fed;
    uint32_t once = 0;
    int windows = 0;
    for (int v = 0; v < num_tensors_; ++v) {
      const TensorData& tensor = data_.tensors[v];
      if (tensor.shares) return {};
      windows += tensor.simple ? 0 : 1;
      double idle = WindowReuse(data_, v);
      for (int r = 0; r < data_.problem.tensors[static_cast<size_t>(v)].num_ranks; ++r) {
        if (tensor.ranks[r].num_terms > 2) return {};
      }
      for (int d = 0; d < data_.problem.num_dimensions; ++d) {
        const int64_t bound = data_.problem.dimensions[static_cast<size_t>(d)].bound;
        if ((tensor.dims >> d & 1) != 0 || bound == 1) continue;
        if ((once >> d & 1) != 0) return {};
        once |= 1u << d;
        idle *= static_cast<double>(bound);
      }
      int level = 0;
      while (!Keeps(level, v)) ++level;
      const auto macs = static_cast<double>(MacsPerInstance(level));
      if (macs <= 1) continue;
      const MachineLevel& machine = machine_.levels[level];
      const double pj = (ReadWrite(v) ? machine.update_pj + machine.read_pj : machine.read_pj) *
                        Share(level) * machine.words[v];
      fed.push_back({v, level, pj * static_cast<double>(macs_), std::min(idle, macs), macs});
    }
    if (windows > 1 || machine_.links) return {};
    return fed;
  }

  // Least a.word_pj / m + b.word_pj / n for m * n <= product and m, n within their limits.
  static double LeastOfTwo(const Fed& a, const Fed& b, double product) {
    if (a.most * b.most <= product) return a.word_pj / a.most + b.word_pj / b.most;
    constexpr double kTiny = 1e-300;  // instead of 0, so that the quotient is large and no NaN
    const double m = std::clamp(std::sqrt(a.word_pj * product / std::max(b.word_pj, kTiny)),
                                std::max(1.0, product / b.most), std::min(a.most, product));
    return a.word_pj / m + b.word_pj * m / product;
  }

  // What the operands of fed tensors cost at least, all together, beyond what `bounds` has for
  // them.
  double JointEnergy(const LoopBounds& bounds) const {
    const std::vector<Fed> fed = FedTensors();
    if (fed.size() < 2) return 0;
    double known_pj = 0, elided_pj = 0, least_pj = 0;
    for (size_t k = 0; k < fed.size(); ++k) {
      const Fed& one = fed[k];
      const LevelBound& level = bounds.levels[static_cast<size_t>(one.level)];
      const MachineLevel& machine = machine_.levels[one.level];
      TrafficBound handed = level.tensors[static_cast<size_t>(one.tensor)];
      handed.fills = 0;
      known_pj += Energy(one.level, one.tensor, handed);
      bool first = true;  // of this level: words beyond the single bounds may be any tensor's
      for (size_t other = 0; other < k; ++other) first = first && fed[other].level != one.level;
      if (first) known_pj += level.energy_pj - CompulsoryEnergy(one.level, level);
      if (ReadWrite(one.tensor)) {
        elided_pj += static_cast<double>(MostElided(one.level, one.tensor)) * machine.read_pj *
                     Share(one.level) * machine.words[one.tensor];
      }
    }
    for (size_t a = 0; a < fed.size(); ++a) {
      for (size_t b = a + 1; b < fed.size(); ++b) {
        if (!SharesWithThird(fed[a].tensor, fed[b].tensor)) continue;
        double pj = LeastOfTwo(fed[a], fed[b], std::max(fed[a].macs, fed[b].macs));
        for (size_t c = 0; c < fed.size(); ++c) {
          if (c != a && c != b) pj += fed[c].word_pj / fed[c].most;
        }
        least_pj = std::max(least_pj, pj);
      }
    }
    return std::max(0.0, least_pj - elided_pj - known_pj);
  }

  // Whether pairs within a window of one of two tensors take parallel factors that leave the third
  // one alone, so that they are paid for once more: of every window rank a dimension does.
  bool SharesWithThird(int a, int b) const {
    for (const int window : {a, b}) {
      if (data_.tensors[window].simple) continue;
      for (int r = 0; r < data_.problem.tensors[static_cast<size_t>(window)].num_ranks; ++r) {
        const RankShape& rank = data_.tensors[window].ranks[r];
        if (rank.num_terms != 2) continue;
        bool alone = false;
        for (int y = 0; y < num_tensors_; ++y) {
          if (y == a || y == b) continue;
          for (int t = 0; t < 2; ++t) {
            alone = alone || (data_.tensors[y].dims >> rank.dims[t] & 1) == 0;
          }
        }
        const auto bound = [&](int t) {
          return data_.problem.dimensions[static_cast<size_t>(rank.dims[t])].bound;
        };
        if (!alone && bound(0) > 1 && bound(1) > 1) return false;
      }
    }
    return true;
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
  const Result<Machine> machine =
      loopnest::MakeMachine(hierarchy, problem, options.semantics, options.clock_ghz);
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

Result<CostBounds> LeastBounds(const LoopProblem& problem, const Hierarchy& hierarchy,
                               std::span<const std::vector<uint8_t>> keeps,
                               std::optional<int64_t>& compute_cycles) {
  const Result<Machine> machine = loopnest::MakeMachine(hierarchy, problem, Semantics::kExact);
  if (!machine) return machine.error();
  if (Result<void> fit = CheckCycles(*machine, problem); !fit) return fit.error();
  const ProblemData data = loopnest::MakeProblemData(problem);
  const ArrayBound array(data, *machine);
  CostBounds least;
  for (const std::vector<uint8_t>& keep : keeps) {
    CostBounds bounds = KeepBounds(data, *machine, keep, compute_cycles);
    bounds.energy_pj = std::max(*bounds.energy_pj, array.Energy(keep));
    least.cycles = least.cycles ? std::min(*least.cycles, *bounds.cycles) : bounds.cycles;
    least.energy_pj =
        least.energy_pj ? std::min(*least.energy_pj, *bounds.energy_pj) : bounds.energy_pj;
  }
  return least;
}

CostBounds KeepBounds(const loopnest::ProblemData& data, const loopnest::Machine& machine,
                      const std::vector<uint8_t>& keep, std::optional<int64_t>& compute_cycles) {
  const BoundOptions options{.keep = keep};
  const LoopBounds bounds = Bounder(data, machine, options).Run(compute_cycles, /*joint=*/true);
  compute_cycles = bounds.compute_cycles;
  return {.cycles = static_cast<double>(bounds.cycles), .energy_pj = bounds.energy_pj};
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
