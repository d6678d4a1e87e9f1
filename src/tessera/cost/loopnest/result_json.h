// Results in the format of the golden rows, for `tessera evaluate --batch` and for tests.
#ifndef TESSERA_COST_LOOPNEST_RESULT_JSON_H_
#define TESSERA_COST_LOOPNEST_RESULT_JSON_H_

#include <nlohmann/json_fwd.hpp>

#include "tessera/cost/loopnest/evaluation.h"

namespace tessera::loopnest {

// The result that an evaluation of `mapping` left in the workspace.
nlohmann::ordered_json ToJson(const Setup& setup, const LoopMapping& mapping,
                              const Workspace& workspace);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_RESULT_JSON_H_
