// An evaluated loop mapping, and lower bounds, as `tessera evaluate` and `tessera bound` show them.
#ifndef TESSERA_REPORT_LOOPNEST_REPORT_H_
#define TESSERA_REPORT_LOOPNEST_REPORT_H_

#include <string>
#include <vector>

#include "tessera/cost.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/mapping.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"

namespace tessera {

// An accepted evaluation.
struct LoopnestReport {
  const std::string& layer;
  const std::string& accelerator;
  const loopnest::Setup& setup;
  const LoopMapping& mapping;
  const loopnest::Workspace& workspace;
  const LoopBounds& bounds;  // with the keep sets of the mapping
};

// The loop nest with the words that each level holds.
std::string NestText(const LoopnestReport& report);

// Words over all instances and the whole run, one row per level and tensor that it holds.
Table TensorTable(const LoopnestReport& report);

// One row per level: room, cycles, energy.
Table LevelTable(const LoopnestReport& report);

// One row per network and tensor with words.
Table NetworkTable(const LoopnestReport& report);

// Cycles, energy and their product, each beside its bound.
std::string Summary(const LoopnestReport& report);

// {"model", "semantics", "layer", "problem", "accelerator", "nest", "result", "bound", "gap"};
// `result` is in the format of batch rows.
Json ToJson(const LoopnestReport& report);

// The bounds of one layer.
struct BoundReport {
  std::string layer = {};
  int64_t count = 1;  // occurrences in the network
  LoopProblem problem = {};
  LoopBounds bounds = {};
};

// Bounds of all layers together. An error if the cycles exceed 64 bits.
Result<int64_t> TotalCycles(const std::vector<BoundReport>& layers);

// One row per layer, and one row per level and layer.
Table BoundTable(const std::vector<BoundReport>& layers);
Table BoundLevelTable(const std::vector<BoundReport>& layers);

// {"cycles", "cycles_from", "compute_cycles", "energy_pj", "edp_pj_cycles", "levels": [...]}.
Json ToJson(const LoopBounds& bounds, const LoopProblem& problem);

}  // namespace tessera

#endif  // TESSERA_REPORT_LOOPNEST_REPORT_H_
