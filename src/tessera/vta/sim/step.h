// The timing rules applied cycle by cycle, as plainly as they are written: the slow twin that
// proves sim/cycles.h right, and its stand-in where token counters overflow.
#ifndef TESSERA_VTA_SIM_STEP_H_
#define TESSERA_VTA_SIM_STEP_H_

#include <span>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/config.h"
#include "tessera/vta/isa/instruction.h"
#include "tessera/vta/sim/cycles.h"
#include "tessera/vta/sim/timing.h"

namespace tessera::vta {

// The same answers as CycleSimulator::Run and timeline(), for programs whose transfers fit their
// buffers; waiting is counted up to the end of the program only.
Result<CycleReport> StepThrough(std::span<const Instruction> instructions, const Config& config,
                                const TimingParameters& parameters,
                                std::vector<InstructionTime>* times);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_SIM_STEP_H_
