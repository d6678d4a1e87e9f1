// The numbers of one evaluation, derived line by line so that a reader can follow them by hand.
#ifndef TESSERA_COST_LOOPNEST_EXPLAIN_H_
#define TESSERA_COST_LOOPNEST_EXPLAIN_H_

#include <string>

#include "tessera/cost/loopnest/evaluation.h"

namespace tessera::loopnest {

// The workspace holds an accepted evaluation of the mapping.
std::string Explain(const Setup& setup, const LoopMapping& mapping, const Workspace& workspace);

}  // namespace tessera::loopnest

#endif  // TESSERA_COST_LOOPNEST_EXPLAIN_H_
