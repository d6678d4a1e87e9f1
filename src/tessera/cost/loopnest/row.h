// Evaluations as rows of text, one JSON object each: a problem, a machine and a mapping. This is
// the format of the golden files of `loopnest` and of `tessera evaluate --batch`.
#ifndef TESSERA_COST_LOOPNEST_ROW_H_
#define TESSERA_COST_LOOPNEST_ROW_H_

#include <string>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera::loopnest {

struct Row {
  std::string id = {};
  LoopProblem problem = {};                     // valid
  Accelerator machine = {};                     // valid, with a hierarchy
  LoopMapping mapping = {};                     // valid for the problem
  Semantics semantics = Semantics::kTimeloop3;  // kTimeloop4 if the row says rule: "v4"
  bool extrapolate = true;                      // of the Timeloop semantics
};

// Reads a row; other keys at its top, such as `result`, are left alone.
Result<Row> ReadRow(const Node& node);

// The mapping of a row alone, for a problem and a machine that are at hand.
Result<LoopMapping> ReadLoopMapping(const Node& node, const LoopProblem& problem,
                                    const Hierarchy& hierarchy);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_ROW_H_
