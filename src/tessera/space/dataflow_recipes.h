// Named dataflows as demands: what stays where, and which dimensions are parallel.
#ifndef TESSERA_SPACE_DATAFLOW_RECIPES_H_
#define TESSERA_SPACE_DATAFLOW_RECIPES_H_

#include <span>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

// For loops on a hierarchy. Unknown names are errors with a hint.
Result<std::vector<Constraints::Demand>> LoopDataflow(std::string_view name,
                                                      const LoopProblem& problem,
                                                      const Hierarchy& hierarchy);

// For directives on a PE array; `decisions` are those of the space. Errors also: dataflows that
// MAESTRO's two levels cannot express.
Result<std::vector<Constraints::Demand>> ArrayDataflow(std::string_view name,
                                                       std::span<const Decision> decisions);

}  // namespace tessera

#endif  // TESSERA_SPACE_DATAFLOW_RECIPES_H_
