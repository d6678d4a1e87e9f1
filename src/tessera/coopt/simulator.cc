#include "tessera/coopt/simulator.h"

#include "tessera/vta/sim/cycles.h"

namespace tessera::coopt {
namespace {

using vta::Memory;

// Bytes over the bus, accesses of the buffers and products, each with its energy.
double EnergyPj(const vta::Kernel& kernel) {
  const vta::Config& config = kernel.config;
  const auto access = [&config](Memory memory) {
    const int64_t tile = config.TileBytes(memory);
    return SramAccessPj(config.Depth(memory) * tile, tile);
  };
  const double inp = access(Memory::kInp), wgt = access(Memory::kWgt), acc = access(Memory::kAcc);
  const double product = inp + wgt + 2 * acc + kMacPj * static_cast<double>(config.macs());
  double energy_pj = 0;
  for (const vta::Instruction& instruction : kernel.instructions) {
    if (instruction.Is(vta::Opcode::kGemm)) {
      const double rounds = static_cast<double>(vta::HardwareRounds(instruction));
      energy_pj += rounds * (instruction.reset != 0 ? acc : product);
    } else if (instruction.Is(vta::Opcode::kAlu)) {
      const double rounds = static_cast<double>(vta::HardwareRounds(instruction));
      energy_pj += rounds * (instruction.use_imm != 0 ? 2 : 3) * acc;
    }
  }
  const vta::Traffic traffic = CountTraffic(kernel);
  return energy_pj + kDramPjPerByte * static_cast<double>(traffic.read() + traffic.written);
}

Outcome MeasureOne(const Problem& problem, const Task& task, const Request& request) {
  const ProblemOptions& options = problem.options();
  const Result<GeneratedSchedule> code = task.space.Generate(request.point, options.epilogue);
  if (!code) return {.why = code.error().message};
  vta::CycleSimulator simulator(task.space.config(), options.timing);
  const Result<vta::CycleReport> report = simulator.Run(code->kernel.instructions);
  if (!report) return {.why = report.error().message};
  Outcome outcome = {.valid = true, .cycles = report->cycles, .energy_pj = EnergyPj(code->kernel)};
  outcome.value = problem.Value(request.hardware, request.layer, outcome.cycles, outcome.energy_pj);
  return outcome;
}

}  // namespace

size_t RequestHash::operator()(const Request& request) const {
  return HashOf(request.point) ^
         ((uint64_t{request.hardware} << 32 | request.layer) * 0x9e3779b97f4a7c15u);
}

void Simulator::Measure(std::span<Measured> batch) const {
  // Tasks are made by one thread.
  for (const Measured& item : batch) problem_.task(item.request.hardware, item.request.layer);
  pool_.ParallelFor(std::ssize(batch), /*chunk=*/1, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const Request& request = batch[i].request;
      batch[i].outcome =
          MeasureOne(problem_, problem_.task(request.hardware, request.layer), request);
    }
  });
}

Result<GeneratedSchedule> Simulator::Program(const Request& request) const {
  return problem_.task(request.hardware, request.layer)
      .space.Generate(request.point, problem_.options().epilogue);
}

}  // namespace tessera::coopt
