// What `tessera map` may spend, as flags.
#ifndef TESSERA_CLI_MAP_BUDGET_H_
#define TESSERA_CLI_MAP_BUDGET_H_

#include <vector>

#include "tessera/cli/command.h"
#include "tessera/map.h"

namespace tessera {

std::vector<Flag> MapBudgetFlags(MapBudget& budget, MapSettings& settings);

}  // namespace tessera

#endif  // TESSERA_CLI_MAP_BUDGET_H_
