// What `tessera map` may spend, and on which method where no flag says so.
#ifndef TESSERA_CLI_MAP_BUDGET_H_
#define TESSERA_CLI_MAP_BUDGET_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/map.h"
#include "tessera/result.h"

namespace tessera {

// As flags give it; what is not given is chosen by SetBudget.
struct MapBudget {
  std::optional<int64_t> samples;
  std::optional<double> seconds;
  std::optional<double> proof_seconds;
  std::optional<int64_t> proof_rounds;
  std::optional<int64_t> proof_memory_mib;
};

std::vector<Flag> MapBudgetFlags(MapBudget& budget, MapSettings& settings);

// Sets the method, proofs where they are possible if none is chosen, and limits. Methods with
// proofs: with no flag 55 s for everything; with samples no clock, and rounds in proportion;
// otherwise what the flags say. Errors: options for proofs with a method that makes none.
Result<void> SetBudget(const MapBudget& budget, const std::optional<MapMethod>& method,
                       MapSettings& settings);

}  // namespace tessera

#endif  // TESSERA_CLI_MAP_BUDGET_H_
