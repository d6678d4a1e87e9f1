// docs/bounds.md, "What instances of the array need".
#include "tessera/cost/array_bound.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "tessera/base/divisors.h"
#include "tessera/cost/loopnest/touched.h"

namespace tessera {
namespace {

using loopnest::Machine;
using loopnest::MachineLevel;
using loopnest::ProblemData;
using loopnest::RankShape;
using loopnest::TensorData;

// Products of parallel factors that are looked at; problems with more get no bound.
constexpr size_t kMostSpreads = 20'000;

double Share(const MachineLevel& level) {
  return static_cast<double>(level.clusters) / static_cast<double>(level.instances) /
         static_cast<double>(level.block_words);
}

}  // namespace

struct ArrayBound::Path {
  bool read_write = false;
  int inner = -1;         // the innermost holder, of one instance; -1: the MACs get words directly
  double operand_pj = 0;  // of a MAC's read from there, or update
  double sum_pj = 0;      // outputs: of reading a sum there
  double within_pj = 0;   // of a word on its way between holders of one instance
  double fill_pj = 0;     // of a word that arrives at an instance
  double send_pj = 0;     // of a word that leaves for one group of instances, or comes from it
  double back_pj = 0;     // outputs: of reading a sum that goes there again
  double outside_pj = 0;  // of a word on its way from home
  double room = std::numeric_limits<double>::infinity();  // words of one instance
};

ArrayBound::ArrayBound(const ProblemData& data, const Machine& machine)
    : data_(data), machine_(machine) {
  for (int i = 0; i < machine.num_levels; ++i) {
    if (machine.levels[i].fan_x * machine.levels[i].fan_y == 1) continue;
    if (bottom_ < 0) bottom_ = i;
    top_ = i;
  }
  if (bottom_ < 0) return;
  macs_ = static_cast<double>(Macs(data.problem));
  for (int v = 0; v < data.problem.num_tensors; ++v) {
    const TensorData& tensor = data.tensors[v];
    const LoopTensor& facts = data.problem.tensors[static_cast<size_t>(v)];
    if (tensor.shares || (facts.read_write && !tensor.simple)) return;
    loopnest::TouchedScratch scratch;
    elements_[v] = 1;
    for (int r = 0; r < facts.num_ranks; ++r) {
      const RankShape& rank = tensor.ranks[r];
      if (rank.num_terms > 2) return;
      loopnest::TouchedBox box;
      for (int k = 0; k < rank.num_terms; ++k) {
        box.widths[k] = data.problem.dimensions[static_cast<size_t>(rank.dims[k])].bound;
      }
      elements_[v] *= static_cast<double>(CountTouched(rank, box, scratch));
    }
    for (int other = 0; other < data.problem.num_tensors; ++other) {
      meets_[v][other] = v != other && Meet(v, other);
    }
  }
  if (!Spreads()) spreads_.clear();
}

// Whether an element of `a` and one of `b`, which is simple, belong to one operation at most: the
// indices that b does not give follow from the coordinates of a, one from each.
bool ArrayBound::Meet(int a, int b) const {
  if (!data_.tensors[b].simple) return false;
  uint32_t known = data_.tensors[b].dims;
  for (int r = 0; r < data_.problem.tensors[static_cast<size_t>(a)].num_ranks; ++r) {
    const RankShape& rank = data_.tensors[a].ranks[r];
    uint32_t open = 0;
    for (int k = 0; k < rank.num_terms; ++k) open |= 1u << rank.dims[k];
    open &= ~data_.tensors[b].dims;
    if ((open & (open - 1)) == 0) known |= open;
  }
  for (int d = 0; d < data_.problem.num_dimensions; ++d) {
    if (data_.problem.dimensions[static_cast<size_t>(d)].bound > 1 && (known >> d & 1) == 0) {
      return false;
    }
  }
  return true;
}

// All products of parallel factors, dimension by dimension, that fit both axes together.
bool ArrayBound::Spreads() {
  const int num_dims = data_.problem.num_dimensions;
  int64_t fan_x = 1, fan_y = 1;
  for (int i = bottom_; i <= top_; ++i) {
    fan_x *= machine_.levels[i].fan_x;
    fan_y *= machine_.levels[i].fan_y;
  }
  // What is given away of both axes so far, for the dimensions up to one; the products that no
  // other one beats on both.
  using Taken = std::vector<std::pair<int64_t, int64_t>>;
  std::vector<int64_t> factors(static_cast<size_t>(num_dims), 1);
  std::vector<std::vector<int64_t>> divisors;
  for (const LoopDimension& dim : data_.problem.dims()) divisors.push_back(Divisors(dim.bound));
  const auto add = [&](const Taken& taken, int64_t factor, const std::vector<int64_t>& all) {
    Taken next;
    for (const int64_t x : all) {
      if (x > factor || x > fan_x) break;
      if (factor % x != 0 || factor / x > fan_y) continue;
      for (const auto& [a, b] : taken) {
        if (a * x <= fan_x && b * (factor / x) <= fan_y) next.emplace_back(a * x, b * (factor / x));
      }
    }
    std::ranges::sort(next);
    Taken kept;
    for (const auto& point : next) {
      if (kept.empty() || point.second < kept.back().second) kept.push_back(point);
    }
    return kept;
  };
  const auto go = [&](auto&& self, size_t d, const Taken& taken) -> bool {
    if (d == factors.size()) {
      AddSpread(factors);
      return spreads_.size() <= kMostSpreads;
    }
    for (const int64_t factor : divisors[d]) {
      if (factor > fan_x * fan_y) break;
      const Taken next = factor == 1 ? taken : add(taken, factor, divisors[d]);
      if (next.empty()) continue;
      factors[d] = factor;
      if (!self(self, d + 1, next)) return false;
    }
    factors[d] = 1;
    return true;
  };
  return go(go, 0, {{1, 1}});
}

void ArrayBound::AddSpread(const std::vector<int64_t>& factors) {
  Spread spread;
  for (const int64_t factor : factors) spread.used *= static_cast<double>(factor);
  for (int v = 0; v < data_.problem.num_tensors; ++v) {
    double groups = 1, distinct = 1;
    for (int r = 0; r < data_.problem.tensors[static_cast<size_t>(v)].num_ranks; ++r) {
      const RankShape& rank = data_.tensors[v].ranks[r];
      // Sums of one of a and one of b numbers are at least a + b - 1 different ones.
      double offsets = 1, sums = 1;
      for (int k = 0; k < rank.num_terms; ++k) {
        const auto d = static_cast<size_t>(rank.dims[k]);
        const auto factor = static_cast<double>(factors[d]);
        offsets += factor - 1;
        sums += static_cast<double>(data_.problem.dimensions[d].bound) / factor - 1;
      }
      groups *= offsets;
      distinct *= sums;
    }
    spread.groups[v] = groups;
    spread.distinct[v] = distinct;
  }
  spreads_.push_back(spread);
}

// False where tensors are held inside the array.
bool ArrayBound::MakePath(int v, const std::vector<uint8_t>& keep, Path& path) const {
  const auto keeps = [&](int i) { return (keep[static_cast<size_t>(i)] >> v & 1) != 0; };
  const auto enter_pj = [&](int child, int parent) {
    double pj = 0;
    for (int i = std::max(child + 1, bottom_); i <= parent; ++i) {
      pj += (machine_.levels[i].router_pj + machine_.levels[i].ingress_pj) *
            machine_.levels[i].words[v];
    }
    return pj;
  };
  path.read_write = data_.problem.tensors[static_cast<size_t>(v)].read_write;
  const auto hand_pj = [&](int i) {
    const MachineLevel& level = machine_.levels[i];
    return (path.read_write ? level.update_pj : level.read_pj) * Share(level) * level.words[v];
  };
  int outer = -1;  // of one instance
  for (int i = 0; i < bottom_; ++i) {
    if (!keeps(i)) continue;
    const MachineLevel& level = machine_.levels[i];
    if (path.inner < 0) {
      path.inner = i;
      path.operand_pj = hand_pj(i);
      path.sum_pj = path.read_write ? level.read_pj * Share(level) * level.words[v] : 0;
    } else if (!path.read_write) {
      path.within_pj += hand_pj(i);
      path.within_pj += machine_.levels[outer].fill_pj * Share(machine_.levels[outer]) *
                        machine_.levels[outer].words[v];
    }
    outer = i;
  }
  for (int i = bottom_; i < top_; ++i) {
    if (keeps(i)) return false;
  }
  if (outer >= 0) {
    const MachineLevel& level = machine_.levels[outer];
    path.fill_pj = level.fill_pj * Share(level) * level.words[v];
    if (level.limited) {
      int64_t units = level.exact_entries;
      for (int other = 0; other < data_.problem.num_tensors; ++other) {
        const bool holds = (keep[static_cast<size_t>(outer)] >> other & 1) != 0;
        if (holds && other != v) units -= level.units(other);
      }
      path.room = std::max(0.0, static_cast<double>(units) / static_cast<double>(level.units(v)));
    }
  }
  int parent = top_;
  while (parent < machine_.num_levels && !keeps(parent)) ++parent;
  if (parent == machine_.num_levels) return false;
  const MachineLevel& from = machine_.levels[parent];
  path.send_pj = hand_pj(parent) + enter_pj(outer, parent);
  path.back_pj = path.read_write ? from.read_pj * Share(from) * from.words[v] : 0;
  for (int i = parent + 1, inside = parent; i < machine_.num_levels; ++i) {
    if (!keeps(i)) continue;
    const MachineLevel& level = machine_.levels[inside];
    path.outside_pj += hand_pj(i) + enter_pj(inside, i);
    if (!path.read_write) path.outside_pj += level.fill_pj * Share(level) * level.words[v];
    inside = i;
  }
  return true;
}

double ArrayBound::EnergyOf(const Spread& spread, const std::vector<Path>& paths) const {
  const double used = spread.used, operations = macs_ / used;
  const size_t count = paths.size();
  double energy = 0, alone[kMaxTensors] = {}, arrival[kMaxTensors] = {}, first[kMaxTensors] = {};
  for (size_t v = 0; v < count; ++v) {
    const Path& path = paths[v];
    const double groups = spread.groups[v], distinct = spread.distinct[v];
    energy += elements_[v] * path.outside_pj;
    if (path.inner < 0) {
      energy += groups * operations * (path.send_pj + path.back_pj) - elements_[v] * path.back_pj;
      continue;
    }
    energy += macs_ * path.operand_pj + used * distinct * path.within_pj +
              (macs_ - used * distinct) * path.sum_pj;
    // Of one word that arrives at all instances.
    arrival[v] = groups * (path.send_pj + path.back_pj) + used * path.fill_pj;
    if (path.read_write) first[v] = elements_[v] * path.back_pj + used * distinct * path.fill_pj;
    alone[v] = arrival[v] * distinct - first[v];
    energy += alone[v];
  }
  double more = 0;
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      if (!meets_[a][b] || paths[a].inner < 0 || paths[b].inner < 0) continue;
      const double room_a = paths[a].room, room_b = paths[b].room;
      if (room_a * room_b >= operations) continue;
      const auto cost = [&](double words_b) {
        const double words_a =
            std::max(spread.distinct[a], (operations - room_a * words_b) / room_b);
        return arrival[a] * words_a + arrival[b] * words_b;
      };
      const double least_b = spread.distinct[b];
      const double enough_b = (operations - room_b * spread.distinct[a]) / room_a;
      double least = cost(least_b);
      if (enough_b > least_b) least = std::min(least, cost(enough_b));
      more = std::max(more, least - first[a] - first[b] - alone[a] - alone[b]);
    }
  }
  return energy + more;
}

