// Lower bounds on what any mapping of a problem onto a hierarchy can cost under model `loopnest`,
// without search. docs/bounds.md derives them and lists their assumptions.
#ifndef TESSERA_COST_BOUNDS_H_
#define TESSERA_COST_BOUNDS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/cost/loopnest/semantics.h"
#include "tessera/mapping/loop_mapping.h"
#include "tessera/mapping/loop_problem.h"

namespace tessera {

// What the bounds take as given.
struct BoundOptions {
  loopnest::Semantics semantics = loopnest::Semantics::kExact;  // Default: kExact.

  // Which tensors each level holds, bit by bit, levels[0] first, as LoopLevel::keep. Empty: any
  // mapping may choose, which gives weaker bounds. Default: empty.
  std::vector<uint8_t> keep = {};
};

// Words of one tensor at one level, over all instances and the whole run.
struct TrafficBound {
  int64_t reads = 0, fills = 0, updates = 0;
};

struct LevelBound {
  std::string name = {};
  std::array<TrafficBound, LoopProblem::kMaxTensors> tensors = {};
  // Reads and updates of all tensors together: at least the sum of the above, more where the
  // memory below is too small to hold what is used again.
  int64_t words = 0;
  int64_t cycles = 0;  // that the level's bandwidth asks for; 0: no limit
  double energy_pj = 0;
  double network_pj = 0;  // of the network below
};

struct LoopBounds {
  int64_t compute_cycles = 0;  // with the best fill of the array
  int64_t cycles = 0;
  std::string cycles_from = {};  // what decides: "compute" or a level's name
  double energy_pj = 0;
  double edp() const { return energy_pj * static_cast<double>(cycles); }
  std::vector<LevelBound> levels = {};  // next to the MACs first
};

// Needs a valid problem and a valid hierarchy. Errors: as model `loopnest`, and keep sets that do
// not suit the hierarchy.
Result<LoopBounds> LowerBounds(const LoopProblem& problem, const Hierarchy& hierarchy,
                               const BoundOptions& options = {});

// The keep sets of a mapping, or those that a hierarchy names; empty if it names none.
std::vector<uint8_t> KeepSets(const LoopMapping& mapping);
std::vector<uint8_t> KeepSets(const LoopProblem& problem, const Hierarchy& hierarchy);

// Fewest cycles in which the MACs can do all operations: over the ways to spread the dimensions
// over `columns` x `rows` MACs, the least product of what is left to do in turn. `perfect`: only
// factors that divide.
int64_t FewestComputeCycles(const LoopProblem& problem, int64_t columns, int64_t rows,
                            bool perfect);

}  // namespace tessera

#endif  // TESSERA_COST_BOUNDS_H_
