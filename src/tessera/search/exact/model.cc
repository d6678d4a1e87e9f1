// Preparation of the numbers.
#include "tessera/search/exact/model.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tessera/base/divisors.h"
#include "tessera/result.h"

namespace tessera::exact {
namespace {

using loopnest::MachineLevel;
using loopnest::Semantics;

TensorFacts MakeTensor(const Model& model, const LoopTensor& tensor, bool shares) {
  TensorFacts facts{.read_write = tensor.read_write, .num_ranks = tensor.num_ranks};
  uint32_t alone = 0;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const TensorRank& rank = tensor.ranks[static_cast<size_t>(r)];
    RankTerms& terms = facts.ranks[r];
    double extent = 1;
    for (const RankTerm& term : rank.view()) {
      facts.dims |= 1u << term.dimension;
      // What has one iteration moves nothing: the input of a 1x1 kernel is no window.
      if (model.bounds[term.dimension] == 1) continue;
      const int k = terms.num_terms++;
      terms.dims[k] = term.dimension;
      terms.coefficients[k] = static_cast<double>(term.coefficient);
      extent += terms.coefficients[k] * (model.bounds[term.dimension] - 1);
    }
    if (terms.num_terms == 1) alone |= 1u << terms.dims[0];
    // A box with holes does not grow in proportion to its dimension.
    const bool holes = !model.exact && terms.coefficients[0] > 1;
    if (terms.num_terms > 1 || holes) facts.simple = false;
    facts.elements *= model.exact && terms.num_terms == 1 ? model.bounds[terms.dims[0]] : extent;
  }
  facts.shares = shares;
  if (shares) facts.simple = false;
  facts.plain = alone;
  facts.window = facts.dims & ~facts.plain;
  for (int d = 0; d < model.num_dims; ++d) {
    if (model.bounds[d] == 1) facts.window &= ~(1u << d);
  }
  return facts;
}

ElementFacts MakeElement(const MachineLevel& level, int v) {
  const double words = level.words[v], block = static_cast<double>(level.block_words);
  return {.read_pj = words * level.read_pj / block + level.address_pj,
          .fill_pj = words * level.fill_pj / block + level.address_pj,
          .update_pj = words * level.update_pj / block + level.address_pj,
          .read_rw_pj = words * level.read_pj / block,
          .enter_pj = words * (level.router_pj + level.ingress_pj),
          .hop_pj = words * level.hop_pj,
          .router_pj = words * level.router_pj,
          .units = static_cast<double>(level.units(v))};
}

LevelFacts MakeLevel(const MachineLevel& level, bool exact, int num_tensors) {
  LevelFacts facts{.clusters = static_cast<double>(level.clusters),
                   .least_share = std::min(1.0, static_cast<double>(level.clusters) /
                                                    static_cast<double>(level.instances)),
                   .fan_x = level.fan_x,
                   .fan_y = level.fan_y,
                   .fan = static_cast<double>(level.fan_x * level.fan_y),
                   .limited = level.limited,
                   .entries = exact ? level.exact_entries : level.entries,
                   .reduces = level.reduces,
                   .placement_matters = level.hop_pj != 0 || level.router_pj != 0};
  const auto word_units = static_cast<double>(level.widths.word_units);
  if (level.read.limited) facts.read_bw = level.read.value * word_units;
  if (level.write.limited) facts.write_bw = level.write.value * word_units;
  if (level.shared.limited) facts.shared_bw = level.shared.value * word_units;
  for (int v = 0; v < num_tensors; ++v) facts.of[v] = MakeElement(level, v);
  return facts;
}

void SetKeeps(const std::vector<uint8_t>& keep, Model& model) {
  for (int i = 0; i < model.num_levels; ++i) model.keep[i] = keep[static_cast<size_t>(i)];
  for (int v = 0; v < model.num_tensors; ++v) {
    model.home[v] = model.setup->machine.homes[v];
    TESSERA_CHECK(model.Keeps(model.home[v], v));
    int next = -1;
    for (int i = 0; i < model.num_levels; ++i) {
      if (model.Keeps(i, v)) next = i;
      model.next_kept[i][v] = next;
    }
    int parent = model.home[v];
    for (int i = model.num_levels - 1; i >= 0; --i) {
      if (model.Keeps(i, v)) parent = i;
      model.parent[i][v] = parent;
    }
  }
}

// Whether some level and the next one outside it, which has several children, hold a tensor that
// neighbours can hand on. B4.
bool HasLinks(const Model& model) {
  for (int i = 1; i < model.num_levels; ++i) {
    for (int v = 0; v < model.num_tensors; ++v) {
      const bool both = model.Keeps(i, v) && model.Keeps(i - 1, v);
      if (both && model.levels[i].fan > 1 && !model.tensors[v].read_write) return true;
    }
  }
  return false;
}

// Whether mappings stay mappings, and cost the same, if two dimensions change places. R7.
bool AreTwins(const Model& model, int a, int b) {
  if (model.bounds[a] != model.bounds[b] || model.bounds[a] == 1) return false;
  for (int v = 0; v < model.num_tensors; ++v) {
    const TensorFacts& tensor = model.tensors[v];
    if (tensor.shares || !tensor.simple) return false;
    double moves[2] = {0, 0};
    for (int r = 0; r < tensor.num_ranks; ++r) {
      const RankTerms& rank = tensor.ranks[r];
      for (int k = 0; k < rank.num_terms; ++k) {
        if (rank.dims[k] == a) moves[0] = rank.coefficients[k];
        if (rank.dims[k] == b) moves[1] = rank.coefficients[k];
      }
    }
    if (moves[0] != moves[1]) return false;
  }
  return true;
}

void SetTwins(Model& model) {
  std::fill_n(model.twin, kMaxDims, -1);
  if (!model.any || !model.exact || model.linked_level) return;
  for (int b = 1; b < model.num_dims; ++b) {
    for (int a = 0; a < b; ++a) {
      if (AreTwins(model, a, b)) model.twin[b] = a;
    }
  }
}

// Loops that could as well lie further out. B13.
void SetOutward(Model& model) {
  const uint32_t all = (1u << model.num_dims) - 1;
  model.labels = all;
  for (int v = 0; v < model.num_tensors; ++v) {
    const TensorFacts& tensor = model.tensors[v];
    model.labels &= ~(tensor.shares ? tensor.dims : tensor.window);
  }
  if (!model.exact || !model.restrictions->none || model.any) return;
  for (int i = 0; i + 1 < model.num_levels; ++i) {
    model.outward[i] = all;
    for (int v = 0; v < model.num_tensors; ++v) {
      if (model.Keeps(i, v)) model.outward[i] &= ~model.tensors[v].dims;
    }
  }
}

// Levels whose loops can join those outside, and levels that need none. B17.
void SetJoins(Model& model) {
  for (int i = 0; i < model.num_levels; ++i) {
    model.room_level[i] = -1;
    model.room_iterations[i] = kInfinity;
  }
  if (!model.exact || !model.restrictions->none || model.any || model.linked_level) return;
  bool simple = true, window_outputs = false;
  for (int v = 0; v < model.num_tensors; ++v) {
    simple = simple && model.tensors[v].simple;
    window_outputs |= model.tensors[v].read_write && !model.tensors[v].simple;
  }
  if (!window_outputs) model.joins |= 1;
  bool at_home = true, shares = false;
  for (int v = 0; v < model.num_tensors; ++v) {
    at_home = at_home && model.home[v] + 1 == model.num_levels;
    shares |= model.tensors[v].shares;
  }
  model.grows = simple && at_home;
  model.grows_in_order = !simple && !window_outputs && !shares && at_home;
  if (!simple) return;
  uint32_t held_inside = 0;
  for (int i = 0; i + 1 < model.num_levels; ++i) {
    for (int innermost = 0; innermost < model.num_dims; ++innermost) {
      uint32_t others = ~model.outward[i];
      for (int v = 0; v < model.num_tensors; ++v) {
        const bool stays = (model.tensors[v].dims >> innermost & 1) == 0;
        if (stays && (held_inside >> v & 1) != 0) others &= ~model.tensors[v].dims;
      }
      model.growing[i][innermost] = others | (~model.outward[i] & 1u << innermost);
    }
    held_inside |= model.keep[i];
  }
  for (int i = 0; i + 1 < model.num_levels; ++i) {
    model.joins |= 1u << i;
    if (model.keep[i] != 0) continue;
    model.still |= 1u << i;
    if (std::popcount(model.still) == i + 1) model.room_iterations[i] = model.fan_below[i + 1];
    const int inside = i - 1;
    if (inside < 0) continue;
    const bool passes = (model.still >> inside & 1) != 0;
    const LevelFacts& level = model.levels[inside];
    model.room_level[i] = passes ? model.room_level[inside] : level.limited ? inside : -1;
    model.room_units[i] = model.levels[i].fan *
                          (passes ? model.room_units[inside] : static_cast<double>(level.entries));
  }
}

// Words that reach level c reach every level further in as well, and each of them is read above:
// no level inside can have held what was not in the tile of c. B6. Sums of windows, and what links
// could save, are left out, and windows under Timeloop's rules.
void SetInnerCosts(Model& model) {
  for (int v = 0; v < model.num_tensors; ++v) {
    const TensorFacts& tensor = model.tensors[v];
    if (!PassesAsTile(model, v)) continue;
    double pj = 0, elided = 0, slack = 0;
    for (int c = 0; c < model.num_levels; ++c) {
      // The pair of c and the level below it.
      if (model.Keeps(c, v)) {
        const int child = c == 0 ? -1 : model.next_kept[c - 1][v];
        const LevelFacts& level = model.levels[c];
        const bool reads_pass = !(model.linked_level && !tensor.read_write);
        if (child >= 0 || model.mac_links) {
          if (tensor.read_write) {
            pj += level.least_share * (level.of[v].update_pj + level.of[v].read_rw_pj);
            elided += level.least_share * level.of[v].read_rw_pj;
          } else if (reads_pass) {
            pj += level.least_share * level.of[v].read_pj;
          }
        }
        if (child >= 0) {
          const LevelFacts& below = model.levels[child];
          pj += below.least_share * below.of[v].fill_pj;
          if (tensor.read_write) elided += below.least_share * below.of[v].fill_pj;
          if (!model.exact && !tensor.read_write && child < c - 1) {
            slack += below.clusters * below.of[v].fill_pj;
          }
        }
      }
      model.inner_pj[c][v] = pj;
      model.inner_elided_pj[c][v] = elided;
      model.inner_slack_pj[c][v] = slack;
    }
  }
}

// What each level has room for, and what comes to it costs. B19.
void SetRoom(Model& model) {
  model.refills = model.exact && !model.linked_level && !model.any;
  for (int n = 0; n < model.num_levels; ++n) {
    const LevelFacts& level = model.levels[n];
    for (int v = 0; v < model.num_tensors; ++v) {
      if (!model.Keeps(n, v)) continue;
      double units = static_cast<double>(level.entries);
      // Every other tensor there needs room for a word.
      for (int other = 0; other < model.num_tensors; ++other) {
        const bool takes = model.Keeps(n, other) && !model.setup->machine.Resident(n, other);
        if (takes && other != v) units -= level.of[other].units;
      }
      const bool bounded = level.limited && !model.setup->machine.Resident(n, v);
      model.most_words[n][v] = bounded ? std::max(0.0, units / level.of[v].units) : kInfinity;
      model.arrival_pj[n][v] = level.least_share * level.of[v].fill_pj;
      if (n == model.home[v]) continue;
      const LevelFacts& outside = model.levels[model.parent[n + 1][v]];
      const ElementFacts& read = outside.of[v];
      model.arrival_pj[n][v] +=
          outside.least_share *
          (model.tensors[v].read_write ? read.update_pj + read.read_rw_pj : read.read_pj);
    }
  }
}

}  // namespace