// Whether neighbours can hand on words: between a level with several children and the next one
// further in, where both hold the tensor.
bool ArrayBound::HasLinks(const std::vector<uint8_t>& keep) const {
  for (int v = 0; v < data_.problem.num_tensors && machine_.links; ++v) {
    if (data_.problem.tensors[static_cast<size_t>(v)].read_write) continue;
    for (int i = std::max(1, bottom_); i <= top_; ++i) {
      const auto k = static_cast<size_t>(i);
      const bool both = (keep[k] & keep[k - 1] & 1u << v) != 0;
      if (both && machine_.levels[i].fan_x * machine_.levels[i].fan_y > 1) return true;
    }
  }
  return false;
}

double ArrayBound::Energy(const std::vector<uint8_t>& keep) const {
  if (spreads_.empty() || HasLinks(keep)) return 0;
  std::vector<Path> paths(static_cast<size_t>(data_.problem.num_tensors));
  for (int v = 0; v < data_.problem.num_tensors; ++v) {
    if (!MakePath(v, keep, paths[static_cast<size_t>(v)])) return 0;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Spread& spread : spreads_) least = std::min(least, EnergyOf(spread, paths));
  // Doubles may round up; a bound must not.
  return (least + macs_ * machine_.mac_pj) * (1 - 1e-12);
}

}  // namespace tessera
