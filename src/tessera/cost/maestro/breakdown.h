// What a cost of model `maestro` is made of, as far as MAESTRO's numbers tell: energy and traffic
// of L1 and L2 by tensor, and which bandwidth the cycles wait for.
#ifndef TESSERA_COST_MAESTRO_BREAKDOWN_H_
#define TESSERA_COST_MAESTRO_BREAKDOWN_H_

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping.h"

namespace tessera::maestro {

// Of a dataflow that the analyser accepts; `cost` is what it costs. Limits are "L2" (the network
// on chip), "DRAM" (the off-chip bandwidth) and "compute" (the lanes of the PEs).
CostBreakdown BreakDown(const Workload& workload, const PeArray& array,
                        const MaestroOptions& options, const Dataflow& dataflow, const Cost& cost);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_BREAKDOWN_H_
