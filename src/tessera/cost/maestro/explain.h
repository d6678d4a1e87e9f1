// How the numbers of one mapped layer come about, step by step, for people who want to follow them
// by hand.
#ifndef TESSERA_COST_MAESTRO_EXPLAIN_H_
#define TESSERA_COST_MAESTRO_EXPLAIN_H_

#include <string>
#include <string_view>

#include "tessera/accelerator.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera::maestro {

// Text: every level with its constants; every visit to a level with its cases, their volumes as
// products and their delays; and how the report follows from their sums. The error is the rule that
// the dataflow breaks.
Result<std::string> Explain(const Workload& workload, const PeArray& array, MaestroVersion version,
                            std::string_view name, const Dataflow& dataflow);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_EXPLAIN_H_