DivisorTable MakeDivisors(int64_t bound) {
  DivisorTable table;
  for (const int64_t d : Divisors(bound)) table.values.push_back(static_cast<int32_t>(d));
  const size_t n = table.values.size();
  int64_t rest = bound;
  table.largest_prime.assign(n, 1);
  // In ascending order, the first that divides what is left is prime.
  for (size_t k = 1; k < n; ++k) {
    const int64_t p = table.values[k];
    if (rest % p != 0) continue;
    while (rest % p == 0) rest /= p;
    for (size_t a = k; a < n; ++a) {
      if (table.values[a] % p == 0) table.largest_prime[a] = static_cast<int32_t>(p);
    }
  }
  table.parts.resize(n);
  table.quotients.assign(n, std::vector<int16_t>(n, -1));
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b <= a; ++b) {
      if (table.values[a] % table.values[b] != 0) continue;
      table.parts[a].push_back(static_cast<int16_t>(b));
      const int32_t quotient = table.values[a] / table.values[b];
      table.quotients[a][b] = static_cast<int16_t>(
          std::ranges::lower_bound(table.values, quotient) - table.values.begin());
    }
  }
  return table;
}

namespace {

// All numbers up to a bound, and the divisors of each.
DivisorTable MakeNumbers(int64_t bound) {
  DivisorTable table;
  const auto n = static_cast<size_t>(bound);
  table.values.resize(n);
  table.parts.resize(n);
  for (size_t b = 0; b < n; ++b) {
    table.values[b] = static_cast<int32_t>(b + 1);
    for (size_t a = b; a < n; a += b + 1) table.parts[a].push_back(static_cast<int16_t>(b));
  }
  return table;
}

}  // namespace

