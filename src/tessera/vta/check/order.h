// What tokens order: an order in which the instructions can run, and vector clocks that say which
// of them must have run before which, in every order.
#ifndef TESSERA_VTA_CHECK_ORDER_H_
#define TESSERA_VTA_CHECK_ORDER_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/vta.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

struct Order {
  // Instructions in one order that tokens allow; without those that can never start.
  std::vector<int32_t> sequence = {};

  // Instructions by stage, and each one's place there.
  std::array<std::vector<int32_t>, kNumStages> stages = {};
  std::vector<int32_t> place = {};

  // clocks[i][s]: how many instructions of stage s are surely done when i starts, or are i itself.
  std::vector<std::array<int32_t, kNumStages>> clocks = {};

  // Most tokens that may pile up in one counter.
  int64_t most_tokens = 0;

  // Deadlocks, a FINISH that may come early, tokens left over.
  std::vector<Diagnostic> diagnostics = {};
};

// The instructions must have passed CheckStatic without errors.
Order AnalyseOrder(std::span<const Instruction> instructions);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CHECK_ORDER_H_
