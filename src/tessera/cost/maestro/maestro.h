// Model `maestro`: MAESTRO's numbers, quirks included, in process. The numbers themselves are made
// in the other files of this folder, in this order: workload (a layer in MAESTRO's terms), level
// (the dataflow, level by level), states, spatial and cases (what happens in an iteration),
// analysis (time and traffic), report (columns, energy, area, flags).
#ifndef TESSERA_COST_MAESTRO_MAESTRO_H_
#define TESSERA_COST_MAESTRO_MAESTRO_H_

#include <memory>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/result.h"

namespace tessera {

extern const CostModelInfo kMaestroModel;

// The model with options, for code that does not start from a user's words.
CostModelChoice MaestroChoice(const MaestroOptions& options);

// The model for a layer as a mapping file declares it; kMaestroModel starts from a Tessera layer.
Result<std::unique_ptr<CostModel>> MakeMaestroModel(const maestro::Declaration& declaration,
                                                    const PeArray& array,
                                                    const MaestroOptions& options);

}  // namespace tessera

#endif  // TESSERA_COST_MAESTRO_MAESTRO_H_
