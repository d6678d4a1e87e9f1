// Chains: what the order of the loops above a level adds to the bound of its frames;
// docs/optimality.md gives the reasons, in the same order.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/search/exact/bound.h"

namespace tessera::exact {
namespace {

// More chains than this are replaced by one that is at least as good as any of them.
constexpr size_t kMaxChains = 64;

// The first loop of a chain that stands for several.
constexpr int8_t kUnknown = -2;

}  // namespace

// Words that a child tile of `level` gets, at least, as a part of all tiles of all visits.
double Bounder::Ratio(std::span<const Frame> frames, int level, int v, const Chain& chain) {
  const TensorFacts& tensor = model_.tensors[v];
  const Frame& frame = frames[static_cast<size_t>(level)];
  const double least = frame.plain_visits[v] / frame.visits;
  if (level == 0) {
    if (model_.exact || frame.parallel == 0) return 1;
    return tensor.simple ? 1 / chain.idle_run[v] : least;
  }
  if (tensor.simple || (tensor.window & frame.loops_above) == 0) return 1 / chain.idle_run[v];
  const int dim = chain.first_dim;
  if (dim == kUnknown) return least;
  if (Has(tensor.plain, dim)) return 1;
  const bool idle = !Has(tensor.dims, dim);
  if (idle && model_.exact) {
    const double part = LeastNewPart(frames, level, v, chain.first_level, dim);
    return least + std::max(0.0, 1 / chain.idle_run[v] - least) * part;
  }
  if (idle) {
    if (MayMatch(frames, level, v, chain.first_level, dim)) return least;
    return 1 / chain.idle_run[v];
  }
  const Frame& first = frames[static_cast<size_t>(chain.first_level)];
  const double count = first.temporal[dim];
  const double part =
      NewPart(v, frame.extents, dim, static_cast<double>(first.extents[dim]) * first.spatial[dim]);
  if (model_.exact) {
    const double other = LeastNewPart(frames, level, v, chain.first_level, dim);
    return part * (1 - 1 / count) + least + std::max(0.0, 1 / count - least) * other;
  }
  if (MayMatch(frames, level, v, chain.first_level, dim)) return part + (1 - part) * least;
  return part + (1 - part) / count;
}

// Cycles of the level that takes longest for words of one instance.
double Bounder::BusiestCycles(const double* reads, const double* writes) const {
  double cycles = 0;
  for (int k = 0; k < model_.num_levels; ++k) {
    const LevelFacts& facts = model_.levels[k];
    cycles = std::max({cycles, CeilCycles(reads[k] / facts.read_bw),
                       CeilCycles(writes[k] / facts.write_bw),
                       CeilCycles((reads[k] + writes[k]) / facts.shared_bw)});
  }
  return cycles;
}

Bound Bounder::Extend(std::span<const Frame> frames, int level, const Chain& chain, int dim,
                      Chain& out) {
  const Frame& frame = frames[static_cast<size_t>(level)];
  out = chain;
  out.dims[level] = static_cast<int8_t>(dim);
  if (dim >= 0) {
    out.first_dim = static_cast<int8_t>(dim);
    out.first_level = static_cast<int8_t>(level);
    for (int v = 0; v < model_.num_tensors; ++v) {
      out.idle_run[v] = 1;
      if (Has(model_.tensors[v].dims, dim)) continue;
      out.idle_run[v] = frame.idle[v] * (frame.all_idle[v] ? chain.idle_run[v] : 1);
    }
  }
  double later = frame.later_fixed_pj;
  // Of pairs that inner levels close: what their parents have to hand out in any case.
  double open_reads[kMaxLevels] = {}, open_writes[kMaxLevels] = {};
  for (int v = 0; v < model_.num_tensors; ++v) {
    const TensorFacts& tensor = model_.tensors[v];
    if (!frame.closes[v]) {
      double words = frame.open_words[v];
      if (frame.later_pj[v] > 0) {
        words = frame.words[v] / out.idle_run[v];
        later += words * frame.later_pj[v];
      }
      const int parent = model_.parent[level][v];
      const double requests = words * frame.groups[v] - (model_.exact ? 0 : kRounded);
      if (requests > 0 && !model_.linked_level) {
        (tensor.read_write ? open_writes : open_reads)[parent] += requests;
      }
      continue;
    }
    const double words = frame.words[v] * Ratio(frames, level, v, out);
    out.closed_pj += words * frame.close_pj[v];
    later += words * frame.later_pj[v];

    const int parent = model_.parent[level][v], child = level - 1;
    const Frame& holder = frames[static_cast<size_t>(parent)];
    const bool rounded = !model_.exact && (!tensor.simple || parent > level);
    double requests = words * frame.groups[v] - (rounded ? kRounded : 0);
    if (model_.linked_level && !tensor.read_write && parent == level && level > 0) requests = 0;
    if (!tensor.read_write) {
      out.reads[parent] += requests;
    } else {
      out.writes[parent] += requests;
      const double first = tensor.elements * holder.copies_here[v] / holder.used;
      if (tensor.simple) out.reads[parent] += std::max(0.0, requests - first);
    }
    if (child < 0) continue;
    if (!tensor.read_write) {
      out.writes[child] += words * frame.fill_part[v] - (rounded ? kCut : 0);
    } else if (tensor.simple) {
      out.writes[child] += words - tensor.elements * frame.copies[v] / frame.used_below;
    }
  }
  const double known = BusiestCycles(out.reads, out.writes);
  out.cycles = std::max({frame.cycles, chain.cycles, known});
  for (int k = 0; k < model_.num_levels; ++k) {
    open_reads[k] += out.reads[k];
    open_writes[k] += out.writes[k];
  }
  const double cycles = std::max(out.cycles, BusiestCycles(open_reads, open_writes));
  return {.energy_pj = out.closed_pj + frame.fixed_pj + later,
          .cycles = cycles + model_.latency_cycles};
}

ChainSummary Bounder::Summarize(std::span<const Chain> chains) const {
  ChainSummary summary{.closed_pj = kInfinity, .cycles = kInfinity};
  for (const Chain& chain : chains) {
    summary.closed_pj = std::min(summary.closed_pj, chain.closed_pj);
    summary.cycles = std::min(summary.cycles, chain.cycles);
    for (int v = 0; v < model_.num_tensors; ++v) {
      summary.idle_run[v] = std::max(summary.idle_run[v], chain.idle_run[v]);
    }
  }
  return summary;
}

// As Ratio, or less, if `dim` is the innermost loop of the level.
double Bounder::QuickRatio(std::span<const Frame> frames, int level, int v, int dim,
                           const ChainSummary& chains) {
  const TensorFacts& tensor = model_.tensors[v];
  const Frame& frame = frames[static_cast<size_t>(level)];
  if (level == 0 && (model_.exact || frame.parallel == 0)) return 1;
  const bool idle = !Has(tensor.dims, dim);
  const bool slides = !tensor.simple && (level == 0 || (tensor.window & frame.loops_above) != 0);
  if (!slides && !idle) return 1;
  if (slides && Has(tensor.plain, dim))
    return level == 0 ? frame.plain_visits[v] / frame.visits : 1;
  bool alone = !model_.exact && level > 0 && !tensor.shares;  // no rank is moved by two loops
  if (slides) {
    for (int r = 0; r < tensor.num_ranks && alone; ++r) {
      const RankTerms& rank = tensor.ranks[r];
      int loops = 0;
      for (int k = 0; k < rank.num_terms; ++k)
        loops += Has(frame.loops_above, rank.dims[k]) ? 1 : 0;
      alone = rank.num_terms == 1 || loops <= 1;
    }
    // The same dimension further out may move by as much, too.
    if (!idle) alone = alone && !Has(frames[static_cast<size_t>(level) + 1].loops_above, dim);
  }
  if (idle && (!slides || alone)) {
    return 1 / (frame.idle[v] * (frame.all_idle[v] ? chains.idle_run[v] : 1));
  }
  const double least = frame.plain_visits[v] / frame.visits;
  if (idle || level == 0) return least;
  const double count = frame.temporal[dim];
  const double part =
      NewPart(v, frame.extents, dim, static_cast<double>(frame.extents[dim]) * frame.spatial[dim]);
  if (model_.exact) return std::min(1.0, part * (1 - 1 / count) + least);
  return part + (1 - part) * (alone ? 1 / count : least);
}

double Bounder::QuickLeast(std::span<const Frame> frames, int level, const ChainSummary& chains,
                           Goal goal) {
  const Frame& frame = frames[static_cast<size_t>(level)];
  Bound bound{.energy_pj = 0, .cycles = std::max(frame.cycles, chains.cycles)};
  bound.cycles += model_.latency_cycles;
  if (goal == Goal::kCycles || bound.cycles > max_cycles_) return ValueOf(bound, goal);
  double least = kInfinity;
  for (uint32_t rest = frame.loops; rest != 0; rest &= rest - 1) {
    const int dim = std::countr_zero(rest);
    double energy = 0;
    for (int v = 0; v < model_.num_tensors; ++v) {
      const double pj = frame.close_pj[v] + frame.later_pj[v];
      if (pj == 0) continue;
      const double ratio = frame.closes[v] ? QuickRatio(frames, level, v, dim, chains)
                           : Has(model_.tensors[v].dims, dim)
                               ? 1
                               : 1 / (frame.idle[v] * (frame.all_idle[v] ? chains.idle_run[v] : 1));
      energy += frame.words[v] * ratio * pj;
    }
    least = std::min(least, energy);
  }
  if (frame.loops == 0) least = 0;  // The innermost loop is one of an outer level.
  bound.energy_pj = chains.closed_pj + frame.fixed_pj + frame.later_fixed_pj + least;
  return ValueOf(bound, goal);
}

double Bounder::Least(std::span<const Frame> frames, int level, std::span<const Chain> chains,
                      Goal goal, double limit, std::vector<Chain>& extended) {
  const Frame& frame = frames[static_cast<size_t>(level)];
  double least = kInfinity;
  extended.clear();
  Chain out;
  const auto extend = [&](const Chain& chain, int dim) {
    const double value = ValueOf(Extend(frames, level, chain, dim, out), goal);
    least = std::min(least, value);
    if (value < limit) extended.push_back(out);
  };
  for (const Chain& chain : chains) {
    if (frame.loops == 0) {
      extend(chain, -1);
    } else if (!OrderMatters(frame)) {
      extend(chain, std::countr_zero(frame.loops));
    } else {
      for (uint32_t rest = frame.loops; rest != 0; rest &= rest - 1) {
        extend(chain, std::countr_zero(rest));
      }
    }
  }
  if (extended.size() <= kMaxChains) return least;
  Chain& all = extended.front();
  for (const Chain& chain : extended) {
    all.closed_pj = std::min(all.closed_pj, chain.closed_pj);
    all.cycles = std::min(all.cycles, chain.cycles);
    for (int v = 0; v < model_.num_tensors; ++v) {
      all.idle_run[v] = std::max(all.idle_run[v], chain.idle_run[v]);
    }
    for (int k = 0; k < model_.num_levels; ++k) {
      all.reads[k] = std::min(all.reads[k], chain.reads[k]);
      all.writes[k] = std::min(all.writes[k], chain.writes[k]);
    }
  }
  all.first_dim = kUnknown;
  extended.resize(1);
  return least;
}

bool Bounder::PlacementMatters(const Frame& frame) const {
  if (frame.parallel == 0) return false;
  if (model_.levels[frame.level].placement_matters || model_.linked_level) return true;
  for (int v = 0; v < model_.num_tensors; ++v) {
    if (frame.link_risk[v]) return true;
  }
  return false;
}

bool Bounder::OrderRisk(std::span<const Frame> frames, const Chain& chain) const {
  if (model_.linked_level || !model_.disjoint || window_outputs_) return true;
  int first_level = -1;  // of the loops at and above a level
  for (int i = model_.num_levels - 1; i >= 0; --i) {
    const Frame& frame = frames[static_cast<size_t>(i)];
    if (frame.loops != 0) first_level = i;
    const loopnest::MachineLevel& machine = model_.setup->machine.levels[i];
    for (int v = 0; v < model_.num_tensors; ++v) {
      const TensorFacts& tensor = model_.tensors[v];
      const int above = model_.parent[i][v];
      if (frame.link_risk[v]) return true;
      const bool bypassed = i > 0 && !model_.Keeps(i - 1, v);
      if (frame.parallel != 0 && machine.router_pj != 0) {
        // Routers per word are rounded down, so fewer words can pass more of them.
        if (tensor.read_write && (!machine.reduces || !model_.levels[above].reduces)) return true;
        if (bypassed && !model_.exact) return true;
      }
      if (i == 0 || tensor.simple || (tensor.window & frame.loops_above) == 0) continue;
      if (bypassed && (model_.exact || frame.parallel == 0 || machine.hop_pj == 0)) continue;
      const int dim = chain.dims[first_level];
      if (Has(tensor.plain, dim)) continue;
      if (model_.exact || bypassed || MayMatch(frames, i, v, first_level, dim)) return true;
    }
  }
  return false;
}

}  // namespace tessera::exact
