// tessera map --objective pareto: fronts of cycles and energy instead of one mapping per layer.
#ifndef TESSERA_CLI_MAP_FRONTS_H_
#define TESSERA_CLI_MAP_FRONTS_H_

#include "tessera/cli/command.h"
#include "tessera/map.h"
#include "tessera/result.h"

namespace tessera {

// The method that finds fronts, whatever is chosen (none: no flag says so). Errors: choices that
// prove nothing.
Result<MapMethod> FrontMethod(const std::optional<MapMethod>& chosen, Factors factors);

// Finds the fronts, shows them, and writes fronts.json and fronts.svg into --out.
Result<void> MapFronts(const MapJob& job, Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_MAP_FRONTS_H_
