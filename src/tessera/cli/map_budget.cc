// Budgets of mapping runs as flags.
#include "tessera/cli/map_budget.h"

namespace tessera {

std::vector<Flag> MapBudgetFlags(MapBudget& budget, MapSettings& settings) {
  return {
      {.name = "--samples",
       .target = &budget.samples,
       .help = "evaluations per layer, infeasible ones included; default: 20000, and 500 before "
               "proofs. With proofs it also replaces the clock by N/100 rounds",
       .value = "N",
       .least = 1},
      {.name = "--time-limit",
       .target = &budget.seconds,
       .help = "seconds for everything, which makes results depend on the machine; 0: no limit; "
               "default: 55 with proofs, otherwise 0",
       .value = "S",
       .least = 0},
      {.name = "--proof-seconds",
       .target = &budget.proof_seconds,
       .help = "methods auto and exact: seconds for the proofs alone; 0: no limit",
       .value = "S",
       .least = 0},
      {.name = "--proof-rounds",
       .target = &budget.proof_rounds,
       .help = "methods auto and exact: rounds of exact search per layer, the same on every "
               "machine; 0: no limit",
       .value = "N",
       .least = 0},
      {.name = "--proof-memory",
       .target = &budget.proof_memory_mib,
       .help = "methods auto and exact: memory for what is left to search, in MiB; what exceeds it "
               "is given up, and the gap stays (default: 1024)",
       .value = "MIB",
       .least = 1},
      {.name = "--target-gap",
       .target = &settings.target_gap,
       .help = "end with a layer this close to its bound: 0.05 is 5 %",
       .value = "G",
       .least = 0}};
}

}  // namespace tessera
