// Model `exec`: a user's program prices dataflows, a batch at a time: --model exec:COMMAND. It gets
// the rows that docs/external-evaluator.md describes.
#ifndef TESSERA_COST_EXTERNAL_EXEC_MODEL_H_
#define TESSERA_COST_EXTERNAL_EXEC_MODEL_H_

#include "tessera/cost.h"
#include "tessera/cost/external/external.h"

namespace tessera {

extern const CostModelInfo kExecModel;

// The command and its limits, of a choice of this model.
const ExternalOptions& ExternalOptionsOf(const CostModelChoice& model);

}  // namespace tessera

#endif  // TESSERA_COST_EXTERNAL_EXEC_MODEL_H_
