// Cycle counts of programs: when each instruction starts and ends, and why stages wait. Exact for
// the default configuration and parameters (tessera/vta.h); data are not touched, so a schedule of
// thousands of instructions is timed in well under a millisecond.
#ifndef TESSERA_VTA_SIM_CYCLES_H_
#define TESSERA_VTA_SIM_CYCLES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta.h"
#include "tessera/vta/isa/instruction.h"
#include "tessera/vta/sim/timing.h"

namespace tessera::vta {

// Why an instruction did not start when its stage was free, in cycles.
struct InstructionWait {
  int64_t fetch = 0;  // it was not there yet
  int64_t token = 0;
};

// One burst on the read bus.
struct ReadBurst {
  int64_t insn = -1;  // the LOAD that asked; -1 for instruction fetch
  int64_t issued = 0, first_beat = 0, last_beat = 0;
  int64_t beats = 0;
};

// Contract:
//   Threads      used by one thread at a time; separate simulators are independent.
//   Determinism  a function of (config, parameters, instructions).
//   Speed        keeps its memory between runs: a second Run of equal size allocates nothing.
class CycleSimulator {
 public:
  // Both must be valid.
  explicit CycleSimulator(const Config& config, const TimingParameters& parameters = {});
  ~CycleSimulator();
  CycleSimulator(CycleSimulator&&) noexcept;
  CycleSimulator& operator=(CycleSimulator&&) noexcept;

  // Times a program whose instructions passed check/static.h. Errors: a program that never
  // finishes, with the instruction that cannot start; a transfer larger than its buffer.
  Result<CycleReport> Run(std::span<const Instruction> instructions);

  // Of the last run that gave a report, by instruction.
  std::span<const InstructionTime> timeline() const;

  // For traces: waits by instruction and read bursts in the order of issue, of the last run;
  // recorded only if switched on before. A program that loses tokens has none.
  void RecordDetails(bool on);
  std::span<const InstructionWait> waits() const;
  std::span<const ReadBurst> bursts() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_SIM_CYCLES_H_