Model MakeModel(const loopnest::Setup& setup, const Restrictions& restrictions,
                const std::vector<uint8_t>& keep, bool any) {
  const LoopProblem& problem = setup.data.problem;
  Model model;
  model.setup = &setup;
  model.restrictions = &restrictions;
  model.exact = setup.semantics == Semantics::kExact;
  model.any = any;
  model.num_levels = setup.machine.num_levels;
  model.num_dims = problem.num_dimensions;
  model.num_tensors = problem.num_tensors;
  model.macs = static_cast<double>(Macs(problem));
  model.latency_cycles = static_cast<double>(setup.machine.latency_cycles);
  model.leakage_pj = setup.machine.leakage_pj;
  for (int d = 0; d < model.num_dims; ++d) {
    const int64_t bound = problem.dimensions[static_cast<size_t>(d)].bound;
    model.bounds[d] = static_cast<int32_t>(bound);
    model.divisors[d] = any ? MakeNumbers(bound) : MakeDivisors(bound);
    // Each loop has at least two iterations.
    const int halvings = static_cast<int>(std::bit_width(static_cast<uint64_t>(bound))) - 1;
    model.most_loops += std::min(model.num_levels, halvings);
  }
  uint32_t once = 0, twice = 0;
  for (int v = 0; v < model.num_tensors; ++v) {
    model.tensors[v] =
        MakeTensor(model, problem.tensors[static_cast<size_t>(v)], setup.data.tensors[v].shares);
    const uint32_t irrelevant = ((1u << model.num_dims) - 1) & ~model.tensors[v].dims;
    twice |= once & irrelevant;
    once |= irrelevant;
  }
  model.disjoint = twice == 0;
  model.fan_below[0] = 1;
  for (int i = 0; i < model.num_levels; ++i) {
    model.levels[i] = MakeLevel(setup.machine.levels[i], model.exact, model.num_tensors);
    model.fan_below[i + 1] = model.fan_below[i] * model.levels[i].fan;
  }
  model.mac_links = !model.exact && model.levels[0].fan > 1;
  SetKeeps(keep, model);
  model.linked_level = model.exact && setup.machine.links && HasLinks(model);
  for (int v = 0; v < model.num_tensors; ++v) {
    int innermost = 0;
    while (!model.Keeps(innermost, v)) ++innermost;
    const bool shared = !model.mac_links && model.fan_below[innermost + 1] > 1;
    model.operands_from[v] = shared ? innermost : -1;
  }
  SetTwins(model);
  SetOutward(model);
  SetJoins(model);
  SetInnerCosts(model);
  SetRoom(model);
  return model;
}

