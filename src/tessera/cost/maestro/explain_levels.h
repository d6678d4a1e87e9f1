// The part of an explanation that shows the levels of a mapped layer: their loops and where each of
// them comes from, the sizes of their tiles, and their units.
#ifndef TESSERA_COST_MAESTRO_EXPLAIN_LEVELS_H_
#define TESSERA_COST_MAESTRO_EXPLAIN_LEVELS_H_

#include <span>
#include <string>

#include "tessera/accelerator.h"
#include "tessera/cost/maestro/level.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping.h"

namespace tessera::maestro {

std::string ExplainLevels(const Workload& workload, const PeArray& array, const Dataflow& dataflow,
                          std::span<const Level> levels);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_EXPLAIN_LEVELS_H_
