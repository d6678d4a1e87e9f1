// Simulate: what a program computes, what is wrong with it and how long it takes, in one call.
#include "tessera/vta.h"
#include "tessera/vta/program.h"
#include "tessera/vta/sim/cycles.h"
#include "tessera/vta/sim/trace.h"

namespace tessera::vta {

Result<Simulation> Simulate(Program& program, const SimulateOptions& options) {
  if (Result<void> valid = Validate(options.timing); !valid) return valid.error();
  Result<CheckReport> check = CheckAndRun(program);
  if (!check) return check.error();
  Simulation simulation = {.check = *std::move(check)};
  if (!simulation.check.ok()) return simulation;
  const std::vector<Instruction> instructions = DecodeInstructions(program);
  CycleSimulator simulator(program.config, options.timing);
  simulator.RecordDetails(options.trace);
  const Result<CycleReport> report = simulator.Run(instructions);
  if (!report) {
    simulation.stuck = report.error();
    return simulation;
  }
  simulation.report = *report;
  simulation.times.assign(simulator.timeline().begin(), simulator.timeline().end());
  if (options.trace) simulation.trace = PerfettoTrace(instructions, simulator);
  if (options.timeline_columns > 0) {
    simulation.timeline =
        TextTimeline(instructions, simulation.times, report->cycles, options.timeline_columns);
  }
  return simulation;
}

}  // namespace tessera::vta
