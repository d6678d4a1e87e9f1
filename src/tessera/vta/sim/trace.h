// Pictures of a timed program: a trace for Perfetto (ui.perfetto.dev) or chrome://tracing, and a
// timeline for the terminal.
#ifndef TESSERA_VTA_SIM_TRACE_H_
#define TESSERA_VTA_SIM_TRACE_H_

#include <cstdint>
#include <span>
#include <string>

#include "tessera/vta/isa/instruction.h"
#include "tessera/vta/sim/cycles.h"

namespace tessera::vta {

// Trace events as JSON: one track per stage with its instructions and waits, and one for the read
// bus. A cycle is shown as a microsecond. The simulator must have run `instructions` with details.
std::string PerfettoTrace(std::span<const Instruction> instructions,
                          const CycleSimulator& simulator);

// One line per stage over `columns` characters of equal time: '#' busy for more than half of it,
// '+' for some of it, '.' idle. Ends with a line of cycles.
std::string TextTimeline(std::span<const Instruction> instructions,
                         std::span<const InstructionTime> times, int64_t cycles, int64_t columns);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_SIM_TRACE_H_
