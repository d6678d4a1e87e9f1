// The part of an explanation that shows how the numbers of a layer follow from its top-level cases.
#ifndef TESSERA_COST_MAESTRO_EXPLAIN_TOTALS_H_
#define TESSERA_COST_MAESTRO_EXPLAIN_TOTALS_H_

#include <string>

#include "tessera/accelerator.h"
#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/workload.h"

namespace tessera::maestro {

std::string ExplainTotals(const Workload& workload, const PeArray& array, const Record& record,
                          const Analysis& analysis);

// MAESTRO's off-chip time: what every case of the top level waits for at least, as a formula.
std::string OffchipFormula(const PeArray& array, const Analysis& analysis);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_EXPLAIN_TOTALS_H_
