// Checks of instructions one by one, before anything runs: fields, buffers, memory image, FINISH.
#ifndef TESSERA_VTA_CHECK_STATIC_H_
#define TESSERA_VTA_CHECK_STATIC_H_

#include <span>
#include <vector>

#include "tessera/vta.h"
#include "tessera/vta/isa/instruction.h"
#include "tessera/vta/program.h"

namespace tessera::vta {

// In the order of the instructions. The image of `program` bounds DRAM; its own instructions are
// not read.
std::vector<Diagnostic> CheckStatic(std::span<const Instruction> instructions,
                                    const Program& program);

// Whether any of them is an error.
bool HasErrors(std::span<const Diagnostic> diagnostics);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CHECK_STATIC_H_
