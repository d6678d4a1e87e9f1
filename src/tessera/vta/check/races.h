// Races: two stages touch the same tile or byte, one of them writes, and no token orders them.
#ifndef TESSERA_VTA_CHECK_RACES_H_
#define TESSERA_VTA_CHECK_RACES_H_

#include <span>
#include <vector>

#include "tessera/vta.h"
#include "tessera/vta/check/access.h"
#include "tessera/vta/check/order.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// Appends one diagnostic for each instruction that races with an earlier one of the program; its
// partner is the earliest. `accesses` are by instruction.
void FindRaces(std::span<const Instruction> instructions, const Order& order,
               std::span<const Access> accesses, std::vector<Diagnostic>& diagnostics);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CHECK_RACES_H_
