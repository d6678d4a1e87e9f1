// A memory hierarchy as plain numbers: what evaluating a mapping needs of it, converted once.
#ifndef TESSERA_COST_LOOPNEST_MACHINE_H_
#define TESSERA_COST_LOOPNEST_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/mapping/widths.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera::loopnest {

// Words per cycle, both as Timeloop takes it (a double) and exactly.
struct Bandwidth {
  bool limited = false;
  double value = 0;
  Decimal exact = 1;
};

// Cycles in which so many units pass, of which a word has `word_units`.
inline int64_t CyclesAt(const Bandwidth& rate, int64_t word_units, int64_t units) {
  const int64_t cycles = rate.exact.CeilQuotient(units);
  return word_units == 1 ? cycles : cycles / word_units + (cycles % word_units != 0 ? 1 : 0);
}

struct MachineLevel {
  bool limited = false;       // whether the capacity is
  int64_t entries = 0;        // usable words, as a double division gives them
  int64_t exact_entries = 0;  // usable units, in exact arithmetic
  Decimal buffers = 1;        // multiple buffering
  int64_t block_words = 1;    // per vector access
  int64_t clusters = 1;       // floor(instances / cluster size)
  int64_t instances = 1;
  int64_t mesh_x = 1, mesh_y = 1;  // of the level
  int64_t fan_x = 1, fan_y = 1;    // children of one instance
  Bandwidth read, write, shared;
  double read_pj = 0, fill_pj = 0, update_pj = 0, address_pj = 0;
  bool reduces = true;                               // adds partial sums in place
  double hop_pj = 0, router_pj = 0, ingress_pj = 0;  // of the network below

  // What an element of each tensor takes here, in units and in words. Where all have one word, both
  // are 1, and nothing that is multiplied with them changes.
  LevelWidths widths = {};
  double words[LoopProblem::kMaxTensors] = {1, 1, 1, 1, 1, 1};
  int64_t units(int v) const { return widths.units[static_cast<size_t>(v)]; }
};

struct Machine {
  static constexpr int kMaxLevels = static_cast<int>(LoopMapping::kMaxLevels);

  int num_levels = 0;
  MachineLevel levels[kMaxLevels];
  int64_t mac_instances = 1, mac_mesh_x = 1, mac_mesh_y = 1;
  double mac_pj = 0;
  double leakage_pj = 0;       // of all parts, per cycle
  int64_t latency_cycles = 0;  // filling and draining all networks
  bool links = false;
  bool plain = true;                   // an element of every tensor is a word everywhere
  int network_order[kMaxLevels] = {};  // levels, sorted by the names of the networks below them

  // By tensor: its outermost holder. Where that is not the outermost level, the tensor is there
  // before the layer begins, whole, and `exact_entries` are what it leaves (docs/graphs.md).
  int homes[LoopProblem::kMaxTensors] = {};
  bool Resident(int level, int v) const { return homes[v] == level && level + 1 < num_levels; }

  // For reports, not for evaluation.
  std::string mac_name = {};
  std::vector<std::string> level_names = {};
  std::vector<std::string> network_names = {};  // "DRAM <==> L1", by level
};

// A machine for a problem, which may have widths of its own. Needs a valid hierarchy; leakage per
// cycle is at this clock. Errors: more levels than a mapping can have, and widths under the
// semantics of Timeloop, which does not know them.
Result<Machine> MakeMachine(const Hierarchy& hierarchy, const LoopProblem& problem,
                            Semantics semantics, double clock_ghz = 1);

// Whether the cycles of every mapping fit into 64 bits: a level moves at most a few words per MAC,
// so only bandwidths next to nothing can be in the way.
Result<void> CheckCycles(const Machine& machine, const LoopProblem& problem);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_MACHINE_H_