double TileWords(const Model& model, int v, const int32_t* extents,
                 loopnest::TouchedScratch& scratch) {
  const TensorFacts& tensor = model.tensors[v];
  double words = 1;
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const RankTerms& rank = tensor.ranks[r];
    if (rank.num_terms == 0) continue;
    if (rank.num_terms == 1 && (model.exact || rank.coefficients[0] == 1)) {
      words *= extents[rank.dims[0]];
    } else if (model.exact) {
      const loopnest::RankShape& shape = model.setup->data.tensors[v].ranks[r];
      loopnest::TouchedBox box;
      for (int k = 0; k < shape.num_terms; ++k) box.widths[k] = extents[shape.dims[k]];
      words *= static_cast<double>(CountTouched(shape, box, scratch));
    } else {
      double extent = 1;
      for (int k = 0; k < rank.num_terms; ++k) {
        extent += rank.coefficients[k] * (extents[rank.dims[k]] - 1);
      }
      words *= extent;
    }
  }
  return words;
}

const loopnest::Workspace& EvaluateOnThread(const loopnest::Setup& setup,
                                            const LoopMapping& mapping) {
  thread_local loopnest::Workspace workspace;
  thread_local std::array<int64_t, 2> room = {};  // children that it has room for, by semantics
  int64_t& children = room[setup.semantics == loopnest::Semantics::kExact ? 0 : 1];
  if (children < setup.machine.mac_instances) {
    Reserve(setup, workspace);
    children = setup.machine.mac_instances;
  }
  loopnest::Evaluate(setup, mapping, workspace);
  return workspace;
}

}  // namespace tessera::exact
