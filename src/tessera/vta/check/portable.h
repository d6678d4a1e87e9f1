// Where the published functional simulator and the published hardware give different results. A
// program that avoids these cases is portable: both, and this simulator, agree on it.
#ifndef TESSERA_VTA_CHECK_PORTABLE_H_
#define TESSERA_VTA_CHECK_PORTABLE_H_

#include <optional>
#include <span>
#include <string>

#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// Why an instruction is not portable by its fields and micro-ops alone, or nothing.
std::optional<std::string> TransferPortability(const Instruction& transfer);
std::optional<std::string> KernelPortability(const Instruction& kernel, std::span<const Uop> uops);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CHECK_PORTABLE_H_
